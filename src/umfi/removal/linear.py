"""Linear removal: each other column gives way to its residual on the protected one (E.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from umfi.columns import Columns
from umfi.contracts import ProtocolName
from umfi.removal.regression import regress
from umfi.removal.steps import linear_step_ranks

__all__ = ["LinearRemover"]

# The authors regress only where the slope is significant at this level (section F).
PAPER_SIGNIFICANCE = 0.01


@dataclass(frozen=True)
class LinearRemover:
    """Replaces each other column by its residual on the protected one.

    Exact for jointly Gaussian columns (Theorem 3.1); elsewhere it removes the linear part.

    Notes
    -----
    Booleans and other columns that hold the same values many times have residuals that would give
    the protected column away. Their conditional distribution is taken as linear in the protected
    column instead, and each value is replaced by its rank in it, drawn at random among equals.

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
        found = regress(others.values.T, protected)
        residuals = found.residuals.T
        if protocol == "paper":
            p_values = 2.0 * stats.t.sf(found.statistics, columns.n_rows - 2)
            is_kept = p_values >= PAPER_SIGNIFICANCE
            residuals[:, is_kept] = others.values[:, is_kept]
            return others.with_changed(residuals, ~is_kept)
        # A copy is gone already, ties or not.
        is_left = np.any(residuals != 0.0, axis=0)
        for position in np.flatnonzero(others.has_heavy_ties & is_left):
            residuals[:, position] = linear_step_ranks(
                others.values[:, position], protected, rng.random(columns.n_rows)
            )
        return others.with_changed(residuals)
