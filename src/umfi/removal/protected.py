"""Protected columns of any kind, as removers need them: directions, and bins of rows.

Levels of categories get an order that does not come from their names, and rare ones are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind, middle_ranks
from umfi.removal.regression import find_directions

__all__ = [
    "MIN_CELL_ROWS",
    "Binning",
    "bin_protected",
    "count_directions",
    "guides_of",
    "has_rare_levels",
    "linear_directions",
    "order_levels",
]

# Levels of categories with fewer rows are joined, and so are more levels than can be distinguished.
ROWS_PER_LEVEL = 20
MIN_CELL_ROWS = 10
MAX_LEVELS = 200
# Another value with so many rows has a bin of its own.
MIN_OWN_ROWS = 30
# Bins are taken as of one size up to this ratio.
EVEN_RATIO = 1.5


class Binning(NamedTuple):
    """A protected column in bins.

    The first bins hold one value or level each, or missing values. The rows of the others, the
    rest, have a relative position along the column, between 0 and 1.
    """

    protected: NDArray[np.float64]  # Values, or cells of booleans and categories; (n_rows,).
    bins: list[NDArray[np.intp]]  # The rows of each.
    n_own: int  # How many bins hold one value.
    rest: NDArray[np.intp]
    positions: NDArray[np.float64]  # (n_rest,)

    def with_bins_of(self, rows_per_bin: int) -> Binning:
        """Return the same column in bins of another size, but for those that hold one value."""
        n_bins = max(1, round(len(self.rest) / rows_per_bin))
        # A value belongs to the bin in which the middle of its rows falls.
        numbers = np.floor(self.positions * n_bins).astype(np.intp)
        along = [self.rest[part] for part in _rows_by_label(numbers)] if len(self.rest) else []
        return self._replace(bins=[*self.bins[: self.n_own], *along])

    def is_uneven(self) -> bool:
        """Return whether some bins are so much larger that ranks would identify a bin."""
        sizes = [len(rows) for rows in self.bins]
        return max(sizes) > EVEN_RATIO * min(sizes)


def count_directions(block: Columns) -> int:
    """Return how many directions linear removal takes from a block at most."""
    min_rows = _min_level_rows(block.n_rows, ROWS_PER_LEVEL)
    return sum(
        _count_levels(column.astype(np.intp), min_rows)
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
    numbers = [join_small_levels(block, others, min_rows).to_numbers() for block in protected]
    return np.concatenate(numbers, axis=1)


def linear_directions(protected: Sequence[Columns], others: Columns) -> NDArray[np.float64]:
    """Return these numbers made uncorrelated, shape (n_directions, n_rows)."""
    return find_directions(guides_of(protected, others).T)[0]


def _min_level_rows(n_rows: int, at_least: int) -> int:
    """Return how many rows a level needs to stand for itself."""
    return max(at_least, n_rows // MAX_LEVELS)


def bin_protected(block: Columns, others: Columns, rows_per_bin: int) -> list[Binning]:
    """Return the bins along each column of a protected block.

    Booleans and categories come first, all together in cells where these are large enough. Other
    columns follow, each as its residual on those before it. A value that many rows hold has a bin
    of its own, and so have missing values. Small levels are joined by likeness in other columns.
    """
    block = join_small_levels(block, others, _min_level_rows(block.n_rows, MIN_CELL_ROWS))
    is_discrete = np.array([kind in (Kind.BOOLEAN, Kind.CATEGORICAL) for kind in block.kinds])
    discrete, along = np.flatnonzero(is_discrete), np.flatnonzero(~is_discrete)
    binnings = [_bin_cells(cells) for cells in _find_cells(block.values[:, discrete])]
    if len(along) == 0:
        return binnings
    before = block.select(discrete).to_numbers().T
    numbers = np.concatenate([before, block.values.T[along]])
    for direction, position in zip(*find_directions(numbers), strict=True):
        if position >= len(before):
            is_missing = block.is_missing(int(along[position - len(before)]))
            binnings.append(_bin_values(direction, is_missing, rows_per_bin))
    return binnings


def _find_cells(discrete: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Return the number of each row's cell, for all columns together or for one after the other."""
    n_rows, n_columns = discrete.shape
    if n_columns == 0:
        return []
    cells = np.unique(discrete, axis=0, return_inverse=True)[1].reshape(n_rows)
    if n_columns == 1 or (cells.max() + 1) * MIN_CELL_ROWS <= n_rows:
        return [cells]
    return [np.unique(column, return_inverse=True)[1] for column in discrete.T]


def _bin_cells(cells: NDArray[np.intp]) -> Binning:
    """Return a bin for each cell, and one for all small ones."""
    counts = np.bincount(cells)
    is_small = counts < MIN_CELL_ROWS
    if is_small.sum() > 1:
        cells = np.where(is_small[cells], len(counts), cells)
    cells = np.unique(cells, return_inverse=True)[1]
    bins = _rows_by_label(cells)
    return Binning(
        cells.astype(np.float64), bins, len(bins), np.zeros(0, dtype=np.intp), np.zeros(0)
    )


def _bin_values(
    column: NDArray[np.float64], is_missing: NDArray[np.bool_], rows_per_bin: int
) -> Binning:
    """Return bins along a column: of its missing values, its common values, and of the others."""
    _, value_of_row, counts = np.unique(column, return_inverse=True, return_counts=True)
    is_own = (counts[value_of_row] >= MIN_OWN_ROWS) & ~is_missing
    bins = [np.flatnonzero(is_missing)] if is_missing.any() else []
    if is_own.any():
        rows = np.flatnonzero(is_own)
        bins += [rows[part] for part in _rows_by_label(value_of_row[rows])]
    rest = np.flatnonzero(~is_own & ~is_missing)
    if bins:
        positions = middle_ranks(column[rest])
    else:
        positions = ((np.cumsum(counts) - counts / 2.0) / len(column))[value_of_row]
    return Binning(column, bins, len(bins), rest, positions).with_bins_of(rows_per_bin)


def _rows_by_label(labels: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each label, in the order of labels."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return list(np.split(order, starts))


def order_levels(codes: NDArray[np.intp], guides: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the levels in the order in which they go along with the guides.

    That is the first axis of a correspondence analysis: the combination of guides whose means
    differ most between levels. Without guides the commonest come first.

    Examples
    --------
    >>> import numpy as np
    >>> order_levels(np.array([0, 1, 2, 1]), np.array([[0.3], [0.9], [0.1], [0.7]]))
    array([2, 0, 1])
    """
    counts = np.bincount(codes)
    spread = guides.std(axis=0)
    units = (guides - guides.mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0]
    if units.shape[1] == 0:
        return np.argsort(-counts, kind="stable")
    sums = np.stack([np.bincount(codes, weights=unit) for unit in units.T], axis=1)
    # Sums over roots of counts are means that weigh as much as they are known.
    weighed = sums / np.sqrt(np.maximum(counts, 1))[:, np.newaxis]
    axis = np.linalg.eigh(weighed.T @ weighed)[1][:, -1]
    axis *= np.sign(axis[np.argmax(np.abs(axis))])
    return np.lexsort((-counts, (sums @ axis) / np.maximum(counts, 1)))


def _count_levels(codes: NDArray[np.intp], min_rows: int) -> int:
    """Return how many levels there are after small ones are joined."""
    counts = np.bincount(codes)
    small = counts[(counts < min_rows) & (counts > 0)].sum()
    return int(np.sum(counts >= min_rows) + -(-small // min_rows))


def join_small_levels(block: Columns, others: Columns, min_rows: int) -> Columns:
    """Return a block in which levels of fewer rows are joined with those most alike in the others.

    Examples
    --------
    >>> import pandas as pd
    >>> from umfi.data.frames import read_columns
    >>> sites = pd.DataFrame({"site": list("aaaaaaaaaabbbccddeee"), "height": range(20)})
    >>> columns = read_columns(sites)
    >>> join_small_levels(columns.select([0]), columns.select([1]), 5).values[9:, 0]
    array([0., 1., 1., 1., 1., 1., 2., 2., 2., 2., 2.])
    """
    values = block.values
    guides = None
    for position, kind in enumerate(block.kinds):
        if kind is not Kind.CATEGORICAL:
            continue
        codes = block.values[:, position].astype(np.intp)
        counts = np.bincount(codes)
        if not np.any((counts < min_rows) & (counts > 0)):
            continue
        if guides is None:
            is_ordered = [kind is not Kind.CATEGORICAL for kind in others.kinds]
            guides = others.ranks.positions[np.array(is_ordered, dtype=bool)].T.astype(np.float64)
            values = values.copy(order="F")
        values[:, position] = _join_small(codes, order_levels(codes, guides), min_rows)
    return block if guides is None else replace(block, values=values)


def _join_small(
    codes: NDArray[np.intp], order: NDArray[np.intp], min_rows: int
) -> NDArray[np.float64]:
    """Return the number of each row's level after small neighbours in this order are joined."""
    counts = np.bincount(codes)
    new_code = np.zeros(len(counts))
    n_new = 0
    n_waiting = 0
    waiting: list[int] = []
    for level in order:
        if counts[level] >= min_rows:
            new_code[level] = n_new
            n_new += 1
            continue
        waiting.append(level)
        n_waiting += counts[level]
        if n_waiting >= min_rows:
            new_code[waiting] = n_new
            n_new += 1
            waiting, n_waiting = [], 0
    # The last few join those before them.
    new_code[waiting] = max(n_new - 1, 0)
    return new_code[codes]
