"""Joint transport of all columns at once, in rounds, until forests find nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from umfi.columns import Columns
from umfi.contracts import ProtocolName
from umfi.removal.joint import (
    Round,
    check_rounds,
    mix,
    rank,
    rank_in_halves,
    remove_in_rounds,
    smooth,
)

__all__ = ["SlicedRemover"]

# Half of it in each round: see benchmarks/removal.py.
FIRST_RIDGE = 0.4
ROWS_PER_BIN = 100


@dataclass(frozen=True)
class SlicedRemover:
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

    tolerance: float = 0.0
    max_rounds: int = 12

    def __post_init__(self) -> None:
        """Refuse what cannot stop."""
        check_rounds(self.tolerance, self.max_rounds)

    def remove(
        self,
        columns: Columns,
        protected: Sequence[Columns],
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S: normal scores."""
        return remove_in_rounds(
            columns,
            protected,
            self._rounds(),
            rows_per_bin=ROWS_PER_BIN,
            tolerance=self.tolerance,
            rng=rng,
        )

    def _rounds(self) -> Iterator[Round]:
        first: list[Round] = [smooth, rank_in_halves, rank]
        yield from first[: self.max_rounds]
        for number in range(self.max_rounds - len(first)):
            yield mix(FIRST_RIDGE / 2**number)
