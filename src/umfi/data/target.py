"""Input validation of a response, which becomes a checked target."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError, unknown_name

__all__ = [
    "Target",
    "Task",
    "centred_responses",
    "read_target",
    "refuse_mismatch",
    "response_series",
]

Task = Literal["regression", "classification"]
TASKS: tuple[str, ...] = ("auto", "regression", "classification")

LABEL_TYPES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object)
# Whole numbers with at most this many distinct values are taken as class labels.
MAX_INTEGER_CLASSES = 20


@dataclass(frozen=True)
class Target:
    """A checked response.

    Attributes
    ----------
    task : {"regression", "classification"}
    values : ndarray of float64, shape (n_rows,)
        The response itself, or the code of the class of each row.
    classes : tuple of str
        The class labels in the order of their codes; empty for regression.
    name : str
    notes : tuple of str
        How the response was understood where that was not plain.
    """

    task: Task
    values: NDArray[np.float64]
    classes: tuple[str, ...] = ()
    name: str = "y"
    notes: tuple[str, ...] = field(default=())

    @property
    def labels(self) -> NDArray[np.int64]:
        """Return the class codes, shape (n_rows,)."""
        return self.values.astype(np.int64)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.values.shape[0])

    def chance_level(self) -> float:
        """Return the power of knowing nothing: R² 0, or the rate of the commonest class."""
        if self.task == "regression":
            return 0.0
        return float(np.bincount(self.labels).max() / self.n_rows)

    def standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values as deviations from the mean response, the largest one being 1."""
        return (values - self._mean) / self.largest_deviation

    def unstandardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return standardised values in the units of the response."""
        return values * self.largest_deviation + self._mean

    @cached_property
    def _mean(self) -> float:
        return float(self.values.mean())

    @cached_property
    def largest_deviation(self) -> float:
        """Return the largest distance of a response from the mean, 1 if all are equal."""
        return float(np.abs(self.values - self._mean).max()) or 1.0

    @cached_property
    def standardised_variance(self) -> float:
        """Return the variance in units of the largest deviation, with n - 1 as in R."""
        return float(self.standardise(self.values).var(ddof=1))

    def take_rows(self, rows: NDArray[np.intp]) -> Target:
        """Return these rows of the response."""
        return replace(self, values=self.values[rows])


def centred_responses(target: Target) -> NDArray[np.float64]:
    """Return the response as numbers of mean 0, shape (n_rows, n_responses).

    One column for a regression, in units of the largest deviation; the indicators of all classes
    for a classification.
    """
    if target.task == "regression":
        return target.standardise(target.values)[:, np.newaxis]
    indicators = np.eye(len(target.classes))[target.labels]
    return indicators - indicators.mean(axis=0)


def read_target(y: Any, *, task: str = "auto", X: Any = None) -> Target:
    """Return the checked response.

    Floats are regression; text, booleans and categories are classification; whole numbers are
    classification up to 20 distinct values, with a note that says so.

    Parameters
    ----------
    y : series, array or sequence, shape (n_rows,)
    task : {"auto", "regression", "classification"}
    X : the table the response belongs to, optional
        Refused when the lengths differ or when ``y`` is one of its columns.

    Examples
    --------
    >>> read_target([0, 1] * 10).task
    'classification'
    >>> read_target([0, 1] * 10, task="regression").task
    'regression'
    """
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if X is not None:
        refuse_mismatch(X, y)
    series = response_series(y)
    name = _name_of(series)
    if series.null_count() > 0 or (series.dtype.is_float() and series.is_nan().any()):
        raise InputError(
            f"The response {name!r} holds missing values: drop these rows, or set missing to "
            "'drop'.",
            argument="missing",
        )
    series = _without_objects(series)
    found, notes = _find_task(series, task)
    read = _class_target if found == "classification" else _number_target
    return read(series, name, notes)


def _name_of(series: nw.Series[Any]) -> str:
    return str(series.name) if series.name not in (None, "") else "y"


def response_series(y: Any) -> nw.Series[Any]:
    """Return a response as a series, or raise if it is not one value per row."""
    import pandas as pd

    if isinstance(y, str):
        raise InputError(
            f"y is the text {y!r}: pass the values, such as table[{y!r}], and drop them from X."
        )
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(y, pyarrow.Array):
        y = pyarrow.chunked_array([y])  # The form that narwhals reads.
    if isinstance(y, list | tuple):
        # Lists may mix labels and missing values, which NumPy would turn into text.
        is_mixed = any(pd.api.types.is_scalar(value) and pd.isna(value) for value in y)
        y = np.array(y, dtype=object if is_mixed else None)
    if isinstance(y, np.ndarray):
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1:
            raise InputError(f"y has {y.ndim} dimensions: pass one value per row.")
        if y.dtype.kind == "c":
            raise InputError("y holds complex numbers: pass real numbers or class labels.")
        return nw.from_native(pd.Series(y), series_only=True)
    try:
        native = nw.from_native(y, allow_series=True, eager_only=True)
    except TypeError:
        raise InputError(
            f"y is a {type(y).__name__}: pass a series, a one-dimensional array or a list."
        ) from None
    if isinstance(native, nw.DataFrame):
        if len(native.columns) != 1:
            raise InputError(f"y has {len(native.columns)} columns: pass one value per row.")
        return native.get_column(native.columns[0])
    return native


def refuse_mismatch(X: Any, y: Any) -> None:
    """Raise if a response cannot belong to a table: other rows, or one of its columns."""
    import pandas as pd

    series = response_series(y)
    n_rows = len(X) if isinstance(X, list | tuple) else X.shape[0]
    if len(series) != n_rows:
        raise InputError(
            f"X has {n_rows} rows and y has {len(series)}: pass one response for each row."
        )
    x_index: Any = getattr(X, "index", None)
    y_index: Any = getattr(y, "index", None)
    has_labels = isinstance(x_index, pd.Index) and isinstance(y_index, pd.Index)
    # Labels of another kind are often on purpose; the same ones in another order, or some of them
    # in common, hardly ever.
    if has_labels and not x_index.equals(y_index) and len(x_index.intersection(y_index)):
        is_reordered = Counter(x_index) == Counter(y_index)
        how = "the same row labels in different orders" if is_reordered else "other row labels"
        raise InputError(
            f"X and y have {how}: pass y.loc[X.index], or y.to_numpy() if the rows belong "
            "together as they stand."
        )
    if _is_column_of(X, y, series):
        raise InputError(
            f"The response {_name_of(series)!r} is itself a column of X: drop that column from X."
        )


def _is_column_of(X: Any, y: Any, series: nw.Series[Any]) -> bool:
    """Return whether y is a column of X: the same memory, or the same name and values.

    Equal values alone are no proof: a feature may well determine the response.
    """
    if isinstance(X, np.ndarray):
        return isinstance(y, np.ndarray) and np.shares_memory(X, y)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    response = y if isinstance(y, np.ndarray) else series.to_numpy()
    for column_name in frame.columns:
        column = frame.get_column(column_name)
        if column.dtype != series.dtype:
            continue
        values = column.to_numpy()
        is_same_name = str(column_name) == _name_of(series)
        is_same_memory = values.dtype != object and np.shares_memory(values, response)
        if is_same_memory or (is_same_name and bool(np.all(values == response))):
            return True
    return False


def _without_objects(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column of Python numbers as a column of numbers, any other as it is."""
    import pandas as pd

    if series.dtype != nw.Object:
        return series
    rows = series.to_list()
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in rows):
        return nw.from_native(pd.Series(rows, name=series.name), series_only=True)
    return series


def _find_task(series: nw.Series[Any], task: str) -> tuple[Task, tuple[str, ...]]:
    dtype = series.dtype
    if dtype.is_temporal():
        raise InputError("The response holds dates or times: turn it into a number first.")
    if not (dtype.is_numeric() or dtype in LABEL_TYPES):
        raise InputError(
            f"The response holds values such as {series.to_list()[0]!r}: convert it to real "
            "numbers, y.astype(float), or to class labels, y.astype(str)."
        )
    holds_labels = dtype == nw.Boolean or not dtype.is_numeric()
    if task == "regression":
        if holds_labels:
            way_out = "leave the task at 'auto' for class labels."
            raise InputError(f"needs a numeric response: {way_out}", argument="task", value=task)
        return "regression", ()
    if task == "classification" or holds_labels:
        return "classification", ()
    n_distinct = series.n_unique()
    note = f"The response holds {{}} numbers with {n_distinct} distinct values and is taken as "
    if dtype.is_integer() and n_distinct <= MAX_INTEGER_CLASSES:
        note += "class labels; set the task to 'regression' if they are quantities."
        return "classification", (note.format("whole"),)
    if n_distinct <= 2:
        note += "a quantity; set the task to 'classification' if they are class labels."
        return "regression", (note.format("real"),)
    return "regression", ()


def _number_target(series: nw.Series[Any], name: str, notes: tuple[str, ...]) -> Target:
    values = np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"The response {name!r} holds infinite values: drop these rows.")
    if np.all(values == values[0]):
        raise InputError(f"The response {name!r} is constant: there is nothing to explain.")
    return Target("regression", values, (), name, notes)


def _class_target(series: nw.Series[Any], name: str, notes: tuple[str, ...]) -> Target:
    rows = series.to_list()
    try:
        classes = sorted(set(rows))
    except TypeError:  # Labels of several types have no order of their own.
        classes = sorted(set(rows), key=str)
    code_of = {label: code for code, label in enumerate(classes)}
    labels = np.array([code_of[label] for label in rows], dtype=np.float64)
    if len(classes) < 2:
        raise InputError(
            f"The response {name!r} has one class only, {str(classes[0])!r}: there is nothing to "
            "explain."
        )
    counts = np.bincount(labels.astype(np.int64))
    lonely = [label for label, count in zip(classes, counts, strict=True) if count == 1]
    if lonely:
        way_out = "merge or drop such classes"
        if series.dtype.is_numeric():
            way_out += ", or set the task to 'regression' if the response is a quantity"
        raise InputError(
            f"{len(lonely)} of the {len(classes)} classes of the response {name!r} have a single "
            f"row, such as {str(lonely[0])!r}: {way_out}."
        )
    return Target("classification", labels, tuple(map(str, classes)), name, notes)
