"""The rows of a node in the order of one column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.forest.bits import lowest_bit
from umfi.forest.jit import inlined_kernel

__all__ = ["order_node"]

# Insertion sort costs about 0.3 ns times the square of the node's rows, reading the bitmap 0.6 ns a
# word however few bits are set, plus a start: see benchmarks/node_order.py.
INSERTION_START = 100
INSERTION_WORDS = 2

ONE = np.uint64(1)
BITS_A_WORD = 64


@inlined_kernel
def _insertion_order(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_local: NDArray[np.int32],
    ordered_position: NDArray[np.int32],
) -> None:
    for local in range(rows.shape[0]):
        position = np.int64(positions[rows[local]])
        slot = local
        while slot > 0 and ordered_position[slot - 1] > position:
            ordered_position[slot] = ordered_position[slot - 1]
            ordered_local[slot] = ordered_local[slot - 1]
            slot -= 1
        ordered_position[slot] = position
        ordered_local[slot] = local


@inlined_kernel
def _bitmap_order(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_local: NDArray[np.int32],
    ordered_position: NDArray[np.int32],
    bitmap: NDArray[np.uint64],
    local_at_position: NDArray[np.int32],
) -> None:
    for local in range(rows.shape[0]):
        position = np.int64(positions[rows[local]])
        local_at_position[position] = local
        bitmap[position >> 6] |= ONE << np.uint64(position & 63)
    slot = 0
    for word_index in range(bitmap.shape[0]):
        word = bitmap[word_index]
        bitmap[word_index] = np.uint64(0)
        while word != np.uint64(0):
            found = word_index * BITS_A_WORD + lowest_bit(word)
            ordered_position[slot] = found
            ordered_local[slot] = local_at_position[found]
            slot += 1
            word &= word - ONE


@inlined_kernel
def order_node(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_local: NDArray[np.int32],
    ordered_position: NDArray[np.int32],
    bitmap: NDArray[np.uint64],
    local_at_position: NDArray[np.int32],
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
    local_at_position : scratch, shape (n_rows,)
    """
    n_node_rows = rows.shape[0]
    if n_node_rows * n_node_rows <= INSERTION_START + INSERTION_WORDS * bitmap.shape[0]:
        _insertion_order(positions, rows, ordered_local, ordered_position)
    else:
        _bitmap_order(positions, rows, ordered_local, ordered_position, bitmap, local_at_position)
