"""The cross-validated score of any scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.columns import MIN_ROWS, Columns
from umfi.errors import InputError, is_whole_number
from umfi.power.measures import (
    STATISTICS,
    Answers,
    check_measure,
    find_measure,
    measures_of,
    needs_shares,
    score_answers,
    score_nothing,
)
from umfi.target import Target, Task
from umfi.tasks import one_openmp_thread

__all__ = ["EstimatorPower"]


@dataclass(frozen=True)
class EstimatorPower:
    """Cross-validated score of a scikit-learn estimator: of predictions pooled over the folds.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A regressor or classifier; never fitted itself, only clones of it.
    n_folds : int
        Folds are shuffled, and dealt class by class for classification.
    measure : str, optional
        What the score is: R² or accuracy by default; see :class:`umfi.ForestPower`.

    Notes
    -----
    Estimators are given numbers: an indicator for each level of categories. Each fit runs on one
    thread, because many fits run side by side.

    Examples
    --------
    >>> import umfi
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> round(umfi.predictive_power(X, y, power=LinearRegression()), 3)
    1.0
    """

    estimator: Any
    n_folds: int = 5
    measure: str | None = None

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
        check_measure(self.measure)

    @property
    def measures(self) -> dict[str, str]:
        """What the score is, by task."""
        return measures_of(self.measure)

    def refuse_task(self, task: Task) -> None:
        """Raise if the estimator cannot give what the measure needs."""
        from sklearn.base import is_classifier, is_regressor

        is_right = is_classifier if task == "classification" else is_regressor
        name = type(self.estimator).__name__
        if not is_right(self.estimator):
            wanted = "classifier" if task == "classification" else "regressor"
            raise InputError(
                f"power={name} is not a {wanted}, but the task is {task}: pass a {wanted}, or set "
                "task=."
            )
        measure = find_measure(self.measure, task)
        if needs_shares(measure, task) and not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"measure={measure!r} needs probabilities, which {name} does not give: choose "
                "'accuracy' or 'balanced_accuracy', or another estimator."
            )

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return the cross-validated score of the columns, or the chance level of none."""
        measure = find_measure(self.measure, target.task)
        if columns.n_columns == 0:
            return score_nothing(measure, target)
        n_shares = len(target.classes) if needs_shares(measure, target.task) else 0
        predictions = self._cross_predict(columns, target, seed, n_shares)
        n_fitted = target.n_rows * (1.0 - 1.0 / self.n_folds)
        return score_answers(measure, Answers(predictions, n_fitted), target)

    def statistic(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return what a test compares: the quadratic score of probabilities where there are any."""
        if target.task == "classification" and not hasattr(self.estimator, "predict_proba"):
            return self.score(columns, target, seed)
        return replace(self, measure=STATISTICS[target.task]).score(columns, target, seed)

    def _cross_predict(
        self, columns: Columns, target: Target, seed: np.random.SeedSequence, n_shares: int
    ) -> NDArray[np.float64]:
        """Return what is said of the rows left out.

        Parameters
        ----------
        n_shares : int
            0 for predictions, shape (n_rows,), or the number of classes for probabilities, shape
            (n_rows, n_classes).
        """
        from sklearn.base import clone

        rng = np.random.default_rng(seed)
        fold_of_row = self._deal_folds(target, rng)
        labels = target.labels if target.task == "classification" else target.values
        predictions = np.zeros((target.n_rows, n_shares) if n_shares else target.n_rows)
        values = columns.to_numbers()
        with one_openmp_thread():
            for fold in range(self.n_folds):
                is_test = fold_of_row == fold
                known = labels[~is_test]
                if np.all(known == known[0]):  # Nothing to learn: some estimators refuse to try.
                    predictions[is_test] = np.eye(n_shares)[int(known[0])] if n_shares else known[0]
                    continue
                model = clone(self.estimator)
                _set_random_states(model, rng)
                # A fold may lack a class, and some estimators want codes without gaps.
                present = np.unique(known) if target.task == "classification" else None
                codes = known if present is None else np.searchsorted(present, known)
                model.fit(values[~is_test], codes)
                if present is not None and n_shares:
                    shares = predictions[is_test]
                    shares[:, present] = model.predict_proba(values[is_test])
                    predictions[is_test] = shares
                else:
                    told = model.predict(values[is_test])
                    predictions[is_test] = told if present is None else present[told]
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
