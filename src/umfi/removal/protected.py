"""What removers are told about protected columns of any kind: directions, and bins of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns, Kind
from umfi.removal.regression import find_directions

__all__ = [
    "Cut",
    "count_directions",
    "cut_block",
    "guides_of",
    "linear_directions",
    "rows_by_label",
]

# Linear removal tells so many levels of categories apart, or one for so many rows.
ROWS_PER_LEVEL = 20
# A value with so many rows has a bin of its own; rarer levels of categories share one.
MIN_OWN_ROWS = 30
MIN_CELL_ROWS = 10
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
    """

    protected: NDArray[np.float64]
    bins: list[NDArray[np.intp]]
    n_own: int

    @property
    def is_uneven(self) -> bool:
        """Whether some bins are much larger than others, so that ranks would give a bin away."""
        sizes = [len(rows) for rows in self.bins]
        return max(sizes) > EVEN_RATIO * min(sizes)


def count_directions(columns: Columns) -> int:
    """Return how many directions linear removal takes from a block at most."""
    return int(columns.to_numbers(_max_levels(columns.n_rows)).shape[1])


def linear_directions(protected: Sequence[Columns]) -> NDArray[np.float64]:
    """Return the numbers that protected blocks stand for, made uncorrelated.

    Returns
    -------
    ndarray, shape (n_directions, n_rows)
    """
    return find_directions(guides_of(protected).T)[0]


def guides_of(protected: Sequence[Columns]) -> NDArray[np.float64]:
    """Return the numbers that protected blocks stand for, shape (n_rows, any)."""
    return np.concatenate(
        [block.to_numbers(_max_levels(block.n_rows)) for block in protected], axis=1
    )


def _max_levels(n_rows: int) -> int:
    return max(2, n_rows // ROWS_PER_LEVEL)


def cut_block(block: Columns, rows_per_bin: int) -> list[Cut]:
    """Return the bins along each column of a protected block.

    Booleans and categories come first, all together in cells where these are large enough. Other
    columns follow, each as its residual on those before it. A value that many rows hold has a bin
    of its own, and so have missing values.

    Parameters
    ----------
    block : Columns
    rows_per_bin : int
        About how many rows a bin holds where values allow it.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.frames import read_columns
    >>> rainy = np.repeat([0.0, 1.0], 50)
    >>> cut, = cut_block(read_columns(rainy[:, np.newaxis]), 30)
    >>> [len(rows) for rows in cut.bins], cut.n_own
    ([50, 50], 2)
    """
    is_discrete = np.array([kind in (Kind.BOOLEAN, Kind.CATEGORICAL) for kind in block.kinds])
    discrete, others = np.flatnonzero(is_discrete), np.flatnonzero(~is_discrete)
    cuts = [_cut_cells(cells) for cells in _find_cells(block.values[:, discrete])]
    if len(others) == 0:
        return cuts
    before = block.select(discrete).to_numbers(_max_levels(block.n_rows)).T
    numbers = np.concatenate([before, block.values.T[others]])
    directions, positions = find_directions(numbers)
    for direction, position in zip(directions, positions, strict=True):
        if position >= len(before):
            is_missing = block.is_missing(int(others[position - len(before)]))
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
    return Cut(cells.astype(np.float64), bins, len(bins))


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
    n_own = len(bins)
    rest = np.flatnonzero(~is_own & ~is_missing)
    if len(rest) > 0:
        bins += [rest[part] for part in _equal_count_bins(column[rest], rows_per_bin)]
    return Cut(column, bins, n_own)


def _equal_count_bins(column: NDArray[np.float64], rows_per_bin: int) -> list[NDArray[np.intp]]:
    """Return the rows of each of about equally full bins; equal values share a bin."""
    n_rows = len(column)
    n_bins = max(1, round(n_rows / rows_per_bin))
    _, value_of_row, counts = np.unique(column, return_inverse=True, return_counts=True)
    # A value belongs to the bin in which the middle of its rows falls.
    middles = np.cumsum(counts) - counts / 2.0
    return rows_by_label(np.floor(middles * n_bins / n_rows).astype(np.intp)[value_of_row])


def rows_by_label(labels: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each label, in the order of labels."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return list(np.split(order, starts))
