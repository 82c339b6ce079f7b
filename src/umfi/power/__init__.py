"""nu(columns): how well a set of columns predicts the response; one power a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from umfi.data.columns import Columns
from umfi.data.contracts import PredictivePower
from umfi.data.reading import read_table
from umfi.data.target import Target, Task
from umfi.errors import InputError, unknown_name
from umfi.execution import Streams, count_workers
from umfi.power.estimator import CallablePower, EstimatorPower, boosting, neural_network
from umfi.power.foci import FociPower
from umfi.power.forest import ForestPower
from umfi.power.knn import KnnPower
from umfi.power.linear import LinearClosedForm, LinearPower
from umfi.power.measures import find_measure, score_predictions
from umfi.power.predicting import (
    Averages,
    Comparison,
    PredictingPower,
    compare_averages,
    compare_predictions,
)
from umfi.power.qmd import QmdPower

__all__ = [
    "POWERS",
    "Averages",
    "CallablePower",
    "Comparison",
    "EstimatorPower",
    "FociPower",
    "ForestPower",
    "KnnPower",
    "LinearClosedForm",
    "LinearPower",
    "PredictingPower",
    "QmdPower",
    "compare_averages",
    "compare_predictions",
    "find_power",
    "predictive_power",
    "score_columns",
]


# By name: from the task to the power.
POWERS: dict[str, Callable[[Task], PredictivePower]] = {
    "forest": lambda _: ForestPower(),
    "extra-trees": lambda _: ForestPower(split="random"),
    "boosting": boosting,
    "linear": lambda _: LinearPower(),
    "foci": lambda _: FociPower(),
    "knn": lambda _: KnnPower(),
    "neural-network": neural_network,
    "qmd": lambda _: QmdPower(),
}


def find_power(power: Any, task: Task) -> PredictivePower:
    """Return the power of this name, or wrap an object, an estimator or a callable."""
    chosen = _make_power(power, task)
    if isinstance(chosen, PredictingPower):
        chosen.refuse_task(task)
    measures = getattr(chosen, "measures", None)
    if measures is not None and task not in measures:
        raise InputError(
            f"does not say what it measures in a {task}: choose another power, or set the task.",
            argument="power",
            value=chosen,
        )
    return chosen


def _make_power(power: Any, task: Task) -> PredictivePower:
    if isinstance(power, str):
        if power not in POWERS:
            raise unknown_name("power", power, POWERS)
        return POWERS[power](task)
    if isinstance(power, type):
        raise InputError(f"power={power.__name__} is a class: pass an object, {power.__name__}().")
    if hasattr(power, "fit") and hasattr(power, "get_params"):
        return EstimatorPower(power)
    if isinstance(power, PredictivePower):
        return power
    if callable(power):
        _refuse_wrong_arguments(power)
        return CallablePower(power)
    raise InputError(
        f"is not a power: pass {', '.join(map(repr, POWERS))}, umfi.ForestPower(...), a "
        "scikit-learn estimator or a function f(columns, y, rng).",
        argument="power",
        value=power,
    )


def _refuse_wrong_arguments(function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        raise InputError(
            "does not take three arguments: write it as f(columns, y, rng).",
            argument="power",
            value=function,
        ) from None


def score_columns(
    power: PredictivePower, columns: Columns, target: Target, seed: np.random.SeedSequence
) -> float:
    """Return the score of the columns, checked to be a finite number."""
    score: Any = power.score(columns, target, seed)
    is_number = isinstance(score, int | float | np.number) and not isinstance(score, complex)
    if not is_number or not np.isfinite(score):
        raise InputError(
            f"power {power!r} returned {score!r} for {columns.n_columns} columns: it must return "
            "a finite number for any number of columns, 0 included."
        )
    return float(score)


def predictive_power(
    X: Any,
    y: Any,
    *,
    power: Any = "forest",
    task: str = "auto",
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return how well the columns predict the response: one score, larger is better.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    power : str, ForestPower or other power, scikit-learn estimator or callable
        ``"forest"``, ``"extra-trees"``, ``"boosting"``, ``"linear"``, ``"foci"``, ``"knn"``,
        ``"neural-network"`` or ``"qmd"``; see docs/powers.md.
    task : {"auto", "regression", "classification"}
    kinds : dict, optional
        Column name to ``"continuous"``, ``"ordinal"``, ``"categorical"`` or ``"boolean"``, where it
        is not as found.
    missing : {"error", "drop", "level"}
        What is done about missing values; see :func:`umfi.ultra_marginal`.
    random_state : None, int or Generator
    n_jobs : int, optional
        Number of workers that grow a forest's trees; all cores by default. Other powers use one.

    Returns
    -------
    float
        R² on rows that were not used for fitting, for classes that of their indicators, or what
        else the power measures; never floored.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("blood_relation", n=300, random_state=0)
    >>> bool(umfi.predictive_power(X, y, random_state=0) > 0.5)
    True
    """
    columns, target, _ = read_table(X, y, task=task, kinds=kinds, missing=missing)
    chosen = find_power(power, target.task)
    count_workers(n_jobs)
    seed = Streams.from_random_state(random_state).seed("predictive_power")
    if isinstance(chosen, ForestPower):
        predictions = chosen.predict(columns, target, seed, n_jobs=n_jobs)
        return score_predictions(find_measure(chosen.measure, target.task), predictions, target)
    return score_columns(chosen, columns, target, seed)
