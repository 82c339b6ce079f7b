"""The interface for scikit-learn: a selector of the features related to the response."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from umfi.data.columns import MIN_ROWS
from umfi.data.contracts import DependenceRemover
from umfi.errors import InputError, check_count, check_level, unknown_name
from umfi.importance import ultra_marginal
from umfi.importance.result import ImportanceResult
from umfi.inference import CONTROLS

__all__ = ["UltraMarginalSelector"]

# Parameters that say which features are selected; all others are those of the method.
SELECTING = ("top", "threshold", "control")


class UltraMarginalSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps features by their ultra-marginal importance, as a step of a scikit-learn pipeline.

    Without ``top`` and ``threshold`` it selects the related features: those that
    :meth:`ImportanceResult.related` names after a permutation test.

    Parameters
    ----------
    top : int, optional
        Keep so many features, those of largest importance; of equals the first.
    threshold : float, optional
        Keep features of this importance or more, in units of the power: R² by default.
    alpha : float
        Level at which features count as related.
    control : {"fdr", "by", "holm", "none"}
        What is controlled at the level; see :meth:`ImportanceResult.related`.
    test : {"auto", "permutation", "full-permutation"}, optional
        Where p-values come from; see :func:`umfi.ultra_marginal`. ``"auto"`` is ``"permutation"``
        for related features, and no test where ``top`` or ``threshold`` is given.
    max_permutations : int
        At most so many permuted copies per feature.
    remover : {"joint", "linear", "transport", "chained"} or object, optional
        What removes from the other features all that they say about one; by default
        ``"joint"``, and ``"linear"`` if the power is linear.
    protocol : {"one-fit", "matched", "paper"}, optional
        How the two scores of an importance are made comparable; ``"paper"`` has no test.
    power : str, ForestPower or other power, scikit-learn estimator or callable
        What measures predictive power; see :func:`umfi.ultra_marginal`.
    task : {"auto", "regression", "classification"}
        Floats are regression; text, booleans and categories are classification; whole numbers
        are classification up to 20 distinct values, with a note in the result.
    kinds : dict, optional
        Column name to ``"continuous"``, ``"ordinal"``, ``"categorical"`` or ``"boolean"``, where it
        is not as found: text is categorical, numbers are continuous.
    missing : {"error", "drop", "level"}
        Whether missing values are refused, their rows left out of the fit, or taken as a level of
        their own. Where they are not refused, :meth:`transform` passes them on.
    repeats : int
        How often everything is run, each time with fresh seeds and a fresh subsample.
    subsample : int or float, optional
        Rows drawn without replacement for each repeat: a number, or a fraction between 0 and 1.
    random_state : None, int, RandomState, Generator or SeedSequence
        The same seed gives the same numbers whatever the number of workers.
    n_jobs : int, optional
        Number of workers; all cores by default. Pass 1 where a search is itself parallel.
    executor : str, dask.distributed.Client or Executor, optional
        Who does the work; see :func:`umfi.ultra_marginal`. Searches copy the selector, which takes
        a name or an address: clients and executors cannot be copied.

    Attributes
    ----------
    importances_ : ndarray of float64, shape (n_features_in_,)
        Importance of each feature; larger says more.
    result_ : ImportanceResult
        All that was found. Columns of an array are called ``x0``, ``x1``, ... here, as in
        :meth:`get_feature_names_out`.
    support_ : ndarray of bool, shape (n_features_in_,)
        Whether each feature is selected.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Names of the features, where all columns have names that are text.

    Notes
    -----
    Pandas, polars and pyarrow tables may hold text and categories; arrays hold numbers.

    Examples
    --------
    >>> import umfi
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> selector = umfi.UltraMarginalSelector(random_state=0)
    >>> pipeline = make_pipeline(selector, LinearRegression())
    >>> pipeline.fit(X, y)[0].get_feature_names_out().tolist()
    ['x1', 'x2', 'x3']
    """

    def __init__(
        self,
        *,
        top: int | None = None,
        threshold: float | None = None,
        alpha: float = 0.05,
        control: str = "fdr",
        test: str | None = "auto",
        max_permutations: int = 199,
        remover: str | DependenceRemover | None = None,
        protocol: str | None = None,
        power: Any = "forest",
        task: str = "auto",
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        repeats: int = 1,
        subsample: int | float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        executor: Any = None,
    ) -> None:
        self.top = top
        self.threshold = threshold
        self.alpha = alpha
        self.control = control
        self.test = test
        self.max_permutations = max_permutations
        self.remover = remover
        self.protocol = protocol
        self.power = power
        self.task = task
        self.kinds = kinds
        self.missing = missing
        self.repeats = repeats
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor

    def fit(self, X: Any, y: Any = None) -> UltraMarginalSelector:
        """Measure the importance of each feature, and return the selector.

        Parameters
        ----------
        X : frame or array, shape (n_rows, n_features)
        y : series or array, shape (n_rows,)
        """
        test = self._check_rule()
        table, response = self._read(X, y)
        options = self.get_params(deep=False) | {"test": test}
        for name in SELECTING:
            del options[name]
        # Steps of a pipeline are silent.
        result = ultra_marginal(table, response, **options, progress=False)
        self.result_: ImportanceResult = result
        self.importances_: NDArray[np.float64] = result.importances.to_numpy()
        self.support_: NDArray[np.bool_] = self._select(result)
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns, shape (n_rows, n_selected_features).

        Parameters
        ----------
        X : frame or array, shape (n_rows, n_features)
        """
        check_is_fitted(self)
        output = _get_output_config("transform", estimator=self)["dense"]
        if output == "polars" and nw.dependencies.is_polars_dataframe(X) and self.support_.any():
            # scikit-learn takes columns of pandas frames as they are; through an array, text and
            # categories of polars would become Python objects.
            validate_data(self, X, reset=False, skip_check_array=True)
            return X[:, self.get_support(indices=True).tolist()]
        return super().transform(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _check_rule(self) -> str | None:
        """Return the test that is needed, or raise if features cannot be selected so."""
        check_level("alpha", self.alpha)
        if self.control not in CONTROLS:
            raise unknown_name("control", self.control, CONTROLS)
        if self.top is not None and self.threshold is not None:
            raise InputError("Both top and threshold are given: pass one of them, or neither.")
        if self.top is not None:
            check_count("top", self.top)
        if self.threshold is not None and not _is_number(self.threshold):
            raise InputError(f"threshold={self.threshold!r} is not valid: pass a number.")
        is_tested = self.top is None and self.threshold is None
        if is_tested and (self.test is None or self.protocol == "paper"):
            setting = "test=None" if self.test is None else "protocol='paper'"
            raise InputError(
                f"Related features are found by a test, and there is none with {setting}: pass top "
                "or threshold to select by importance."
            )
        if self.test == "auto":
            return "permutation" if is_tested else None
        return self.test

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return a frame and a response for umfi, after noting names and number of features."""
        import pandas as pd

        if type(X).__name__ == "LazyFrame":
            raise InputError("X is a lazy frame: pass X.collect().")
        validate_data(self, X, y, skip_check_array=True)
        if hasattr(y, "__array__") and nw.from_native(y, allow_series=True, pass_through=True) is y:
            y = np.asanyarray(y)  # Whatever can be an array.
        if nw.dependencies.is_into_dataframe(X):
            return X, y
        is_finite = True if self.missing == "error" else "allow-nan"
        X = validate_data(self, X, ensure_all_finite=is_finite, ensure_min_samples=MIN_ROWS)
        # scikit-learn counts the columns of an array from 0, umfi from 1: these are the names that
        # get_feature_names_out gives.
        names = [f"x{position}" for position in range(self.n_features_in_)]
        if isinstance(y, pd.Series | pd.DataFrame):
            # An array has no row labels that those of y could contradict.
            y = y.reset_index(drop=True)
        return pd.DataFrame(X, columns=names, copy=False), y

    def _select(self, result: ImportanceResult) -> NDArray[np.bool_]:
        """Return a mask of the features to keep, shape (n_features_in_,)."""
        importances = result.importances
        if self.threshold is not None:
            return importances.to_numpy() >= self.threshold
        if self.top is None:
            return importances.index.isin(result.related(self.alpha, self.control))
        if self.top > len(importances):
            warnings.warn(
                f"top={self.top} is more than the {len(importances)} features: all are kept.",
                UserWarning,
                stacklevel=3,
            )
        # The order of the result's table: of equals, such as copies, the first column is first.
        order = np.argsort(-importances.to_numpy(), kind="stable")
        is_kept = np.zeros(len(importances), dtype=bool)
        is_kept[order[: self.top]] = True
        return is_kept


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
