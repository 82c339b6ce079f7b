"""Linear removal: each other column gives way to its residual on the protected one (E.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.contracts import ProtocolName
from umfi.removal.protected import linear_directions
from umfi.removal.regression import regress, residuals_on
from umfi.removal.ties import linear_conditional_ranks, order_categories

__all__ = ["LinearRemover"]

# The authors regress only where the slope is significant at this level (section F).
PAPER_SIGNIFICANCE = 0.01


@dataclass(frozen=True)
class LinearRemover:
    """Replaces each other column by its residual on the protected one.

    Exact for jointly Gaussian columns (Theorem 3.1); elsewhere it removes the linear part.

    Notes
    -----
    A protected column of categories is taken as the indicators of its levels, the rarest together
    where there are many.

    Booleans, categories and other columns that hold the same values many times have residuals that
    would identify the protected column. Their conditional distribution is taken as linear in the
    protected column instead, and each value is replaced by its rank in it, drawn at random among
    equals.

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
        protected: Sequence[Columns],
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S: residuals on all protected columns together, copies or not.

        In the paper protocol columns without a significant slope stay as they are.
        """
        if protocol == "paper":
            return _remove_where_significant(columns, protected[0].values[:, 0])
        directions = linear_directions(protected, columns)
        residuals = residuals_on(columns.values.T, directions)
        # A copy is gone already, ties or not.
        is_left = np.any(residuals != 0.0, axis=1)
        for position in np.flatnonzero(columns.is_stepped & is_left):
            values = order_categories(columns, position, directions.T)
            tie_breaks = rng.random(columns.n_rows)
            residuals[position] = linear_conditional_ranks(values, directions, tie_breaks)
        return columns.with_changed(residuals.T)


def _remove_where_significant(columns: Columns, protected: NDArray[np.float64]) -> Columns:
    from scipy import stats

    found = regress(columns.values.T, protected)
    p_values = 2.0 * stats.t.sf(found.statistics, columns.n_rows - 2)
    is_unchanged = p_values >= PAPER_SIGNIFICANCE
    residuals = found.residuals.T
    residuals[:, is_unchanged] = columns.values[:, is_unchanged]
    return columns.with_changed(residuals, ~is_unchanged)
