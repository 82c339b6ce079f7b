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
    "Answers",
    "Scores",
    "check_measure",
    "class_rates",
    "find_measure",
    "measures_of",
    "needs_shares",
    "quadratic_gain",
    "removal_influences",
    "score_nothing",
    "score_predictions",
    "score_rows",
]

# An R² of 1 would be endless information: told no further than this.
SMALLEST_REST = 1e-12
# To a millionth.
N_HALVINGS = 20


class Answers(NamedTuple):
    """What is predicted of each row by fits that have not seen it.

    Attributes
    ----------
    values : ndarray, shape (n_rows,) for predicted responses, or (n_rows, n_classes) for shares of
        votes or probabilities; NaN where nothing is predicted. Codes of classes, shape (n_rows,),
        are enough for measures that need no shares.
    n_voices : ndarray, shape (n_rows,), or float
        How many votes or fitted rows shares rest on: few that agree are not certain.
    """

    values: NDArray[np.float64]
    n_voices: NDArray[np.float64] | float = np.inf

    def is_given(self) -> NDArray[np.bool_]:
        """Return a mask, shape (n_rows,): rows that have a prediction."""
        return ~np.isnan(self.values if self.values.ndim == 1 else self.values[:, 0])

    def take_rows(self, rows: NDArray[np.intp]) -> Answers:
        """Return the predictions of these rows."""
        n_voices = self.n_voices if np.ndim(self.n_voices) == 0 else np.asarray(self.n_voices)[rows]
        return Answers(self.values[rows], n_voices)


class Scores(NamedTuple):
    """A score and what each row contributes to it.

    Attributes
    ----------
    score : float
    influences : ndarray, shape (n_rows,)
        To first order the score moves by a row's influence, less the mean influence, divided by the
        number of rows, when the row counts once more.
    """

    score: float
    influences: NDArray[np.float64]


class Measure(NamedTuple):
    """A way to score predictions.

    Attributes
    ----------
    label : str
        What the score is, in a word.
    of_answers : callable
        From predictions without gaps and the response of the same rows, and all of the response,
        to the score.
    of_nothing : callable
        From a response to the score of knowing nothing but how it is distributed.
    needs_shares : bool
    """

    label: str
    of_answers: Callable[[Answers, Target, Target], Scores]
    of_nothing: Callable[[Target], float]
    needs_shares: bool = False


def _mean_of(influences: NDArray[np.float64]) -> Scores:
    return Scores(float(np.mean(influences)), influences)


def _indicators(target: Target) -> NDArray[np.float64]:
    return np.eye(len(target.classes))[target.labels]


def _r2(answers: Answers, target: Target, whole: Target) -> Scores:
    """1 - mean squared error / variance, the variance with n - 1 in the denominator as in R."""
    # In units of the largest deviation, whose square cannot under- or overflow.
    errors = (answers.values - target.values) / whole.largest_deviation
    variance = whole.standardised_variance
    if variance == 0.0:  # A subsample may miss all variation.
        return _mean_of(np.zeros(target.n_rows))
    return _explained(errors**2, whole.standardise(target.values) ** 2, variance)


def _class_r2(answers: Answers, target: Target, whole: Target) -> Scores:
    """R² of the indicators of all classes: 1 - quadratic loss / that of the class rates."""
    rates, truth = class_rates(whole), _indicators(target)
    variance = 1.0 - float(np.sum(rates**2))
    if variance == 0.0:
        return _mean_of(np.zeros(target.n_rows))
    shares = answers.values if answers.values.ndim == 2 else _codes_as_shares(answers, target)
    losses = np.sum((shares - truth) ** 2, axis=1)
    return _explained(losses, np.sum((truth - rates) ** 2, axis=1), variance)


def _codes_as_shares(answers: Answers, target: Target) -> NDArray[np.float64]:
    return np.eye(len(target.classes))[answers.values.astype(np.int64)]


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


def _explained_information(answers: Answers, target: Target, whole: Target) -> Scores:
    """-½ log(1 - R²): the information in Gaussian predictions (section A.3)."""
    return _information_of_r2(_r2(answers, target, whole))


def _is_right(answers: Answers, target: Target) -> NDArray[np.float64]:
    """Return for each row the chance that the class with most votes, drawn among equals, is right.

    An expectation instead of a draw, so that no class is favoured and nothing is left to chance.
    """
    if answers.values.ndim == 1:
        return (answers.values == target.values).astype(np.float64)
    is_largest = answers.values == answers.values.max(axis=1, keepdims=True)
    own = is_largest[np.arange(target.n_rows), target.labels]
    return own / is_largest.sum(axis=1)


def _accuracy(answers: Answers, target: Target, _: Target) -> Scores:
    return _mean_of(_is_right(answers, target))


def _balanced_accuracy(answers: Answers, target: Target, _: Target) -> Scores:
    is_right = _is_right(answers, target)
    counts = np.bincount(target.labels)
    right = np.bincount(target.labels, weights=is_right)
    is_there = counts > 0
    rates = np.divide(right, counts, out=np.zeros(len(counts)), where=is_there)
    weights = target.n_rows / (is_there.sum() * np.maximum(counts, 1))
    influences = weights[target.labels] * (is_right - rates[target.labels])
    return Scores(float(np.mean(rates[is_there])), influences)


def _auc(answers: Answers, target: Target, _: Target) -> Scores:
    """Mean over classes of the chance that a row of the class has a larger share than another.

    The influence of a row is the share of pairs that it is right in (DeLong, DeLong and
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
        shares = answers.values[:, label]
        ranks = stats.rankdata(shares)
        # How many rows of the other kind a row stands above, ties counting half.
        n_above = np.where(
            is_of_class,
            ranks - _ranks_within(shares, is_of_class),
            n_of_class - (ranks - _ranks_within(shares, ~is_of_class)),
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


def _log_loss(answers: Answers, target: Target, whole: Target) -> Scores:
    """Mean log-likelihood of the true class.

    How common the classes are counts as one voice more, because a few votes that agree are not
    certain, and the logarithm of a share of 0 is endless.
    """
    weights = np.broadcast_to(1.0 / (1.0 + np.asarray(answers.n_voices)), target.n_rows)
    own_share = answers.values[np.arange(target.n_rows), target.labels]
    likelihood = (1.0 - weights) * own_share + weights * class_rates(whole)[target.labels]
    return _mean_of(np.log(likelihood))


def _brier(answers: Answers, target: Target, _: Target) -> Scores:
    """1 - mean squared distance of the shares from the true class (Brier 1950).

    It uses what a vote throws away, the size of the majority.
    """
    return _mean_of(1.0 - np.sum((answers.values - _indicators(target)) ** 2, axis=1))


def class_rates(target: Target) -> NDArray[np.float64]:
    """Return how common each class is, shape (n_classes,)."""
    return np.bincount(target.labels, minlength=len(target.classes)) / target.n_rows


def _negative_entropy(target: Target) -> float:
    rates = class_rates(target)
    return float(np.sum(rates[rates > 0] * np.log(rates[rates > 0])))


def _class_information(answers: Answers, target: Target, whole: Target) -> Scores:
    """Entropy of the classes minus their cross-entropy.

    Votes of trees are not probabilities: where all leaves agree on the commonest class, all trees
    do. So shares are drawn towards how common the classes are, as far as predicts best. The one
    weight that is fitted adds about 1 / (2 n) nats.
    """
    own_share = answers.values[np.arange(target.n_rows), target.labels]
    own_rate = class_rates(whole)[target.labels]
    likelihood = own_share + _best_weight(own_share, own_rate) * (own_rate - own_share)
    score = float(np.mean(np.log(likelihood))) - _negative_entropy(whole)
    return Scores(score, np.log(likelihood / own_rate))


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
        "r2": Measure("R²", _class_r2, lambda _: 0.0),
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


def needs_shares(measure: str, task: Task) -> bool:
    """Return whether the measure looks at shares of classes."""
    return MEASURES[task][measure].needs_shares


def score_nothing(measure: str, target: Target) -> float:
    """Return the score of knowing nothing but how the response is distributed.

    Examples
    --------
    >>> from umfi.data.target import read_target
    >>> target = read_target(["a", "a", "b", "b"])
    >>> score_nothing("accuracy", target), score_nothing("information", target)
    (0.5, 0.0)
    """
    return MEASURES[target.task][measure].of_nothing(target)


def score_predictions(measure: str, answers: Answers, target: Target) -> float:
    """Return the score of the rows that have a prediction; larger is better, never floored.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.target import read_target
    >>> target = read_target(np.array(["a", "b"] * 5))
    >>> undecided = Answers(np.full((10, 2), 0.5))
    >>> score_predictions("r2", undecided, target), score_predictions("auc", undecided, target)
    (0.0, 0.5)
    """
    return score_rows(measure, answers, target).score


def score_rows(measure: str, answers: Answers, target: Target) -> Scores:
    """Return the score, and the influence of each row, NaN where it has no prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.target import read_target
    >>> target = read_target(np.array(["a", "b"] * 5))
    >>> score_rows("accuracy", Answers(np.zeros(10)), target).influences[:2]
    array([1., 0.])
    """
    of_answers = MEASURES[target.task][measure].of_answers
    rows = np.flatnonzero(answers.is_given())
    if len(rows) == target.n_rows:
        return of_answers(answers, target, target)
    if len(rows) == 0:
        raise InputError("No row was ever out of bag: grow more trees.")
    given = of_answers(answers.take_rows(rows), target.take_rows(rows), target)
    influences = np.full(target.n_rows, np.nan)
    influences[rows] = given.influences
    return Scores(given.score, influences)


def quadratic_gain(with_: Answers, without: Answers, target: Target) -> float:
    """Return how well what a candidate changes in predictions agrees with what is left to explain.

    With f the predictions that know the candidate, g those that do not, and y the response or the
    indicators of its classes, the mean of (f - g)(y - g) over rows, in units of the variance of y.
    If f and g are E[y | S, x] and E[y | S] that is their difference in R². In a sample that
    difference is 2 (f - g)(y - g) - (f - g)², whose second part is mostly the noise of the fit: a
    test that leaves it out finds more (benchmarks/one_fit.py).
    """
    found = _quadratic_terms(with_, without, target)
    left = found.response - found.unknown
    return float(np.sum(found.change * left) / (len(found.rows) * found.variance))


def removal_influences(
    measure: str, with_: Answers, without: Answers, target: Target
) -> NDArray[np.float64]:
    """Return what each row contributes to a difference of scores by way of removal.

    Removal takes from S what it carries about the feature in these very rows, by chance too, and
    what it takes the feature gives back. So the mean of (f - g) g over rows is zero in every table,
    and the mean of (f - g)(y - g) varies from table to table as that of (f - g) y does: each row
    contributes 2 (f - g) g more than its losses say, with g counted from the mean of y. Where g
    explains much and the feature little, that is most of the error (benchmarks/intervals.py).

    Returns
    -------
    ndarray, shape (n_rows,)
        NaN for rows without a prediction; zero for measures that are not sums of squares.
    """
    influences = np.full(target.n_rows, np.nan)
    found = _quadratic_terms(with_, without, target)
    units = {"r2": found.variance, "brier": 1.0}
    influences[found.rows] = 0.0
    if units.get(measure, 0.0) > 0.0:  # A subsample may miss all variation.
        products = np.sum((found.change * found.unknown).reshape(len(found.rows), -1), axis=1)
        influences[found.rows] = 2.0 * products / units[measure]
    return influences


class _QuadraticTerms(NamedTuple):
    """The rows that are predicted, f - g, g and y of these from the mean of y, its variance."""

    rows: NDArray[np.intp]
    change: NDArray[np.float64]
    unknown: NDArray[np.float64]
    response: NDArray[np.float64]
    variance: float


def _quadratic_terms(with_: Answers, without: Answers, target: Target) -> _QuadraticTerms:
    rows = np.flatnonzero(with_.is_given())
    known, unknown = with_.values[rows], without.values[rows]
    if target.task == "regression":
        # In units of the largest deviation, whose square cannot under- or overflow.
        return _QuadraticTerms(
            rows,
            (known - unknown) / target.largest_deviation,
            target.standardise(unknown),
            target.standardise(target.values[rows]),
            target.standardised_variance,
        )
    rates = class_rates(target)
    return _QuadraticTerms(
        rows,
        known - unknown,
        unknown - rates,
        _indicators(target)[rows] - rates,
        1.0 - float(np.sum(rates**2)),
    )
