"""Simple regression of many columns on one, safe in any unit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["regression_residuals", "regression_slopes"]

# Residuals this small beside the column itself are rounding, not information.
NEGLIGIBLE_SHARE = 1e-10
ROUNDING = 64 * np.finfo(np.float64).eps


def _centre(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return columns around zero with largest deviation 1, and that deviation (0 if rounding)."""
    # Halves, because the difference of two large numbers of opposite sign may overflow.
    centred = 0.5 * values - (0.5 * values).mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    scale = np.where(scale <= ROUNDING * np.abs(values).max(axis=0), 0.0, scale)
    return np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 0.0), 2.0 * scale


def _unit_slopes(
    columns: NDArray[np.float64], protected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return slopes between centred columns of largest deviation 1."""
    # Sums instead of matrix products: BLAS may round differently from one call to the next.
    sum_of_squares = np.sum(protected**2)
    if sum_of_squares == 0.0:
        return np.zeros(columns.shape[1])
    return np.sum(columns * protected[:, np.newaxis], axis=0) / sum_of_squares


def regression_slopes(
    values: NDArray[np.float64], protected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the slope of each column on the protected one, shape (n_columns,); 0 if constant."""
    columns, scale = _centre(values)
    unit, protected_scale = _centre(protected[:, np.newaxis])
    if protected_scale[0] == 0.0:
        return np.zeros(values.shape[1])
    return _unit_slopes(columns, unit[:, 0]) * (scale / protected_scale[0])


def regression_residuals(
    values: NDArray[np.float64], protected: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the residuals of each column on the protected one, and each slope's t statistic.

    Residuals that are nothing but rounding are set to exactly zero, so that the copy of a column
    leaves no trace for a forest to split on. A constant protected column has slope 0.

    Parameters
    ----------
    values : shape (n_rows, n_columns)
    protected : shape (n_rows,)

    Returns
    -------
    residuals : shape (n_rows, n_columns)
    statistics : shape (n_columns,)
        Infinite for a perfect fit.
    """
    columns, scale = _centre(values)
    unit = _centre(protected[:, np.newaxis])[0][:, 0]
    slopes = _unit_slopes(columns, unit)
    residuals = columns - unit[:, np.newaxis] * slopes
    # Relative to the column's spread, and to the size of the numbers it was computed from.
    digits_lost = np.divide(
        np.abs(values).max(axis=0), scale, out=np.zeros_like(scale), where=scale > 0.0
    ) + np.abs(slopes) * _digits_lost(protected)
    negligible = np.maximum(NEGLIGIBLE_SHARE, ROUNDING * digits_lost)
    residuals[:, np.abs(residuals).max(axis=0) <= negligible] = 0.0
    freedom = max(1, len(protected) - 2)
    error = np.sqrt(np.divide(np.sum(residuals**2, axis=0) / freedom, np.sum(unit**2) or 1.0))
    is_perfect = np.where(slopes != 0.0, np.inf, 0.0)
    statistics = np.divide(np.abs(slopes), error, out=is_perfect, where=error > 0.0)
    return residuals * scale, statistics


def _digits_lost(column: NDArray[np.float64]) -> float:
    """Return how large a column's numbers are beside their deviations from the mean."""
    scale = _centre(column[:, np.newaxis])[1][0]
    return float(np.abs(column).max() / scale) if scale > 0.0 else 0.0
