"""Columns of which only the ranks are stored: a quarter of the memory, for forests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.forest import RankTable, new_rank_table, part_of_table, put_ranks, rank_columns

__all__ = ["RankedColumns", "rank_in_blocks"]

# Values that are transformed at a time, and columns at least: what is found out about a protected
# column is found out again for each block.
VALUES_PER_BLOCK = 2**18
MIN_COLUMNS_PER_BLOCK = 16


@dataclass
class _Store:
    """A table of ranks whose first columns are free for others, and how often they were used."""

    table: RankTable
    n_free: int
    n_uses: int = 0


class RankedColumns(Columns):
    """Columns that store their ranks, and make their values again whenever these are asked for.

    They do whatever columns of these values do, in less memory. Others that are put in front are
    written into the same table of ranks, from its first column, so that a context is not copied
    for each candidate: what ``ranks`` returned before then holds the new ones.
    """

    _store: _Store
    _start: int
    _use: int
    _remake: Callable[[], NDArray[np.float64]]

    def __init__(
        self,
        names: tuple[str, ...],
        kinds: tuple[Kind, ...],
        missing: Mapping[str, float],
        store: _Store,
        start: int,
        remake: Callable[[], NDArray[np.float64]],
    ) -> None:
        vars(self).update(names=names, kinds=kinds, missing=missing)
        # A number, because a table that points back at its columns would not be freed at once.
        vars(self).update(_store=store, _start=start, _use=store.n_uses, _remake=remake)

    @property
    def values(self) -> NDArray[np.float64]:
        """The values, made again."""
        return self._remake()

    @property
    def ranks(self) -> RankTable:
        """The ranks of every column."""
        if self._start < self._store.n_free and self._use != self._store.n_uses:
            return self._with_values().ranks  # Others stand in the table now.
        return part_of_table(self._store.table, self._start, self._start + self.n_columns)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self._store.table.positions.shape[1])

    def is_constant(self) -> NDArray[np.bool_]:
        """Return a mask, shape (n_columns,): columns that hold one value only."""
        ranks = self.ranks
        if ranks.has_bins:  # Infinity stands behind the last one.
            return np.isinf(ranks.sorted_values[:, 1])
        is_constant: NDArray[np.bool_] = ranks.sorted_values[:, 0] == ranks.sorted_values[:, -1]
        return is_constant

    def prepend(self, other: Columns) -> Columns:
        """Return the other columns followed by these."""
        store = self._store
        if self._start == 0 or other.n_columns != store.n_free:
            return self._with_values().prepend(other)
        put_ranks(other.ranks, part_of_table(store.table, 0, store.n_free))
        store.n_uses += 1
        return RankedColumns(
            other.names + self.names,
            other.kinds + self.kinds,
            {**other.missing, **self.missing},
            store,
            0,
            lambda: self._with_values().prepend(other).values,
        )

    def take_rows(self, rows: NDArray[np.intp]) -> Columns:
        """Return these rows of every column."""
        ranks = self.ranks
        is_permutation = len(rows) == self.n_rows and bool(np.bincount(rows).max() == 1)
        # Equal values stand in the order of rows, unless they are in one bin.
        if not is_permutation or (ranks.has_ties.any() and not ranks.has_bins):
            return self._with_values().take_rows(rows)
        table = new_rank_table(self.n_rows, self._start + self.n_columns)
        own = part_of_table(table, self._start, len(table.positions))
        put_ranks(ranks._replace(positions=ranks.positions[:, rows]), own)
        return RankedColumns(
            self.names,
            self.kinds,
            self.missing,
            _Store(table, self._store.n_free),
            self._start,
            lambda: np.asfortranarray(self.values[rows]),
        )

    def _with_values(self) -> Columns:
        return Columns(self.values, self.names, self.kinds, self.missing)


def rank_in_blocks(
    columns: Columns,
    positions: NDArray[np.intp],
    transform: Callable[[Columns], Columns],
    *,
    n_front: int,
) -> RankedColumns:
    """Return columns as they are transformed, by their ranks, without those made constant.

    Parameters
    ----------
    columns : Columns
    positions : ndarray of int
        The columns to transform.
    transform : callable
        Must do the same to a column whatever stands beside it, and return continuous ones.
    n_front : int
        For how many columns that will be put in front there is room in the table.
    """
    n_rows = columns.n_rows
    table = new_rank_table(n_rows, n_front + len(positions))
    n_at_a_time = max(MIN_COLUMNS_PER_BLOCK, VALUES_PER_BLOCK // n_rows)
    names: list[str] = []
    for first in range(0, len(positions), n_at_a_time):
        block = transform(columns.select(positions[first : first + n_at_a_time]))
        varying = np.flatnonzero(~block.is_constant())
        start = n_front + len(names)
        out = part_of_table(table, start, start + len(varying))
        rank_columns(block.values[:, varying], out=out)
        names += [block.names[position] for position in varying.tolist()]

    def remake() -> NDArray[np.float64]:
        whole = transform(columns.select(positions))
        return whole.select(np.flatnonzero(~whole.is_constant())).values

    store = _Store(part_of_table(table, 0, n_front + len(names)), n_front)
    kinds = (Kind.CONTINUOUS,) * len(names)
    return RankedColumns(tuple(names), kinds, {}, store, n_front, remake)
