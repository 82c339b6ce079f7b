"""Linear removal: each other column gives way to its residual on the protected one (E.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from umfi.columns import Columns, Kind
from umfi.contracts import ProtocolName

__all__ = ["LinearRemover", "regression_residuals"]

# The authors regress only where the slope is significant at this level (section F).
PAPER_SIGNIFICANCE = 0.01
# Residuals this small beside the column itself are rounding, not information.
NEGLIGIBLE_SHARE = 1e-10
ROUNDING_STEPS = 64


def regression_residuals(
    values: NDArray[np.float64], protected: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the residuals of each column on the protected one, and the slopes.

    Residuals that are nothing but rounding are set to exactly zero, so that the copy of a column
    leaves no trace for a forest to split on. A constant protected column has slope 0.

    Parameters
    ----------
    values : shape (n_rows, n_columns)
    protected : shape (n_rows,)

    Returns
    -------
    residuals : shape (n_rows, n_columns)
    slopes : shape (n_columns,)
    """
    # Sums instead of matrix products: BLAS may round differently from one call to the next.
    centred = values - values.mean(axis=0)
    centred_protected = protected - protected.mean()
    largest_protected = np.abs(protected).max()
    sum_of_squares = np.sum(centred_protected**2)
    if np.abs(centred_protected).max() <= ROUNDING_STEPS * np.finfo(float).eps * largest_protected:
        slopes = np.zeros(values.shape[1])
    else:
        slopes = np.sum(centred * centred_protected[:, np.newaxis], axis=0) / sum_of_squares
    residuals = centred - centred_protected[:, np.newaxis] * slopes
    # Relative to the column's spread, and to the size of the numbers it was computed from.
    rounding = ROUNDING_STEPS * np.finfo(float).eps
    negligible = np.maximum(
        NEGLIGIBLE_SHARE * np.abs(centred).max(axis=0),
        rounding * (np.abs(values).max(axis=0) + np.abs(slopes) * largest_protected),
    )
    residuals[:, np.abs(residuals).max(axis=0) <= negligible] = 0.0
    return residuals, slopes


def _slope_p_values(
    residuals: NDArray[np.float64], slopes: NDArray[np.float64], protected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the two-sided p-value of each slope, 1 where it is undefined."""
    freedom = len(protected) - 2
    variance = np.sum(residuals**2, axis=0) / freedom
    spread = np.sum((protected - protected.mean()) ** 2)
    if spread == 0.0:
        return np.ones_like(slopes)
    error = np.sqrt(variance / spread)
    # A perfect fit has error 0 and is as significant as can be.
    statistic = np.divide(
        np.abs(slopes), error, out=np.where(slopes != 0.0, np.inf, 0.0), where=error > 0.0
    )
    return np.asarray(2.0 * stats.t.sf(statistic, freedom))


@dataclass(frozen=True)
class LinearRemover:
    """Replaces each other column by its residual on the protected one.

    Exact for jointly Gaussian columns (Theorem 3.1); elsewhere it removes the linear part.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> S = umfi.remove_dependence(X, "x1", remover=umfi.LinearRemover())
    >>> list(S), bool(abs(S["x3"].corr(X["x1"])) < 1e-12)
    (['x2', 'x3', 'x4'], True)
    """

    def remove(
        self,
        columns: Columns,
        feature_index: int,
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S; in the paper protocol columns without a significant slope stay as they are."""
        others = columns.without(feature_index)
        protected = columns.values[:, feature_index]
        residuals, slopes = regression_residuals(others.values, protected)
        if protocol == "paper":
            is_kept = _slope_p_values(residuals, slopes, protected) >= PAPER_SIGNIFICANCE
            residuals[:, is_kept] = others.values[:, is_kept]
        return replace(
            others,
            values=np.asfortranarray(residuals),
            kinds=(Kind.CONTINUOUS,) * others.n_columns,
        )
