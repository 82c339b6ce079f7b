"""The cross-validated score of any scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from umfi.columns import MIN_ROWS, Columns
from umfi.errors import InputError, is_whole_number
from umfi.power.measures import MEASURES, score_predictions, score_shares
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

    Notes
    -----
    Estimators are given numbers: an indicator for each level of categories.

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
        if not is_whole_number(self.n_folds) or not 2 <= self.n_folds <= MIN_ROWS:
            raise InputError(
                f"n_folds={self.n_folds!r} is not valid: pass a whole number from 2 to {MIN_ROWS}."
            )

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return the cross-validated score of the columns, or the chance level of none."""
        if columns.n_columns == 0:
            return target.chance_level()
        predictions = self._cross_predict(
            columns,
            target,
            seed,
            1,
            lambda model, values: model.predict(values)[:, np.newaxis],
            lambda only: np.array([only]),
        )
        return score_predictions(predictions[:, 0], target)

    def statistic(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return what a test compares: the quadratic score of probabilities where there are any."""
        if target.task == "regression" or not hasattr(self.estimator, "predict_proba"):
            return self.score(columns, target, seed)
        n_classes = len(target.classes)

        def predict(model: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
            shares = np.zeros((len(values), n_classes))
            shares[:, model.classes_] = model.predict_proba(values)
            return shares

        shares = self._cross_predict(
            columns, target, seed, n_classes, predict, lambda only: np.eye(n_classes)[int(only)]
        )
        return score_shares(shares, target)

    def _cross_predict(
        self,
        columns: Columns,
        target: Target,
        seed: np.random.SeedSequence,
        n_answers: int,
        predict: Callable[[Any, NDArray[np.float64]], NDArray[np.float64]],
        answer_of: Callable[[float], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return predictions of the rows left out, shape (n_rows, n_answers).

        Parameters
        ----------
        predict : callable
            From a fitted model and the values of rows to their answers.
        answer_of : callable
            From the only value that a fold's known rows hold to the answer for all others.
        """
        from sklearn.base import clone

        rng = np.random.default_rng(seed)
        fold_of_row = self._deal_folds(target, rng)
        labels = target.labels if target.task == "classification" else target.values
        predictions = np.empty((target.n_rows, n_answers))
        values = columns.to_numbers()
        for fold in range(self.n_folds):
            is_test = fold_of_row == fold
            known = labels[~is_test]
            if np.all(known == known[0]):  # Nothing to learn: some estimators refuse to try.
                predictions[is_test] = answer_of(known[0])
                continue
            model = clone(self.estimator)
            _set_random_states(model, rng)
            model.fit(values[~is_test], known)
            predictions[is_test] = predict(model, values[is_test])
        if not np.isfinite(predictions).all():
            raise InputError(
                f"power={type(self.estimator).__name__} predicted values that are not finite: "
                "scale the columns in a pipeline, or choose another estimator."
            )
        return predictions

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
