"""Measures equal scikit-learn's metrics, and information equals its definition."""

import numpy as np
import pytest
from sklearn import metrics

import umfi
from umfi.data.target import Target
from umfi.power.measures import MEASURES, Predictions, score_nothing, score_predictions, score_rows


@pytest.fixture(scope="module", params=[2, 4])
def predicted(request):
    n_classes = request.param
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(0, n_classes, 300)
    probabilities = rng.dirichlet(np.ones(n_classes), 300)
    probabilities[np.arange(300), labels] += 0.5
    probabilities = np.round(
        probabilities / probabilities.sum(axis=1, keepdims=True), 2
    )  # With ties, as votes have.
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    names = tuple("abcd"[:n_classes])
    return probabilities, Target("classification", labels.astype(float), names)


def test_classes_are_scored_as_by_scikit_learn(predicted):
    probabilities, target = predicted
    labels = target.labels
    votes = Predictions(probabilities.argmax(axis=1).astype(float))
    assert score_predictions("accuracy", votes, target) == pytest.approx(
        metrics.accuracy_score(labels, votes.values)
    )
    assert score_predictions("balanced_accuracy", votes, target) == pytest.approx(
        metrics.balanced_accuracy_score(labels, votes.values)
    )
    several = probabilities if len(target.classes) > 2 else probabilities[:, 1]
    assert score_predictions("auc", Predictions(probabilities), target) == pytest.approx(
        metrics.roc_auc_score(labels, several, multi_class="ovr", average="macro")
    )
    assert score_predictions("log_loss", Predictions(probabilities), target) == pytest.approx(
        -metrics.log_loss(labels, probabilities)
    )
    truth = np.eye(len(target.classes))[labels]
    assert score_predictions("brier", Predictions(probabilities), target) == pytest.approx(
        1.0 - np.mean(np.sum((probabilities - truth) ** 2, axis=1))
    )


def test_information_is_entropy_less_cross_entropy_at_the_best_weight(predicted):
    probabilities, target = predicted
    probabilities = probabilities.copy()
    probabilities[:100] = np.roll(
        probabilities[:100], 1, axis=1
    )  # More certain than they are right.
    rates = np.bincount(target.labels) / target.n_rows
    entropy = -np.sum(rates * np.log(rates))
    losses = [
        metrics.log_loss(target.labels, (1.0 - weight) * probabilities + weight * rates)
        for weight in np.linspace(0.001, 0.999, 999)
    ]
    found = score_predictions("information", Predictions(probabilities), target)
    assert found == pytest.approx(entropy - min(losses), abs=1e-5)
    assert found > entropy - metrics.log_loss(target.labels, probabilities)


def test_information_of_certain_predictions_is_all_or_nothing(predicted):
    _, target = predicted
    truth = np.eye(len(target.classes))[target.labels]
    entropy = -np.sum((rates := truth.mean(axis=0)) * np.log(rates))
    assert score_predictions("information", Predictions(truth), target) == pytest.approx(entropy)
    wrong = np.roll(truth, 1, axis=1)
    assert score_predictions("information", Predictions(wrong), target) == pytest.approx(0.0)


def test_votes_that_all_agree_say_what_they_say_and_no_less():
    # Two of three rows are of the class that all votes name: as much as chance.
    labels = np.tile([0.0, 0.0, 1.0], 40)
    target = Target("classification", labels, ("a", "b"))
    votes = np.tile([1.0, 0.0], (120, 1))
    assert score_predictions("information", Predictions(votes), target) == pytest.approx(0.0)


def test_certain_and_wrong_predictions_cost_as_much_as_one_more_vote_allows(predicted):
    _, target = predicted
    wrong = np.roll(np.eye(len(target.classes))[target.labels], 1, axis=1)
    rates = np.bincount(target.labels) / target.n_rows
    expected = np.mean(np.log(rates[target.labels] / 38.0))
    assert score_predictions("log_loss", Predictions(wrong, 37.0), target) == pytest.approx(
        expected
    )


def test_knowing_nothing_scores_as_predictions_that_say_nothing_do(predicted):
    _, target = predicted
    rates = np.bincount(target.labels) / target.n_rows
    probabilities = np.tile(rates, (target.n_rows, 1))
    majority = np.full(target.n_rows, float(rates.argmax()))
    for name in MEASURES["classification"]:
        is_vote = name in ("accuracy", "balanced_accuracy")
        predictions = Predictions(majority if is_vote else probabilities)
        found = score_predictions(name, predictions, target)
        assert found == pytest.approx(score_nothing(name, target)), name


def test_rows_without_a_prediction_are_left_out(predicted):
    probabilities, target = predicted
    gaps = probabilities.copy()
    gaps[:100] = np.nan
    rest = target.take_rows(np.arange(100, 300))
    expected = score_predictions("brier", Predictions(probabilities[100:]), rest)
    assert score_predictions("brier", Predictions(gaps, np.full(300, 9.0)), target) == expected


def test_a_subsample_of_one_class_has_an_auc_of_a_half():
    target = Target("classification", np.zeros(20), ("a", "b"))
    assert score_predictions("auc", Predictions(np.full((20, 2), 0.5)), target) == 0.5


def test_information_of_a_perfect_fit_is_large_and_finite():
    target = Target("regression", np.arange(20.0))
    information = score_predictions("information", Predictions(np.arange(20.0)), target)
    assert information == pytest.approx(-0.5 * np.log(1e-12))


@pytest.mark.parametrize(
    ("measure", "least"),
    [
        ("accuracy", 0.85),
        ("balanced_accuracy", 0.8),
        ("auc", 0.9),
        ("log_loss", -0.4),
        ("brier", 0.75),
        ("information", 0.2),
    ],
)
def test_forests_are_scored_by_any_measure_and_say_so(measure, least):
    X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    labels = np.where(y > y.quantile(0.7), "high", "low")
    power = umfi.ForestPower(measure=measure)
    assert umfi.predictive_power(X, labels, power=power, random_state=0) > least
    result = umfi.ultra_marginal(X, labels, power=power, random_state=0)
    assert result.settings["measure"] == power.measures["classification"]
    assert result.importances["x2"] > 3.0 * abs(result.importances["x4"])


@pytest.mark.parametrize("measure", MEASURES["classification"])
def test_influences_say_how_scores_of_classes_move(measure, predicted):
    probabilities, target = predicted
    assert_influences(measure, probabilities, target)


@pytest.mark.parametrize("measure", MEASURES["regression"])
def test_influences_say_how_scores_of_numbers_move(measure):
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    assert_influences(measure, y + rng.normal(size=300), Target("regression", y))


def assert_influences(measure, values, target):
    """Compare with what leaving out a tenth of the rows does: ten parts, to first order."""
    whole = score_rows(measure, Predictions(values, 50.0), target)
    influences = whole.influences - whole.influences.mean()
    parts = np.array_split(np.random.default_rng(1).permutation(target.n_rows), 10)
    moves, expected = [], []
    for part in parts:
        rest = np.setdiff1d(np.arange(target.n_rows), part)
        moved = score_predictions(measure, Predictions(values[rest], 50.0), target.take_rows(rest))
        moves.append(moved - whole.score)
        expected.append(-influences[part].sum() / len(rest))
    # What is of second order, a tenth of the rows changing what the others count for, is left.
    np.testing.assert_allclose(moves, expected, atol=0.15 * np.abs(moves).max())
