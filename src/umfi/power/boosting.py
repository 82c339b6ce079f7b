"""The cross-validated score of boosted trees."""

from __future__ import annotations

from umfi.data.target import Task
from umfi.power.estimator import EstimatorPower

__all__ = ["boosting"]


def boosting(task: Task) -> EstimatorPower:
    """Return the power of boosted trees: scikit-learn's, on histograms of 255 bins.

    Trees of few leaves, because most interactions are of few features; no early stopping, because
    the folds are small.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> bool(umfi.predictive_power(X, y, power="boosting", random_state=0) > 0.8)
    True
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = {
        "classification": HistGradientBoostingClassifier,
        "regression": HistGradientBoostingRegressor,
    }[task]
    return EstimatorPower(
        kind(max_iter=100, max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False)
    )
