"""What the kernels pass to each other: the response, how to grow, and the scratch memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.ranks import RankTable
from umfi.jit import kernel

__all__ = [
    "NO_ROW",
    "Growth",
    "RecordedTree",
    "Response",
    "Scratch",
    "new_recorded_tree",
    "new_scratch",
]


# Behind the last row of a chain.
NO_ROW = np.uint32(0xFFFFFFFF)


class Response(NamedTuple):
    """The response of every row, shape (n_rows,): centred values, or codes of classes.

    What is not used is zero; 0 classes mean regression.
    """

    values: NDArray[np.float64]
    labels: NDArray[np.int32]
    n_classes: int


class Growth(NamedTuple):
    """How a tree grows: see :class:`umfi.ForestPower`."""

    mtry: int
    min_node_rows: int
    is_split_random: bool
    rows_per_tree: int = 2**62


class Scratch(NamedTuple):
    """Memory that one tree after the other uses; nothing is allocated inside a tree.

    Rows in and out of the bag are arranged so that a node's rows are contiguous; the moved ones are
    on their way to a child. Moments are weight, and weight times response; a draw is weight and
    class in one number, see ``scans.py``. The bitmap has a bit for each position of a column; it,
    the moments and the first rows of chains at positions are empty between uses. Reciprocals of
    weights save divisions. The stack holds nodes that wait: bounds in both row arrays, node number,
    and whether the node is needed though no row may be out of bag in it.
    """

    stream: NDArray[np.uint64]  # (1,)
    features: NDArray[np.uint32]  # (n_columns,), a permutation; its head is the draw of a node.
    weights: NDArray[np.int32]
    moments: NDArray[np.float64]
    in_bag: NDArray[np.uint32]
    out_of_bag: NDArray[np.uint32]
    moved: NDArray[np.uint32]
    draws: NDArray[np.int64]
    bitmap: NDArray[np.uint64]
    draws_at: NDArray[np.int64]
    moments_at: NDArray[np.float64]
    first_at: NDArray[np.uint32]
    next_row: NDArray[np.uint32]
    left_counts: NDArray[np.int64]
    node_counts: NDArray[np.int64]
    reciprocals: NDArray[np.float64]
    stack: NDArray[np.int64]


class RecordedTree(NamedTuple):
    """A tree kept for rows to be dropped down again, arrays of shape (max_nodes,).

    Rows whose rank is at most the cut go left. The feature of a leaf is -1, and its prediction is a
    mean response or a class code.
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    prediction: NDArray[np.float64]


@kernel
def new_scratch(table: RankTable, n_rows: int, n_classes: int) -> Scratch:
    """Return the scratch memory for trees on so many rows of a table."""
    n_columns, n_positions = table.sorted_values.shape
    reciprocals = np.zeros(n_rows + 1)
    for weight in range(1, n_rows + 1):
        reciprocals[weight] = 1.0 / weight
    return Scratch(
        np.zeros(1, dtype=np.uint64),
        np.empty(n_columns, dtype=np.uint32),
        np.empty(n_rows, dtype=np.int32),
        np.empty((n_rows, 2)),
        np.empty(n_rows, dtype=np.uint32),
        np.empty(n_rows, dtype=np.uint32),
        np.empty(n_rows, dtype=np.uint32),
        np.empty(n_rows, dtype=np.int64),
        np.zeros((n_positions + 63) // 64, dtype=np.uint64),
        np.empty(n_positions, dtype=np.int64),
        np.zeros((n_positions, 2)),
        np.full(n_positions, NO_ROW),
        np.empty(n_rows, dtype=np.uint32),
        np.empty(n_classes, dtype=np.int64),
        np.empty(n_classes, dtype=np.int64),
        reciprocals,
        np.empty((n_rows + 2, 6), dtype=np.int64),
    )


@kernel
def new_recorded_tree(max_nodes: int) -> RecordedTree:
    """Return room for a tree of at most this many nodes."""
    return RecordedTree(
        np.empty(max_nodes, dtype=np.int32),
        np.empty(max_nodes, dtype=np.int32),
        np.empty(max_nodes, dtype=np.int32),
        np.empty(max_nodes, dtype=np.int32),
        np.empty(max_nodes),
    )
