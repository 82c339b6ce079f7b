"""Every cut of a node along one column: the scans that most of the time goes into.

Every row of the node sets the bit of its rank in a bitmap and leaves what is known of it at that
rank; reading the bits gives the rows in the order of the column, which is never written down. One
word more says which words of the bitmap hold bits, so a scan costs as much as the node has rows,
however long the table is.

Quality is the sum over both children of (sum of responses)² / weight for regression, which is
largest where the variance within the children is smallest, and of (sum of squared class counts) /
weight for classification, which is largest where their Gini impurity is smallest. Squared counts
are kept up to date in whole numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from umfi.forest.model import NO_ROW, Scratch
from umfi.jit import inlined_kernel

__all__ = [
    "LABEL_BITS",
    "LABEL_MASK",
    "NodeTotals",
    "Scan",
    "are_pure",
    "class_quality",
    "lowest_bit",
    "response_quality",
    "scan_classes",
    "scan_responses",
]

ZERO = np.uint64(0)
ONE = np.uint64(1)
BITS_PER_WORD = 64
WORD_SHIFT = 6
BIT_MASK = 63
LABEL_BITS = np.int64(32)
LABEL_MASK = np.int64(0xFFFFFFFF)


# The one machine instruction that Numba does not offer.
if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def lowest_bit(word: np.uint64) -> np.int64:
        """Return the position of the lowest set bit of a word that is not zero."""
        number = int(word)
        return np.int64((number & -number).bit_length() - 1)

else:

    def _type_count_trailing_zeros(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            is_zero_undefined = context.get_constant(types.boolean, True)
            return builder.cttz(arguments[0], is_zero_undefined)

        return types.uint64(types.uint64), generate

    _count_trailing_zeros: Any = intrinsic(_type_count_trailing_zeros)

    @inlined_kernel
    def lowest_bit(word: np.uint64) -> np.int64:
        """Return the position of the lowest set bit of a word that is not zero."""
        return np.int64(_count_trailing_zeros(word))


class NodeTotals(NamedTuple):
    """Totals over the draws of a node: their number, and by task one of the sums.

    Squared counts are summed over classes.
    """

    weight: np.int64
    response_sum: np.float64
    squared_counts: np.int64


class Scan(NamedTuple):
    """The best cut along a column: between two positions; -1 if none is better than the last.

    It is perfect if both children hold one class only.
    """

    left: np.int64
    right: np.int64
    quality: float
    is_perfect: bool


@inlined_kernel
def response_quality(
    left_sum: float, left_weight: np.int64, totals: NodeTotals, reciprocals: NDArray[np.float64]
) -> float:
    """Return the quality of a cut for regression."""
    right_sum = totals.response_sum - left_sum
    # Indices without a sign, here and elsewhere, because Numba lets negative ones count from the
    # end, which takes time to look for.
    return (
        left_sum * left_sum * reciprocals[np.uint64(left_weight)]
        + right_sum * right_sum * reciprocals[np.uint64(totals.weight - left_weight)]
    )


@inlined_kernel
def class_quality(
    left_squared: np.int64,
    right_squared: np.int64,
    left_weight: np.int64,
    totals: NodeTotals,
    reciprocals: NDArray[np.float64],
) -> float:
    """Return the quality of a cut for classification."""
    return (
        left_squared * reciprocals[np.uint64(left_weight)]
        + right_squared * reciprocals[np.uint64(totals.weight - left_weight)]
    )


@inlined_kernel
def are_pure(
    left_squared: np.int64, right_squared: np.int64, left_weight: np.int64, totals: NodeTotals
) -> bool:
    """Return whether both children of a cut hold one class only."""
    right_weight = totals.weight - left_weight
    return (
        left_squared == left_weight * left_weight and right_squared == right_weight * right_weight
    )


@inlined_kernel
def _mark(bitmap: NDArray[np.uint64], words: np.uint64, position: np.int64) -> np.uint64:
    """Set the bit of a position, and return the word that marks words, with the bit of its."""
    word_index = position >> WORD_SHIFT
    bitmap[word_index] |= ONE << np.uint64(position & BIT_MASK)
    return words | (ONE << np.uint64(word_index))


@inlined_kernel
def _mark_responses(
    positions: NDArray[np.uint16], rows: NDArray[np.uint32], scratch: Scratch
) -> np.uint64:
    """Mark each row's position, and add its moments there; return which words hold bits."""
    bitmap, moments, moments_at = scratch.bitmap, scratch.moments, scratch.moments_at
    words = ZERO
    for local in range(rows.shape[0]):
        row = rows[local]
        position = np.int64(positions[row])
        words = _mark(bitmap, words, position)
        moments_at[position, 0] += moments[row, 0]
        moments_at[position, 1] += moments[row, 1]
    return words


@inlined_kernel
def scan_responses(
    positions: NDArray[np.uint16],
    rows: NDArray[np.uint32],
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> Scan:
    """Return the best cut for regression; several rows may have one position."""
    bitmap, moments_at, reciprocals = scratch.bitmap, scratch.moments_at, scratch.reciprocals
    words = _mark_responses(positions, rows, scratch)
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    left_sum = 0.0
    left_weight = np.int64(0)
    previous = np.int64(-1)
    while words != ZERO:
        word_index = lowest_bit(words)
        words &= words - ONE
        word = bitmap[word_index]
        bitmap[word_index] = ZERO
        while word != ZERO:
            position = word_index * BITS_PER_WORD + lowest_bit(word)
            word &= word - ONE
            if previous >= 0 and not (
                has_ties and sorted_values[previous] == sorted_values[position]
            ):
                quality = response_quality(left_sum, left_weight, totals, reciprocals)
                if quality > best_quality:
                    best_quality = quality
                    best_left = previous
                    best_right = position
            left_weight += np.int64(moments_at[position, 0])
            left_sum += moments_at[position, 1]
            moments_at[position, 0] = 0.0
            moments_at[position, 1] = 0.0
            previous = position
    return Scan(best_left, best_right, best_quality, False)


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
def _mark_classes(
    positions: NDArray[np.uint16], rows: NDArray[np.uint32], has_bins: bool, scratch: Scratch
) -> np.uint64:
    """Mark each row's position, and leave its draw there or chain the rows of a bin."""
    bitmap, draws, draws_at = scratch.bitmap, scratch.draws, scratch.draws_at
    first_at, next_row = scratch.first_at, scratch.next_row
    words = ZERO
    for local in range(rows.shape[0]):
        row = rows[local]
        position = np.int64(positions[row])
        words = _mark(bitmap, words, position)
        if has_bins:
            next_row[row] = first_at[position]
            first_at[position] = row
        else:
            draws_at[position] = draws[row]
    return words


@inlined_kernel
def scan_classes(
    positions: NDArray[np.uint16],
    rows: NDArray[np.uint32],
    sorted_values: NDArray[np.float64],
    has_ties: bool,
    has_bins: bool,
    totals: NodeTotals,
    scratch: Scratch,
    best_quality: float,
) -> Scan:
    """Return the best cut for classification.

    Rows at one position, a bin, are chained. Following chains takes 10 to 24 % more
    time where every row has its own (572 rows of 50 and 4,000 columns), so both are here.
    """
    bitmap, draws, draws_at = scratch.bitmap, scratch.draws, scratch.draws_at
    first_at, next_row, reciprocals = scratch.first_at, scratch.next_row, scratch.reciprocals
    left_counts, node_counts = scratch.left_counts, scratch.node_counts
    words = _mark_classes(positions, rows, has_bins, scratch)
    left_counts[:] = 0
    best_left = np.int64(-1)
    best_right = np.int64(-1)
    is_perfect = False
    left_squared = np.int64(0)
    right_squared = totals.squared_counts
    left_weight = np.int64(0)
    previous = np.int64(-1)
    while words != ZERO:
        word_index = lowest_bit(words)
        words &= words - ONE
        word = bitmap[word_index]
        bitmap[word_index] = ZERO
        if is_perfect and not has_bins:  # The rest is only cleared.
            continue
        while word != ZERO:
            position = word_index * BITS_PER_WORD + lowest_bit(word)
            word &= word - ONE
            if previous >= 0 and not (
                has_ties and sorted_values[previous] == sorted_values[position]
            ):
                quality = class_quality(
                    left_squared, right_squared, left_weight, totals, reciprocals
                )
                if quality > best_quality:
                    best_quality = quality
                    best_left = previous
                    best_right = position
                    is_perfect = are_pure(left_squared, right_squared, left_weight, totals)
                    if is_perfect and not has_bins:
                        break
            if has_bins:
                row = first_at[position]
                first_at[position] = NO_ROW
                while row != NO_ROW:
                    left_squared, right_squared, weight = _move_left(
                        draws[row], left_counts, node_counts, left_squared, right_squared
                    )
                    left_weight += weight
                    row = next_row[row]
            else:
                left_squared, right_squared, weight = _move_left(
                    draws_at[position], left_counts, node_counts, left_squared, right_squared
                )
                left_weight += weight
            previous = position
    return Scan(best_left, best_right, best_quality, is_perfect)
