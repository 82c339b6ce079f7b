"""What scores are: R², accuracy and others, of predictions of rows that were not fitted.

All are larger where more is known. Each has a value for knowing nothing, and each is, nearly or in
full, a mean over rows: what a single row contributes is its influence, from which standard errors
are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.target import Target, Task
from umfi.errors import InputError, unknown_name

__all__ = [
    "MEASURES",
    "Predictions",
    "Scores",
    "check_measure",
    "class_rates",
    "find_measure",
    "indicators_of",
    "measures_of",
    "needs_probabilities",
    "score_nothing",
    "score_predictions",
    "score_rows",
]

# An R² of 1 would be endless information: counted no further than this.
SMALLEST_REST = 1e-12
# To a millionth.
N_HALVINGS = 20


class Predictions(NamedTuple):
    """What is predicted of each row by fits that have not seen it.

    Attributes
    ----------
    values : ndarray, shape (n_rows,) for predicted responses, or (n_rows, n_classes) for
        probabilities, such as proportions of votes; NaN where nothing is predicted. Codes of
        classes, shape (n_rows,), are enough for measures that need no probabilities.
    n_votes : ndarray, shape (n_rows,), or float
        How many votes or fitted rows probabilities rest on: few that agree are not certain.
    """

    values: NDArray[np.float64]
    n_votes: NDArray[np.float64] | float = np.inf

    def is_given(self) -> NDArray[np.bool_]:
        """Return a mask, shape (n_rows,): rows that have a prediction."""
        return ~np.isnan(self.values if self.values.ndim == 1 else self.values[:, 0])

    def take_rows(self, rows: NDArray[np.intp]) -> Predictions:
        """Return the predictions of these rows."""
        n_votes = self.n_votes if np.ndim(self.n_votes) == 0 else np.asarray(self.n_votes)[rows]
        return Predictions(self.values[rows], n_votes)


class Scores(NamedTuple):
    """A score and what each row contributes to it.

    To first order the score moves by a row's influence, less the mean influence, divided by the
    number of rows, when the row counts once more.
    """

    score: float
    influences: NDArray[np.float64]


class Measure(NamedTuple):
    """A way to score predictions.

    It scores predictions without gaps, given the response of their rows and all of the response, or
    knowing nothing but how a response is distributed.
    """

    label: str
    of_predictions: Callable[[Predictions, Target, Target], Scores]
    of_nothing: Callable[[Target], float]
    needs_probabilities: bool = False


def _mean_of(influences: NDArray[np.float64]) -> Scores:
    return Scores(float(np.mean(influences)), influences)


def indicators_of(target: Target) -> NDArray[np.float64]:
    """Return the indicators of the classes, shape (n_rows, n_classes)."""
    return np.eye(len(target.classes))[target.labels]


def _r2(predictions: Predictions, target: Target, whole: Target) -> Scores:
    """1 - mean squared error / variance, the variance with n - 1 in the denominator as in R."""
    # In units of the largest deviation, whose square cannot under- or overflow.
    errors = (predictions.values - target.values) / whole.largest_deviation
    variance = whole.standardised_variance
    if variance == 0.0:  # A subsample may miss all variation.
        return _mean_of(np.zeros(target.n_rows))
    return _explained(errors**2, whole.standardise(target.values) ** 2, variance)


def _class_r2(predictions: Predictions, target: Target, whole: Target) -> Scores:
    """R² of the indicators of all classes: 1 - quadratic loss / that of the class rates."""
    rates, truth = class_rates(whole), indicators_of(target)
    variance = 1.0 - float(np.sum(rates**2))
    if variance == 0.0:
        return _mean_of(np.zeros(target.n_rows))
    values = predictions.values
    probabilities = values if values.ndim == 2 else np.eye(len(rates))[values.astype(np.int64)]
    losses = np.sum((probabilities - truth) ** 2, axis=1)
    return _explained(losses, np.sum((truth - rates) ** 2, axis=1), variance)


def _explained(
    losses: NDArray[np.float64], losses_of_nothing: NDArray[np.float64], variance: float
) -> Scores:
    """Return 1 - mean loss / variance; both are estimated, so both have an influence."""
    unexplained = float(np.mean(losses)) / variance
    influences = (unexplained * losses_of_nothing - losses) / variance
    return Scores(1.0 - unexplained, influences)


def _information_of_r2(scores: Scores) -> Scores:
    rest = max(1.0 - scores.score, SMALLEST_REST)
    return Scores(-0.5 * float(np.log(rest)), 0.5 * scores.influences / rest)


def _explained_information(predictions: Predictions, target: Target, whole: Target) -> Scores:
    """-½ log(1 - R²): the information in Gaussian predictions (section A.3)."""
    return _information_of_r2(_r2(predictions, target, whole))


def _is_right(predictions: Predictions, target: Target) -> NDArray[np.float64]:
    """Return for each row the chance that the class with most votes, drawn among equals, is right.

    An expectation instead of a draw, so that no class is favoured and nothing is left to chance.
    """
    if predictions.values.ndim == 1:
        return (predictions.values == target.values).astype(np.float64)
    is_largest = predictions.values == predictions.values.max(axis=1, keepdims=True)
    own = is_largest[np.arange(target.n_rows), target.labels]
    return own / is_largest.sum(axis=1)


def _accuracy(predictions: Predictions, target: Target, _: Target) -> Scores:
    return _mean_of(_is_right(predictions, target))


def _balanced_accuracy(predictions: Predictions, target: Target, _: Target) -> Scores:
    is_right = _is_right(predictions, target)
    counts = np.bincount(target.labels)
    right = np.bincount(target.labels, weights=is_right)
    is_there = counts > 0
    rates = np.divide(right, counts, out=np.zeros(len(counts)), where=is_there)
    weights = target.n_rows / (is_there.sum() * np.maximum(counts, 1))
    influences = weights[target.labels] * (is_right - rates[target.labels])
    return Scores(float(np.mean(rates[is_there])), influences)


def _auc(predictions: Predictions, target: Target, _: Target) -> Scores:
    """Mean over classes of the chance that it is more probable for a row of the class than another.

    The influence of a row is the proportion of pairs that it is right in (DeLong, DeLong and
    Clarke-Pearson 1988).
    """
    from scipy import stats

    areas, influences = [], np.zeros(target.n_rows)
    labels = np.unique(target.labels)
    if len(labels) == 1:
        return Scores(0.5, influences)
    for label in labels:
        is_of_class = target.labels == label
        n_of_class, n_others = is_of_class.sum(), (~is_of_class).sum()
        values = predictions.values[:, label]
        ranks = stats.rankdata(values)
        # How many rows of the other kind a row stands above, ties counting half.
        n_above = np.where(
            is_of_class,
            ranks - _ranks_within(values, is_of_class),
            n_of_class - (ranks - _ranks_within(values, ~is_of_class)),
        )
        right = n_above / np.where(is_of_class, n_others, n_of_class)
        area = float(right[is_of_class].mean())
        areas.append(area)
        sizes = np.where(is_of_class, n_of_class, n_others)
        influences += (right - area) * target.n_rows / sizes
    return Scores(float(np.mean(areas)), influences / len(labels))


def _ranks_within(values: NDArray[np.float64], is_chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the ranks of the chosen values among themselves, 0 for others."""
    from scipy import stats

    ranks = np.zeros(len(values))
    ranks[is_chosen] = stats.rankdata(values[is_chosen])
    return ranks


def _log_loss(predictions: Predictions, target: Target, whole: Target) -> Scores:
    """Mean log-likelihood of the true class.

    The class rates count as one vote more, because a few votes that agree are not certain, and the
    logarithm of 0 is endless.
    """
    weights = np.broadcast_to(1.0 / (1.0 + np.asarray(predictions.n_votes)), target.n_rows)
    own = predictions.values[np.arange(target.n_rows), target.labels]
    likelihood = (1.0 - weights) * own + weights * class_rates(whole)[target.labels]
    return _mean_of(np.log(likelihood))


def _brier(predictions: Predictions, target: Target, _: Target) -> Scores:
    """1 - mean squared distance of the probabilities from the true class (Brier 1950).

    It uses what a vote throws away, the size of the majority.
    """
    return _mean_of(1.0 - np.sum((predictions.values - indicators_of(target)) ** 2, axis=1))


def class_rates(target: Target) -> NDArray[np.float64]:
    """Return how common each class is, shape (n_classes,)."""
    return np.bincount(target.labels, minlength=len(target.classes)) / target.n_rows


def _negative_entropy(target: Target) -> float:
    rates = class_rates(target)
    return float(np.sum(rates[rates > 0] * np.log(rates[rates > 0])))


def _class_information(predictions: Predictions, target: Target, whole: Target) -> Scores:
    """Entropy of the classes minus their cross-entropy.

    Votes of trees are too certain: where all leaves agree on the commonest class, all trees do. So
    they are shrunken towards the class rates, as far as predicts best. The one weight that is
    fitted adds about 1 / (2 n) nats.
    """
    own = predictions.values[np.arange(target.n_rows), target.labels]
    own_rate = class_rates(whole)[target.labels]
    likelihood = own + _best_weight(own, own_rate) * (own_rate - own)
    score = float(np.mean(np.log(likelihood))) - _negative_entropy(whole)
    return Scores(score, np.log(likelihood / own_rate))


def _best_weight(probabilities: NDArray[np.float64], rates: NDArray[np.float64]) -> float:
    """Return the weight of the class rates, 0 to 1, with the largest likelihood."""
    gains = rates - probabilities

    def slope(weight: float) -> float:
        return float(np.mean(gains / (probabilities + weight * gains)))

    if slope(1.0) >= 0.0:
        return 1.0
    if probabilities.min() > 0.0 and slope(0.0) <= 0.0:
        return 0.0
    # The likelihood is concave in the weight, so its slope falls from one end to the other.
    low, high = 0.0, 1.0
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return high


MEASURES: dict[Task, dict[str, Measure]] = {
    "regression": {
        "r2": Measure("R²", _r2, lambda _: 0.0),
        "information": Measure("nats", _explained_information, lambda _: 0.0),
    },
    "classification": {
        "r2": Measure("R²", _class_r2, lambda _: 0.0),
        "accuracy": Measure("accuracy", _accuracy, lambda target: target.chance_level()),
        "balanced_accuracy": Measure(
            "balanced accuracy",
            _balanced_accuracy,
            lambda target: 1.0 / len(np.unique(target.labels)),
        ),
        "auc": Measure("AUC", _auc, lambda _: 0.5, True),
        "log_loss": Measure("log-likelihood", _log_loss, _negative_entropy, True),
        "brier": Measure(
            "quadratic score", _brier, lambda target: float(np.sum(class_rates(target) ** 2)), True
        ),
        "information": Measure("nats", _class_information, lambda _: 0.0, True),
    },
}
# What is measured unless something else is asked for.
DEFAULT_MEASURE = "r2"


def check_measure(measure: str | None) -> None:
    """Raise if this is no measure of any task."""
    names = dict.fromkeys(name for measures in MEASURES.values() for name in measures)
    if measure is not None and not (isinstance(measure, str) and measure in names):
        raise unknown_name("measure", measure, names)


def find_measure(measure: str | None, task: Task) -> str:
    """Return the measure, the task's own if none is asked for, or raise if the task has it not."""
    if measure is None:
        return DEFAULT_MEASURE
    if measure not in MEASURES[task]:
        raise InputError(
            f"measure={measure!r} does not score a {task}: choose one of "
            f"{', '.join(map(repr, MEASURES[task]))}, or set task=."
        )
    return measure


def measures_of(measure: str | None) -> dict[str, str]:
    """Return what the scores are in words, for each task that has the measure."""
    return {
        task: measures[measure or DEFAULT_MEASURE].label
        for task, measures in MEASURES.items()
        if measure is None or measure in measures
    }


def needs_probabilities(measure: str, task: Task) -> bool:
    """Return whether the measure looks at probabilities of classes."""
    return MEASURES[task][measure].needs_probabilities


def score_nothing(measure: str, target: Target) -> float:
    """Return the score of knowing nothing but how the response is distributed."""
    return MEASURES[target.task][measure].of_nothing(target)


def score_predictions(measure: str, predictions: Predictions, target: Target) -> float:
    """Return the score of the rows that have a prediction; larger is better, never floored."""
    return score_rows(measure, predictions, target).score


def score_rows(measure: str, predictions: Predictions, target: Target) -> Scores:
    """Return the score, and the influence of each row, NaN where it has no prediction."""
    of_predictions = MEASURES[target.task][measure].of_predictions
    rows = np.flatnonzero(predictions.is_given())
    if len(rows) == target.n_rows:
        return of_predictions(predictions, target, target)
    if len(rows) == 0:
        raise InputError("No row was ever out of bag: grow more trees.")
    given = of_predictions(predictions.take_rows(rows), target.take_rows(rows), target)
    influences = np.full(target.n_rows, np.nan)
    influences[rows] = given.influences
    return Scores(given.score, influences)
