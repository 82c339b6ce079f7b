import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import umfi
from umfi.data.frames import read_columns
from umfi.data.target import Target, read_target
from umfi.errors import InputError
from umfi.execution import kernel_seed
from umfi.forest import out_of_bag_totals
from umfi.power.forest import forest_response
from umfi.power.measures import Predictions, score_predictions


@pytest.fixture(scope="module")
def table():
    return umfi.datasets.simulate("correlation", n=200, random_state=0)


@pytest.fixture(scope="module")
def classes(table):
    X, y = table
    return X, np.where(y > y.quantile(0.7), "high", "low")


def test_scores_of_given_predictions():
    target = Target("regression", np.array([0.0, 1.0, 2.0, 3.0]))
    # Squared errors 0, 1, 1; variance 5/3; the row without prediction is left out.
    answers = Predictions(np.array([0.0, 2.0, np.nan, 2.0]))
    assert score_predictions("r2", answers, target) == pytest.approx(0.6)
    # Information of an R² of 0.6.
    information = score_predictions("information", answers, target)
    assert information == pytest.approx(-0.5 * np.log(0.4))
    labels = Target("classification", np.array([0.0, 1.0, 1.0]), classes=("a", "b"))
    assert score_predictions("accuracy", Predictions(np.array([0.0, np.nan, 0.0])), labels) == 0.5
    with pytest.raises(umfi.InputError, match="grow more trees"):
        score_predictions("r2", Predictions(np.full(4, np.nan)), target)


def test_scores_of_a_constant_response_are_zero():
    constant = Target("regression", np.zeros(20))
    assert score_predictions("r2", Predictions(np.zeros(20)), constant) == 0.0


@pytest.mark.parametrize("power", ["forest", "extra-trees"])
def test_forest_tells_signal_from_noise(power, table, classes):
    X, y = table
    assert umfi.predictive_power(X, y, power=power, random_state=0) > 0.7
    assert umfi.predictive_power(X[["x4"]], y, power=power, random_state=0) < 0.1
    assert umfi.predictive_power(*classes, power=power, random_state=0) > 0.75


@pytest.mark.parametrize("which", ["regression", "classification"])
def test_trees_on_fewer_rows_score_all_rows(which, table, classes):
    X, y = table if which == "regression" else classes

    def score(rows_per_tree, n_jobs=1):
        power = umfi.ForestPower(rows_per_tree=rows_per_tree)
        return umfi.predictive_power(X, y, power=power, random_state=0, n_jobs=n_jobs)

    assert score(200) == score(None)
    assert score(80) == score(80, n_jobs=2) != score(200)
    assert score(200) - 0.15 < score(80) < score(200) + 0.02


@pytest.mark.parametrize("which", ["regression", "classification"])
def test_of_very_long_tables_as_many_rows_are_scored_as_tell_enough(
    which, table, classes, monkeypatch
):
    monkeypatch.setattr("umfi.power.forest.MAX_SCORED_ROWS", 150)
    X, y = table if which == "regression" else classes
    columns, target = read_columns(X), read_target(y, task=which)
    power, seed = umfi.ForestPower(rows_per_tree=80), np.random.SeedSequence(2)

    one = power.predict(columns, target, seed)
    two = power.predict(columns, target, seed, n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values)
    is_scored = np.isfinite(one.values).reshape(len(y), -1).all(axis=1)
    assert is_scored.sum() == 150

    averages = power.average_out(columns.select([1, 2]), [columns.select([0])], target, seed)
    scored = np.isfinite(averages.known.values).reshape(len(y), -1).all(axis=1)
    np.testing.assert_array_equal(scored, is_scored)

    other = power.predict(columns, target, np.random.SeedSequence(3))
    assert (np.isfinite(other.values).reshape(len(y), -1).all(axis=1) != is_scored).any()


def test_default_rows_per_tree_leaves_tables_of_fifty_thousand_rows_whole(table):
    target = read_target(table[1], task="regression")
    assert umfi.ForestPower().growth(4, target).rows_per_tree >= 50_000


def test_scores_below_chance_are_not_floored(table):
    X, y = table
    assert umfi.predictive_power(X[["x4"]], y, random_state=0) < 0.0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e150])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_score_does_not_depend_on_the_units_of_the_response(table, scale, offset):
    X, y = table
    power = umfi.ForestPower(n_trees=20)
    expected = umfi.predictive_power(X, y, power=power, random_state=0)
    changed = umfi.predictive_power(X, (y + offset) * scale, power=power, random_state=0)
    # Rounding may turn a near tie between two cuts around, and then the trees below differ: as
    # much as between two seeds, whose standard deviation is 0.006 here.
    assert changed == pytest.approx(expected, abs=0.02)


def test_score_does_not_depend_on_monotone_changes_of_a_column(table):
    X, y = table
    power = umfi.ForestPower(n_trees=20, mtry=4)
    changed = X.assign(x1=np.exp(X["x1"]))
    first = umfi.predictive_power(X, y, power=power, random_state=0)
    # Cuts fall half-way between values, so rows out of the bag may change sides.
    assert umfi.predictive_power(changed, y, power=power, random_state=0) == pytest.approx(
        first, abs=0.01
    )


def test_mtry_larger_than_the_table_is_all_columns(table):
    scores = [
        umfi.predictive_power(*table, power=umfi.ForestPower(mtry=mtry), random_state=0)
        for mtry in (4, 99)
    ]
    assert scores[0] == scores[1]


def test_large_nodes_make_a_coarse_forest(table):
    fine, coarse = (
        umfi.predictive_power(*table, power=umfi.ForestPower(min_node_rows=rows), random_state=0)
        for rows in (5, 150)
    )
    assert coarse < fine


def test_one_tree_scores_its_out_of_bag_rows(table):
    assert -1.0 < umfi.predictive_power(*table, power=umfi.ForestPower(n_trees=1)) < 1.0


def test_many_classes():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(30), 10).astype(str)
    X = pd.DataFrame({"a": np.repeat(np.arange(30.0), 10) + rng.normal(0, 0.1, 300)})
    assert umfi.predictive_power(X, labels, random_state=0) > 0.95


def test_no_columns_have_the_chance_level(classes):
    X, y = classes
    nothing = read_columns(X).select([])
    seed = np.random.SeedSequence(0)
    target = read_target(y)
    for power in (umfi.ForestPower(), umfi.EstimatorPower(LogisticRegression())):
        assert power.score(nothing, target, seed) == 0.0
        by_votes = power.with_measure("accuracy")
        assert by_votes.score(nothing, target, seed) == pytest.approx(0.7)


def test_estimators_are_cross_validated(table, classes):
    X, y = table
    assert umfi.predictive_power(X, y, power=LinearRegression()) == pytest.approx(1.0)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert umfi.predictive_power(*classes, power=pipeline) > 0.8
    # A forest knows the rows it was fitted on; scored on other rows it does not.
    forest = RandomForestClassifier(n_estimators=10)
    noise = umfi.predictive_power(X[["x4"]], classes[1], power=forest, random_state=0)
    assert noise < 0.1


def test_estimators_are_seeded_and_never_fitted_themselves(classes):
    forest = RandomForestClassifier(n_estimators=5)
    first, second = (
        umfi.predictive_power(*classes, power=forest, random_state=3) for _ in range(2)
    )
    assert first == second
    assert not hasattr(forest, "estimators_")
    assert forest.random_state is None


def test_rare_classes_are_dealt_to_different_folds():
    y = np.array(["common"] * 55 + ["rare"] * 5)
    folds = umfi.EstimatorPower(LogisticRegression())._deal_folds(
        read_target(y), np.random.default_rng(0)
    )
    assert sorted(folds[55:]) == [0, 1, 2, 3, 4]
    assert np.bincount(folds).tolist() == [12] * 5


def test_estimators_of_the_wrong_kind_are_refused(table, classes):
    with pytest.raises(umfi.InputError, match="LogisticRegression is not a regressor"):
        umfi.predictive_power(*table, power=LogisticRegression())
    with pytest.raises(umfi.InputError, match="LinearRegression is not a classifier"):
        umfi.predictive_power(*classes, power=umfi.EstimatorPower(LinearRegression()))


def largest_correlation(columns, y, rng):
    if columns.shape[1] == 0:
        return 0.0
    return max(abs(np.corrcoef(column, y)[0, 1]) for column in columns.T)


def test_callables_are_powers(table):
    X, y = table
    score = umfi.predictive_power(X, y, power=largest_correlation)
    assert score == pytest.approx(X.corrwith(y).abs().max())
    result = umfi.bivariate(X, y, power=largest_correlation, protocol="paper")
    expected = X.corrwith(y).abs()
    np.testing.assert_allclose(result.importances, expected)
    assert result.settings["power"] == "largest_correlation"
    assert result.settings["measure"] == "score"


def test_callables_get_read_only_data_and_a_generator(table, classes):
    def power(columns, y, rng):
        assert isinstance(rng, np.random.Generator)
        with pytest.raises(ValueError, match="read-only"):
            columns[0, 0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1
        return rng.random()

    for data in (table, classes):
        first, second = (umfi.predictive_power(*data, power=power, random_state=1) for _ in "ab")
        assert first == second


def test_callables_must_return_a_finite_number(table):
    def undefined(columns, y, rng):
        return float("nan")

    with pytest.raises(umfi.InputError, match="undefined returned nan for 4 columns"):
        umfi.predictive_power(*table, power=undefined)
    with pytest.raises(umfi.InputError, match="returned None"):
        umfi.bivariate(*table, power=lambda columns, y, rng: None)


def test_estimators_survive_folds_with_one_class():
    X, _ = umfi.datasets.simulate("correlation", n=60, random_state=0)
    y = np.array(["common"] * 58 + ["rare"] * 2)
    result = umfi.bivariate(
        X, y, power=LogisticRegression(), subsample=30, repeats=8, random_state=0
    )
    # Some samples miss the rare class and are predicted without a fault.
    assert (result.scores["score_with"] == 0.0).any()


class Diverging(LinearRegression):
    def predict(self, X):
        return np.full(len(X), np.inf)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: umfi.EstimatorPower(LinearRegression), "is not an estimator: pass an object"),
        (lambda: umfi.EstimatorPower(LinearRegression(), n_folds=1), "n_folds=1 is not valid"),
        (lambda: umfi.EstimatorPower(LinearRegression(), n_folds=2.5), "n_folds=2.5 is not"),
    ],
)
def test_bad_estimators_are_refused(make, message):
    with pytest.raises(umfi.InputError, match=message):
        make()


def test_estimators_must_predict_finite_numbers(table):
    with pytest.raises(umfi.InputError, match="Diverging predicted values that are not finite"):
        umfi.predictive_power(*table, power=Diverging())


def test_shares_are_scored_by_their_squared_distance_from_the_truth(classes):
    X, y = classes
    columns, target = read_columns(X), read_target(y)
    power = umfi.ForestPower(n_trees=30, measure="brier")
    seed = np.random.SeedSequence(0)
    growth = power.growth(columns.n_columns, target)
    totals, n_votes = out_of_bag_totals(
        columns.ranks, forest_response(target), growth, 0, 30, kernel_seed(seed)
    )
    truth = np.eye(len(target.classes))[target.labels]
    expected = 1.0 - np.mean(np.sum((totals / n_votes[:, np.newaxis] - truth) ** 2, axis=1))
    assert power.score(columns, target, seed) == pytest.approx(expected, abs=1e-12)
    assert power.measures["classification"] == "quadratic score"
    rates = np.bincount(target.labels) / target.n_rows
    nothing = power.score(columns.select([]), target, seed)
    predicted = Predictions(np.tile(rates, (target.n_rows, 1)))
    assert nothing == pytest.approx(score_predictions("brier", predicted, target))


def test_classes_are_measured_in_r2_of_their_indicators(classes):
    assert umfi.ForestPower().measures["classification"] == "R²"
    X, y = classes
    columns, target, seed = read_columns(X), read_target(y), np.random.SeedSequence(0)
    brier = umfi.ForestPower(measure="brier").score(columns, target, seed)
    rates = np.bincount(target.labels) / target.n_rows
    expected = 1.0 - (1.0 - brier) / (1.0 - np.sum(rates**2))
    assert umfi.ForestPower().score(columns, target, seed) == pytest.approx(expected, abs=1e-12)


def test_unknown_measures_name_the_nearest():
    with pytest.raises(InputError, match="did you mean 'brier'"):
        umfi.ForestPower(measure="brief")
