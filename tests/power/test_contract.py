"""What every power promises, whatever it measures."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import umfi
from umfi.data.contracts import PredictivePower, measure_of
from umfi.data.frames import read_columns
from umfi.data.target import read_target
from umfi.power import POWERS, find_power

N_ROWS = 240
# The most that a power can say of these tables: R², accuracy, T and zeta are at most 1, and
# information is at most the entropy of the classes; of a noiseless number it has no bound.
MOST = {"nats": np.log(3.0), "R²": 1.0, "accuracy": 1.0, "T": 1.0, "ζ₁": 1.0}
# Scores of a column that says nothing, beside nothing: a forest of a single column of noise falls
# far below; T and information vary by a tenth in 240 rows; ζ₁ of 240 rows lies around 0.25.
ALMOST_NOTHING = {
    "forest": (-0.6, 0.05),
    "extra-trees": (-0.4, 0.05),
    "boosting": (-0.4, 0.05),
    "linear": (-0.05, 0.05),
    "foci": (-0.3, 0.3),
    "knn": (-0.2, 0.2),
    "neural-network": (-0.3, 0.1),
    "qmd": (0.0, 0.4),
}
# These never try a copy more often than one column.
BLIND_TO_COPIES = ("linear", "foci", "knn", "qmd")


@pytest.fixture(scope="module", params=["regression", "classification"])
def data(request):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=["signal", "more", "noise"])
    y = 2.0 * X["signal"] + X["more"] + 0.3 * rng.normal(size=N_ROWS)
    if request.param == "classification":
        y = pd.Series(np.select([y < -1.0, y > 1.0], ["low", "high"], "middle"), name="y")
    return X, y


def score(power, X, y, seed=0):
    columns, target = read_columns(X), read_target(y)
    return find_power(power, target.task).score(columns, target, np.random.SeedSequence(seed))


@pytest.mark.parametrize("power", POWERS)
class TestEveryPower:
    def test_is_a_power_and_says_what_it_measures(self, power, data):
        task = read_target(data[1]).task
        made = find_power(power, task)
        assert isinstance(made, PredictivePower)
        assert measure_of(made, task) in MOST

    def test_tells_signal_from_noise_within_bounds(self, power, data):
        X, y = data
        task = read_target(y).task
        whole, noise = score(power, X[["signal", "more"]], y), score(power, X[["noise"]], y)
        assert whole > noise + 0.2
        if task == "classification" or measure_of(find_power(power, task), task) != "nats":
            assert whole <= MOST[measure_of(find_power(power, task), task)]

    def test_noise_scores_about_what_nothing_does(self, power, data):
        X, y = data
        nothing = self._of_nothing(power, X, y)
        low, high = ALMOST_NOTHING[power]
        assert low < score(power, X[["noise"]], y) - nothing < high

    def _of_nothing(self, power, X, y):
        columns, target = read_columns(X).select([]), read_target(y)
        found = find_power(power, target.task).score(columns, target, np.random.SeedSequence(0))
        measure = measure_of(find_power(power, target.task), target.task)
        rate = y.value_counts(normalize=True).iloc[0]
        assert found == pytest.approx(rate if measure == "accuracy" else 0.0)
        return found

    def test_depends_on_the_seed_and_nothing_else(self, power, data):
        X, y = data
        before = X.copy()
        assert score(power, X, y, seed=1) == score(power, X, y, seed=1)
        score(power, X, y, seed=2)
        assert score(power, X, y, seed=1) == score(power, X, y, seed=1)
        pd.testing.assert_frame_equal(X, before)

    def test_constant_columns_alone_say_nothing(self, power, data):
        X, y = data
        target = read_target(y)
        constant = read_columns(X).with_changed(np.ones((N_ROWS, 3)))
        made = find_power(power, target.task)
        found = made.score(constant, target, np.random.SeedSequence(0))
        # Folds and bags differ a little in how common classes are.
        nothing = made.score(constant.select([]), target, np.random.SeedSequence(0))
        assert found == pytest.approx(nothing, abs=0.1)

    def test_copies_of_columns_add_nothing(self, power, data):
        X, y = data
        copied = X[["signal", "noise"]].assign(copy=X["signal"])
        single = score(power, X[["signal", "noise"]], y)
        # Others may try a copy more often: a few hundredths.
        tolerance = 1e-9 if power in BLIND_TO_COPIES else 0.1
        assert score(power, copied, y) == pytest.approx(single, abs=tolerance)

    def test_units_do_not_matter(self, power, data):
        X, y = data
        scaled = X[["signal", "more"]] * [1e6, 1e-6]
        expected = score(power, X[["signal", "more"]], y)
        assert score(power, scaled, y) == pytest.approx(expected, abs=0.03)
        if read_target(y).task == "regression":
            other_unit = 1e-3 * y + 1e3
            found = score(power, X[["signal", "more"]], other_unit)
            assert found == pytest.approx(expected, abs=0.03)

    def test_works_in_every_method_that_takes_powers(self, power, data):
        X, y = data
        result = umfi.ultra_marginal(X, y, power=power, random_state=0)
        assert result.table["feature"][0] == "signal"
        again = umfi.ultra_marginal(X, y, power=power, random_state=0, n_jobs=1)
        assert (again.importances == result.importances).all()

    def test_takes_categories(self, power, data):
        X, y = data
        soil = np.select([X["signal"] < -0.4, X["signal"] > 0.4], ["clay", "sand"], "silt")
        found = score(power, pd.DataFrame({"soil": soil}), y)
        noise = score(power, pd.DataFrame({"soil": np.random.default_rng(1).permutation(soil)}), y)
        assert found > noise + 0.1


@pytest.mark.parametrize(
    ("module", "names", "settings"),
    [
        ("lightgbm", ("LGBMRegressor", "LGBMClassifier"), {"verbose": -1}),
        ("xgboost", ("XGBRegressor", "XGBClassifier"), {}),
    ],
)
def test_lightgbm_and_xgboost_come_in_by_the_estimator_door(data, module, names, settings):
    try:
        loaded = import_module(module)
    except (ImportError, OSError) as error:  # OSError where the system has no OpenMP.
        pytest.skip(f"{module} cannot be loaded: {error}")
    X, y = data
    name = names[read_target(y).task == "classification"]
    model = getattr(loaded, name)(n_estimators=30, n_jobs=1, **settings)
    assert score(model, X, y) > score(model, X[["noise"]], y) + 0.2
    assert score(model, X, y, seed=1) == score(model, X, y, seed=1)


class WantsCodes(LogisticRegression):
    """A classifier that wants classes 0, 1, ... without gaps, as XGBoost does."""

    def fit(self, X, y):
        assert np.array_equal(np.unique(y), np.arange(len(np.unique(y))))
        return super().fit(X, y)


def test_classes_that_a_subsample_lacks_leave_no_gap():
    X, _ = umfi.datasets.simulate("correlation", n=60, random_state=0)
    y = np.repeat(["a", "b", "c"], [29, 2, 29])
    for measure in (None, "brier"):
        power = umfi.EstimatorPower(WantsCodes(), measure=measure)
        result = umfi.ablation(X, y, power=power, subsample=0.4, repeats=4, random_state=0)
        assert np.isfinite(result.importances).all()


def test_powers_that_do_not_know_a_task_are_refused():
    class OnlyNumbers:
        measures = {"regression": "mine"}  # noqa: RUF012
        measure = "mine"  # Its own word, whatever others measure.

        def score(self, columns, target, seed):
            return 0.0

    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    assert umfi.predictive_power(X, y, power=OnlyNumbers()) == 0.0
    with pytest.raises(umfi.InputError, match="does not say what it measures in a classification"):
        umfi.predictive_power(X, y > 0, power=OnlyNumbers())


def test_permutation_methods_refuse_measures_they_do_not_have():
    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    power = umfi.ForestPower(measure="auc")
    with pytest.raises(umfi.InputError, match="scores tree by tree"):
        umfi.permutation(X, y > 0, power=power)


def test_unknown_powers_name_the_nearest():
    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    with pytest.raises(umfi.InputError, match="did you mean 'boosting'"):
        umfi.predictive_power(X, y, power="bosting")


def test_measures_of_classes_are_refused_for_numbers():
    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    wrong, task = "auc", "regression"
    for power in (
        umfi.ForestPower(measure=wrong),
        umfi.LinearPower(measure=wrong),
    ):
        with pytest.raises(umfi.InputError, match=f"measure='{wrong}' does not score a {task}"):
            umfi.ultra_marginal(X, y, power=power)


def test_measures_that_need_probabilities_are_refused_without(data):
    from sklearn.svm import LinearSVC

    X, y = data
    if read_target(y).task == "classification":
        power = umfi.EstimatorPower(LinearSVC(), measure="log_loss")
        with pytest.raises(umfi.InputError, match="needs probabilities, which LinearSVC does not"):
            umfi.predictive_power(X, y, power=power)
    else:
        information = umfi.EstimatorPower(
            RandomForestRegressor(n_estimators=20), measure="information"
        )
        assert umfi.predictive_power(X, y, power=information) > 0.5
