"""How much removal changes a column: 1 - MIC_e(before, after) (appendix F.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.errors import InputError
from umfi.jit import kernel, read_only
from umfi.removal.ties import order_categories

__all__ = ["find_distortion", "mic_e"]

# Grids have at most n ** 0.6 cells; the axis that is optimised is divided between so many times as
# many pieces as it gets bins (the authors of the measure name both).
GRID_EXPONENT = 0.6
PIECES_PER_BIN = 5
# Enough for a mean.
MAX_COLUMNS, MAX_ROWS = 50, 2000


def find_distortion(before: Columns, after: Columns) -> float:
    """Return the mean distortion of columns: 0 if each carries what it carried, 1 if nothing.

    Columns that were constant before are left out; of many columns and rows some are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> rows = np.random.default_rng(0).normal(size=(300, 2))
    >>> before, after = read_columns(rows), read_columns(-3.0 * rows)
    >>> find_distortion(before, after)
    0.0
    """
    chosen = np.flatnonzero(~before.is_constant())
    chosen = chosen[:: max(1, -(-len(chosen) // MAX_COLUMNS))]
    step = max(1, -(-before.n_rows // MAX_ROWS))
    distortions = [
        1.0
        - mic_e(
            order_categories(before, position, after.values[:, [position]])[::step],
            after.values[::step, position],
        )
        for position in chosen
    ]
    return max(0.0, float(np.mean(distortions))) if distortions else 0.0


def mic_e(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the maximal information coefficient, by the estimate of Reshef et al. (2016).

    For every grid size the axis with more bins has equally full ones, and the cuts of the other
    are chosen for most mutual information; the coefficient is the largest ratio of information to
    the log of the smaller number of bins. It is 1 for any noiseless function of many rows, and
    small for independent columns, and no increasing change of either column changes it. The steps
    are those of minepy and R's minerva with ``est="mic_e"``, ``alpha=0.6`` and ``C=5``.

    Parameters
    ----------
    first, second : ndarray, shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.linspace(-1.0, 1.0, 500)
    >>> round(mic_e(rows, rows**3), 3), round(mic_e(rows, np.zeros(500)), 3)
    (1.0, 0.0)
    """
    one, other = (
        read_only(np.ascontiguousarray(column, dtype=np.float64)) for column in (first, second)
    )
    if one.ndim != 1 or one.shape != other.shape or len(one) < 2:
        raise InputError("mic_e compares two columns of the same length: pass arrays of numbers.")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise InputError("mic_e compares finite numbers: leave out rows with missing values.")
    n_cells = max(4, int(len(one) ** GRID_EXPONENT))
    found = max(_most_information(one, other, n_cells), _most_information(other, one, n_cells))
    return min(1.0, float(found))


@kernel
def _put_in_bins(values: NDArray[np.float64], n_bins: int, bins: NDArray[np.int64]) -> int:
    """Write the bin of each sorted value, as equally full as ties allow; return their number.

    A bin ends before the value that would take it further from an equal part, and the bins that
    are left divide what is left.
    """
    n_rows = values.shape[0]
    fair = n_rows / n_bins
    number, n_inside, start = 0, 0, 0
    while start < n_rows:
        stop = start + 1
        while stop < n_rows and values[stop] == values[start]:
            stop += 1
        n_equal = stop - start
        if n_inside > 0 and abs(n_inside + n_equal - fair) >= abs(n_inside - fair):
            number += 1
            n_inside = 0
            fair = (n_rows - start) / (n_bins - number)
        bins[start:stop] = number
        n_inside += n_equal
        start = stop
    return number + 1


@kernel
def _put_in_pieces(
    moved: NDArray[np.float64], bins: NDArray[np.int64], most: int, pieces: NDArray[np.int64]
) -> int:
    """Write the piece of each row, sorted by the axis whose cuts are chosen; return their number.

    No cut is worth while between rows of the same bin of the other axis, nor possible between
    equal ones; of more pieces than asked for, neighbours are joined.
    """
    n_rows = moved.shape[0]
    marks = bins.copy()
    start, mixed = 0, -1
    while start < n_rows:
        stop = start + 1
        is_mixed = False
        while stop < n_rows and moved[stop] == moved[start]:
            is_mixed = is_mixed or bins[stop] != bins[start]
            stop += 1
        if is_mixed:
            marks[start:stop] = mixed
            mixed -= 1
        start = stop
    n_pieces = 0
    for row in range(n_rows):
        if row > 0 and marks[row] != marks[row - 1]:
            n_pieces += 1
        pieces[row] = n_pieces
    n_pieces += 1
    if n_pieces <= most:
        return n_pieces
    return _put_in_bins(pieces.astype(np.float64), most, pieces)


@kernel
def _most_information(moved: NDArray[np.float64], even: NDArray[np.float64], n_cells: int) -> float:
    """Return the largest normalised information of grids of at most so many cells.

    One axis, of shape (n_rows,), is optimised, and one has equally full bins.
    """
    n_rows = moved.shape[0]
    by_even = np.argsort(even, kind="mergesort")
    by_moved = np.argsort(moved, kind="mergesort")
    sorted_even, sorted_moved = even[by_even], moved[by_moved]
    bins, pieces = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    bin_of_row = np.empty(n_rows, dtype=np.int64)
    most = 0.0
    for n_even in range(2, n_cells // 2 + 1):
        n_moved = min(n_even, n_cells // n_even)
        _put_in_bins(sorted_even, n_even, bins)
        for slot in range(n_rows):
            bin_of_row[by_even[slot]] = bins[slot]
        of_sorted = bin_of_row[by_moved]
        n_pieces = _put_in_pieces(sorted_moved, of_sorted, PIECES_PER_BIN * n_moved, pieces)
        # Rows in the pieces up to each, by even bin.
        counts = np.zeros((n_pieces + 1, n_even))
        for slot in range(n_rows):
            counts[pieces[slot] + 1, of_sorted[slot]] += 1.0
        for piece in range(n_pieces):
            counts[piece + 1] += counts[piece]
        entropy = 0.0
        for number in range(n_even):
            proportion = counts[n_pieces, number] / n_rows
            if proportion > 0.0:
                entropy -= proportion * np.log(proportion)
        # What a bin from one piece to another costs: minus its entropy times its rows.
        costs = np.zeros((n_pieces + 1, n_pieces + 1))
        for start in range(n_pieces):
            for stop in range(start + 1, n_pieces + 1):
                size = 0.0
                for number in range(n_even):
                    count = counts[stop, number] - counts[start, number]
                    if count > 0.0:
                        costs[start, stop] += count * np.log(count)
                        size += count
                if size > 0.0:
                    costs[start, stop] -= size * np.log(size)
        best = costs[0].copy()
        for n_bins in range(2, n_moved + 1):
            longer = np.full(n_pieces + 1, -np.inf)
            for stop in range(n_bins, n_pieces + 1):
                for start in range(n_bins - 1, stop):
                    longer[stop] = max(longer[stop], best[start] + costs[start, stop])
            best = longer
            information = entropy + best[n_pieces] / n_rows
            # Ties may leave fewer pieces than bins.
            if information > 0.0:
                most = max(most, information / np.log(n_bins))
    return most
