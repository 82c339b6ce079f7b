"""The best cut of a node: over all gaps of a column, or at one random place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.model import Growth, Response, Scratch
from umfi.forest.random import draw_below, draw_uniform
from umfi.forest.ranks import RankTable
from umfi.forest.scans import (
    LABEL_BITS,
    LABEL_MASK,
    NodeTotals,
    are_pure,
    class_quality,
    response_quality,
    scan_classes,
    scan_responses,
)
from umfi.jit import inlined_kernel

__all__ = ["Cut", "draw_feature", "find_cut", "threshold_between"]


class Cut(NamedTuple):
    """Where a node is cut: rows whose rank is at most the position go left.

    The feature is -1 when no drawn column can be cut; a perfect cut has leaves for children.
    """

    feature: np.int64
    position: np.int64
    is_perfect: bool


@inlined_kernel
def _last_position_up_to(
    sorted_values: NDArray[np.float64], threshold: float, low: np.int64, high: np.int64
) -> np.int64:
    """Return the last position in [low, high) whose value is at most the threshold."""
    n_left = high - low
    while n_left > 1:
        half = n_left >> 1
        # Multiplied instead of branched upon, which would be unpredictable.
        low += half * np.int64(sorted_values[low + half] <= threshold)
        n_left -= half
    return low


@inlined_kernel
def threshold_between(left: float, right: float) -> float:
    """Return a value half-way between two; the left one of neighbouring floating-point numbers."""
    threshold = 0.5 * left + 0.5 * right
    return left if threshold >= right else threshold


@inlined_kernel
def _position_between(
    sorted_values: NDArray[np.float64], left: np.int64, right: np.int64
) -> np.int64:
    """Return the position of a cut half-way between the values at two positions."""
    threshold = threshold_between(sorted_values[left], sorted_values[right])
    return _last_position_up_to(sorted_values, threshold, left, right)


@inlined_kernel
def _random_position(
    positions: NDArray[np.uint16],
    sorted_values: NDArray[np.float64],
    rows: NDArray[np.uint32],
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
    fraction = draw_uniform(stream)
    threshold = (1.0 - fraction) * smallest + fraction * largest
    if threshold >= largest:  # Rounding must not leave the right child empty.
        threshold = smallest
    return _last_position_up_to(sorted_values, threshold, low, high)


@inlined_kernel
def _gather_left(
    positions: NDArray[np.uint16],
    rows: NDArray[np.uint32],
    cut_position: np.int64,
    left_rows: NDArray[np.uint32],
) -> np.int64:
    """Write the rows that a cut sends left, and return how many there are."""
    n_left = np.int64(0)
    for local in range(rows.shape[0]):
        row = rows[local]
        # Written without a branch, which would be unpredictable.
        left_rows[n_left] = row
        n_left += np.int64(positions[row] <= cut_position)
    return n_left


@inlined_kernel
def _quality_at(
    positions: NDArray[np.uint16],
    rows: NDArray[np.uint32],
    cut_position: np.int64,
    totals: NodeTotals,
    response: Response,
    scratch: Scratch,
) -> tuple[float, bool]:
    """Return the quality of one cut, as in the scans, and whether it is perfect."""
    reciprocals = scratch.reciprocals
    left_rows = scratch.moved[: _gather_left(positions, rows, cut_position, scratch.moved)]
    if response.n_classes == 0:
        moments = scratch.moments
        left_weight = 0.0
        left_sum = 0.0
        for local in range(left_rows.shape[0]):
            row = left_rows[local]
            left_weight += moments[row, 0]
            left_sum += moments[row, 1]
        quality = response_quality(left_sum, np.int64(left_weight), totals, reciprocals)
        return quality, rows.shape[0] == 2
    draws, left_counts, node_counts = scratch.draws, scratch.left_counts, scratch.node_counts
    left_counts[:] = 0
    left_draws = np.int64(0)
    for local in range(left_rows.shape[0]):
        draw = draws[left_rows[local]]
        left_draws += draw >> LABEL_BITS
        left_counts[draw & LABEL_MASK] += draw >> LABEL_BITS
    left_squared = np.int64(0)
    right_squared = np.int64(0)
    for label in range(response.n_classes):
        right_count = node_counts[label] - left_counts[label]
        left_squared += left_counts[label] * left_counts[label]
        right_squared += right_count * right_count
    is_perfect = are_pure(left_squared, right_squared, left_draws, totals)
    quality = class_quality(left_squared, right_squared, left_draws, totals, reciprocals)
    return quality, is_perfect


@inlined_kernel
def draw_feature(scratch: Scratch, draw: int) -> np.int64:
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
    rows: NDArray[np.uint32],
    totals: NodeTotals,
    response: Response,
    growth: Growth,
    scratch: Scratch,
) -> Cut:
    """Return the best of one random cut for each drawn column."""
    best_feature = np.int64(-1)
    best_position = np.int64(-1)
    best_quality = -1.0
    for draw in range(growth.mtry):
        feature = draw_feature(scratch, draw)
        positions = table.positions[feature]
        position = _random_position(positions, table.sorted_values[feature], rows, scratch.stream)
        if position < 0:
            continue
        quality, is_perfect = _quality_at(positions, rows, position, totals, response, scratch)
        if quality > best_quality:
            best_feature, best_position, best_quality = feature, position, quality
            if is_perfect:
                return Cut(best_feature, best_position, True)
    return Cut(best_feature, best_position, False)


@inlined_kernel
def find_cut(
    table: RankTable,
    rows: NDArray[np.uint32],
    totals: NodeTotals,
    response: Response,
    growth: Growth,
    scratch: Scratch,
) -> Cut:
    """Return the best cut over the columns drawn for this node; the first of equals wins.

    Draws up to ``mtry`` columns without replacement, and no more once a cut is perfect: when both
    children hold one class, or one row each. A node all of whose drawn columns are constant is
    not cut, as in ranger.
    """
    if growth.is_split_random:
        return _find_random_cut(table, rows, totals, response, growth, scratch)
    n_node_rows = rows.shape[0]
    best_feature = np.int64(-1)
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    best_quality = -1.0
    is_perfect = False
    for draw in range(growth.mtry):
        feature = draw_feature(scratch, draw)
        positions = table.positions[feature]
        sorted_values = table.sorted_values[feature]
        has_ties = table.has_ties[feature]
        if n_node_rows == 2:
            left = np.int64(min(positions[rows[0]], positions[rows[1]]))
            right = np.int64(max(positions[rows[0]], positions[rows[1]]))
            if sorted_values[left] != sorted_values[right]:
                best_feature, best_left, best_right, is_perfect = feature, left, right, True
        else:
            if response.n_classes == 0:
                scan = scan_responses(
                    positions, rows, sorted_values, has_ties, totals, scratch, best_quality
                )
            else:
                scan = scan_classes(
                    positions,
                    rows,
                    sorted_values,
                    has_ties,
                    table.has_bins,
                    totals,
                    scratch,
                    best_quality,
                )
            best_quality = scan.quality
            is_perfect = scan.is_perfect
            if scan.left >= 0:
                best_feature, best_left, best_right = feature, scan.left, scan.right
        if is_perfect:
            break
    if best_feature < 0:
        return Cut(best_feature, np.int64(-1), False)
    position = _position_between(table.sorted_values[best_feature], best_left, best_right)
    return Cut(best_feature, position, is_perfect)
