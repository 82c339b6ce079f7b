"""The rows of a node in the order of one column, in one of two ways.

A small node is sorted by insertion. In a larger one every row sets the bit of its rank in a bitmap
and leaves what is known of it at that rank; reading the bits gives the order. The readers are the
scans of ``scans.py``, so the order is never written down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.forest.jit import inlined_kernel
from umfi.forest.model import Scratch

__all__ = ["is_small", "mark_classes", "mark_responses", "sort_rows"]

# Insertion sort grows with the square of the node's rows, reading the bitmap with its words however
# few bits are set; they cost the same about here: see benchmarks/node_order.py.
INSERTION_WORDS = 2

ONE = np.uint64(1)


@inlined_kernel
def is_small(n_node_rows: int, n_words: int) -> bool:
    """Return whether a node is sorted faster by insertion than by a bitmap of so many words."""
    return n_node_rows * n_node_rows <= INSERTION_WORDS * n_words


@inlined_kernel
def mark_responses(positions: NDArray[np.int32], rows: NDArray[np.int32], scratch: Scratch) -> None:
    """Mark each row's position in a column, and leave its weight and sum there."""
    bitmap, draws_at, sums_at = scratch.bitmap, scratch.draws_at, scratch.sums_at
    weights, sums = scratch.weights, scratch.sums
    for local in range(rows.shape[0]):
        row = rows[local]
        position = np.int64(positions[row])
        bitmap[position >> 6] |= ONE << np.uint64(position & 63)
        draws_at[position] = weights[row]
        sums_at[position] = sums[row]


@inlined_kernel
def mark_classes(positions: NDArray[np.int32], rows: NDArray[np.int32], scratch: Scratch) -> None:
    """Mark each row's position in a column, and leave its weight and class there."""
    bitmap, draws, draws_at = scratch.bitmap, scratch.draws, scratch.draws_at
    for local in range(rows.shape[0]):
        row = rows[local]
        position = np.int64(positions[row])
        bitmap[position >> 6] |= ONE << np.uint64(position & 63)
        draws_at[position] = draws[row]


@inlined_kernel
def sort_rows(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    ordered_position: NDArray[np.int64],
    ordered_row: NDArray[np.int32],
) -> None:
    """Write the rows and their positions in the ascending order of a column."""
    for local in range(rows.shape[0]):
        row = rows[local]
        position = np.int64(positions[row])
        slot = local
        while slot > 0 and ordered_position[slot - 1] > position:
            ordered_position[slot] = ordered_position[slot - 1]
            ordered_row[slot] = ordered_row[slot - 1]
            slot -= 1
        ordered_position[slot] = position
        ordered_row[slot] = row
