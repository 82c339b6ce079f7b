"""The cross-validated score of any scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from umfi.columns import MIN_ROWS, Columns
from umfi.errors import InputError
from umfi.power.measures import MEASURES, score_predictions
from umfi.target import Target

__all__ = ["EstimatorPower"]


@dataclass(frozen=True)
class EstimatorPower:
    """Cross-validated score of a scikit-learn estimator: R² or accuracy of pooled predictions.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A regressor or classifier; never fitted itself, only clones of it.
    n_folds : int
        Folds are shuffled, and dealt class by class for classification.

    Examples
    --------
    >>> import umfi
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> round(umfi.predictive_power(X, y, power=LinearRegression()), 3)
    1.0
    """

    measures: ClassVar[dict[str, str]] = MEASURES

    estimator: Any
    n_folds: int = 5

    def __post_init__(self) -> None:
        """Refuse what cannot be fitted or split."""
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise InputError(
                f"estimator={self.estimator!r} is not an estimator: pass an object such as "
                "LinearRegression()."
            )
        is_whole = isinstance(self.n_folds, int | np.integer) and not isinstance(self.n_folds, bool)
        if not is_whole or not 2 <= self.n_folds <= MIN_ROWS:
            raise InputError(
                f"n_folds={self.n_folds!r} is not valid: pass a whole number from 2 to {MIN_ROWS}."
            )

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return the cross-validated score of the columns, or the chance level of none."""
        from sklearn.base import clone

        if columns.n_columns == 0:
            return target.chance_level()
        rng = np.random.default_rng(seed)
        fold_of_row = self._deal_folds(target, rng)
        labels = target.labels if target.task == "classification" else target.values
        predictions = np.empty(target.n_rows)
        for fold in range(self.n_folds):
            is_test = fold_of_row == fold
            known = labels[~is_test]
            if np.all(known == known[0]):  # Nothing to learn: some estimators refuse to try.
                predictions[is_test] = known[0]
                continue
            model = clone(self.estimator)
            _set_random_states(model, rng)
            model.fit(columns.values[~is_test], known)
            predictions[is_test] = model.predict(columns.values[is_test])
        if not np.isfinite(predictions).all():
            raise InputError(
                f"power={type(self.estimator).__name__} predicted values that are not finite: "
                "scale the columns in a pipeline, or choose another estimator."
            )
        return score_predictions(predictions, target)

    def _deal_folds(self, target: Target, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the fold of each row: shuffled, class after class, dealt round."""
        groups = target.labels if target.task == "classification" else np.zeros(target.n_rows)
        order = np.lexsort((rng.random(target.n_rows), groups))
        folds = np.empty(target.n_rows, dtype=np.intp)
        folds[order] = np.arange(target.n_rows) % self.n_folds
        return folds


def _set_random_states(model: Any, rng: np.random.Generator) -> None:
    """Seed the estimator and its parts, so that the score depends on the task's stream alone."""
    names = [
        name
        for name in sorted(model.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    model.set_params(**{name: int(rng.integers(2**31)) for name in names})
