"""Columns as ranks: all that a tree needs to know about a feature.

A split never needs a value, only the order of the rows and, for the place of a cut between two
values, the sorted values themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["RankTable", "rank_columns"]


class RankTable(NamedTuple):
    """The ranks of every column.

    Attributes
    ----------
    positions : ndarray of int32, shape (n_columns, n_rows)
        Where each row stands when the column is sorted; equal values stand in row order.
    sorted_values : ndarray of float64, shape (n_columns, n_rows)
        Each column in ascending order.
    """

    positions: NDArray[np.int32]
    sorted_values: NDArray[np.float64]


def rank_columns(values: NDArray[np.float64]) -> RankTable:
    """Return the ranks of every column of a table of shape (n_rows, n_columns).

    Examples
    --------
    >>> import numpy as np
    >>> rank_columns(np.array([[3.0], [1.0], [3.0]])).positions
    array([[1, 0, 2]], dtype=int32)
    """
    columns = np.ascontiguousarray(values.T)
    order = np.argsort(columns, axis=1, kind="stable")
    positions = np.empty(columns.shape, dtype=np.int32)
    ranks = np.arange(columns.shape[1], dtype=np.int32)
    np.put_along_axis(positions, order, ranks[np.newaxis, :], axis=1)
    return RankTable(positions, np.take_along_axis(columns, order, axis=1))
