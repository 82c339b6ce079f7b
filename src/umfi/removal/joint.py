"""The default remover: all that the other features carry about one, jointly, in any table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.contracts import ProtocolName
from umfi.removal.exchange import exchange_values, find_dependent, find_discrete
from umfi.removal.rounds import (
    RemovesInRounds,
    Round,
    mix,
    rank,
    rank_in_halves,
    remove_in_rounds,
    smooth_and_rank,
)

__all__ = ["JointRemover"]

# Gentle at first, and half of it in each round.
FIRST_RIDGE = 0.4


@dataclass(frozen=True)
class JointRemover(RemovesInRounds):
    """Removes what all other columns together carry about the protected one, and no more.

    It starts gently and goes on only while extremely randomised trees still find the protected
    column, because every step costs some of what the columns carry about other things.

    Columns of many values become normal scores, and round after round the slices of the table along
    the protected column are made alike: first the mean and spread of each column, then its
    distribution (pairwise transport), then the covariance of all columns.

    Booleans, categories and other columns of few values keep their values. Where a row's values are
    commoner among rows like it in the protected column than elsewhere, they may be exchanged with
    those of another row: as many as it takes for these values to be equally common everywhere.

    Parameters
    ----------
    tolerance : float
        Leakage to stop at: the out-of-bag R² with which extremely randomised trees predict the
        protected column, or its distance from the median.
    max_rounds : int
        Of either kind.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlated_interactions", n=300, random_state=0)
    >>> S = umfi.remove_dependence(X, "x1", remover="joint", random_state=0)
    >>> bool(abs(S["x2"].corr(X["x1"], method="spearman")) < 0.1)
    True
    """

    def remove(
        self,
        columns: Columns,
        protected: Sequence[Columns],
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S: normal scores, and the values of columns that these had nothing to do with."""
        protected = [block.to_ranks() for block in protected]  # Units must not matter.
        is_discrete = find_discrete(columns)
        is_dependent = find_dependent(columns, protected[0]) if is_discrete.any() else ~is_discrete
        unrelated = columns
        moves: list[tuple[NDArray[np.bool_], Iterable[Round]]] = [
            (~is_discrete, self._rounds()),
            (is_discrete & is_dependent, [rank]),
        ]
        for is_moved, rounds in moves:
            if is_moved.any():
                part = columns.select(np.flatnonzero(is_moved))
                scores = remove_in_rounds(part, protected, rounds, self.tolerance, rng)
                values = unrelated.values.copy(order="F")
                values[:, is_moved] = scores.values
                unrelated = unrelated.with_changed(values, is_moved)
        if not is_discrete.any():
            return unrelated
        return exchange_values(
            unrelated, protected, is_dependent, self.tolerance, self.max_rounds, rng
        )

    def _rounds(self) -> Iterator[Round]:
        """Yield the gentle rounds, then those of the covariance."""
        gentle: list[Round] = [smooth_and_rank, rank_in_halves, rank]
        yield from gentle[: self.max_rounds]
        for number in range(self.max_rounds - len(gentle)):
            yield mix(FIRST_RIDGE / 2**number)
