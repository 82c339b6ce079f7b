"""The cross-validated score of any scikit-learn estimator, two of them by name; any function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import MIN_ROWS, Columns
from umfi.data.target import Target, Task
from umfi.errors import InputError, is_whole_number
from umfi.execution import one_openmp_thread
from umfi.power.measures import Predictions, check_measure, find_measure, needs_probabilities
from umfi.power.predicting import Averages, PredictingPower, count_donors

__all__ = ["CallablePower", "EstimatorPower", "boosting", "neural_network"]


@dataclass(frozen=True)
class EstimatorPower(PredictingPower):
    """Cross-validated score of a scikit-learn estimator: of predictions pooled over the folds.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A regressor or classifier; never fitted itself, only clones of it.
    n_folds : int
        Folds are shuffled, and dealt class by class for classification.
    measure : str, optional
        What the score is: R² by default; see :class:`umfi.ForestPower`. Classifiers without
        probabilities are scored by the classes that they predict.

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
        if needs_probabilities(measure, task) and not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"measure={measure!r} needs probabilities, which {name} does not give: choose "
                "'r2', 'accuracy' or 'balanced_accuracy', or another estimator."
            )

    def average_out(
        self,
        context: Columns,
        candidates: Sequence[Columns],
        target: Target,
        seed: np.random.SeedSequence,
        *,
        is_test: bool = False,
        donors: NDArray[np.intp] | None = None,
    ) -> Averages:
        """Return the cross-validated predictions, and how they change without each candidate.

        Each fold's fit predicts its rows again with a candidate's values taken from donors. All
        values of a candidate stand in, by how common they are, if there are no more than donors.
        """
        from sklearn.base import clone

        rng = np.random.default_rng(seed)
        fold_of_row = self._deal_folds(target, rng)
        is_class = target.task == "classification"
        labels = target.labels if is_class else target.values
        n_classes = len(target.classes)
        shape: tuple[int, ...] = (target.n_rows, n_classes) if is_class else (target.n_rows,)
        known, changes = np.zeros(shape), np.zeros((len(candidates), *shape))
        blocks = [candidate.to_numbers() for candidate in candidates]
        numbers = np.concatenate([*blocks, context.to_numbers()], axis=1)
        stops = np.cumsum([block.shape[1] for block in blocks])
        n_donors = count_donors(is_test=is_test)
        donors_of = [_find_donors(block, n_donors, rng, donors) for block in blocks]
        with one_openmp_thread():
            for fold in range(self.n_folds):
                rows = np.flatnonzero(fold_of_row == fold)
                is_fitted = fold_of_row != fold
                fitted = labels[is_fitted]
                if np.all(fitted == fitted[0]):  # Nothing to learn: some estimators refuse to try.
                    known[rows] = np.eye(n_classes)[int(fitted[0])] if is_class else fitted[0]
                    continue
                model = clone(self.estimator)
                _set_random_states(model, rng)
                # A fold may lack a class, and some estimators want codes without gaps.
                present = np.unique(fitted) if is_class else None
                codes = fitted if present is None else np.searchsorted(present, fitted)
                model.fit(numbers[is_fitted], codes)
                known[rows] = _predict(model, numbers[rows], present, shape[1:])
                for candidate, (block, stop) in enumerate(zip(blocks, stops, strict=True)):
                    replaced = numbers[rows]
                    mean = np.zeros((len(rows), *shape[1:]))
                    for of_rows, weight in donors_of[candidate]:
                        replaced[:, stop - block.shape[1] : stop] = block[of_rows[rows]]
                        mean += weight * _predict(model, replaced, present, shape[1:])
                    changes[candidate, rows] = mean - known[rows]
        if not np.isfinite(known).all() or not np.isfinite(changes).all():
            raise InputError(
                f"power={type(self.estimator).__name__} predicted values that are not finite: "
                "scale the columns in a pipeline, or choose another estimator."
            )
        return Averages(Predictions(known, target.n_rows * (1.0 - 1.0 / self.n_folds)), changes)

    def _deal_folds(self, target: Target, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the fold of each row: shuffled, class after class, dealt round."""
        groups = target.labels if target.task == "classification" else np.zeros(target.n_rows)
        order = np.lexsort((rng.random(target.n_rows), groups))
        folds = np.empty(target.n_rows, dtype=np.intp)
        folds[order] = np.arange(target.n_rows) % self.n_folds
        return folds


def _predict(
    model: Any, numbers: NDArray[np.float64], present: NDArray[np.int64] | None, shape: Any
) -> NDArray[np.float64]:
    """Return predictions, or for classes the probabilities, of all classes that there are."""
    if present is None:
        return np.asarray(model.predict(numbers), dtype=np.float64)
    probabilities = np.zeros((len(numbers), *shape))
    if hasattr(model, "predict_proba"):
        probabilities[:, present] = model.predict_proba(numbers)
    else:
        probabilities[np.arange(len(numbers)), present[model.predict(numbers)]] = 1.0
    return probabilities


def _find_donors(
    block: NDArray[np.float64],
    n_donors: int,
    rng: np.random.Generator,
    given: NDArray[np.intp] | None,
) -> list[tuple[NDArray[np.intp], float]]:
    """Return rows that lend each row their values of a candidate, with weights that add up to 1.

    Donors stand at even distances along the candidate, from a random start for each row; or at even
    distances among those that are given.
    """
    n_rows = len(block)
    if given is not None:
        n_given = given.shape[1]
        chosen = ((np.arange(n_donors) + 0.5) * n_given / n_donors).astype(np.intp)
        return [(given[:, number], 1.0 / n_donors) for number in chosen]
    _, firsts, counts = np.unique(block, axis=0, return_index=True, return_counts=True)
    starts = rng.integers(n_rows, size=n_rows)
    if len(firsts) <= n_donors:
        return [
            (np.full(n_rows, first), float(count / n_rows))
            for first, count in zip(firsts, counts, strict=True)
        ]
    order = np.argsort(block[:, 0], kind="stable")
    return [
        (order[(starts + number * n_rows // n_donors) % n_rows], 1.0 / n_donors)
        for number in range(n_donors)
    ]


def _set_random_states(model: Any, rng: np.random.Generator) -> None:
    """Seed the estimator and its parts, so that the score depends on the task's stream alone."""
    names = [
        name
        for name in sorted(model.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    model.set_params(**{name: int(rng.integers(2**31)) for name in names})


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


def neural_network(task: Task) -> EstimatorPower:
    """Return the power of a small neural network: scikit-learn's, with early stopping.

    Two layers of 32 on standardised columns. A tenth of the known rows decides when to stop.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=400, random_state=0)
    >>> bool(umfi.predictive_power(X, y, power="neural-network", random_state=0) > 0.9)
    True
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    settings = {
        "hidden_layer_sizes": (32, 32),
        "early_stopping": True,
        "n_iter_no_change": 20,
        "max_iter": 500,
        "learning_rate_init": 0.01,
        "alpha": 1e-3,
    }
    if task == "classification":
        return EstimatorPower(make_pipeline(StandardScaler(), MLPClassifier(**settings)))
    network = make_pipeline(StandardScaler(), MLPRegressor(**settings))
    # The network's steps have the size of the response's unit, which must not matter.
    return EstimatorPower(TransformedTargetRegressor(network, transformer=StandardScaler()))


@dataclass(frozen=True)
class CallablePower:
    """Any function ``f(columns, y, rng) -> float`` as a power.

    It is given the columns as an array of shape (n_rows, n_columns), the response as an array of
    shape (n_rows,) (class codes for classification) and a NumPy generator. Arrays are read-only
    views or copies; n_columns may be 0, for the power of knowing nothing. Categories are codes
    0, 1, ... that mean nothing but themselves.
    """

    function: Callable[[NDArray[np.float64], NDArray[Any], np.random.Generator], float]

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return what the function returns."""
        values = columns.values.view()
        values.flags.writeable = False
        response = target.labels if target.task == "classification" else target.values.view()
        response.flags.writeable = False
        return self.function(values, response, np.random.default_rng(seed))

    def __repr__(self) -> str:
        """Return the function's name."""
        return getattr(self.function, "__qualname__", repr(self.function))
