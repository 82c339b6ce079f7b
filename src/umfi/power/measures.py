"""What scores are: R² or accuracy of predictions of rows that were not fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError
from umfi.target import Target

__all__ = ["MEASURES", "SHARES", "chance_of_shares", "score_predictions", "score_shares"]

MEASURES: dict[str, str] = {"regression": "R²", "classification": "accuracy"}
SHARES = "quadratic score"


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


def score_shares(shares: NDArray[np.float64], target: Target) -> float:
    """Return the quadratic score of class shares: 1 - mean squared distance from the true class.

    The score of Brier (1950), so that 1 is certain and right. It uses what a vote throws away, the
    size of the majority. Rows of NaN are left out.

    Parameters
    ----------
    shares : ndarray, shape (n_rows, n_classes)
        Shares of the votes, or probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.target import read_target
    >>> target = read_target(np.array(["a", "b"] * 5))
    >>> score_shares(np.tile([0.5, 0.5], (10, 1)), target)
    0.5
    """
    is_scored = ~np.isnan(shares[:, 0])
    if not is_scored.any():
        raise InputError("No row was ever out of bag: grow more trees.")
    errors = shares[is_scored]
    errors[np.arange(len(errors)), target.labels[is_scored]] -= 1.0
    return float(1.0 - np.mean(np.sum(errors**2, axis=1)))


def chance_of_shares(target: Target) -> float:
    """Return the quadratic score of knowing nothing but how common each class is."""
    rates = np.bincount(target.labels) / target.n_rows
    return float(np.sum(rates**2))
