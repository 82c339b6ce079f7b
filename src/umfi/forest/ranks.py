"""Columns as ranks: all that a tree needs to know about a feature.

A split never needs a value, only the order of the rows and, for the place of a cut between two
values, the sorted values themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.jit import kernel

__all__ = ["RankTable", "permute_column", "rank_columns"]


MAX_SHORT_ROWS = 2**16


class RankTable(NamedTuple):
    """The ranks of every column.

    Attributes
    ----------
    positions : ndarray of uint16 or int32, shape (n_columns, n_rows)
        Where each row stands when the column is sorted; equal values stand in row order. Two
        bytes where they suffice, so that more of the table stays in the cache.
    sorted_values : ndarray of float64, shape (n_columns, n_rows)
        Each column in ascending order.
    has_ties : ndarray of bool, shape (n_columns,)
        Whether a column holds a value twice; without, no values need to be compared.
    """

    positions: NDArray[np.uint16] | NDArray[np.int32]
    sorted_values: NDArray[np.float64]
    has_ties: NDArray[np.bool_]


def rank_columns(values: NDArray[np.float64]) -> RankTable:
    """Return the ranks of every column of a table of shape (n_rows, n_columns).

    Examples
    --------
    >>> import numpy as np
    >>> rank_columns(np.array([[3.0], [1.0], [3.0]])).positions
    array([[1, 0, 2]], dtype=uint16)
    """
    columns = np.ascontiguousarray(values.T)
    n_columns, n_rows = columns.shape
    dtype: Any = np.uint16 if n_rows <= MAX_SHORT_ROWS else np.int32
    table = RankTable(
        np.empty((n_columns, n_rows), dtype=dtype),
        np.empty((n_columns, n_rows)),
        np.zeros(n_columns, dtype=np.bool_),
    )
    # NumPy's vectorised sort is not stable; ties, which are few, are put in row order afterwards.
    _write_ranks(columns, np.argsort(columns, axis=1), table)
    return table


@kernel
def _write_ranks(columns: NDArray[np.float64], order: NDArray[np.intp], table: RankTable) -> None:
    """Write ranks from the rows of each column in ascending order."""
    n_columns, n_rows = columns.shape
    for column in range(n_columns):
        start = 0
        while start < n_rows:
            value = columns[column, order[column, start]]
            stop = start + 1
            while stop < n_rows and columns[column, order[column, stop]] == value:
                stop += 1
            if stop - start > 1:
                table.has_ties[column] = True
                order[column, start:stop].sort()
            for position in range(start, stop):
                table.positions[column, order[column, position]] = position
                table.sorted_values[column, position] = value
            start = stop


def permute_column(table: RankTable, column: int, permutation: NDArray[np.intp]) -> RankTable:
    """Return the ranks after the rows of one column were permuted; nothing is sorted again.

    Examples
    --------
    >>> import numpy as np
    >>> table = rank_columns(np.array([[30.0], [10.0], [20.0]]))
    >>> permute_column(table, 0, np.array([1, 2, 0])).positions
    array([[0, 1, 2]], dtype=uint16)
    """
    positions = table.positions.copy()
    positions[column] = table.positions[column, permutation]
    return table._replace(positions=positions)
