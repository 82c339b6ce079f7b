"""The border: a frame or array becomes checked columns, and columns become a frame again.

Everything behind this module works on NumPy arrays that are known to be finite, named and of a
known kind. Nothing here writes to what the caller passed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from umfi.columns import MIN_ROWS, Columns, Kind
from umfi.errors import InputError, listed, unknown_name

__all__ = ["frame_like", "read_columns"]

SUPPORTED_KINDS = (Kind.CONTINUOUS, Kind.BOOLEAN)


def read_columns(X: Any, *, kinds: Mapping[str, str] | None = None) -> Columns:
    """Return the checked columns of a pandas, polars or pyarrow frame or a NumPy array.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_columns)
        Columns of an array are called ``x1``, ``x2``, ...
    kinds : dict, optional
        Column name to kind, where the kind that the data suggests is not the one meant.

    Examples
    --------
    >>> import numpy as np
    >>> read_columns(np.eye(20)).names[:3]
    ('x1', 'x2', 'x3')
    """
    if kinds is not None and not isinstance(kinds, Mapping):
        raise InputError(f"kinds={kinds!r} is not a dictionary of column names and kinds.")
    kinds = {str(name): str(kind) for name, kind in (kinds or {}).items()}
    if isinstance(X, np.ndarray | list | tuple):
        columns = _array_columns(_as_array(X))
    else:
        columns = _frame_columns(X)
    names = tuple(columns)
    if not names:
        raise InputError("X has no columns: pass at least one feature.")
    n_rows = len(columns[names[0]])
    if n_rows < MIN_ROWS:
        raise InputError(f"X has {n_rows} rows: at least {MIN_ROWS} are needed to score a forest.")
    _refuse_unsupported_kinds(kinds, names)
    values = _read_values(columns, n_rows)
    return Columns(values=values, names=names, kinds=_find_kinds(values, names, kinds))


def _as_array(X: Any) -> NDArray[Any]:
    if np.ma.isMaskedArray(X):
        return np.ma.filled(X.astype(np.float64), np.nan)
    try:
        return np.asarray(X)
    except ValueError:
        raise InputError("X has rows of different lengths: pass a table.") from None


def _array_columns(array: NDArray[Any]) -> dict[str, Any]:
    if array.ndim != 2:
        raise InputError(
            f"X has {array.ndim} dimension(s): pass a table with rows and columns, "
            "for example X.reshape(-1, 1) for a single column."
        )
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"X is an array of type {array.dtype}: pass real numbers or booleans, "
            "for example X.astype(float)."
        )
    return {f"x{position + 1}": array[:, position] for position in range(array.shape[1])}


def _frame_columns(X: Any) -> dict[str, Any]:
    if type(X).__name__ == "LazyFrame":
        raise InputError("X is a lazy frame: pass X.collect().")
    labels = [str(label) for label in X.columns] if nw.dependencies.is_pandas_dataframe(X) else []
    if nw.dependencies.is_pyarrow_table(X):
        labels = list(X.column_names)
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise InputError(
            f"X has more than one column named {listed(repeated)}: rename or drop the repeats."
        )
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise InputError(
            f"X is a {type(X).__name__}: pass a pandas, polars or pyarrow table or a "
            "two-dimensional NumPy array."
        ) from None
    return {str(name): frame.get_column(name) for name in frame.columns}


def _read_values(columns: dict[str, Any], n_rows: int) -> NDArray[np.float64]:
    """Return the columns as one array, or raise with all that is wrong with them at once."""
    values = np.empty((n_rows, len(columns)), order="F")
    problems: dict[str, list[str]] = {}
    for position, (name, column) in enumerate(columns.items()):
        problem = _find_problem(column) if isinstance(column, nw.Series) else None
        if problem is None:
            values[:, position] = _numbers(column)
            problem = _find_gap(values[:, position])
        if problem is not None:
            problems.setdefault(problem, []).append(name)
    if problems:
        raise InputError(
            " ".join(problem.format(listed(names)) for problem, names in problems.items())
        )
    return values


def _find_problem(series: nw.Series[Any]) -> str | None:
    """Return what keeps a column from being read as numbers, with a place for its name."""
    dtype = series.dtype
    if dtype in (nw.Categorical, nw.Enum):
        kind = Kind.ORDINAL if nw.is_ordered_categorical(series) else Kind.CATEGORICAL
        return (
            f"Column {{}} is {kind}, which is not supported yet: encode it as numbers or "
            "indicator columns (pandas.get_dummies), or drop it."
        )
    if dtype == nw.String:
        return (
            "Column {} holds text: encode it as indicator columns (pandas.get_dummies), or drop it."
        )
    if dtype.is_temporal():
        return (
            "Column {} holds dates or times: turn it into a number, such as days since a start, "
            "or drop it."
        )
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        example = next((value for value in series.to_list() if value is not None), None)
        return (
            "Column {} holds values such as "
            + repr(example).replace("{", "{{").replace("}", "}}")
            + ": convert it to real numbers or booleans, or drop it."
        )
    return None


def _numbers(column: Any) -> NDArray[np.float64]:
    """Return a numeric column as float64; missing values become NaN."""
    if not isinstance(column, nw.Series):
        return np.asarray(column, dtype=np.float64)
    if column.dtype == nw.Boolean and column.null_count() > 0:
        column = column.cast(nw.Int8)
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _find_gap(values: NDArray[np.float64]) -> str | None:
    """Return what is missing from a column, with a place for its name."""
    for what, is_gap in (("missing", np.isnan(values)), ("infinite", np.isinf(values))):
        if is_gap.any():
            return f"X holds {what} values in {{}}: fill them in, or drop these rows or columns."
    return None


def _refuse_unsupported_kinds(kinds: Mapping[str, str], names: Sequence[str]) -> None:
    for name, kind in kinds.items():
        if name not in names:
            raise unknown_name("feature in kinds=", name, names)
        if kind not in tuple(Kind):
            raise unknown_name("kind", kind, [str(known) for known in Kind])
        if kind not in SUPPORTED_KINDS:
            raise InputError(
                f"Column {name!r} is given as {kind}, which is not supported yet: use "
                f"{listed(SUPPORTED_KINDS)} or drop the column."
            )


def _find_kinds(
    values: NDArray[np.float64], names: Sequence[str], kinds: Mapping[str, str]
) -> tuple[Kind, ...]:
    """Return a kind for each column: two distinct values are boolean unless told otherwise."""
    low, high = values.min(axis=0), values.max(axis=0)
    is_extreme = (values == low) | (values == high)
    has_two_values = (is_extreme.all(axis=0) & (low < high)).tolist()
    found = []
    for name, is_boolean in zip(names, has_two_values, strict=True):
        kind = Kind(kinds.get(name, Kind.BOOLEAN if is_boolean else Kind.CONTINUOUS))
        if kind is Kind.BOOLEAN and not is_boolean:
            raise InputError(
                f"Column {name!r} is given as boolean but does not hold exactly two values: "
                "leave it out of kinds=."
            )
        found.append(kind)
    return tuple(found)


def frame_like(X: Any, columns: Columns) -> Any:
    """Return the columns as a table of the same type as X, with X's row index.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": range(20), "b": range(20)}, index=range(5, 25))
    >>> frame_like(X, read_columns(X).select([1])).index.tolist()[:2]
    [5, 6]
    """
    if isinstance(X, np.ndarray | list | tuple):
        return columns.values.copy()
    frame = nw.from_native(X, eager_only=True)
    native_name = {str(name): name for name in frame.columns}
    kept = [native_name[name] for name in columns.names]
    if frame.implementation.is_pandas_like():
        native = X.loc[:, kept].copy()
        for position, column in enumerate(columns.values.T):
            native.isetitem(position, column.copy())
        return native
    replaced = {name: columns.values[:, position].copy() for position, name in enumerate(kept)}
    return nw.from_dict(replaced, backend=frame.implementation).to_native()
