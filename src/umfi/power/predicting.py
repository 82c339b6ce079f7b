"""Powers that predict: one fit gives the scores with and without a feature, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.target import Target, Task
from umfi.power.measures import (
    Predictions,
    class_rates,
    find_measure,
    indicators_of,
    measures_of,
    score_nothing,
    score_predictions,
    score_rows,
)

__all__ = [
    "Averages",
    "Comparison",
    "PredictingPower",
    "compare_averages",
    "compare_predictions",
    "count_donors",
    "join_front",
    "quadratic_gain",
    "removal_influences",
]

# Rows that lend a row their values of a candidate, in each fit; a forest gives a row about 37
# times as many. Tests have many candidates, and fewer donors do: benchmarks/one_fit.py.
N_DONORS, N_TEST_DONORS = 8, 4
# Of the exponents 1, 0.7 and 0.5 the one whose fitted tails are honest without losing much: see
# benchmarks/one_fit.py.
GAIN_EXPONENT = 0.7


class Averages(NamedTuple):
    """What one fit predicts with all columns known, and how that changes without each candidate.

    The changes, shape (n_candidates, n_rows) or (n_candidates, n_rows, n_classes), added to the
    predictions are predictions that do not know the candidate.
    """

    known: Predictions
    changes: NDArray[np.float64]

    def without(self, candidate: int) -> Predictions:
        """Return the predictions with a candidate averaged out."""
        return self.known._replace(values=self.known.values + self.changes[candidate])

    def statistics(self, target: Target) -> list[float]:
        """Return for each candidate what a test compares: its gain to a power, with its sign.

        The more a column seems to say by chance, the more a fit makes use of it, so that gains
        (:func:`quadratic_gain`) have tails that no fitted distribution reaches. A power below 1
        draws them in and keeps the order.
        """
        gains = np.array(
            [
                quadratic_gain(self.known, self.without(candidate), target)
                for candidate in range(len(self.changes))
            ]
        )
        return (np.sign(gains) * np.abs(gains) ** GAIN_EXPONENT).tolist()


class Comparison(NamedTuple):
    """Two scores, and what each row contributes to their difference.

    Influences are NaN for rows without a prediction, and None if the power only scores.
    """

    score_with: float
    score_without: float
    influences: NDArray[np.float64] | None = None


def compare_predictions(
    measure: str, with_: Predictions, without: Predictions, target: Target
) -> Comparison:
    """Return the scores of two sets of predictions of the same rows."""
    first, second = (score_rows(measure, one, target) for one in (with_, without))
    return Comparison(first.score, second.score, first.influences - second.influences)


def compare_averages(measure: str, averages: Averages, target: Target) -> Comparison:
    """Return the scores of one fit without permuted copies of a feature, and without the feature.

    The first candidate is the feature, the others are its copies. Without a copy the feature is
    known, and without the feature a copy is: like for like. To compare with the fit that knows all
    of them would be unfair to a feature that says little, because the noise that a fit takes from
    any column would count against it alone, and kind to one that says nothing in a table that
    others predict well, because removal cost them what they carried about it by chance. So an
    unrelated feature has importance zero in the mean. With several copies it is their mean score.
    """
    without, *of_copies = (
        score_rows(measure, averages.without(candidate), target)
        for candidate in range(len(averages.changes))
    )
    influences = np.mean([one.influences for one in of_copies], axis=0) - without.influences
    influences += removal_influences(measure, averages.known, averages.without(0), target)
    score_with = float(np.mean([one.score for one in of_copies]))
    return Comparison(score_with, without.score, influences)


def count_donors(*, is_test: bool) -> int:
    """Return how many rows lend each row their values of a candidate, in each fit."""
    return N_TEST_DONORS if is_test else N_DONORS


class PredictingPower(ABC):
    """A power that predicts rows it was not fitted to.

    Subclasses are frozen dataclasses with a field ``measure``.
    """

    measure: str | None

    @property
    def measures(self) -> dict[str, str]:
        """What the score is, by task."""
        return measures_of(self.measure)

    def with_measure(self, measure: str) -> Self:
        """Return the power that measures something else."""
        changed: Any = replace(self, measure=measure)  # type: ignore[type-var]
        return changed

    def refuse_task(self, task: Task) -> None:
        """Raise if the power cannot give what its measure needs."""
        find_measure(self.measure, task)

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return the score of the columns on rows not fitted to, or the chance level of none."""
        measure = find_measure(self.measure, target.task)
        if columns.is_constant().all():
            return score_nothing(measure, target)
        return score_predictions(measure, self.predict(columns, target, seed), target)

    def predict(
        self, columns: Columns, target: Target, seed: np.random.SeedSequence
    ) -> Predictions:
        """Return what is predicted of each row by fits that have not seen it."""
        return self.average_out(columns, [], target, seed).known

    @abstractmethod
    def average_out(
        self,
        context: Columns,
        candidates: Sequence[Columns],
        target: Target,
        seed: np.random.SeedSequence,
        *,
        is_test: bool = False,
        donors: NDArray[np.intp] | None = None,
    ) -> Averages:
        """Return what one fit on all columns predicts, and how that changes without candidates.

        Parameters
        ----------
        context : Columns
            S, independent of each candidate unless there are donors.
        candidates : sequence of Columns
            A feature, or the columns of a group, and its permuted copies.
        is_test : bool
            Whether candidates are many and only compared with each other, so that less care will
            do than where the size of what one of them adds is wanted.
        donors : ndarray of int, shape (n_rows, n_donors), optional
            Rows that lend each row their values of every candidate, where the context is not
            independent of them; any row by default.
        """


def join_front(context: Columns, candidates: Sequence[Columns]) -> Columns:
    """Return the columns of all candidates, in their order, followed by the context."""
    first = candidates[0]
    if len(candidates) > 1:
        first = Columns(
            values=np.asfortranarray(np.concatenate([one.values for one in candidates], axis=1)),
            names=tuple(name for one in candidates for name in one.names),
            kinds=tuple(kind for one in candidates for kind in one.kinds),
            missing=first.missing,
        )
    return context.prepend(first)


def quadratic_gain(with_: Predictions, without: Predictions, target: Target) -> float:
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
    measure: str, with_: Predictions, without: Predictions, target: Target
) -> NDArray[np.float64]:
    """Return what each row contributes to a difference of scores by way of removal.

    Removal takes from S what it carries about the feature in these very rows, by chance too, and
    what it takes the feature gives back. So the mean of (f - g) g over rows is zero in every table,
    and the mean of (f - g)(y - g) varies from table to table as that of (f - g) y does: each row
    contributes 2 (f - g) g more than its losses say, with g counted from the mean of y. Where g
    explains much and the feature little, that is most of the error (benchmarks/intervals.py).
    The influences, shape (n_rows,), are NaN for rows without a prediction, and zero for measures
    that are not sums of squares.
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


def _quadratic_terms(with_: Predictions, without: Predictions, target: Target) -> _QuadraticTerms:
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
        indicators_of(target)[rows] - rates,
        1.0 - float(np.sum(rates**2)),
    )
