"""What removers are told about protected columns of any kind: directions, and bins of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind, middle_ranks
from umfi.removal.levels import count_levels, merge_small_levels
from umfi.removal.regression import find_directions

__all__ = [
    "MIN_CELL_ROWS",
    "Cut",
    "count_directions",
    "cut_block",
    "guides_of",
    "has_rare_levels",
    "linear_directions",
    "rows_by_label",
]

# Levels of categories with fewer rows are joined, and so are more levels than can be told apart.
ROWS_PER_LEVEL = 20
MIN_CELL_ROWS = 10
MAX_LEVELS = 200
# Another value with so many rows has a bin of its own.
MIN_OWN_ROWS = 30
# Bins are taken as of one size up to this ratio.
EVEN_RATIO = 1.5


class Cut(NamedTuple):
    """A protected column cut into bins.

    Attributes
    ----------
    protected : ndarray, shape (n_rows,)
        Its values, or the number of the cell for booleans and categories.
    bins : list of ndarray
        The rows of each bin.
    n_own : int
        The first so many bins hold one value or level each, or missing values. The others follow
        each other along the column.
    rest : ndarray of int
        The rows of these others, in order.
    standing : ndarray, shape (n_rest,)
        Where each of them stands among them, between 0 and 1.
    """

    protected: NDArray[np.float64]
    bins: list[NDArray[np.intp]]
    n_own: int
    rest: NDArray[np.intp]
    standing: NDArray[np.float64]

    def recut(self, rows_per_bin: int) -> Cut:
        """Return the same column in bins of another size, but for those that hold one value."""
        along = [self.rest[part] for part in _even_bins(self.standing, rows_per_bin)]
        return self._replace(bins=[*self.bins[: self.n_own], *along])

    def is_uneven(self) -> bool:
        """Return whether some bins are so much larger that ranks would give a bin away."""
        sizes = [len(rows) for rows in self.bins]
        return max(sizes) > EVEN_RATIO * min(sizes)


def count_directions(block: Columns) -> int:
    """Return how many directions linear removal takes from a block at most."""
    min_rows = _min_level_rows(block.n_rows, ROWS_PER_LEVEL)
    return sum(
        count_levels(column.astype(np.intp), min_rows)
        if kind is Kind.CATEGORICAL
        else 1 + (name in block.missing)
        for column, kind, name in zip(block.values.T, block.kinds, block.names, strict=True)
    )


def has_rare_levels(column: NDArray[np.float64]) -> bool:
    """Return whether codes of categories hold levels too rare for a bin of their own."""
    counts = np.bincount(column.astype(np.intp))
    return bool(np.any((counts > 0) & (counts < MIN_CELL_ROWS)))


def guides_of(protected: Sequence[Columns], others: Columns) -> NDArray[np.float64]:
    """Return the numbers that protected blocks stand for, shape (n_rows, any)."""
    min_rows = _min_level_rows(others.n_rows, ROWS_PER_LEVEL)
    numbers = [merge_small_levels(block, others, min_rows).to_numbers() for block in protected]
    return np.concatenate(numbers, axis=1)


def linear_directions(protected: Sequence[Columns], others: Columns) -> NDArray[np.float64]:
    """Return the numbers that protected blocks stand for, made uncorrelated.

    Returns
    -------
    ndarray, shape (n_directions, n_rows)
    """
    return find_directions(guides_of(protected, others).T)[0]


def _min_level_rows(n_rows: int, at_least: int) -> int:
    """Return how many rows a level needs to stand for itself."""
    return max(at_least, n_rows // MAX_LEVELS)


def cut_block(block: Columns, others: Columns, rows_per_bin: int) -> list[Cut]:
    """Return the bins along each column of a protected block.

    Booleans and categories come first, all together in cells where these are large enough. Other
    columns follow, each as its residual on those before it. A value that many rows hold has a bin
    of its own, and so have missing values.

    Parameters
    ----------
    block : Columns
    others : Columns
        What is transformed; small levels are joined by likeness in these.
    rows_per_bin : int
        About how many rows a bin holds where values allow it.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> rainy = np.repeat([0.0, 1.0], 50)
    >>> columns = read_columns(np.column_stack([rainy, np.arange(100.0)]))
    >>> cut, = cut_block(columns.select([0]), columns.select([1]), 30)
    >>> [len(rows) for rows in cut.bins], cut.n_own
    ([50, 50], 2)
    """
    block = merge_small_levels(block, others, _min_level_rows(block.n_rows, MIN_CELL_ROWS))
    is_discrete = np.array([kind in (Kind.BOOLEAN, Kind.CATEGORICAL) for kind in block.kinds])
    discrete, along = np.flatnonzero(is_discrete), np.flatnonzero(~is_discrete)
    cuts = [_cut_cells(cells) for cells in _find_cells(block.values[:, discrete])]
    if len(along) == 0:
        return cuts
    before = block.select(discrete).to_numbers().T
    numbers = np.concatenate([before, block.values.T[along]])
    directions, positions = find_directions(numbers)
    for direction, position in zip(directions, positions, strict=True):
        if position >= len(before):
            is_missing = block.is_missing(int(along[position - len(before)]))
            cuts.append(_cut_values(direction, is_missing, rows_per_bin))
    return cuts


def _find_cells(discrete: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Return the number of each row's cell, for all columns together or for one after the other."""
    n_rows, n_columns = discrete.shape
    if n_columns == 0:
        return []
    cells = np.unique(discrete, axis=0, return_inverse=True)[1].reshape(n_rows)
    if n_columns == 1 or (cells.max() + 1) * MIN_CELL_ROWS <= n_rows:
        return [cells]
    return [np.unique(column, return_inverse=True)[1] for column in discrete.T]


def _cut_cells(cells: NDArray[np.intp]) -> Cut:
    """Return a bin for each cell; small ones share one."""
    counts = np.bincount(cells)
    is_small = counts < MIN_CELL_ROWS
    if is_small.sum() > 1:
        cells = np.where(is_small[cells], len(counts), cells)
    cells = np.unique(cells, return_inverse=True)[1]
    bins = rows_by_label(cells)
    return Cut(cells.astype(np.float64), bins, len(bins), np.zeros(0, dtype=np.intp), np.zeros(0))


def _cut_values(
    column: NDArray[np.float64], is_missing: NDArray[np.bool_], rows_per_bin: int
) -> Cut:
    """Return bins along a column: of its missing values, its common values, and of the others."""
    _, value_of_row, counts = np.unique(column, return_inverse=True, return_counts=True)
    is_own = (counts[value_of_row] >= MIN_OWN_ROWS) & ~is_missing
    bins = [np.flatnonzero(is_missing)] if is_missing.any() else []
    if is_own.any():
        rows = np.flatnonzero(is_own)
        bins += [rows[part] for part in rows_by_label(value_of_row[rows])]
    rest = np.flatnonzero(~is_own & ~is_missing)
    if bins:
        standing = middle_ranks(column[rest])
    else:
        standing = ((np.cumsum(counts) - counts / 2.0) / len(column))[value_of_row]
    return Cut(column, bins, len(bins), rest, standing).recut(rows_per_bin)


def _even_bins(standing: NDArray[np.float64], rows_per_bin: int) -> list[NDArray[np.intp]]:
    """Return the rows of each of about equally full bins; equal values share a bin."""
    if len(standing) == 0:
        return []
    n_bins = max(1, round(len(standing) / rows_per_bin))
    # A value belongs to the bin in which the middle of its rows falls.
    return rows_by_label(np.floor(standing * n_bins).astype(np.intp))


def rows_by_label(labels: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each label, in the order of labels."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return list(np.split(order, starts))
