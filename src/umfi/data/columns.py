"""Checked columns: finite numbers, with names and kinds, whose ranks are found once.

Columns that are made of others, by selecting, joining or changing some, take known ranks from
these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.errors import unknown_name
from umfi.forest import (
    RankTable,
    new_rank_table,
    part_of_table,
    put_ranks,
    rank_columns,
    take_ranks,
)

__all__ = ["MIN_ROWS", "Columns", "Kind", "middle_ranks"]

# Fewer leave trees of three or four rows out of bag, which cannot be scored.
MIN_ROWS = 10
# A column has heavy ties when this proportion of its rows holds a value that many rows hold.
MIN_TIED_PROPORTION = 0.1
MIN_TIED_ROWS = 5


class Kind(StrEnum):
    """What the values of a column mean."""

    CONTINUOUS = "continuous"
    BOOLEAN = "boolean"
    ORDINAL = "ordinal"
    CATEGORICAL = "categorical"


@dataclass(frozen=True)
class Columns:
    """Checked columns.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
        Column-major, so that one column is contiguous. Discrete kinds hold codes.
    names : tuple of str
        One unique name per column.
    kinds : tuple of Kind
    missing : dict
        Column name to the value in it that stands for a missing one.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    missing: Mapping[str, float] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # Ranks are large, and found again in another process.
        return Columns, (self.values, self.names, self.kinds, self.missing)

    # Found once: not fields, because a copy with other values must not inherit them, and not
    # cached_property, whose lock in Python 3.11 makes threads wait for each other.
    @property
    def ranks(self) -> RankTable:
        """The ranks of every column; what is known of a column already is not sorted again."""
        known = self.__dict__
        if "_ranks" not in known:
            self._write_ranks(new_rank_table(self.n_rows, self.n_columns))
        ranks: RankTable = known["_ranks"]
        return ranks

    def _write_ranks(self, table: RankTable) -> None:
        """Write the ranks into a table, where they stay."""
        known = self.__dict__
        if "_ranks" in known:
            put_ranks(known["_ranks"], table)
            return
        # Once written, it would keep the columns alive that these came from.
        writer: Callable[[RankTable], None] | None = known.pop("_rank_writer", None)
        if writer is None:
            rank_columns(self.values, out=table)
            table.n_levels[:] = self.n_levels
        else:
            writer(table)
        known["_ranks"] = table

    @property
    def n_levels(self) -> NDArray[np.uint16]:
        """How many levels each column of categories has, 0 for others; shape (n_columns,)."""
        n_levels = np.zeros(self.n_columns, dtype=np.uint16)
        for position, kind in enumerate(self.kinds):
            if kind is Kind.CATEGORICAL:
                n_levels[position] = self.values[:, position].max() + 1
        return n_levels

    def is_missing(self, position: int) -> NDArray[np.bool_]:
        """Return a mask, shape (n_rows,): where a column has no value."""
        return self.values[:, position] == self.missing.get(self.names[position], np.nan)

    @property
    def is_stepped(self) -> NDArray[np.bool_]:
        """A mask, shape (n_columns,): discrete columns.

        Ordinals and categories, and whatever has heavy ties, be it of missing values.
        """
        has_levels = [
            kind is Kind.CATEGORICAL or (kind is Kind.ORDINAL and name not in self.missing)
            for kind, name in zip(self.kinds, self.names, strict=True)
        ]
        return self.has_heavy_ties | np.array(has_levels, dtype=bool)

    @property
    def has_heavy_ties(self) -> NDArray[np.bool_]:
        """A mask, shape (n_columns,): columns with so many equal values that they are discrete.

        Examples
        --------
        >>> import numpy as np
        >>> from umfi.data.frames import read_columns
        >>> rows = np.arange(40.0)
        >>> read_columns(np.column_stack([rows, rows % 2, np.maximum(rows, 10)])).has_heavy_ties
        array([False,  True,  True])
        """
        known = self.__dict__
        if "_has_heavy_ties" not in known:
            parent, positions = known.get("_selected_from", (None, None))
            known["_has_heavy_ties"] = (
                np.fromiter(map(_has_heavy_ties, self.values.T), dtype=bool)
                if parent is None
                else parent.has_heavy_ties[positions]
            )
        is_tied: NDArray[np.bool_] = known["_has_heavy_ties"]
        return is_tied

    def _with_rank_writer(self, writer: Callable[[RankTable], None]) -> Columns:
        """Return these columns, which take their ranks from those that they were made of."""
        self.__dict__["_rank_writer"] = writer
        return self

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self.names)

    def index(self, feature: str | int) -> int:
        """Return the position of a feature given by name, or else by position."""
        if str(feature) in self.names:
            return self.names.index(str(feature))
        is_position = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if is_position and -self.n_columns <= int(feature) < self.n_columns:
            return int(feature) % self.n_columns
        raise unknown_name("feature", feature, self.names)

    def select(self, indices: Sequence[int] | NDArray[np.intp]) -> Columns:
        """Return the columns at these positions, in this order."""
        positions = np.asarray(indices, dtype=np.intp)
        if np.array_equal(positions, np.arange(self.n_columns)):
            return self
        names = tuple([self.names[position] for position in positions.tolist()])
        kinds = tuple([self.kinds[position] for position in positions.tolist()])
        missing = self.missing and {
            name: self.missing[name] for name in names if name in self.missing
        }
        values = np.asfortranarray(self.values[:, positions])
        selected = Columns(values, names, kinds, missing)
        selected.__dict__["_selected_from"] = self, positions
        return selected._with_rank_writer(
            lambda table: put_ranks(take_ranks(self.ranks, positions), table)
        )

    def without(self, positions: int | Sequence[int]) -> Columns:
        """Return all columns but those at these positions."""
        return self.select(np.delete(np.arange(self.n_columns), positions))

    def with_changed(
        self, values: NDArray[np.float64], is_changed: NDArray[np.bool_] | None = None
    ) -> Columns:
        """Return columns of the same names with other values, which are continuous.

        Parameters
        ----------
        values : ndarray of float64, shape (n_rows, n_columns)
        is_changed : ndarray of bool, shape (n_columns,), optional
            Where the values are others; everywhere by default.
        """
        values = np.asfortranarray(values)
        if is_changed is None or is_changed.all():
            return Columns(values, self.names, (Kind.CONTINUOUS,) * self.n_columns)
        flags = is_changed.tolist()
        kinds = [
            Kind.CONTINUOUS if flag else kind for kind, flag in zip(self.kinds, flags, strict=True)
        ]
        changed = {name for name, flag in zip(self.names, flags, strict=True) if flag}
        missing = {name: code for name, code in self.missing.items() if name not in changed}

        def write_ranks(table: RankTable) -> None:
            same, other = np.flatnonzero(~is_changed), np.flatnonzero(is_changed)
            put_ranks(take_ranks(self.ranks, same), table, same)
            put_ranks(rank_columns(values[:, other]), table, other)

        columns = Columns(values, self.names, tuple(kinds), missing)
        return columns._with_rank_writer(write_ranks)

    def to_ranks(self) -> Columns:
        """Return the columns as ranks between 0 and 1, which are the same in any units.

        Booleans and categories stay as they are.
        """
        values, missing = self.values.copy(order="F"), dict(self.missing)
        for position, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            if kind in (Kind.BOOLEAN, Kind.CATEGORICAL):
                continue
            values[:, position] = middle_ranks(self.values[:, position])
            if name in missing and self.is_missing(position).any():
                missing[name] = float(values[self.is_missing(position), position][0])
        return Columns(values, self.names, self.kinds, missing)

    def take_rows(self, rows: NDArray[np.intp]) -> Columns:
        """Return these rows of every column."""
        values = np.asfortranarray(self.values[rows])
        return Columns(values, self.names, self.kinds, self.missing)

    def prepend(self, other: Columns) -> Columns:
        """Return the other columns followed by these."""
        values = np.empty((self.n_rows, other.n_columns + self.n_columns), order="F")
        values[:, : other.n_columns] = other.values
        values[:, other.n_columns :] = self.values
        names, kinds = other.names + self.names, other.kinds + self.kinds

        def write_ranks(table: RankTable) -> None:
            # The parts are scored as well; their ranks stay where they are written.
            other._write_ranks(part_of_table(table, 0, other.n_columns))
            self._write_ranks(part_of_table(table, other.n_columns, len(names)))

        joined = Columns(values, names, kinds, {**other.missing, **self.missing})
        return joined._with_rank_writer(write_ranks)

    def to_numbers(self) -> NDArray[np.float64]:
        """Return the columns as numbers to calculate with, shape (n_rows, any).

        Categories become an indicator of each level. Missing values are filled in with the mean of
        the column, and get an indicator of their own.

        Examples
        --------
        >>> import pandas as pd
        >>> from umfi.data.frames import read_columns
        >>> soils = pd.DataFrame({"soil": ["clay", "sand", "silt", "clay"] * 5})
        >>> read_columns(soils).to_numbers()[:3]
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 1.]])
        """
        if Kind.CATEGORICAL not in self.kinds and not self.missing:
            return self.values
        numbers: list[NDArray[Any]] = []
        for position, kind in enumerate(self.kinds):
            column = self.values[:, position]
            if kind is Kind.CATEGORICAL:
                numbers += [column == level for level in np.unique(column)]
            elif self.names[position] in self.missing:
                is_missing = self.is_missing(position)
                mean = column[~is_missing].mean() if not is_missing.all() else 0.0
                numbers += [np.where(is_missing, mean, column), is_missing]
            else:
                numbers.append(column)
        return np.asfortranarray(np.column_stack(numbers), dtype=np.float64)

    def is_constant(self) -> NDArray[np.bool_]:
        """Return a mask, shape (n_columns,): columns that hold one value only."""
        is_constant: NDArray[np.bool_] = np.all(self.values == self.values[:1], axis=0)
        return is_constant

    def first_copies(self) -> NDArray[np.intp]:
        """Return for each column the position of the first column of its kind with its values.

        Examples
        --------
        >>> import numpy as np
        >>> from umfi.data.frames import read_columns
        >>> rows = np.arange(20.0)
        >>> read_columns(np.column_stack([rows, -rows, rows])).first_copies()
        array([0, 1, 0])
        """
        first: dict[tuple[bool, float | None, bytes], int] = {}
        found = np.empty(self.n_columns, dtype=np.intp)
        for position, column in enumerate(self.values.T):
            # Codes of categories are no numbers. Adding zero turns -0.0 into 0.0, which is the
            # same value with other bytes.
            is_category = self.kinds[position] is Kind.CATEGORICAL
            missing = self.missing.get(self.names[position])
            key = is_category, missing, hashlib.blake2b(column + 0.0).digest()
            found[position] = first.setdefault(key, position)
        return found


def _has_heavy_ties(column: NDArray[np.float64]) -> bool:
    counts = np.unique(column, return_counts=True)[1]
    return bool(counts[counts >= MIN_TIED_ROWS].sum() >= MIN_TIED_PROPORTION * len(column))


def middle_ranks(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where each value stands, between 0 and 1; equal values stand together.

    Examples
    --------
    >>> import numpy as np
    >>> middle_ranks(np.array([3.0, 1.0, 3.0, 7.0]))
    array([0.5  , 0.125, 0.5  , 0.875])
    """
    _, value_of_row, counts = np.unique(column, return_inverse=True, return_counts=True)
    return ((np.cumsum(counts) - counts / 2.0) / len(column))[value_of_row]
