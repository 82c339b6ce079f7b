"""The best cut of a node: over all places of a column, or at one random place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.jit import inlined_kernel, tree_kernel
from umfi.forest.model import Growth, Scratch
from umfi.forest.node_order import order_node
from umfi.forest.ranks import RankTable
from umfi.forest.streams import draw_below, draw_uniform

__all__ = ["Cut", "NodeTotals", "find_cut"]


class NodeTotals(NamedTuple):
    """Totals over the in-bag rows of a node, bootstrap counts included.

    Attributes
    ----------
    weight : number of draws
    response_sum : sum of the response over the draws (regression)
    squared_counts : sum over classes of the squared number of draws (classification)
    """

    weight: int
    response_sum: float
    squared_counts: int


class Cut(NamedTuple):
    """Where a node is cut.

    Attributes
    ----------
    feature : the column, -1 when no drawn column can be cut
    position : rows whose rank is at most this go left
    is_perfect : whether both children are known to be leaves
    """

    feature: np.int64
    position: np.int64
    is_perfect: bool


@inlined_kernel
def _last_position_up_to(
    sorted_values: NDArray[np.float64], threshold: float, low: np.int64, high: np.int64
) -> np.int64:
    """Return the last position in [low, high) whose value is at most the threshold."""
    while high - low > 1:
        middle = (low + high) // 2
        if sorted_values[middle] <= threshold:
            low = middle
        else:
            high = middle
    return low


@inlined_kernel
def _position_between(
    sorted_values: NDArray[np.float64], left: np.int64, right: np.int64
) -> np.int64:
    """Return the position of a cut half-way between the values at two positions."""
    threshold = 0.5 * sorted_values[left] + 0.5 * sorted_values[right]
    if threshold >= sorted_values[right]:  # Neighbouring floating-point numbers.
        threshold = sorted_values[left]
    return _last_position_up_to(sorted_values, threshold, left, right)


@inlined_kernel
def _scan_regression(
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    n_node_rows: int,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> tuple[int, float]:
    """Return after which place of the order to cut, and the quality; -1 if none is better.

    Quality is the sum over both children of (sum of responses)² / weight, which is largest where
    the variance within the children is smallest.
    """
    ordered_local, ordered_position = scratch.ordered_local, scratch.ordered_position
    node_sums, node_weights = scratch.node_sums, scratch.node_weights
    reciprocals = scratch.reciprocals
    best_slot = -1
    left_sum = 0.0
    left_weight = 0
    for slot in range(n_node_rows - 1):
        local = ordered_local[slot]
        left_sum += node_sums[local]
        left_weight += node_weights[local]
        if (
            has_ties
            and sorted_values[ordered_position[slot]] == sorted_values[ordered_position[slot + 1]]
        ):
            continue
        right_sum = totals.response_sum - left_sum
        quality = (
            left_sum * left_sum * reciprocals[left_weight]
            + right_sum * right_sum * reciprocals[totals.weight - left_weight]
        )
        if quality > best_quality:
            best_quality = quality
            best_slot = slot
    return best_slot, best_quality


@inlined_kernel
def _scan_classification(
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    n_node_rows: int,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> tuple[int, float, bool]:
    """Return after which place of the order to cut, the quality, and whether it is perfect.

    The place is -1 if no cut is better than the best so far. A cut is perfect when both children
    hold one class only; the scan ends there.

    Quality is the sum over both children of (sum of squared class counts) / weight, which is
    largest where the Gini impurity of the children is smallest. The squared sums are kept up to
    date in whole numbers, so a step costs the same for any number of classes.
    """
    ordered_local, ordered_position = scratch.ordered_local, scratch.ordered_position
    node_labels, node_weights = scratch.node_labels, scratch.node_weights
    node_counts, left_counts = scratch.node_counts, scratch.left_counts
    reciprocals = scratch.reciprocals
    best_slot = -1
    left_counts[:] = 0
    left_squared = np.int64(0)
    right_squared = np.int64(totals.squared_counts)
    left_weight = np.int64(0)
    for slot in range(n_node_rows - 1):
        local = ordered_local[slot]
        label = node_labels[local]
        weight = np.int64(node_weights[local])
        left_count = left_counts[label]
        right_count = node_counts[label] - left_count
        left_squared += weight * (2 * left_count + weight)
        right_squared -= weight * (2 * right_count - weight)
        left_counts[label] = left_count + weight
        left_weight += weight
        if (
            has_ties
            and sorted_values[ordered_position[slot]] == sorted_values[ordered_position[slot + 1]]
        ):
            continue
        right_weight = totals.weight - left_weight
        quality = (
            left_squared * reciprocals[left_weight] + right_squared * reciprocals[right_weight]
        )
        if quality > best_quality:
            best_quality = quality
            best_slot = slot
            if (
                left_squared == left_weight * left_weight
                and right_squared == right_weight * right_weight
            ):
                return best_slot, best_quality, True
    return best_slot, best_quality, False


@inlined_kernel
def _random_position(
    positions: NDArray[np.int32],
    sorted_values: NDArray[np.float64],
    rows: NDArray[np.int32],
    stream: NDArray[np.uint64],
) -> np.int64:
    """Return a cut drawn uniformly between the node's smallest and largest value, or -1."""
    low = np.int64(positions[rows[0]])
    high = low
    for local in range(1, rows.shape[0]):
        position = np.int64(positions[rows[local]])
        low = min(low, position)
        high = max(high, position)
    smallest = sorted_values[low]
    largest = sorted_values[high]
    if smallest == largest:
        return np.int64(-1)
    share = draw_uniform(stream)
    threshold = (1.0 - share) * smallest + share * largest
    if threshold >= largest:  # Rounding must not leave the right child empty.
        threshold = smallest
    return _last_position_up_to(sorted_values, threshold, low, high)


@inlined_kernel
def _quality_at(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    cut_position: np.int64,
    totals: NodeTotals,
    n_classes: int,
    scratch: Scratch,
) -> tuple[float, bool]:
    """Return the quality of one cut, as in the scans, and whether it is perfect."""
    node_weights, node_sums, node_labels = (
        scratch.node_weights,
        scratch.node_sums,
        scratch.node_labels,
    )
    left_weight = 0
    left_sum = 0.0
    left_counts = scratch.left_counts
    left_counts[:] = 0
    for local in range(rows.shape[0]):
        if positions[rows[local]] <= cut_position:
            left_weight += node_weights[local]
            if n_classes == 0:
                left_sum += node_sums[local]
            else:
                left_counts[node_labels[local]] += node_weights[local]
    right_weight = totals.weight - left_weight
    if n_classes == 0:
        right_sum = totals.response_sum - left_sum
        quality = (
            left_sum * left_sum * scratch.reciprocals[left_weight]
            + right_sum * right_sum * scratch.reciprocals[right_weight]
        )
        return quality, rows.shape[0] == 2
    left_squared = 0
    right_squared = 0
    for label in range(n_classes):
        right_count = scratch.node_counts[label] - left_counts[label]
        left_squared += left_counts[label] * left_counts[label]
        right_squared += right_count * right_count
    quality = (
        left_squared * scratch.reciprocals[left_weight]
        + right_squared * scratch.reciprocals[right_weight]
    )
    is_perfect = (
        left_squared == left_weight * left_weight and right_squared == right_weight * right_weight
    )
    return quality, is_perfect


@inlined_kernel
def _draw_feature(scratch: Scratch, draw: int) -> np.int64:
    """Return the next column of a draw without replacement."""
    features = scratch.features
    chosen = draw + draw_below(scratch.stream, features.shape[0] - draw)
    feature = np.int64(features[chosen])
    features[chosen] = features[draw]
    features[draw] = feature
    return feature


@inlined_kernel
def _find_random_cut(
    table: RankTable,
    rows: NDArray[np.int32],
    totals: NodeTotals,
    n_classes: int,
    growth: Growth,
    scratch: Scratch,
) -> Cut:
    """Return the best of one random cut for each drawn column."""
    best_feature = np.int64(-1)
    best_position = np.int64(-1)
    best_quality = -1.0
    for draw in range(growth.mtry):
        feature = _draw_feature(scratch, draw)
        positions = table.positions[feature]
        position = _random_position(positions, table.sorted_values[feature], rows, scratch.stream)
        if position < 0:
            continue
        quality, is_perfect = _quality_at(positions, rows, position, totals, n_classes, scratch)
        if quality > best_quality:
            best_feature, best_position, best_quality = feature, position, quality
            if is_perfect:
                return Cut(best_feature, best_position, True)
    return Cut(best_feature, best_position, False)


@tree_kernel
def find_cut(
    table: RankTable,
    rows: NDArray[np.int32],
    totals: NodeTotals,
    n_classes: int,
    growth: Growth,
    scratch: Scratch,
) -> Cut:
    """Return the best cut over the columns drawn for this node; the first of equals wins.

    Draws up to ``mtry`` columns without replacement, and no more once a cut is perfect: when both
    children hold one class, or one row each. A node all of whose drawn columns are constant is
    not cut, as in ranger.
    """
    if growth.is_split_random:
        return _find_random_cut(table, rows, totals, n_classes, growth, scratch)
    n_node_rows = rows.shape[0]
    ordered_position = scratch.ordered_position
    best_feature = np.int64(-1)
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    best_quality = -1.0
    is_perfect = False
    for draw in range(growth.mtry):
        feature = _draw_feature(scratch, draw)
        positions = table.positions[feature]
        sorted_values = table.sorted_values[feature]
        if n_node_rows == 2:
            best_left = np.int64(min(positions[rows[0]], positions[rows[1]]))
            best_right = np.int64(max(positions[rows[0]], positions[rows[1]]))
            if sorted_values[best_left] != sorted_values[best_right]:
                best_feature = feature
                is_perfect = True
        else:
            order_node(
                positions,
                rows,
                scratch.ordered_local,
                ordered_position,
                scratch.bitmap,
                scratch.local_at_position,
            )
            has_ties = table.has_ties[feature]
            if n_classes == 0:
                slot, best_quality = _scan_regression(
                    sorted_values, has_ties, n_node_rows, totals, scratch, best_quality
                )
            else:
                slot, best_quality, is_perfect = _scan_classification(
                    sorted_values, has_ties, n_node_rows, totals, scratch, best_quality
                )
            if slot >= 0:
                best_feature = feature
                best_left = np.int64(ordered_position[slot])
                best_right = np.int64(ordered_position[slot + 1])
        if is_perfect:
            break
    if best_feature < 0:
        return Cut(best_feature, np.int64(-1), False)
    position = _position_between(table.sorted_values[best_feature], best_left, best_right)
    return Cut(best_feature, position, is_perfect)
