"""Chained transport: each column given the protected one and the columns before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from umfi.data.columns import Columns
from umfi.data.contracts import ProtocolName
from umfi.removal.rounds import RemovesInRounds, mix, remove_in_rounds

__all__ = ["ChainedRemover"]

RIDGE = 0.05


@dataclass(frozen=True)
class ChainedRemover(RemovesInRounds):
    """Moves each column by its distribution given the protected one and the columns before it.

    The chain of Johndrow and Lum (2019, section 3.2), on normal scores: a column's mean and spread
    given the columns before it are linear in these, with coefficients that move with the protected
    column, and are brought to what they are in the whole table; then its conditional rank is taken.
    What the chain moves depends on the order of columns, the first ones least; so a second round
    goes the other way, and so on until forests find nothing.

    Parameters
    ----------
    tolerance : float
        Leakage to stop at, as for :class:`JointRemover`.
    max_rounds : int

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlated_interactions", n=300, random_state=0)
    >>> S = umfi.remove_dependence(X, "x1", remover="chained", random_state=0)
    >>> bool(abs(S["x2"].corr(X["x1"], method="spearman")) < 0.1)
    True
    """

    max_rounds: int = 8

    def remove(
        self,
        columns: Columns,
        protected: Sequence[Columns],
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S: normal scores after the chain, forth and back, until nothing is found."""
        if columns.n_columns == 0:
            return columns
        chain = (
            mix(RIDGE, is_chained=True, is_reversed=number % 2 == 1)
            for number in range(self.max_rounds)
        )
        return remove_in_rounds(columns, protected, chain, self.tolerance, rng)
