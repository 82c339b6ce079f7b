"""What scores are: R² or accuracy of predictions of rows that were not fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError
from umfi.target import Target

__all__ = ["MEASURES", "score_predictions"]

MEASURES: dict[str, str] = {"regression": "R²", "classification": "accuracy"}


def score_predictions(predictions: NDArray[np.float64], target: Target) -> float:
    """Return R² (regression) or accuracy (classification) of predictions; NaN rows are left out.

    R² is 1 - mean squared error / var(y), the variance with n - 1 in the denominator as in R.
    """
    is_scored = ~np.isnan(predictions)
    if not is_scored.any():
        raise InputError("No row was ever out of bag: grow more trees.")
    if target.task == "classification":
        return float(np.mean(predictions[is_scored] == target.values[is_scored]))
    # In units of the largest deviation, whose square cannot under- or overflow.
    errors = target.standardise(predictions[is_scored]) - target.standardise(
        target.values[is_scored]
    )
    variance = target.standardise(target.values).var(ddof=1)
    if variance == 0.0:  # A subsample may miss all variation.
        return 0.0
    return float(1.0 - np.mean(errors**2) / variance)
