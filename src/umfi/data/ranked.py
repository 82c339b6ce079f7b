"""Columns of which only the ranks are kept: a quarter of the memory, for those who need no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
class _Room:
    """A table of ranks with room for other columns in front, and how often it was taken."""

    table: RankTable
    n_front: int
    n_guests: int = 0


class RankedColumns(Columns):
    """Continuous columns that are known by their ranks; values are made again if they are needed.

    Parameters
    ----------
    names : tuple of str
    room : _Room
        Whose table holds the ranks.
    start : int
        Where in the table these columns begin.
    remake : callable
        Returns the values.
    kinds : tuple of Kind, optional
        Continuous by default.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        room: _Room,
        start: int,
        remake: Callable[[], NDArray[np.float64]],
        kinds: tuple[Kind, ...] | None = None,
    ) -> None:
        vars(self).update(
            names=names,
            kinds=kinds or (Kind.CONTINUOUS,) * len(names),
            missing={},
            _room=room,
            _start=start,
            _remake=remake,
        )

    @property
    def values(self) -> NDArray[np.float64]:
        """The values, made again."""
        values: NDArray[np.float64] = vars(self)["_remake"]()
        return values

    @property
    def ranks(self) -> RankTable:
        """The ranks of every column."""
        room, start = vars(self)["_room"], vars(self)["_start"]
        if start == 0 and room.n_front and room.n_guests != vars(self)["_guest"]:
            raise RuntimeError("Other columns have been put in front since.")
        return part_of_table(room.table, start, start + self.n_columns)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(vars(self)["_room"].table.positions.shape[1])

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self.names)

    def is_constant(self) -> NDArray[np.bool_]:
        """Return a mask, shape (n_columns,): constant columns were left out."""
        return np.zeros(self.n_columns, dtype=bool)

    def prepend(self, other: Columns) -> Columns:
        """Return the other columns followed by these; those put in front before are gone."""
        room: _Room = vars(self)["_room"]
        if other.n_columns != room.n_front or vars(self)["_start"] == 0:
            return self._with_values().prepend(other)
        joined = RankedColumns(
            other.names + self.names,
            room,
            0,
            lambda: self._with_values().prepend(other).values,
            other.kinds + self.kinds,
        )
        put_ranks(other.ranks, part_of_table(room.table, 0, room.n_front))
        # A number, because a table that points back at its columns would not be freed at once.
        room.n_guests += 1
        vars(joined)["_guest"] = room.n_guests
        return joined

    def take_rows(self, rows: NDArray[np.intp]) -> Columns:
        """Return these rows of every column."""
        ranks = self.ranks
        is_permutation = len(rows) == self.n_rows and bool(np.bincount(rows).max() == 1)
        # Equal values stand in the order of rows, unless they share a bin.
        if not is_permutation or (ranks.has_ties.any() and not ranks.has_bins):
            return self._with_values().take_rows(rows)
        table = new_rank_table(self.n_rows, vars(self)["_start"] + self.n_columns)
        own = part_of_table(table, vars(self)["_start"], len(table.positions))
        put_ranks(ranks._replace(positions=ranks.positions[:, rows]), own)
        return RankedColumns(
            self.names,
            _Room(table, vars(self)["_room"].n_front),
            vars(self)["_start"],
            lambda: np.asfortranarray(self.values[rows]),
            self.kinds,
        )

    def select(self, indices: Sequence[int] | NDArray[np.intp]) -> Columns:
        """Return the columns at these positions, in this order."""
        return self._with_values().select(indices)

    def _with_values(self) -> Columns:
        return Columns(values=self.values, names=self.names, kinds=self.kinds)


def rank_in_blocks(
    columns: Columns,
    positions: NDArray[np.intp],
    transform: Callable[[Columns], Columns],
    *,
    n_front: int,
) -> RankedColumns:
    """Return columns as they are transformed, known by their ranks, without those made constant.

    Parameters
    ----------
    columns : Columns
    positions : ndarray of int
        The columns to transform.
    transform : callable
        Must do the same to a column whatever stands beside it.
    n_front : int
        Columns that others will put in front, in place.
    """
    n_rows = columns.n_rows
    table = new_rank_table(n_rows, n_front + len(positions))
    n_at_a_time = max(MIN_COLUMNS_PER_BLOCK, VALUES_PER_BLOCK // n_rows)
    names: list[str] = []
    for first in range(0, len(positions), n_at_a_time):
        block = transform(columns.select(positions[first : first + n_at_a_time]))
        left = np.flatnonzero(~block.is_constant())
        start = n_front + len(names)
        rank_columns(block.values[:, left], out=part_of_table(table, start, start + len(left)))
        names += [block.names[place] for place in left.tolist()]

    def remake() -> NDArray[np.float64]:
        whole = transform(columns.select(positions))
        return whole.select(np.flatnonzero(~whole.is_constant())).values

    used = part_of_table(table, 0, n_front + len(names))
    return RankedColumns(tuple(names), _Room(used, n_front), n_front, remake)
