"""One tree, grown depth-first on an index array, its out-of-bag rows carried along."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.forest.model import Growth, RecordedTree, Response, Scratch
from umfi.forest.random import count_draws, draw_below, start_stream
from umfi.forest.ranks import RankTable
from umfi.forest.scans import LABEL_BITS, NodeTotals
from umfi.forest.splits import find_cut
from umfi.jit import inlined_kernel, tree_kernel

__all__ = ["draw_among_largest", "draw_bootstrap", "grow_tree", "put_in_bag", "start_tree"]


@tree_kernel
def draw_bootstrap(
    weights: NDArray[np.int32], rows_per_tree: int, stream: NDArray[np.uint64]
) -> None:
    """Write how often each row is drawn, and -1 for rows that are drawn too late to be used.

    A tree grows on the first ``rows_per_tree`` of as many draws as there are rows. Rows drawn
    later are neither in nor out of the bag, so a row has as many votes as in a forest whose trees
    grow on all draws.
    """
    n_rows = weights.shape[0]
    n_used = min(n_rows, rows_per_tree)
    weights[:] = 0
    count_draws(stream, n_used, weights)
    for _ in range(n_rows - n_used):
        row = draw_below(stream, n_rows)
        if weights[row] == 0:
            weights[row] = -1


@inlined_kernel
def put_in_bag(
    scratch: Scratch, row: int, weight: np.int32, value: np.float64, label: np.int32
) -> None:
    """Write what a row is worth to the tree."""
    scratch.moments[row, 0] = weight
    scratch.moments[row, 1] = weight * value
    scratch.draws[row] = (np.int64(weight) << LABEL_BITS) | label


@tree_kernel
def start_tree(
    scratch: Scratch, response: Response, growth: Growth, seed: np.uint64, tree: int
) -> tuple[int, int]:
    """Draw the tree's bootstrap; return how many distinct rows are in and out of the bag.

    Every random draw of the tree comes from the stream that starts here: the bootstrap, then for
    each node, depth first and left before right, the columns and (random cuts) their places, and
    at a leaf with several commonest classes the class.
    """
    start_stream(scratch.stream, seed, tree)
    draw_bootstrap(scratch.weights, growth.rows_per_tree, scratch.stream)
    n_in_bag = np.uint64(0)
    n_out_of_bag = np.uint64(0)
    for row in range(scratch.weights.shape[0]):
        weight = scratch.weights[row]
        # Every row is written without a branch, which would be unpredictable, and there is room.
        put_in_bag(scratch, row, weight, response.values[row], response.labels[row])
        scratch.in_bag[n_in_bag] = row
        scratch.out_of_bag[n_out_of_bag] = row
        n_in_bag += np.uint64(weight > 0)
        n_out_of_bag += np.uint64(weight == 0)
    for column in range(scratch.features.shape[0]):
        scratch.features[column] = column
    return int(np.int64(n_in_bag)), int(np.int64(n_out_of_bag))


@inlined_kernel
def draw_among_largest(counts: NDArray[np.int64], stream: NDArray[np.uint64]) -> int:
    """Return the index of the largest count, drawn among equals so that no class is favoured."""
    largest = counts[0]
    n_equal = 1
    winner = 0
    for index in range(1, counts.shape[0]):
        if counts[index] > largest:
            largest = counts[index]
            n_equal = 1
            winner = index
        elif counts[index] == largest:
            n_equal += 1
    if n_equal == 1:
        return winner
    nth = draw_below(stream, n_equal)
    for index in range(counts.shape[0]):
        if counts[index] == largest:
            if nth == 0:
                winner = index
                break
            nth -= 1
    return winner


@inlined_kernel
def _add_up(rows: NDArray[np.uint32], response: Response, scratch: Scratch) -> NodeTotals:
    """Return the totals of a node's rows, and write its class counts."""
    weights, moments, node_counts = scratch.weights, scratch.moments, scratch.node_counts
    labels, n_classes = response.labels, response.n_classes
    weight = np.int64(0)
    response_sum = np.float64(0.0)
    squared_counts = np.int64(0)
    node_counts[:] = 0
    for local in range(rows.shape[0]):
        row = rows[local]
        weight += weights[row]
        if n_classes == 0:
            response_sum += moments[row, 1]
        else:
            node_counts[labels[row]] += weights[row]
    for label in range(n_classes):
        squared_counts += node_counts[label] * node_counts[label]
    return NodeTotals(weight, response_sum, squared_counts)


@inlined_kernel
def _is_pure(rows: NDArray[np.uint32], response: Response, totals: NodeTotals) -> bool:
    if response.n_classes > 0:
        return totals.squared_counts == totals.weight * totals.weight
    values = response.values
    first = values[rows[0]]
    for local in range(1, rows.shape[0]):
        if values[rows[local]] != first:
            return False
    return True


@inlined_kernel
def _partition(
    rows: NDArray[np.uint32],
    positions: NDArray[np.uint16],
    cut: np.int64,
    moved: NDArray[np.uint32],
) -> np.int64:
    """Bring the rows that go left to the front, both sides in their old order; return how many.

    Keeping the order means that a node's rows always ascend, so sums do not depend on the path.
    """
    n_left = np.int64(0)
    n_moved = np.int64(0)
    for local in range(rows.shape[0]):
        row = rows[local]
        # Written to both sides without a branch, which would be unpredictable.
        goes_left = np.int64(positions[row] <= cut)
        rows[n_left] = row
        moved[n_moved] = row
        n_left += goes_left
        n_moved += 1 - goes_left
    for index in range(n_moved):
        rows[n_left + index] = moved[index]
    return n_left


@inlined_kernel
def _vote_at_two_leaves(
    rows: NDArray[np.uint32],
    out_rows: NDArray[np.uint32],
    positions: NDArray[np.uint16],
    cut: np.int64,
    response: Response,
    scratch: Scratch,
    predictions: NDArray[np.float64],
) -> tuple[float, float]:
    """Predict the out-of-bag rows of a node whose children hold one class, or one row, each.

    Returns the predictions of both children.
    """
    left = 0.0
    right = 0.0
    for local in range(rows.shape[0]):
        row = rows[local]
        if response.n_classes > 0:
            value = np.float64(response.labels[row])
        else:
            value = scratch.moments[row, 1] / scratch.moments[row, 0]
        if positions[row] <= cut:
            left = value
        else:
            right = value
    for local in range(out_rows.shape[0]):
        row = out_rows[local]
        predictions[row] = left if positions[row] <= cut else right
    return left, right


@inlined_kernel
def _record_leaf(recorded: RecordedTree, node: int, prediction: float) -> None:
    recorded.feature[node] = -1
    recorded.prediction[node] = prediction


@tree_kernel
def grow_tree(
    table: RankTable,
    response: Response,
    growth: Growth,
    scratch: Scratch,
    n_in_bag: int,
    n_out_of_bag: int,
    predictions: NDArray[np.float64],
    recorded: RecordedTree,
    is_recording: bool,
    is_whole: bool,
    candidate_of: NDArray[np.int64],
) -> int:
    """Grow one tree after ``start_tree`` and write its prediction of each out-of-bag row.

    Parameters
    ----------
    predictions : written at out-of-bag rows, shape (n_rows,)
        Mean response of the leaf, or its commonest class.
    recorded : written only when recording
    is_whole : whether every branch is grown, or only those that an out-of-bag row reaches
    candidate_of : the candidate that a column belongs to, -1 for none, shape (n_columns,)
        While recording, out-of-bag rows are taken to reach both sides of a cut on a candidate.

    Returns the number of nodes recorded.
    """
    stack = scratch.stack
    stack[0, 0] = 0
    stack[0, 1] = n_in_bag
    stack[0, 2] = 0
    stack[0, 3] = n_out_of_bag
    stack[0, 4] = 0
    stack[0, 5] = is_whole
    n_waiting = 1
    n_nodes = 1
    while n_waiting > 0:
        n_waiting -= 1
        in_start = stack[n_waiting, 0]
        in_stop = stack[n_waiting, 1]
        out_start = stack[n_waiting, 2]
        out_stop = stack[n_waiting, 3]
        node = stack[n_waiting, 4]
        is_needed = stack[n_waiting, 5]
        if out_start == out_stop and not is_needed:
            continue
        rows = scratch.in_bag[in_start:in_stop]
        out_rows = scratch.out_of_bag[out_start:out_stop]
        totals = _add_up(rows, response, scratch)
        feature = np.int64(-1)
        position = np.int64(-1)
        is_perfect = False
        if totals.weight > growth.min_node_rows and not _is_pure(rows, response, totals):
            cut = find_cut(table, rows, totals, response, growth, scratch)
            feature = cut.feature
            position = cut.position
            is_perfect = cut.is_perfect
        if feature < 0:
            if response.n_classes == 0:
                prediction = totals.response_sum / totals.weight
            else:
                prediction = np.float64(draw_among_largest(scratch.node_counts, scratch.stream))
            for local in range(out_rows.shape[0]):
                predictions[out_rows[local]] = prediction
            if is_recording:
                _record_leaf(recorded, node, prediction)
            continue
        positions = table.positions[feature]
        if is_recording:
            recorded.feature[node] = feature
            recorded.cut[node] = position
            recorded.left[node] = n_nodes
            recorded.right[node] = n_nodes + 1
            is_needed |= np.int64(candidate_of[feature] >= 0)
        if is_perfect:
            left, right = _vote_at_two_leaves(
                rows, out_rows, positions, position, response, scratch, predictions
            )
            if is_recording:
                _record_leaf(recorded, n_nodes, left)
                _record_leaf(recorded, n_nodes + 1, right)
                n_nodes += 2
            continue
        n_left = _partition(rows, positions, position, scratch.moved)
        n_left_out = _partition(out_rows, positions, position, scratch.moved)
        # The right child waits below the left one, so the left one is grown first.
        stack[n_waiting, 0] = in_start + n_left
        stack[n_waiting, 1] = in_stop
        stack[n_waiting, 2] = out_start + n_left_out
        stack[n_waiting, 3] = out_stop
        stack[n_waiting, 4] = n_nodes + 1
        stack[n_waiting, 5] = is_needed
        stack[n_waiting + 1, 0] = in_start
        stack[n_waiting + 1, 1] = in_start + n_left
        stack[n_waiting + 1, 2] = out_start
        stack[n_waiting + 1, 3] = out_start + n_left_out
        stack[n_waiting + 1, 4] = n_nodes
        stack[n_waiting + 1, 5] = is_needed
        n_waiting += 2
        n_nodes += 2
    return n_nodes
