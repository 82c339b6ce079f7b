"""The linear power against models fitted row by row, and against closed forms."""

import numpy as np
import pandas as pd
import pytest

import umfi
from tests.naive import linear as naive
from umfi.data.reading import read_table
from umfi.power import LinearClosedForm
from umfi.power.measures import Predictions, score_predictions

SEED = np.random.SeedSequence(0)


def make_table(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1] += X[:, 0]
    return X, X[:, 0] + X[:, 2] + rng.normal(size=n_rows)


@pytest.mark.parametrize(("n_columns", "penalty"), [(5, 0.0), (5, 3.0), (60, 40.0)])
def test_score_equals_that_of_a_model_fitted_without_each_row(n_columns, penalty):
    X, y = make_table(40, n_columns)
    columns, target, _ = read_table(X, y)
    predicted = naive.leave_one_out(X, y[:, np.newaxis], penalty)[:, 0]
    expected = score_predictions("r2", Predictions(predicted), target)
    found = umfi.LinearPower(penalty=penalty).score(columns, target, SEED)
    assert found == pytest.approx(expected, abs=1e-9)


def test_classes_are_predicted_by_the_largest_fit_to_their_indicators():
    X, y = make_table(50, 4)
    labels = np.select([y < -1.0, y > 1.0], ["a", "b"], "c")
    columns, target, _ = read_table(X, labels)
    predicted = naive.leave_one_out(X, np.eye(3)[target.labels], 0.0)
    power = umfi.LinearPower(penalty=0.0, measure="accuracy")
    expected = np.mean(predicted.argmax(axis=1) == target.labels)
    assert power.score(columns, target, SEED) == pytest.approx(expected)
    probabilities = np.clip(predicted, 0.0, 1.0)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    assert umfi.LinearPower(penalty=0.0).score(columns, target, SEED) == pytest.approx(
        score_predictions("r2", Predictions(probabilities), target)
    )


@pytest.mark.parametrize(("n_columns", "penalty"), [(5, 0.0), (5, 7.0), (60, 100.0)])
def test_averaging_out_takes_away_the_coefficient_of_the_fit_without_each_row(n_columns, penalty):
    X, y = make_table(40, n_columns)
    columns, target, _ = read_table(X, y)
    power = umfi.LinearPower(penalty=penalty)
    own, others = columns.select([1]), columns.without([1])
    found = power.average_out(others, [own], target, SEED)
    known = naive.leave_one_out(X, y[:, np.newaxis], penalty)[:, 0]
    np.testing.assert_allclose(found.known.values, known, atol=1e-9)
    without = naive.leave_one_out(X, y[:, np.newaxis], penalty, averaged=1)[:, 0]
    np.testing.assert_allclose(found.without(0).values, without, atol=1e-9)


@pytest.mark.parametrize(("n_columns", "penalty"), [(5, 0.0), (5, 7.0), (60, 100.0)])
def test_closed_form_equals_removal_and_fit_without_each_row(n_columns, penalty):
    X, y = make_table(40, n_columns)
    columns, target, _ = read_table(X, y)
    rng = np.random.default_rng(1)
    permutations = [rng.permutation(40) for _ in range(2)]
    closed_form = LinearClosedForm(umfi.LinearPower(penalty=penalty), columns, target)
    own = columns.select([1])
    [found] = closed_form.average_out([[own, *(own.take_rows(rows) for rows in permutations)]])
    predicted = naive.leave_one_out_beside(X, 1, permutations, y[:, np.newaxis], penalty)
    # Beside one candidate is what is left without the two others.
    for number, expected in enumerate(predicted):
        others = [other for other in range(3) if other != number]
        values = found.known.values + found.changes[others].sum(axis=0)
        np.testing.assert_allclose(values, expected[:, 0], atol=1e-9)


def test_candidates_of_any_shape_are_scored_in_their_order():
    X, y = make_table(60, 6)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(soil=np.tile(["u", "v", "w"], 20))
    columns, target, _ = read_table(frame, y)
    closed_form = LinearClosedForm(umfi.LinearPower(), columns, target)
    shuffled = np.random.default_rng(0).permutation(60)
    blocks = [columns.select(places) for places in ([0], [6], [1, 2], [3])]
    candidates = [[block, block.take_rows(shuffled)] for block in blocks]
    together = closed_form.average_out(candidates)
    for found, one in zip(together, candidates, strict=True):
        [alone] = closed_form.average_out([one])
        np.testing.assert_allclose(found.known.values, alone.known.values, atol=1e-12)
        np.testing.assert_allclose(found.changes, alone.changes, atol=1e-12)


@pytest.mark.parametrize("n_rows", [150, 2000])
def test_importance_of_gaussian_features_is_their_squared_correlation(n_rows):
    # Theorem 3.1: R²(S, x) - R²(S) = R²(x) for what linear removal leaves of Gaussian features.
    importances, truths = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mixing = np.array([[1.0, 0.0, 0.0], [0.7, 0.7, 0.0], [0.0, 0.5, 1.0]])
        X = rng.normal(size=(n_rows, 3)) @ mixing.T
        y = X @ [1.0, -0.5, 0.3] + rng.normal(size=n_rows)
        covariance = mixing @ mixing.T
        coefficients = np.array([1.0, -0.5, 0.3])
        with_y = covariance @ coefficients
        variance = coefficients @ with_y + 1.0
        truths = with_y**2 / (np.diag(covariance) * variance)
        result = umfi.ultra_marginal(X, y, power="linear", random_state=seed)
        assert result.settings["remover"] == "linear"
        importances.append(result.importances.to_numpy())
    errors = np.std(importances, axis=0, ddof=1) / np.sqrt(20)
    # Rows not seen are predicted by coefficients that are off by one part in n.
    assert (np.abs(np.mean(importances, axis=0) - truths) < 3.0 * errors + 2.0 / n_rows).all()


def test_in_wide_tables_importances_are_squared_correlations_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1000))
    y = X[:, :4].sum(axis=1) + rng.normal(size=200)
    importances = umfi.ultra_marginal(X, y, power="linear", random_state=0).importances
    truth = np.where(np.arange(1000) < 4, 0.2, 0.0)
    # A squared correlation of 0.2 in 200 rows has a standard error of 2 √0.2 · 0.8 / √200.
    assert np.abs(importances[:4] - truth[:4]).max() < 3.0 * 0.051
    assert abs(importances[4:].mean()) < 3.0 * importances[4:].std() / np.sqrt(996)


def test_generic_path_agrees_where_rows_are_many():
    # The same up to what fitting removal to a row changes: a few parts in n.
    X, y = umfi.datasets.simulate("correlation", n=1000, random_state=0)
    fast = umfi.ultra_marginal(X, y, power="linear", random_state=0).importances
    columns, target, _ = read_table(X, y)
    remover, power = umfi.LinearRemover(), umfi.LinearPower()
    rng = np.random.default_rng(0)
    for number in range(4):
        own = columns.select([number])
        copy = own.take_rows(rng.permutation(1000))
        rest = remover.remove(columns.without([number]), [own, copy], protocol="matched", rng=rng)
        scores = [power.score(rest.prepend(one), target, SEED) for one in (own, copy)]
        assert fast.iloc[number] == pytest.approx(scores[0] - scores[1], abs=0.02)


def test_p_values_come_from_the_closed_form_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 80))
    y = X[:, 0] + rng.normal(size=150)
    result = umfi.ultra_marginal(X, y, power="linear", test="permutation", random_state=0)
    assert result.related() == ["x1"]
    assert (result.table["leakage"] == 0.0).all()
    p_values = result.tests["p_value"][1:]
    # 79 p-values of unrelated features: at most 0.05 in 4 ± 1.94 of them.
    assert (p_values <= 0.05).sum() <= 4 + 3 * 1.94


def test_repeats_and_groups_work_in_the_closed_form():
    X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    result = umfi.ultra_marginal(
        X,
        y,
        power="linear",
        groups={"pair": ["x1", "x3"]},
        repeats=20,
        subsample=0.5,
        random_state=0,
    )
    table = result.table.set_index("feature")
    assert table.loc["pair", "low"] < 0.5 < table.loc["pair", "high"]
    serial = umfi.ultra_marginal(
        X,
        y,
        power="linear",
        groups={"pair": ["x1", "x3"]},
        repeats=20,
        subsample=0.5,
        random_state=0,
        n_jobs=1,
    )
    pd.testing.assert_frame_equal(result.scores, serial.scores)


def test_a_row_that_decides_its_own_fit_is_told_by_the_others():
    X = np.zeros((20, 1))
    X[0] = 1.0
    y = np.random.default_rng(0).normal(size=20)
    columns, target, _ = read_table(X, y)
    assert np.isfinite(umfi.LinearPower().score(columns, target, SEED))


def test_the_best_penalty_is_chosen_whatever_the_shape():
    # One column more must not change the estimator.
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 22))
    y = 2.0 * table[:, 0] + rng.normal(size=60)
    found = []
    for n_columns in (18, 19, 20, 21, 22):
        columns, target, _ = read_table(table[:, :n_columns], y)
        scores = [
            umfi.LinearPower(penalty=penalty).score(columns, target, SEED)
            for penalty in (None, 0.0, 1.0, 10.0, 100.0)
        ]
        assert scores[0] >= max(scores) - 0.02
        found.append(scores[0])
    assert np.abs(np.diff(found)).max() < 0.05


def test_least_squares_on_as_many_columns_as_rows_is_refused():
    X, y = make_table(30, 60)
    columns, target, _ = read_table(X, y)
    with pytest.raises(umfi.InputError, match="leaves nothing to predict"):
        umfi.LinearPower(penalty=0.0).score(columns, target, SEED)


def test_what_a_test_compares_is_all_but_normal():
    # Chance gains of unrelated columns have to reach a small p-value as often as that.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 400))
    result = umfi.ultra_marginal(
        X, rng.normal(size=120), power="linear", test="permutation", random_state=0
    )
    p_values = result.tests["p_value"].to_numpy()
    # Of 400: 20 ± 4.4 at most 0.05, 0.4 ± 0.63 at most 0.001, and none that would be called.
    assert (p_values <= 0.05).sum() < 20 + 3 * 4.4
    assert (p_values <= 0.001).sum() <= 2
    assert result.related() == []


@pytest.mark.parametrize("penalty", [-1.0, np.inf, "much", True])
def test_bad_penalties_are_refused(penalty):
    with pytest.raises(umfi.InputError, match="penalty="):
        umfi.LinearPower(penalty=penalty)
