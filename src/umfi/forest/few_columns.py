"""One tree on few columns and classes, whose rows stay sorted by every column.

Marginal contribution grows millions of trees on one to three columns. There it costs less to keep
the rows of a node in the order of each column, dividing all orders at each cut, than to find the
order of a column again at each node; and the class counts of a node fit into one word, a lane for
each class, so that a scan keeps them in a register. The trees are those of ``tree.py`` to the bit.
What it saves: benchmarks/few_columns.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.model import Growth, Response, Scratch
from umfi.forest.ranks import RankTable
from umfi.forest.scans import lowest_bit
from umfi.forest.splits import draw_feature, threshold_between
from umfi.forest.tree import draw_among_largest
from umfi.jit import inlined_kernel, kernel, tree_kernel

__all__ = ["SortedRows", "fits_few_columns", "grow_sorted_tree", "new_sorted_rows", "sort_rows"]

# With many more columns, dividing all orders costs more than sorting the few that a node tries.
MAX_COLUMNS = 8
# A word has four lanes of 16 bits; without bins there are at most 4,096 rows to count.
MAX_CLASSES = 4
LANE_BITS = np.uint64(16)
LANE_MASK = np.uint64(0xFFFF)
LANE_STARTS = np.uint64(0x30)
ONE_IN_EACH_LANE = np.uint64(0x0001000100010001)
LAST_LANE = np.uint64(48)
SHIFT_BITS = np.uint32(8)
SHIFT_MASK = np.uint32(0xFF)


class SortedRows(NamedTuple):
    """The rows of every node in the order of every column.

    Of the rows in the bag, those of a node are contiguous and in order; in each column they are on
    one of two sides, and a cut brings them to the other. A draw is the weight of a row, and the
    first bit of the lane of its class. The stack holds nodes that wait: bounds in both kinds of
    rows, sides and counts.
    """

    values: NDArray[np.float64]  # (n_columns, n_rows)
    order: NDArray[np.uint16]  # (n_columns, n_rows)
    rows: NDArray[np.uint16]  # (2, n_columns, n_rows + 1)
    draws: NDArray[np.uint32]  # (n_rows,)
    stack: NDArray[np.int64]  # (n_rows + 2, 6)


@kernel
def fits_few_columns(table: RankTable, response: Response, growth: Growth) -> bool:
    """Return whether trees are grown faster on rows that stay sorted."""
    return (
        table.positions.shape[0] <= MAX_COLUMNS
        and 0 < response.n_classes <= MAX_CLASSES
        and not growth.is_split_random
        and not table.has_bins
    )


@kernel
def new_sorted_rows(n_columns: int, n_rows: int) -> SortedRows:
    """Return room for the rows of trees on so many columns."""
    return SortedRows(
        np.empty((n_columns, n_rows)),
        np.empty((n_columns, n_rows), dtype=np.uint16),
        np.empty((2, n_columns, n_rows + 1), dtype=np.uint16),
        np.empty(n_rows, dtype=np.uint32),
        np.empty((n_rows + 2, 6), dtype=np.int64),
    )


@tree_kernel
def sort_rows(table: RankTable, into: SortedRows) -> None:
    """Write values and orders of all rows; again for each tree that arranges levels anew."""
    for column in range(table.positions.shape[0]):
        for row in range(table.positions.shape[1]):
            position = table.positions[column, row]
            into.order[column, position] = row
            into.values[column, row] = table.sorted_values[column, position]


@tree_kernel
def _put_in_bag(labels: NDArray[np.int32], scratch: Scratch, into: SortedRows) -> np.uint64:
    """Write the orders of the rows in the bag; return their class counts."""
    weights, draws = scratch.weights, into.draws
    counts = np.uint64(0)
    for row in range(weights.shape[0]):
        weight = np.uint64(max(weights[row], 0))
        lane = np.uint64(labels[row]) * LANE_BITS
        counts += weight << lane
        draws[row] = (np.uint32(weight) << SHIFT_BITS) | np.uint32(lane)
    for column in range(into.order.shape[0]):
        order, rows = into.order[column], into.rows[0, column]
        n_in_bag = np.uint64(0)
        for position in range(order.shape[0]):
            row = order[position]
            # Written without a branch, which would be unpredictable.
            rows[n_in_bag] = row
            n_in_bag += np.uint64(weights[row] > 0)
    return counts


@inlined_kernel
def _total(counts: np.uint64) -> np.int64:
    """Return the sum of all lanes."""
    return np.int64((counts * ONE_IN_EACH_LANE) >> LAST_LANE)


@inlined_kernel
def _count_of(counts: np.uint64, lane: np.uint64) -> np.int64:
    return np.int64((counts >> lane) & LANE_MASK)


@inlined_kernel
def _sum_of_squares(counts: np.uint64) -> np.int64:
    squared = np.int64(0)
    for label in range(MAX_CLASSES):
        count = _count_of(counts, np.uint64(label) * LANE_BITS)
        squared += count * count
    return squared


@inlined_kernel
def _is_one_class(counts: np.uint64) -> bool:
    """Return whether one lane holds all; there is something to count."""
    first = np.uint64(lowest_bit(counts)) & LANE_STARTS
    return bool((counts >> first) <= LANE_MASK)


class _Scan(NamedTuple):
    """The best cut along a column: rows that go left, 0 for none, its quality, and their counts."""

    n_left: np.int64
    quality: float
    left_counts: np.uint64


@inlined_kernel
def _scan(
    rows: NDArray[np.uint16],
    values: NDArray[np.float64],
    has_ties: bool,
    counts: np.uint64,
    draws: NDArray[np.uint32],
    reciprocals: NDArray[np.float64],
    best_quality: float,
) -> _Scan:
    """Return the best cut along one column; quality is that of ``scans.py``."""
    weight = _total(counts)
    right_squared = _sum_of_squares(counts)
    left_squared = np.int64(0)
    left_weight = np.int64(0)
    left_counts = np.uint64(0)
    best_left_counts = np.uint64(0)
    n_left = np.int64(0)
    for local in range(rows.shape[0] - 1):
        row = rows[local]
        draw = draws[row]
        lane = np.uint64(draw & SHIFT_MASK)
        moved = np.int64(draw >> SHIFT_BITS)
        left_count = _count_of(left_counts, lane)
        right_count = _count_of(counts - left_counts, lane)
        left_counts += np.uint64(moved) << lane
        left_squared += moved * (2 * left_count + moved)
        right_squared -= moved * (2 * right_count - moved)
        left_weight += moved
        if has_ties and values[row] == values[rows[local + 1]]:
            continue
        quality = (
            left_squared * reciprocals[np.uint64(left_weight)]
            + right_squared * reciprocals[np.uint64(weight - left_weight)]
        )
        if quality > best_quality:
            best_quality = quality
            n_left = np.int64(local + 1)
            best_left_counts = left_counts
    return _Scan(n_left, best_quality, best_left_counts)


@inlined_kernel
def _divide_unsorted(
    rows: NDArray[np.uint32], values: NDArray[np.float64], threshold: float
) -> np.int64:
    """Bring the rows up to a threshold to the front, in any order; return how many there are."""
    n_left = np.uint64(0)
    for local in range(rows.shape[0]):
        row = rows[local]
        # Exchanged without a branch, which would be unpredictable.
        rows[local] = rows[n_left]
        rows[n_left] = row
        n_left += np.uint64(values[row] <= threshold)
    return np.int64(n_left)


@inlined_kernel
def _divide_sorted(
    rows: NDArray[np.uint16],
    into: NDArray[np.uint16],
    values: NDArray[np.float64],
    largest_left: float,
    n_left: np.int64,
    needs_left: bool,
    needs_right: bool,
) -> None:
    """Copy the rows of a node's children, in their order, to where they belong.

    A child that is grown no further needs no rows, and its room may hold anything.
    """
    n_rows = rows.shape[0]
    if needs_left and needs_right:
        so_far = np.int64(0)
        for local in range(n_rows):
            row = rows[np.uint64(local)]
            is_left = values[row] <= largest_left
            slot = so_far if is_left else n_left + local - so_far
            into[np.uint64(slot)] = row
            so_far += np.int64(is_left)
    elif needs_left:
        end = np.int64(0)
        for local in range(n_rows):
            row = rows[np.uint64(local)]
            into[np.uint64(end)] = row
            end += np.int64(values[row] <= largest_left)
    else:
        end = np.int64(n_rows - 1)
        for local in range(n_rows - 1, -1, -1):
            row = rows[np.uint64(local)]
            into[np.uint64(end)] = row
            end -= np.int64(values[row] > largest_left)


@inlined_kernel
def _vote(out_rows: NDArray[np.uint32], label: np.int64, predictions: NDArray[np.float64]) -> None:
    for local in range(out_rows.shape[0]):
        predictions[out_rows[local]] = np.float64(label)


@inlined_kernel
def _draw_commonest(counts: np.uint64, scratch: Scratch) -> np.int64:
    """Return the commonest class, drawn among equals."""
    node_counts = scratch.node_counts
    for label in range(node_counts.shape[0]):
        node_counts[label] = _count_of(counts, np.uint64(label) * LANE_BITS)
    return np.int64(draw_among_largest(node_counts, scratch.stream))


@tree_kernel
def grow_sorted_tree(
    table: RankTable,
    response: Response,
    growth: Growth,
    scratch: Scratch,
    n_in_bag: int,
    n_out_of_bag: int,
    predictions: NDArray[np.float64],
    sorted_rows: SortedRows,
) -> None:
    """Grow one tree after ``start_tree``, write its predictions; see ``grow_tree``.

    Draws are made in the same order. A child of one class draws nothing, so it votes when its
    parent is cut.
    """
    counts = _put_in_bag(response.labels, scratch, sorted_rows)
    if n_out_of_bag == 0:
        return
    out_of_bag = scratch.out_of_bag
    if _is_one_class(counts):
        _vote(out_of_bag[:n_out_of_bag], lowest_bit(counts) >> 4, predictions)
        return
    rows, draws, stack = sorted_rows.rows, sorted_rows.draws, sorted_rows.stack
    n_columns = table.positions.shape[0]
    every_column = (1 << n_columns) - 1
    start = np.int64(0)
    stop = np.int64(n_in_bag)
    out_start = np.int64(0)
    out_stop = np.int64(n_out_of_bag)
    sides = np.int64(0)  # A bit for each column: on which of two sides its rows are.
    n_waiting = 0
    while True:
        feature = np.int64(-1)
        n_left = np.int64(0)
        left_counts = np.uint64(0)
        if _total(counts) > growth.min_node_rows:
            quality = -1.0
            for draw in range(growth.mtry):
                drawn = draw_feature(scratch, draw)
                found = _scan(
                    rows[np.uint64((sides >> drawn) & 1), np.uint64(drawn), start:stop],
                    sorted_rows.values[drawn],
                    table.has_ties[drawn],
                    counts,
                    draws,
                    scratch.reciprocals,
                    quality,
                )
                quality = found.quality
                if found.n_left > 0:
                    feature, n_left, left_counts = drawn, found.n_left, found.left_counts
                    if _is_one_class(left_counts) and _is_one_class(counts - left_counts):
                        break
        grows_left = False
        grows_right = False
        if feature < 0:
            label = _draw_commonest(counts, scratch)
            _vote(out_of_bag[out_start:out_stop], label, predictions)
        else:
            values = sorted_rows.values[np.uint64(feature)]
            own = rows[np.uint64((sides >> feature) & 1), np.uint64(feature), start:stop]
            largest_left = values[own[np.uint64(n_left - 1)]]
            threshold = threshold_between(largest_left, values[own[np.uint64(n_left)]])
            out_middle = out_start + _divide_unsorted(
                out_of_bag[out_start:out_stop], values, threshold
            )
            right_counts = counts - left_counts
            grows_left = bool(out_middle > out_start)
            grows_right = bool(out_middle < out_stop)
            if grows_left and _is_one_class(left_counts):
                label = lowest_bit(left_counts) >> 4
                _vote(out_of_bag[out_start:out_middle], label, predictions)
                grows_left = False
            if grows_right and _is_one_class(right_counts):
                label = lowest_bit(right_counts) >> 4
                _vote(out_of_bag[out_middle:out_stop], label, predictions)
                grows_right = False
        if grows_left or grows_right:
            for column in range(n_columns):
                if column != feature:  # Its own rows are divided as they are.
                    side = (sides >> column) & 1
                    _divide_sorted(
                        rows[np.uint64(side), np.uint64(column), start:stop],
                        rows[np.uint64(1 - side), np.uint64(column), start:stop],
                        values,
                        largest_left,
                        n_left,
                        grows_left,
                        grows_right,
                    )
            sides ^= every_column ^ (1 << feature)
            if grows_left and grows_right:
                stack[n_waiting, 0] = start + n_left
                stack[n_waiting, 1] = stop
                stack[n_waiting, 2] = out_middle
                stack[n_waiting, 3] = out_stop
                stack[n_waiting, 4] = sides
                stack[n_waiting, 5] = np.int64(right_counts)
                n_waiting += 1
            if grows_left:
                stop, out_stop, counts = start + n_left, out_middle, left_counts
            else:
                start, out_start, counts = start + n_left, out_middle, right_counts
        elif n_waiting == 0:
            return
        else:
            n_waiting -= 1
            start = stack[n_waiting, 0]
            stop = stack[n_waiting, 1]
            out_start = stack[n_waiting, 2]
            out_stop = stack[n_waiting, 3]
            sides = stack[n_waiting, 4]
            counts = np.uint64(stack[n_waiting, 5])
