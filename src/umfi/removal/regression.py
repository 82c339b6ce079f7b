"""Simple regression of many columns on one, safe in any unit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.jit import inlined_kernel, kernel

__all__ = ["Regression", "regress"]

# Residuals this small beside the column itself are rounding, not information.
NEGLIGIBLE_SHARE = 1e-10
ROUNDING = 64 * np.finfo(np.float64).eps


class Regression(NamedTuple):
    """The regressions of columns on the protected one.

    Attributes
    ----------
    residuals : ndarray, shape (n_columns, n_rows)
        Residuals that are nothing but rounding are exactly zero, so that the copy of a column
        leaves no trace for a forest to split on.
    slopes : ndarray, shape (n_columns,)
        0 where the protected column is constant.
    statistics : ndarray, shape (n_columns,)
        Absolute t statistic of each slope; infinite for a perfect fit.
    """

    residuals: NDArray[np.float64]
    slopes: NDArray[np.float64]
    statistics: NDArray[np.float64]


def regress(columns: NDArray[np.float64], protected: NDArray[np.float64]) -> Regression:
    """Return the regression of each column on the protected one.

    Parameters
    ----------
    columns : ndarray, shape (n_columns, n_rows)
    protected : ndarray, shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> found = regress(np.array([[1.0, 3.0, 5.0, 8.0]]), np.array([0.0, 1.0, 2.0, 3.0]))
    >>> found.slopes.round(2), found.residuals.round(2)
    (array([2.3]), array([[ 0.2, -0.1, -0.4,  0.3]]))
    """
    n_columns = len(columns)
    found = Regression(np.empty(columns.shape), np.empty(n_columns), np.empty(n_columns))
    _regress(np.ascontiguousarray(columns), np.ascontiguousarray(protected), found)
    return found


@inlined_kernel
def _centre(values: NDArray[np.float64], centred: NDArray[np.float64]) -> tuple[float, float]:
    """Write a column around zero with largest deviation 1.

    Returns that deviation, 0 if it is only rounding, and the column's largest absolute value.
    """
    n_rows = values.shape[0]
    # Halves, because the difference of two large numbers of opposite sign may overflow.
    total = 0.0
    largest = 0.0
    for row in range(n_rows):
        total += 0.5 * values[row] / n_rows
        largest = max(largest, abs(values[row]))
    deviation = 0.0
    for row in range(n_rows):
        centred[row] = 0.5 * values[row] - total
        deviation = max(deviation, abs(centred[row]))
    if deviation <= ROUNDING * largest:
        centred[:] = 0.0
        return 0.0, largest
    for row in range(n_rows):
        centred[row] /= deviation
    return 2.0 * deviation, largest


@kernel
def _regress(
    columns: NDArray[np.float64], protected: NDArray[np.float64], found: Regression
) -> None:
    """Write the regressions, one column after the other; what is in work stays in the cache."""
    n_columns, n_rows = columns.shape
    unit = np.empty(n_rows)
    protected_scale, protected_largest = _centre(protected, unit)
    digits_lost = protected_largest / protected_scale if protected_scale > 0.0 else 0.0
    sum_of_squares = 0.0
    for row in range(n_rows):
        sum_of_squares += unit[row] * unit[row]
    freedom = max(1, n_rows - 2)
    for column in range(n_columns):
        residuals = found.residuals[column]
        scale, largest = _centre(columns[column], residuals)
        slope = 0.0
        if sum_of_squares > 0.0:
            for row in range(n_rows):
                slope += residuals[row] * unit[row]
            slope /= sum_of_squares
        furthest = 0.0
        for row in range(n_rows):
            residuals[row] -= slope * unit[row]
            furthest = max(furthest, abs(residuals[row]))
        # Relative to the column's spread, and to the size of the numbers it was computed from.
        lost = (largest / scale if scale > 0.0 else 0.0) + abs(slope) * digits_lost
        if furthest <= max(NEGLIGIBLE_SHARE, ROUNDING * lost):
            residuals[:] = 0.0
        error = 0.0
        for row in range(n_rows):
            error += residuals[row] * residuals[row]
            residuals[row] *= scale
        error = np.sqrt(error / freedom / (sum_of_squares if sum_of_squares > 0.0 else 1.0))
        if error > 0.0:
            found.statistics[column] = abs(slope) / error
        else:
            found.statistics[column] = np.inf if slope != 0.0 else 0.0
        found.slopes[column] = slope * scale / protected_scale if protected_scale > 0.0 else 0.0
