"""The rows of a node in the order of one column."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from umfi.forest.bits import lowest_bit

__all__ = ["order_node"]

# Up to this many rows insertion sort beats everything else.
INSERTION_ROWS = 16
# Reading the bitmap costs n/64 words whatever the node's size; past this many words a row of the
# node, sorting is cheaper.
MAX_WORDS_A_ROW = 2

ONE = np.uint64(1)
BITS_A_WORD = 64


@njit(cache=True, nogil=True)
def _insertion_order(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_local: NDArray[np.int32],
    ordered_position: NDArray[np.int32],
) -> None:
    for local in range(rows.shape[0]):
        position = positions[rows[local]]
        slot = local
        while slot > 0 and ordered_position[slot - 1] > position:
            ordered_position[slot] = ordered_position[slot - 1]
            ordered_local[slot] = ordered_local[slot - 1]
            slot -= 1
        ordered_position[slot] = position
        ordered_local[slot] = local


@njit(cache=True, nogil=True)
def _bitmap_order(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_local: NDArray[np.int32],
    ordered_position: NDArray[np.int32],
    bitmap: NDArray[np.uint64],
    local_at_position: NDArray[np.int32],
) -> None:
    for local in range(rows.shape[0]):
        position = positions[rows[local]]
        local_at_position[position] = local
        bitmap[position >> 6] |= ONE << np.uint64(position & 63)
    slot = 0
    for word_index in range(bitmap.shape[0]):
        word = bitmap[word_index]
        bitmap[word_index] = np.uint64(0)
        while word != np.uint64(0):
            position = word_index * BITS_A_WORD + lowest_bit(word)
            ordered_position[slot] = position
            ordered_local[slot] = local_at_position[position]
            slot += 1
            word &= word - ONE


@njit(cache=True, nogil=True)
def _sorted_order(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_local: NDArray[np.int32],
    ordered_position: NDArray[np.int32],
    sort_keys: NDArray[np.int64],
) -> None:
    n_rows = rows.shape[0]
    keys = sort_keys[:n_rows]
    for local in range(n_rows):
        keys[local] = (np.int64(positions[rows[local]]) << 32) | local
    keys.sort()
    for slot in range(n_rows):
        ordered_position[slot] = keys[slot] >> 32
        ordered_local[slot] = keys[slot] & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def order_node(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_local: NDArray[np.int32],
    ordered_position: NDArray[np.int32],
    bitmap: NDArray[np.uint64],
    local_at_position: NDArray[np.int32],
    sort_keys: NDArray[np.int64],
) -> None:
    """Write the node's rows in ascending order of a column.

    Parameters
    ----------
    positions : shape (n_rows,)
        The column's rank of every row of the table.
    rows : shape (n_node_rows,)
        The rows of the node.
    ordered_local, ordered_position : written, shape (at least n_node_rows,)
        For each place in the order: which of the node's rows stands there, and its rank.
    bitmap : shape (n_rows / 64, rounded up), all zero on entry and on return
    local_at_position, sort_keys : scratch, shape (n_rows,)
    """
    n_node_rows = rows.shape[0]
    if n_node_rows <= INSERTION_ROWS:
        _insertion_order(positions, rows, ordered_local, ordered_position)
    elif bitmap.shape[0] <= MAX_WORDS_A_ROW * n_node_rows:
        _bitmap_order(positions, rows, ordered_local, ordered_position, bitmap, local_at_position)
    else:
        _sorted_order(positions, rows, ordered_local, ordered_position, sort_keys)
