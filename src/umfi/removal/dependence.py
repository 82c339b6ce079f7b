"""Which columns are discrete, and which of them depend on each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from umfi.data.columns import Columns, Kind, middle_ranks
from umfi.removal.protected import cut_block

__all__ = [
    "DEPENDENCE_LEVEL",
    "ROWS_PER_HALF",
    "find_codes",
    "find_dependence",
    "find_dependent",
    "find_discrete",
]

# Columns of more values are told apart by their ranks, and move smoothly.
MAX_VALUES = 12
# Halves of a column of many values are halved again while they have so many rows.
ROWS_PER_HALF = 60
# Columns depend on the level if chance alone shows so much less often than this.
DEPENDENCE_LEVEL = 0.003
# Bins of a column of many values, for this question.
N_BINS = 4
# Indicators of all columns are multiplied for so many rows at a time.
ROWS_PER_PRODUCT = 10_000


def find_discrete(columns: Columns) -> NDArray[np.bool_]:
    """Return a mask, shape (n_columns,): columns of so few values that rows can exchange them.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> rows = np.random.default_rng(0).normal(size=(100, 3))
    >>> find_discrete(read_columns(np.column_stack([rows, rows[:, 0] > 0.5])))
    array([False, False, False,  True])
    """
    return np.array(
        [
            kind in (Kind.BOOLEAN, Kind.CATEGORICAL) or len(np.unique(column)) <= MAX_VALUES
            for kind, column in zip(columns.kinds, columns.values.T, strict=True)
        ],
        dtype=bool,
    )


def find_dependent(columns: Columns, feature: Columns) -> NDArray[np.bool_]:
    """Return a mask, shape (n_columns,): columns that depend on a feature one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> coins = np.random.default_rng(0).integers(0, 2, (200, 3))
    >>> coins[:, 1] |= coins[:, 0]
    >>> columns = read_columns(coins)
    >>> find_dependent(columns.select([1, 2]), columns.select([0]))
    array([ True, False])
    """
    levels = []
    for cut in cut_block(feature, columns, max(ROWS_PER_HALF, columns.n_rows // N_BINS)):
        level_of_row = np.empty(columns.n_rows, dtype=np.intp)
        for level, rows in enumerate(cut.bins):
            level_of_row[rows] = level
        levels.append(level_of_row)
    is_dependent: NDArray[np.bool_] = np.any(find_dependence(find_codes(columns), levels), axis=1)
    return is_dependent


def find_codes(columns: Columns) -> list[NDArray[np.intp]]:
    """Return for each column the number of each row's level, or of its bin along many values."""
    found = []
    for kind, column in zip(columns.kinds, columns.values.T, strict=True):
        values, codes = np.unique(column, return_inverse=True)
        if kind is not Kind.CATEGORICAL and len(values) > MAX_VALUES:
            codes = np.minimum((middle_ranks(column) * N_BINS).astype(np.intp), N_BINS - 1)
        found.append(codes)
    return found


def find_dependence(
    codes: Sequence[NDArray[np.intp]], others: Sequence[NDArray[np.intp]]
) -> NDArray[np.bool_]:
    """Return which discrete columns depend on which others, by Pearson's chi-squared.

    Returns
    -------
    ndarray of bool, shape (n_codes, n_others)
    """
    sizes, other_sizes = ([int(one.max()) + 1 for one in part] for part in (codes, others))
    n_rows = len(others[0])
    # All tables of counts at once, as a product of indicators.
    counts = np.zeros((sum(sizes), sum(other_sizes)))
    for start in range(0, n_rows, ROWS_PER_PRODUCT):
        rows = slice(start, start + ROWS_PER_PRODUCT)
        counts += _indicate(codes, sizes, rows).T @ _indicate(others, other_sizes, rows)
    starts, other_starts = np.cumsum([0, *sizes[:-1]]), np.cumsum([0, *other_sizes[:-1]])
    margins = np.add.reduceat(counts, other_starts, axis=1)[:, :1]
    other_margins = np.add.reduceat(counts, starts, axis=0)[:1]
    terms = n_rows * counts**2 / np.maximum(margins * other_margins, 1.0)
    statistics = np.add.reduceat(np.add.reduceat(terms, starts, axis=0), other_starts, axis=1)
    n_levels = np.add.reduceat(np.sign(margins[:, 0]), starts)
    n_other_levels = np.add.reduceat(np.sign(other_margins[0]), other_starts)
    freedom = np.outer(n_levels - 1, n_other_levels - 1)
    least = special.chdtri(np.maximum(freedom, 1), DEPENDENCE_LEVEL)
    return (freedom > 0) & (statistics - n_rows > least)


def _indicate(
    codes: Sequence[NDArray[np.intp]], sizes: Sequence[int], rows: slice
) -> NDArray[np.float64]:
    """Return indicators of the levels of all columns side by side, shape (n_rows, n_levels)."""
    return np.concatenate(
        [np.eye(size)[one[rows]] for one, size in zip(codes, sizes, strict=True)], axis=1
    )
