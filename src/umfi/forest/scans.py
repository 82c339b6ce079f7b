"""Every cut of a node along one column: the scans that most of the time goes into.

Quality is the sum over both children of (sum of responses)² / weight for regression, which is
largest where the variance within the children is smallest, and of (sum of squared class counts) /
weight for classification, which is largest where their Gini impurity is smallest. Squared counts
are kept up to date in whole numbers, so a step costs the same for any number of classes.

Each scan exists twice, over a bitmap and over rows sorted by insertion. What the bootstrap drew of
a row is one number there, its draw: the weight in the upper and the class in the lower half.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.bits import lowest_bit
from umfi.forest.jit import inlined_kernel
from umfi.forest.model import Scratch

__all__ = [
    "LABEL_BITS",
    "NodeTotals",
    "Place",
    "scan_marked_classes",
    "scan_marked_responses",
    "scan_sorted_classes",
    "scan_sorted_responses",
]

ZERO = np.uint64(0)
ONE = np.uint64(1)
BITS_A_WORD = 64
LABEL_BITS = np.int64(32)
LABEL_MASK = np.int64(0xFFFFFFFF)


class NodeTotals(NamedTuple):
    """Totals over the in-bag rows of a node, bootstrap counts included.

    Attributes
    ----------
    weight : number of draws
    response_sum : sum of the response over the draws (regression)
    squared_counts : sum over classes of the squared number of draws (classification)
    """

    weight: np.int64
    response_sum: np.float64
    squared_counts: np.int64


class Place(NamedTuple):
    """The best cut of a scan: between two positions; -1 if none is better than the best so far.

    ``is_perfect`` tells that both children hold one class only.
    """

    left: np.int64
    right: np.int64
    quality: float
    is_perfect: bool


@inlined_kernel
def _response_quality(
    left_sum: float, left_weight: np.int64, totals: NodeTotals, reciprocals: NDArray[np.float64]
) -> float:
    right_sum = totals.response_sum - left_sum
    return (
        left_sum * left_sum * reciprocals[left_weight]
        + right_sum * right_sum * reciprocals[totals.weight - left_weight]
    )


@inlined_kernel
def scan_marked_responses(
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> Place:
    """Return the best cut for regression, reading and clearing the bitmap."""
    bitmap, draws_at, sums_at = scratch.bitmap, scratch.draws_at, scratch.sums_at
    reciprocals = scratch.reciprocals
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    left_sum = 0.0
    left_weight = np.int64(0)
    previous = np.int64(-1)
    for word_index in range(bitmap.shape[0]):
        word = bitmap[word_index]
        bitmap[word_index] = ZERO
        while word != ZERO:
            position = word_index * BITS_A_WORD + lowest_bit(word)
            word &= word - ONE
            if previous >= 0 and not (
                has_ties and sorted_values[previous] == sorted_values[position]
            ):
                quality = _response_quality(left_sum, left_weight, totals, reciprocals)
                if quality > best_quality:
                    best_quality = quality
                    best_left = previous
                    best_right = position
            left_sum += sums_at[position]
            left_weight += draws_at[position]
            previous = position
    return Place(best_left, best_right, best_quality, False)


@inlined_kernel
def scan_sorted_responses(
    n_node_rows: int,
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> Place:
    """Return the best cut for regression over rows sorted by insertion."""
    ordered_position, ordered_row = scratch.ordered_position, scratch.ordered_row
    sums, weights, reciprocals = scratch.sums, scratch.weights, scratch.reciprocals
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    left_sum = 0.0
    left_weight = np.int64(0)
    for slot in range(n_node_rows - 1):
        row = ordered_row[slot]
        left_sum += sums[row]
        left_weight += weights[row]
        here = ordered_position[slot]
        following = ordered_position[slot + 1]
        if has_ties and sorted_values[here] == sorted_values[following]:
            continue
        quality = _response_quality(left_sum, left_weight, totals, reciprocals)
        if quality > best_quality:
            best_quality = quality
            best_left = here
            best_right = following
    return Place(best_left, best_right, best_quality, False)


@inlined_kernel
def _move_left(
    draw: np.int64,
    left_counts: NDArray[np.int64],
    node_counts: NDArray[np.int64],
    left_squared: np.int64,
    right_squared: np.int64,
) -> tuple[np.int64, np.int64, np.int64]:
    """Move what was drawn of a row to the left; return both squared sums and the weight moved."""
    label = draw & LABEL_MASK
    weight = draw >> LABEL_BITS
    left_count = left_counts[label]
    right_count = node_counts[label] - left_count
    left_counts[label] = left_count + weight
    return (
        left_squared + weight * (2 * left_count + weight),
        right_squared - weight * (2 * right_count - weight),
        weight,
    )


@inlined_kernel
def scan_marked_classes(
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> Place:
    """Return the best cut for classification, reading and clearing the bitmap."""
    bitmap, draws_at, reciprocals = scratch.bitmap, scratch.draws_at, scratch.reciprocals
    left_counts, node_counts = scratch.left_counts, scratch.node_counts
    left_counts[:] = 0
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    is_perfect = False
    left_squared = np.int64(0)
    right_squared = totals.squared_counts
    left_weight = np.int64(0)
    previous = np.int64(-1)
    for word_index in range(bitmap.shape[0]):
        word = bitmap[word_index]
        bitmap[word_index] = ZERO
        if is_perfect:  # The rest is only cleared.
            continue
        while word != ZERO:
            position = word_index * BITS_A_WORD + lowest_bit(word)
            word &= word - ONE
            if previous >= 0 and not (
                has_ties and sorted_values[previous] == sorted_values[position]
            ):
                right_weight = totals.weight - left_weight
                quality = (
                    left_squared * reciprocals[left_weight]
                    + right_squared * reciprocals[right_weight]
                )
                if quality > best_quality:
                    best_quality = quality
                    best_left = previous
                    best_right = position
                    is_perfect = (
                        left_squared == left_weight * left_weight
                        and right_squared == right_weight * right_weight
                    )
                    if is_perfect:
                        break
            left_squared, right_squared, weight = _move_left(
                draws_at[position], left_counts, node_counts, left_squared, right_squared
            )
            left_weight += weight
            previous = position
    return Place(best_left, best_right, best_quality, is_perfect)


@inlined_kernel
def scan_sorted_classes(
    n_node_rows: int,
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> Place:
    """Return the best cut for classification over rows sorted by insertion."""
    ordered_position, ordered_row = scratch.ordered_position, scratch.ordered_row
    draws, reciprocals = scratch.draws, scratch.reciprocals
    left_counts, node_counts = scratch.left_counts, scratch.node_counts
    left_counts[:] = 0
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    left_squared = np.int64(0)
    right_squared = totals.squared_counts
    left_weight = np.int64(0)
    for slot in range(n_node_rows - 1):
        left_squared, right_squared, weight = _move_left(
            draws[ordered_row[slot]], left_counts, node_counts, left_squared, right_squared
        )
        left_weight += weight
        here = ordered_position[slot]
        following = ordered_position[slot + 1]
        if has_ties and sorted_values[here] == sorted_values[following]:
            continue
        right_weight = totals.weight - left_weight
        quality = (
            left_squared * reciprocals[left_weight] + right_squared * reciprocals[right_weight]
        )
        if quality > best_quality:
            best_quality = quality
            best_left = here
            best_right = following
            if (
                left_squared == left_weight * left_weight
                and right_squared == right_weight * right_weight
            ):
                return Place(best_left, best_right, best_quality, True)
    return Place(best_left, best_right, best_quality, False)
