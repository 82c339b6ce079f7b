"""nu(columns): how well a set of columns tells the response."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from umfi.columns import MIN_ROWS, Columns, read_columns
from umfi.contracts import PredictivePower
from umfi.errors import InputError, unknown_name
from umfi.forest import (
    Growth,
    RankTable,
    Response,
    majority_classes,
    out_of_bag_totals,
    permute_column,
    rank_columns,
)
from umfi.target import Target, read_target
from umfi.tasks import Streams, TaskName, count_workers, kernel_seed, run_tasks

__all__ = [
    "CallablePower",
    "EstimatorPower",
    "ForestPower",
    "find_power",
    "predictive_power",
    "score_columns",
    "score_permuted",
    "score_predictions",
]

SPLITS = ("best", "random")
MEASURES: dict[str, str] = {"regression": "R²", "classification": "accuracy"}
# A tree's work is short; blocks outweigh the cost of handing it out.
TREES_PER_BLOCK = 10
# ranger's defaults: nodes of at most this many drawn rows are leaves.
MIN_NODE_ROWS = {"regression": 5, "classification": 1}


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


@dataclass(frozen=True)
class ForestPower:
    """Out-of-bag score of a random forest: R² or accuracy.

    Follows ranger's defaults. Trees are scored as they grow and never stored.

    Parameters
    ----------
    n_trees : int
    mtry : int, optional
        Columns tried at each node; ⌊√p⌋ by default, and never more than there are.
    min_node_rows : int, optional
        Nodes of at most this many drawn rows are not split; 5 for regression, 1 for
        classification by default.
    split : {"best", "random"}
        ``"random"`` draws one cut for each tried column, uniformly between the smallest and
        largest value of the node: extremely randomised trees, still with bootstrap.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> power = umfi.ForestPower(n_trees=50)
    >>> bool(umfi.predictive_power(X, y, power=power, random_state=0) > 0.7)
    True
    """

    measures: ClassVar[dict[str, str]] = MEASURES

    n_trees: int = 100
    mtry: int | None = None
    min_node_rows: int | None = None
    split: Literal["best", "random"] = "best"

    def __post_init__(self) -> None:
        """Refuse settings no forest can be grown with."""
        for name in ("n_trees", "mtry", "min_node_rows"):
            value = getattr(self, name)
            if value is None and name != "n_trees":
                continue
            is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not is_whole or value < 1:
                raise InputError(f"{name}={value!r} is not valid: pass a whole number from 1 up.")
        if self.split not in SPLITS:
            raise unknown_name("split", self.split, SPLITS)

    def growth(self, n_columns: int, target: Target) -> Growth:
        """Return how a tree grows on so many columns."""
        mtry = self.mtry if self.mtry is not None else int(np.sqrt(n_columns))
        min_node_rows = self.min_node_rows
        if min_node_rows is None:
            min_node_rows = MIN_NODE_ROWS[target.task]
        return Growth(
            mtry=int(min(mtry, n_columns)),
            min_node_rows=int(min_node_rows),
            is_split_random=self.split == "random",
        )

    def score(
        self,
        columns: Columns,
        target: Target,
        seed: np.random.SeedSequence,
        *,
        n_jobs: int | None = 1,
    ) -> float:
        """Return the out-of-bag score of the columns, or the chance level of none.

        Methods run many forests side by side, each on one worker; a forest on its own can have
        its trees grown by several.
        """
        if columns.n_columns == 0:
            return target.chance_level()
        table = rank_columns(columns.values)
        return self._score_ranks(table, target, kernel_seed(seed), n_jobs)

    def score_permuted(
        self,
        columns: Columns,
        index: int,
        permutations: Sequence[NDArray[np.intp]],
        target: Target,
        seed: np.random.SeedSequence,
    ) -> list[float]:
        """Return the score of the columns, then with one of them permuted; all are ranked once."""
        table = rank_columns(columns.values)
        tables = [table, *(permute_column(table, index, rows) for rows in permutations)]
        return [self._score_ranks(ranks, target, kernel_seed(seed)) for ranks in tables]

    def _score_ranks(
        self, table: RankTable, target: Target, stream: np.uint64, n_jobs: int | None = 1
    ) -> float:
        response, growth = forest_response(target), self.growth(table.positions.shape[0], target)

        def grow_block(name: TaskName) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
            first_tree = int(name[0])
            n_trees = min(TREES_PER_BLOCK, self.n_trees - first_tree)
            return out_of_bag_totals(table, response, growth, first_tree, n_trees, stream)

        blocks: list[TaskName] = [(first,) for first in range(0, self.n_trees, TREES_PER_BLOCK)]
        answers = run_tasks(grow_block, blocks, n_jobs=n_jobs, progress=False)
        # Added up block by block whatever the number of workers, so that it rounds the same.
        totals = np.add.reduce([answers[block][0] for block in blocks])
        n_votes = np.add.reduce([answers[block][1] for block in blocks])
        if target.task == "classification":
            predictions = majority_classes(totals, stream, self.n_trees).astype(np.float64)
        else:
            means = totals[:, 0] / np.maximum(n_votes, 1)
            predictions = target.unstandardise(means)
        predictions[n_votes == 0] = np.nan
        return score_predictions(predictions, target)


def forest_response(target: Target) -> Response:
    """Return the response as the kernels take it.

    A response with a large offset or of a tiny unit would lose digits in the sums of the splits,
    so it is standardised.
    """
    n_rows = target.n_rows
    if target.task == "classification":
        return Response(np.zeros(n_rows), target.labels.astype(np.int32), len(target.classes))
    return Response(target.standardise(target.values), np.zeros(n_rows, dtype=np.int32), 0)


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


@dataclass(frozen=True)
class CallablePower:
    """Any function ``f(columns, y, rng) -> float`` as a power.

    It is given the columns as an array of shape (n_rows, n_columns), the response as an array of
    shape (n_rows,) (class codes for classification) and a NumPy generator. Arrays are read-only
    views or copies; n_columns may be 0, for the power of knowing nothing.
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


POWERS: dict[str, Callable[[], PredictivePower]] = {
    "forest": ForestPower,
    "extra-trees": lambda: ForestPower(split="random"),
}


def find_power(power: Any, task: str) -> PredictivePower:
    """Return the power of this name, or wrap an object, an estimator or a callable."""
    if isinstance(power, str):
        if power not in POWERS:
            raise unknown_name("power", power, POWERS)
        return POWERS[power]()
    if isinstance(power, type):
        raise InputError(f"power={power.__name__} is a class: pass an object, {power.__name__}().")
    if hasattr(power, "fit") and hasattr(power, "get_params"):
        _refuse_wrong_estimator(power, task)
        return EstimatorPower(power)
    if isinstance(power, PredictivePower):
        if isinstance(power, EstimatorPower):
            _refuse_wrong_estimator(power.estimator, task)
        return power
    if callable(power):
        _refuse_wrong_arguments(power)
        return CallablePower(power)
    raise InputError(
        f"power={power!r} is not a power: pass {', '.join(map(repr, POWERS))}, "
        "umfi.ForestPower(...), a scikit-learn estimator or a function f(columns, y, rng)."
    )


def _refuse_wrong_estimator(estimator: Any, task: str) -> None:
    from sklearn.base import is_classifier, is_regressor

    is_right = is_classifier(estimator) if task == "classification" else is_regressor(estimator)
    if not is_right:
        wanted = "classifier" if task == "classification" else "regressor"
        raise InputError(
            f"power={type(estimator).__name__} is not a {wanted}, but the task is {task}: pass a "
            f"{wanted}, or set task=."
        )


def _refuse_wrong_arguments(function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        raise InputError(
            f"power={function!r} does not take three arguments: write it as f(columns, y, rng)."
        ) from None


def score_columns(
    power: PredictivePower, columns: Columns, target: Target, seed: np.random.SeedSequence
) -> float:
    """Return the score of the columns, checked to be a finite number."""
    return _checked(power.score(columns, target, seed), power, columns)


def score_permuted(
    power: PredictivePower,
    columns: Columns,
    index: int,
    permutations: Sequence[NDArray[np.intp]],
    target: Target,
    seed: np.random.SeedSequence,
) -> list[float]:
    """Return the score of the columns, then with the rows of one of them permuted, same seed.

    A forest ranks the columns once; the numbers are those of one score after the other, but for
    rounding where the permuted column has ties.
    """
    if isinstance(power, ForestPower):
        scores = power.score_permuted(columns, index, permutations, target, seed)
    else:
        tables = [columns, *(columns.with_rows_permuted(index, rows) for rows in permutations)]
        scores = [power.score(table, target, seed) for table in tables]
    return [_checked(score, power, columns) for score in scores]


def _checked(score: Any, power: PredictivePower, columns: Columns) -> float:
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
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return how well the columns tell the response: one score, larger is better.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    power : {"forest", "extra-trees"}, ForestPower, scikit-learn estimator or callable
    task : {"auto", "regression", "classification"}
    kinds : dict, optional
        Column name to ``"continuous"`` or ``"boolean"``, where it is not as found.
    random_state : None, int or Generator
    n_jobs : int, optional
        Number of workers that grow a forest's trees; all cores by default. Other powers use one.

    Returns
    -------
    float
        R² or accuracy on rows that were not used for fitting; never floored.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("blood_relation", n=300, random_state=0)
    >>> bool(umfi.predictive_power(X, y, random_state=0) > 0.5)
    True
    """
    columns = read_columns(X, kinds=kinds)
    target = read_target(y, task=task, X=X)
    chosen = find_power(power, target.task)
    count_workers(n_jobs)
    seed = Streams.from_random_state(random_state).seed("predictive_power")
    if isinstance(chosen, ForestPower):
        return chosen.score(columns, target, seed, n_jobs=n_jobs)
    return score_columns(chosen, columns, target, seed)
