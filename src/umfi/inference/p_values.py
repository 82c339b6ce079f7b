"""From null scores to p-values, and corrections for many features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.errors import unknown_name

__all__ = [
    "CONTROLS",
    "SMALLEST_TAIL",
    "PermutationTest",
    "adjust_p_values",
    "is_settled",
    "permutation_test",
]

CONTROLS = ("fdr", "by", "holm", "none")

# With this many null scores at or above the feature's own it is decided (Besag and Clifford 1991):
# a p-value of 5 / (number of null scores) says all that is needed of an unrelated feature.
ENOUGH_EXCEEDANCES = 5
# Scores closer to each other than this fraction of them are equal.
ROUNDING = 1e-12
# As far as a tail is read.
SMALLEST_TAIL = 1e-100
# Fewer null scores do not show a tail.
MIN_TAIL_FREEDOM = 16
# Null scores lean to the right, and few of them do not show how much: so many standard errors more
# are assumed. Two were chosen on null statistics of forests, see docs/inference.md.
SKEWNESS_ERRORS = 2.0


class PermutationTest(NamedTuple):
    """The outcome of one permutation test."""

    p_value: float  # In (0, 1].
    n_permutations: int  # How many null scores it rests on.
    is_tail: bool  # Read off a fitted tail, because no null score reached the feature's own.


def permutation_test(
    statistic: float, batches: Sequence[NDArray[np.float64]], *, is_sequential: bool = True
) -> PermutationTest:
    """Return the Monte-Carlo p-value of a feature among its permuted copies.

    Copies come in batches, of which the first holds the feature too. Scores of one batch are
    exchangeable if the feature is unrelated; between batches they differ, so each is taken as its
    distance from the mean of the others of its batch, in units that make up for their number. The
    p-value is (1 + null scores as far up as the feature's) / (1 + null scores), exact for one
    batch. Once five are as far up in a sequential test, it is five divided by the null scores
    drawn until then (Besag and Clifford 1991).

    Where no null score is as far up, the tail of a fitted distribution is used if it gives less:
    Pearson's type III with the null scores' variance and skewness, widened as a t distribution
    is, and leaning by two standard errors more than they do. Null scores are sums of squares of
    what chance explains, which is why they lean.

    Parameters
    ----------
    statistic : float
        The feature's score, in the first batch.
    batches : sequence of ndarray, shape (n_copies,)
        The copies' scores, in the order in which they were drawn; two at least from the second
        batch on.
    is_sequential : bool

    Examples
    --------
    >>> import numpy as np
    >>> nulls = np.array([0.1, 0.3, 0.2, 0.4, 0.0, 0.2, 0.3, 0.1, 0.2])
    >>> permutation_test(0.25, [nulls])
    PermutationTest(p_value=0.4, n_permutations=9, is_tail=False)
    """
    places = np.flatnonzero(_is_as_far_up(statistic, batches))
    if is_sequential and len(places) >= ENOUGH_EXCEEDANCES:
        n_drawn = int(places[ENOUGH_EXCEEDANCES - 1]) + 1
        return PermutationTest(ENOUGH_EXCEEDANCES / n_drawn, n_drawn, False)
    n_drawn = sum(map(len, batches))
    counted = (1 + len(places)) / (1 + n_drawn)
    if len(places) == 0:
        tail = _tail_p_value(statistic, batches)
        if tail < counted:
            return PermutationTest(tail, n_drawn, True)
    return PermutationTest(counted, n_drawn, False)


def is_settled(statistic: float, batches: Sequence[NDArray[np.float64]], level: float) -> bool:
    """Return whether more permutations would change no decision.

    Statistic and batches are as for :func:`permutation_test`; a p-value at the level or below is as
    good as zero.
    """
    if np.sum(_is_as_far_up(statistic, batches)) >= ENOUGH_EXCEEDANCES:
        return True
    return _tail_p_value(statistic, batches) <= level


def _is_as_far_up(statistic: float, batches: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Return for each null score whether it is as far above its batch as the feature's."""
    first, *later = batches
    own = (statistic - first.mean()) / np.sqrt(1.0 + 1.0 / len(first))
    rounding = _rounding(statistic, batches)
    # In the first batch it comes to the same, without rounding.
    flags = [first >= statistic]
    for nulls in later:
        n_others = len(nulls) - 1
        distances = nulls - (nulls.sum() - nulls) / n_others
        flags.append(distances / np.sqrt(1.0 + 1.0 / n_others) >= own - rounding)
    return np.concatenate(flags)


def _rounding(statistic: float, batches: Sequence[NDArray[np.float64]]) -> float:
    """Return what differences of means of these scores may be off."""
    return ROUNDING * max(abs(statistic), *(float(np.abs(nulls).max()) for nulls in batches))


def _tail_p_value(statistic: float, batches: Sequence[NDArray[np.float64]]) -> float:
    """Return the chance of a score as far above its copies as the feature's, 1 if unknown."""
    from scipy import stats

    first = batches[0]
    deviations = np.concatenate([nulls - nulls.mean() for nulls in batches])
    freedom = len(deviations) - len(batches)
    if freedom < MIN_TAIL_FREEDOM:
        return 1.0
    spread = np.sqrt(np.sum(deviations**2) / freedom)
    if spread <= _rounding(statistic, batches):
        return 1.0
    distance = (statistic - first.mean()) / (spread * np.sqrt(1.0 + 1.0 / len(first)))
    skewness = float(np.mean((deviations / spread) ** 3))
    skewness += SKEWNESS_ERRORS * np.sqrt(6.0 / len(deviations))
    normal_distance = stats.norm.isf(max(stats.t.sf(distance, freedom), SMALLEST_TAIL))
    return float(max(stats.pearson3.sf(normal_distance, max(skewness, 0.0)), SMALLEST_TAIL))


def adjust_p_values(p_values: NDArray[np.float64], control: str = "fdr") -> NDArray[np.float64]:
    """Return p-values adjusted for their number: related is what is at most the level.

    Parameters
    ----------
    p_values : ndarray, shape (n_features,)
    control : {"fdr", "by", "holm", "none"}
        ``"fdr"``: false discovery rate (Benjamini and Hochberg 1995); ``"by"``: the same whatever
        the dependence between the tests (Benjamini and Yekutieli 2001); ``"holm"``: the chance
        of any false positive (Holm 1979); ``"none"``: as they are.

    Examples
    --------
    >>> import numpy as np
    >>> adjust_p_values(np.array([0.01, 0.5, 0.02]), "holm")
    array([0.03, 0.5 , 0.04])
    """
    from scipy import stats

    if control not in CONTROLS:
        raise unknown_name("control", control, CONTROLS)
    if control in ("fdr", "by") and len(p_values) > 0:
        method = {"fdr": "bh", "by": "by"}[control]
        return np.asarray(stats.false_discovery_control(p_values, method=method))
    if control == "holm":
        order = np.argsort(p_values, kind="stable")
        n_left = np.arange(len(p_values), 0, -1)
        adjusted = np.empty(len(p_values))
        adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * n_left), 1.0)
        return adjusted
    return p_values.copy()
