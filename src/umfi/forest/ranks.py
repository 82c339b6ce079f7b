"""Columns as ranks: all that a tree needs to know about a feature.

A split never needs a value, only the order of the rows and, for the place of a cut between two
values, the sorted values themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["RankTable", "rank_columns"]


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
    order = np.argsort(columns, axis=1, kind="stable")
    dtype = np.uint16 if columns.shape[1] <= MAX_SHORT_ROWS else np.int32
    positions = np.empty(columns.shape, dtype=dtype)
    ranks = np.arange(columns.shape[1], dtype=dtype)
    np.put_along_axis(positions, order, ranks[np.newaxis, :], axis=1)
    sorted_values = np.take_along_axis(columns, order, axis=1)
    has_ties = (sorted_values[:, 1:] == sorted_values[:, :-1]).any(axis=1)
    return RankTable(positions, sorted_values, has_ties)
