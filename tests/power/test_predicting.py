"""One fit with a candidate averaged out: what estimators predict, and what is compared."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import umfi
from umfi.data.frames import read_columns
from umfi.data.target import Target, read_target
from umfi.power import Averages, Comparison, compare_averages, compare_predictions, find_power
from umfi.power.measures import Predictions, score_predictions
from umfi.power.predicting import quadratic_gain, removal_influences

SEED = np.random.SeedSequence(3)
POWERS = ["forest", "extra-trees", "boosting", "linear", "neural-network"]


def make_table(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    x, others = rng.normal(size=n_rows), rng.normal(size=(n_rows, 3))
    return x, others, x + others[:, 0] + 0.5 * rng.normal(size=n_rows)


def columns_of(*blocks):
    return [read_columns(np.asarray(block).reshape(len(blocks[0]), -1)) for block in blocks]


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_averaged_fit_predicts_as_well_as_a_fit_without_the_feature(power, task):
    x, others, y = make_table()
    target = read_target(y if task == "regression" else np.where(y > 0.0, "high", "low"))
    own, context = columns_of(x, others)
    made = find_power(power, task)
    averages = made.average_out(context, [own], target, SEED)
    without = score_predictions("r2", averages.without(0), target)
    refitted = made.score(context, target, SEED)
    known = score_predictions("r2", averages.known, target)
    assert known > without + 0.2
    # The averaged fit has learned from the feature too, so it may be the better one.
    assert refitted - 0.05 < without < refitted + 0.2


@pytest.mark.parametrize("n_levels", [2, 5])
def test_few_levels_are_averaged_exactly(n_levels):
    _, others, y = make_table()
    x = np.random.default_rng(1).integers(0, n_levels, 300)
    target = read_target(y + x)
    own, context = columns_of(x, others)
    averages = umfi.EstimatorPower(LinearRegression()).average_out(context, [own], target, SEED)
    folds = umfi.EstimatorPower(LinearRegression())._deal_folds(target, np.random.default_rng(SEED))
    for fold in range(5):
        rows, is_fitted = folds == fold, folds != fold
        model = LinearRegression().fit(
            np.column_stack([x, others])[is_fitted], target.values[is_fitted]
        )
        expected = model.coef_[0] * (x.mean() - x[rows])
        np.testing.assert_allclose(averages.changes[0][rows], expected, atol=1e-10)


def test_donors_of_a_continuous_candidate_are_spread_over_all_of_it():
    x, others, y = make_table(n_rows=400)
    target = read_target(y)
    own, context = columns_of(x, others)
    averages = umfi.EstimatorPower(LinearRegression()).average_out(context, [own], target, SEED)
    slope = -np.polyfit(x, averages.changes[0], 1)[0]
    rest = averages.changes[0] + slope * (x - x.mean())
    # The mean of eight donors at random would vary by slope / √8.
    assert np.std(rest) < 0.7 * slope / np.sqrt(8)


def test_groups_are_averaged_together():
    # Two columns that say the same: averaging one of them leaves what the other says.
    x, others, y = make_table()
    target = read_target(y)
    pair, context = columns_of(np.column_stack([x, x + 1e-3 * others[:, 1]]), others)
    averages = umfi.ForestPower().average_out(context, [pair], target, SEED)
    found = compare_predictions("r2", averages.known, averages.without(0), target)
    single = umfi.ForestPower().average_out(
        context.prepend(pair.select([1])), [pair.select([0])], target, SEED
    )
    less = compare_predictions("r2", single.known, single.without(0), target)
    assert found.score_with - found.score_without > 0.3
    assert less.score_with - less.score_without < 0.5 * (found.score_with - found.score_without)


def test_a_feature_is_compared_with_its_copies():
    target = Target("regression", np.array([-1.0, 1.0, -1.0, 1.0]))
    known = Predictions(np.array([-0.5, 0.5, -0.5, 0.5]))
    changes = np.array([[0.5, -0.5, 0.5, -0.5], [0.0, 0.0, 0.0, 0.0], [-0.5, 0.5, -0.5, 0.5]])
    found = compare_averages("r2", Averages(known, changes), target)
    # Variance 4/3: without the feature 1 - 3/4, without the copies 1 - 3/16 and 1.
    assert found.score_without == pytest.approx(0.25)
    assert found.score_with == pytest.approx((0.8125 + 1.0) / 2.0)
    assert isinstance(found, Comparison)
    assert found.influences.shape == (4,)


def test_an_unrelated_feature_and_its_copies_can_change_places():
    # By symmetry importances of unrelated features have mean zero whatever the table predicts.
    rng = np.random.default_rng(0)
    power, found = umfi.ForestPower(n_trees=30), []
    for seed in range(40):
        others = rng.normal(size=(60, 2))
        target = read_target(0.3 * others[:, 0] + rng.normal(size=60))
        own, *copies, context = columns_of(*rng.normal(size=(3, 60)), others)
        averages = power.average_out(context, [own, *copies], target, np.random.SeedSequence(seed))
        compared = compare_averages("r2", averages, target)
        found.append(compared.score_with - compared.score_without)
    assert abs(np.mean(found)) < 3.0 * np.std(found) / np.sqrt(40)


def test_the_gain_is_the_difference_of_scores_for_the_best_predictions():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 20_000))
    target = Target("regression", x + z + rng.normal(size=20_000))
    with_, without = Predictions(x + z), Predictions(z)
    difference = score_predictions("r2", with_, target) - score_predictions("r2", without, target)
    assert quadratic_gain(with_, without, target) == pytest.approx(difference, abs=0.02)
    assert difference == pytest.approx(1.0 / 3.0, abs=0.02)


def test_statistics_keep_the_order_and_signs_of_gains():
    x, others, y = make_table()
    target = read_target(y)
    rng = np.random.default_rng(2)
    own, *copies, context = columns_of(x, *rng.normal(size=(6, 300)), others)
    averages = umfi.ForestPower().average_out(context, [own, *copies], target, SEED)
    gains = [quadratic_gain(averages.known, averages.without(place), target) for place in range(7)]
    found = averages.statistics(target)
    assert np.argsort(found).tolist() == np.argsort(gains).tolist()
    np.testing.assert_array_equal(np.sign(found), np.sign(gains))
    assert np.ptp(np.sign(gains)) == 2.0


def test_standard_errors_hold_what_removal_varies():
    # y = z + 0.3 x + noise: removal leaves z without its chance correlation with x, which x then
    # explains, so that the importance varies as the squared correlation of x with all of y does.
    rng, rows = np.random.default_rng(0), []
    for seed in range(200):
        x, z, noise = rng.normal(size=(3, 250))
        frame = pd.DataFrame({"x": x, "z": z})
        result = umfi.ultra_marginal(
            frame, z + 0.3 * x + 0.3 * noise, power="linear", random_state=seed, progress=False
        )
        rows.append(result.scores.set_index("feature").loc["x"])
    found = pd.DataFrame(rows)
    assert found["importance"].std() / found["standard_error"].mean() == pytest.approx(1.0, abs=0.2)


def test_classes_and_numbers_have_the_same_removal_influences():
    # Two classes coded as numbers: the indicators are the numbers and their complements.
    rng = np.random.default_rng(0)
    labels = rng.random(100) < 0.4
    known, unknown = rng.random((2, 100))
    numbers = Target("regression", labels.astype(float))
    classes = Target("classification", labels.astype(float), ("no", "yes"))
    of_numbers = removal_influences("r2", Predictions(known), Predictions(unknown), numbers)
    pairs = (Predictions(np.column_stack([1.0 - one, one])) for one in (known, unknown))
    of_classes = removal_influences("r2", *pairs, classes)
    # The variances have n - 1 and n in their denominators.
    np.testing.assert_allclose(of_classes * 99.0 / 100.0, of_numbers)
    gap = Predictions(np.where(np.arange(100) == 3, np.nan, known))
    assert np.flatnonzero(np.isnan(removal_influences("r2", gap, gap, numbers))).tolist() == [3]


def test_classifiers_without_probabilities_are_scored_by_their_classes():
    from sklearn.svm import LinearSVC

    x, others, y = make_table()
    target = read_target(np.where(y > 0.0, "high", "low"))
    own, context = columns_of(x, others)
    hard = umfi.EstimatorPower(LinearSVC())
    averages = hard.average_out(context, [own], target, SEED)
    assert set(np.unique(averages.known.values)) == {0.0, 1.0}
    soft = umfi.EstimatorPower(LogisticRegression())
    assert hard.score(context, target, SEED) < soft.score(context, target, SEED)
