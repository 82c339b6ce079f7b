"""Joint transport of all columns at once, in rounds, until forests find nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from umfi.removal.joint import (
    JointRemover,
    Round,
    mix,
    rank,
    rank_in_halves,
    smooth,
)

__all__ = ["SlicedRemover"]

# Gentle at first, and half of it in each round.
FIRST_RIDGE = 0.4


@dataclass(frozen=True)
class SlicedRemover(JointRemover):
    """Removes what all other columns together tell about the protected one.

    Each round cuts the table along the protected column and makes the slices alike: first the mean
    and spread of each column, then its distribution (pairwise transport), then round after round
    the covariance of all columns. It stops after the first round that leaves no leakage, because
    every round costs some of what the columns tell about other things.

    Parameters
    ----------
    tolerance : float
        Leakage to stop at: the out-of-bag R² with which extremely randomised trees tell the
        protected column, or its distance from the median.
    max_rounds : int

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlated_interactions", n=300, random_state=0)
    >>> S = umfi.remove_dependence(X, "x1", remover="sliced", random_state=0)
    >>> bool(abs(S["x2"].corr(X["x1"], method="spearman")) < 0.1)
    True
    """

    def rounds(self) -> Iterator[Round]:
        """Yield the gentle rounds, then those of the covariance."""
        first: list[Round] = [smooth, rank_in_halves, rank]
        yield from first[: self.max_rounds]
        for number in range(self.max_rounds - len(first)):
            yield mix(FIRST_RIDGE / 2**number)
