"""What scores are: R², accuracy and others, of answers about rows that were not fitted.

All are larger where more is known. Each has a value for knowing nothing, and information also has a
unit: nats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError, unknown_name
from umfi.target import Target, Task

__all__ = [
    "MEASURES",
    "STATISTICS",
    "Answers",
    "check_measure",
    "class_rates",
    "find_measure",
    "measures_of",
    "needs_shares",
    "score_answers",
    "score_nothing",
]

# An R² of 1 would be endless information: told no further than this.
SMALLEST_REST = 1e-12
# To a millionth.
N_HALVINGS = 20


class Answers(NamedTuple):
    """What is said about each row by fits that have not seen it.

    Attributes
    ----------
    values : ndarray, shape (n_rows,) for predicted responses or codes of classes, or
        (n_rows, n_classes) for shares of votes or probabilities, where a measure needs these; NaN
        where nothing is said.
    n_voices : ndarray, shape (n_rows,), or float
        How many votes or fitted rows shares rest on: few that agree are not certain.
    """

    values: NDArray[np.float64]
    n_voices: NDArray[np.float64] | float = np.inf


class Measure(NamedTuple):
    """A way to score answers.

    Attributes
    ----------
    label : str
        What the score is, in a word.
    of_answers : callable
        From answers without gaps and the response of the same rows, both of all rows that were
        answered, and all of the response to a score.
    of_nothing : callable
        From a response to the score of knowing nothing but how it is distributed.
    needs_shares : bool
    """

    label: str
    of_answers: Callable[[Answers, Target, Target], float]
    of_nothing: Callable[[Target], float]
    needs_shares: bool = False


def _r2(answers: Answers, target: Target, whole: Target) -> float:
    """1 - mean squared error / var(y), the variance with n - 1 in the denominator as in R."""
    # In units of the largest deviation, whose square cannot under- or overflow.
    errors = (answers.values - target.values) / whole.largest_deviation
    if whole.standardised_variance == 0.0:  # A subsample may miss all variation.
        return 0.0
    return float(1.0 - np.mean(errors**2) / whole.standardised_variance)


def _explained_information(answers: Answers, target: Target, whole: Target) -> float:
    """-½ log(1 - R²): the information in Gaussian answers (section A.3)."""
    return -0.5 * float(np.log(max(1.0 - _r2(answers, target, whole), SMALLEST_REST)))


def _accuracy(answers: Answers, target: Target, _: Target) -> float:
    return float(np.mean(answers.values == target.values))


def _balanced_accuracy(answers: Answers, target: Target, _: Target) -> float:
    is_right = answers.values == target.values
    counts = np.bincount(target.labels)
    right = np.bincount(target.labels, weights=is_right)
    return float(np.mean(right[counts > 0] / counts[counts > 0]))


def _auc(answers: Answers, target: Target, _: Target) -> float:
    """Mean over classes of the chance that a row of the class has a larger share than another."""
    from scipy import stats

    areas = []
    for label in np.unique(target.labels):
        is_of_class = target.labels == label
        n_of_class, n_others = is_of_class.sum(), (~is_of_class).sum()
        if n_others == 0:
            return 0.5
        ranks = stats.rankdata(answers.values[:, label])
        n_above = ranks[is_of_class].sum() - n_of_class * (n_of_class + 1) / 2.0
        areas.append(n_above / (n_of_class * n_others))
    return float(np.mean(areas))


def _log_loss(answers: Answers, target: Target, whole: Target) -> float:
    """Mean log-likelihood of the true class.

    How common the classes are counts as one voice more, because a few votes that agree are not
    certain, and the logarithm of a share of 0 is endless.
    """
    weights = np.broadcast_to(1.0 / (1.0 + np.asarray(answers.n_voices)), target.n_rows)
    own_share = answers.values[np.arange(target.n_rows), target.labels]
    likelihood = (1.0 - weights) * own_share + weights * class_rates(whole)[target.labels]
    return float(np.mean(np.log(likelihood)))


def _brier(answers: Answers, target: Target, _: Target) -> float:
    """1 - mean squared distance of the shares from the true class (Brier 1950).

    It uses what a vote throws away, the size of the majority.
    """
    errors = answers.values.copy()
    errors[np.arange(target.n_rows), target.labels] -= 1.0
    return float(1.0 - np.mean(np.sum(errors**2, axis=1)))


def class_rates(target: Target) -> NDArray[np.float64]:
    """Return how common each class is, shape (n_classes,)."""
    return np.bincount(target.labels, minlength=len(target.classes)) / target.n_rows


def _negative_entropy(target: Target) -> float:
    rates = class_rates(target)
    return float(np.sum(rates[rates > 0] * np.log(rates[rates > 0])))


def _class_information(answers: Answers, target: Target, whole: Target) -> float:
    """Entropy of the classes minus their cross-entropy.

    Votes of trees are not probabilities: where all leaves agree on the commonest class, all trees
    do. So shares are drawn towards how common the classes are, as far as predicts best. The one
    weight that is fitted adds about 1 / (2 n) nats.
    """
    own_share = answers.values[np.arange(target.n_rows), target.labels]
    own_rate = class_rates(whole)[target.labels]
    likelihood = own_share + _best_weight(own_share, own_rate) * (own_rate - own_share)
    return float(np.mean(np.log(likelihood))) - _negative_entropy(whole)


def _best_weight(shares: NDArray[np.float64], rates: NDArray[np.float64]) -> float:
    """Return the weight of the rates beside the shares, 0 to 1, with the largest likelihood."""
    gains = rates - shares

    def slope(weight: float) -> float:
        return float(np.mean(gains / (shares + weight * gains)))

    if slope(1.0) >= 0.0:
        return 1.0
    if shares.min() > 0.0 and slope(0.0) <= 0.0:
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
        "accuracy": Measure("accuracy", _accuracy, lambda target: target.chance_level()),
        "balanced_accuracy": Measure(
            "balanced accuracy",
            _balanced_accuracy,
            lambda target: 1.0 / len(np.unique(target.labels)),
        ),
        "auc": Measure("AUC", _auc, lambda _: 0.5, needs_shares=True),
        "log_loss": Measure("log-likelihood", _log_loss, _negative_entropy, needs_shares=True),
        "brier": Measure(
            "quadratic score",
            _brier,
            lambda target: float(np.sum(class_rates(target) ** 2)),
            needs_shares=True,
        ),
        "information": Measure("nats", _class_information, lambda _: 0.0, needs_shares=True),
    },
}
# What is measured unless something else is asked for, and what a test compares: shares say more
# about a fit than votes do.
DEFAULTS: dict[Task, str] = {"regression": "r2", "classification": "accuracy"}
STATISTICS: dict[Task, str] = {"regression": "r2", "classification": "brier"}


def check_measure(measure: str | None) -> None:
    """Raise if this is no measure of any task."""
    names = dict.fromkeys(name for measures in MEASURES.values() for name in measures)
    if measure is not None and not (isinstance(measure, str) and measure in names):
        raise unknown_name("measure", measure, names)


def find_measure(measure: str | None, task: Task) -> str:
    """Return the measure, the task's own if none is asked for, or raise if the task has it not."""
    if measure is None:
        return DEFAULTS[task]
    if measure not in MEASURES[task]:
        raise InputError(
            f"measure={measure!r} does not score a {task}: choose one of "
            f"{', '.join(map(repr, MEASURES[task]))}, or set task=."
        )
    return measure


def measures_of(measure: str | None) -> dict[str, str]:
    """Return what the scores are in words, for each task that has the measure."""
    return {
        task: measures[measure or DEFAULTS[task]].label
        for task, measures in MEASURES.items()
        if measure is None or measure in measures
    }


def needs_shares(measure: str, task: Task) -> bool:
    """Return whether the measure looks at shares of classes."""
    return MEASURES[task][measure].needs_shares


def score_nothing(measure: str, target: Target) -> float:
    """Return the score of knowing nothing but how the response is distributed.

    Examples
    --------
    >>> from umfi.target import read_target
    >>> target = read_target(["a", "a", "b", "b"])
    >>> score_nothing("accuracy", target), score_nothing("information", target)
    (0.5, 0.0)
    """
    return MEASURES[target.task][measure].of_nothing(target)


def score_answers(measure: str, answers: Answers, target: Target) -> float:
    """Return the score of the rows that have an answer; larger is better, never floored.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.target import read_target
    >>> target = read_target(np.array(["a", "b"] * 5))
    >>> undecided = Answers(np.full((10, 2), 0.5))
    >>> score_answers("brier", undecided, target), score_answers("auc", undecided, target)
    (0.5, 0.5)
    """
    is_said = ~np.isnan(answers.values.reshape(target.n_rows, -1)[:, 0])
    if is_said.all():
        return MEASURES[target.task][measure].of_answers(answers, target, target)
    rows = np.flatnonzero(is_said)
    if len(rows) == 0:
        raise InputError("No row was ever out of bag: grow more trees.")
    said = Answers(
        answers.values[rows],
        answers.n_voices if np.ndim(answers.n_voices) == 0 else np.asarray(answers.n_voices)[rows],
    )
    return MEASURES[target.task][measure].of_answers(said, target.take_rows(rows), target)
