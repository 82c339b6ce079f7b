"""Input validation of a table, which becomes checked columns, and the way back to a table.

All other modules work on NumPy arrays that are known to be finite, named and of a known kind.
Nothing here writes to what the caller passed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import MIN_ROWS, Columns, Kind
from umfi.data.target import response_series
from umfi.errors import InputError, listed, unknown_name

__all__ = ["MISSING", "drop_incomplete_rows", "frame_like", "read_columns"]

# What is done about missing values.
MISSING = ("error", "drop", "level")
# More levels than this, or than half of the rows, are labels of rows rather than of kinds of rows.
MAX_LEVELS = 1000


def read_columns(
    X: Any, *, kinds: Mapping[str, str] | None = None, missing: str = "error"
) -> Columns:
    """Return the checked columns of a pandas, polars or pyarrow frame or a NumPy array.

    Numbers are continuous, or boolean if there are two of them; text and unordered categories are
    categorical, ordered categories ordinal. Levels of categories are numbered as they first appear
    in the rows, so that their names do not matter.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_columns)
        Columns of an array are called ``x1``, ``x2``, ...
    kinds : dict, optional
        Column name to kind, where the kind that the data suggests is not the one meant.
    missing : {"error", "level", "drop"}
        Whether missing values are refused or a level of their own: one more category, or the
        lowest level of numbers, which are ordinal then. Rows to be dropped must be gone already.

    Examples
    --------
    >>> import numpy as np
    >>> read_columns(np.eye(20)).names[:3]
    ('x1', 'x2', 'x3')
    >>> import pandas as pd
    >>> soils = pd.DataFrame({"soil": ["clay", "sand", "clay", "silt"] * 5})
    >>> columns = read_columns(soils)
    >>> columns.kinds[0].value, columns.values[:4, 0]
    ('categorical', array([0., 1., 0., 2.]))
    """
    if kinds is not None and not isinstance(kinds, Mapping):
        raise InputError(
            "is not a dictionary of column names and kinds.", argument="kinds", value=kinds
        )
    if not isinstance(missing, str) or missing not in MISSING:
        raise unknown_name("missing", missing, MISSING)
    wanted = {str(name): str(kind) for name, kind in (kinds or {}).items()}
    columns = _split_columns(X)
    names = tuple(columns)
    if not names:
        raise InputError("X has no columns: pass at least one feature.")
    n_rows = len(columns[names[0]])
    if n_rows < MIN_ROWS:
        raise InputError(f"X has {n_rows} rows: at least {MIN_ROWS} are needed to score a forest.")
    for name, kind in wanted.items():
        if name not in names:
            raise unknown_name("feature in kinds", name, names, argument="kinds")
        if kind not in tuple(Kind):
            raise unknown_name("kind", kind, list(map(str, Kind)))
    read = _read_all(columns, wanted, missing)
    values = np.empty((n_rows, len(names)), order="F")
    for position, name in enumerate(names):
        values[:, position] = read[name].values
    return Columns(
        values=values,
        names=names,
        kinds=tuple(column.kind for column in read.values()),
        missing={
            name: column.missing for name, column in read.items() if column.missing is not None
        },
    )


def drop_incomplete_rows(X: Any, y: Any = None) -> tuple[Any, Any]:
    """Return the rows of a table, and of its response, that have no missing value.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = drop_incomplete_rows(np.array([[1.0], [np.nan], [3.0]]), np.array([1, 2, 3]))
    >>> X.tolist(), y.tolist()
    ([[1.0], [3.0]], [1, 3])
    """
    columns = _split_columns(X)
    is_complete = np.ones(len(next(iter(columns.values()), ())), dtype=bool)
    for name, column in columns.items():
        is_missing = _find_missing(column)
        if is_missing.all() and len(is_missing) > 0:
            raise InputError(f"X has no value at all in {name!r}: drop it.")
        is_complete &= ~is_missing
    response = None if y is None else response_series(y)
    if response is not None and len(response) != len(is_complete):
        response = None  # To be refused by those who read both.
    if response is not None:
        is_complete &= ~_find_missing(response)
    if is_complete.all():
        return X, y
    if not is_complete.any():
        raise InputError(
            "Every row has a missing value: drop columns, or set missing to 'level'.",
            argument="missing",
        )
    if response is not None:
        complete = response.filter(is_complete.tolist())
        if isinstance(y, np.ndarray):
            y = np.ma.getdata(y).reshape(-1)[is_complete]
        else:  # Lists have no row labels, and get none.
            y = complete.to_numpy() if isinstance(y, list | tuple) else complete.to_native()
    if isinstance(X, np.ndarray | list | tuple):
        return _as_array(X)[is_complete], y
    return nw.from_native(X, eager_only=True).filter(is_complete.tolist()).to_native(), y


def _find_missing(column: Any) -> NDArray[np.bool_]:
    """Return a mask, shape (n_rows,): where a column has no value."""
    if not isinstance(column, nw.Series):
        return np.isnan(column)
    is_missing = np.array(column.is_null().to_list(), dtype=bool)
    if column.dtype.is_float():
        is_missing |= np.array(column.is_nan().fill_null(True).to_list(), dtype=bool)
    return is_missing


def _split_columns(X: Any) -> dict[str, Any]:
    """Return the columns by name: arrays of an array, series of a frame."""
    if isinstance(X, np.ndarray | list | tuple):
        return _array_columns(_as_array(X))
    return _frame_columns(X)


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


class _Read(NamedTuple):
    """A column as numbers."""

    values: NDArray[np.float64]
    kind: Kind
    missing: float | None = None  # The value that stands for a missing one, if any.


def _read_all(columns: dict[str, Any], kinds: Mapping[str, str], missing: str) -> dict[str, _Read]:
    """Return the columns as numbers, or raise with all that is wrong with them at once."""
    read: dict[str, _Read] = {}
    problems: dict[str, list[str]] = {}
    for name, column in columns.items():
        kind = Kind(kinds[name]) if name in kinds else None
        problem = _find_problem(column, kind) if isinstance(column, nw.Series) else None
        if problem is None:
            found = _read_column(column, kind)
            problem = found if isinstance(found, str) else _find_unusable(found.values, missing)
        if problem is not None:
            problems.setdefault(problem, []).append(name)
        else:
            read[name] = _fill_missing(found)  # type: ignore[arg-type]
    if problems:
        raise InputError(
            " ".join(problem.format(listed(names)) for problem, names in problems.items())
        )
    return read


def _find_problem(series: nw.Series[Any], kind: Kind | None) -> str | None:
    """Return what keeps a column from being read, with a place for its name."""
    dtype = series.dtype
    if dtype.is_temporal():
        return (
            "Column {} holds dates or times: turn it into a number, such as days since a start, "
            "or drop it."
        )
    if _holds_labels(series):
        if kind is Kind.CONTINUOUS:
            return "Column {} is given as continuous but holds text: leave it out of kinds."
        if kind is Kind.ORDINAL and not nw.is_ordered_categorical(series):
            return (
                "Column {} is given as ordinal but its levels have no order: pass numbers, or an "
                "ordered pandas.Categorical."
            )
        return None
    if dtype.is_numeric() or dtype == nw.Boolean:
        return None
    known = [value for value in series.to_list() if value is not None]
    if dtype == nw.Object and all(isinstance(value, bool) for value in known):
        return (
            "Column {} holds booleans and missing values as Python objects: convert it, for "
            "example by astype('boolean')."
        )
    example = repr(known[0] if known else None).replace("{", "{{").replace("}", "}}")
    return (
        f"Column {{}} holds values such as {example}: convert it to real numbers, booleans or "
        "text, or drop it."
    )


def _holds_labels(series: nw.Series[Any]) -> bool:
    return series.dtype in (nw.String, nw.Categorical, nw.Enum)


def _read_column(column: Any, kind: Kind | None) -> _Read | str:
    """Return a column as numbers, NaN where a value is missing, or what is wrong with it."""
    if isinstance(column, nw.Series) and _holds_labels(column):
        if kind is None and nw.is_ordered_categorical(column):
            kind = Kind.ORDINAL
        rows = column.to_list()
        if kind is Kind.ORDINAL:
            place = {label: code for code, label in enumerate(_ordered_levels(column))}
            values = np.array([place.get(label, np.nan) for label in rows], dtype=np.float64)
        else:
            values = _number_levels(rows)
        n_levels = len(set(values[~np.isnan(values)].tolist()))
        if kind is None:
            kind = Kind.BOOLEAN if n_levels == 2 else Kind.CATEGORICAL
    else:
        values = _numbers(column)
        n_levels = 2 if _has_two_values(values) else 0
        if kind is Kind.CATEGORICAL and not np.isinf(values).any():
            values = _number_levels(values.tolist())
            n_levels = int(np.nanmax(values, initial=-1.0)) + 1
        elif kind is None:
            kind = Kind.BOOLEAN if n_levels == 2 else Kind.CONTINUOUS
    if kind is Kind.BOOLEAN and n_levels != 2:
        return (
            "Column {} is given as boolean but does not hold exactly two values: leave it out of "
            "kinds=."
        )
    if kind is Kind.CATEGORICAL and n_levels > min(MAX_LEVELS, len(values) / 2):
        return (
            "Column {} has too many different levels to be categories, more than a half of the "
            f"rows or {MAX_LEVELS}: merge levels, or drop it."
        )
    return _Read(values, kind)


def _ordered_levels(series: nw.Series[Any]) -> list[Any]:
    """Return the levels of an ordered column, lowest first."""
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    return list(series.to_native().combine_chunks().dictionary.to_pylist())  # Of pyarrow.


def _has_two_values(values: NDArray[np.float64]) -> bool:
    known = values[~np.isnan(values)]
    low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
    return bool(low < high and np.all((known == low) | (known == high)))


def _number_levels(rows: Sequence[Any]) -> NDArray[np.float64]:
    """Return levels as 0, 1, ... in the order in which they first appear; NaN if missing."""
    codes: dict[Any, int] = {}
    numbered = [
        np.nan if label is None or label != label else codes.setdefault(label, len(codes))
        for label in rows
    ]
    return np.array(numbered, dtype=np.float64)


def _numbers(column: Any) -> NDArray[np.float64]:
    """Return a numeric column as float64; missing values become NaN."""
    if not isinstance(column, nw.Series):
        return np.asarray(column, dtype=np.float64)
    if column.dtype == nw.Boolean and column.null_count() > 0:
        column = column.cast(nw.Int8)
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _find_unusable(values: NDArray[np.float64], missing: str) -> str | None:
    """Return what is infinite or missing in a column, with a place for its name."""
    if np.isinf(values).any():
        return "X holds infinite values in {}: fill them in, or drop these rows or columns."
    if missing != "level" and np.isnan(values).any():
        return (
            "X holds missing values in {}: fill them in, drop these rows or columns, or set "
            "missing to 'drop' or 'level'."
        )
    if np.isnan(values).all():
        return "X has no value at all in {}: drop it."
    return None


def _fill_missing(column: _Read) -> _Read:
    """Return a column whose missing values are a level of their own."""
    values, kind = column.values, column.kind
    is_missing = np.isnan(values)
    if not is_missing.any():
        return column
    if kind in (Kind.BOOLEAN, Kind.CATEGORICAL):
        labels = np.where(is_missing, np.inf, values)  # A label that no level has.
        return _Read(_number_levels(labels.tolist()), Kind.CATEGORICAL)
    low, high = values[~is_missing].min(), values[~is_missing].max()
    below = low - max(0.1 * (high - low), 1e-3 * abs(low), 1e-300)
    return _Read(np.where(is_missing, below, values), Kind.ORDINAL, float(below))


def frame_like(X: Any, columns: Columns, source: Columns | None = None) -> Any:
    """Return the columns as a table of the same type as X, with X's row index.

    Parameters
    ----------
    X : frame or array
    columns : Columns
    source : Columns, optional
        X as it was read. Columns that are still discrete get the names that X has for their levels.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": range(20), "b": range(20)}, index=range(5, 25))
    >>> frame_like(X, read_columns(X).select([1])).index.tolist()[:2]
    [5, 6]
    """
    rows_of = {} if source is None else _find_named_rows(columns, source)
    if isinstance(X, np.ndarray | list | tuple):
        if not rows_of:
            return columns.values.copy()
        values = columns.values.astype(object)
        for position, rows in rows_of.items():
            given = source.names.index(columns.names[position])  # type: ignore[union-attr]
            values[:, position] = np.asarray(X, dtype=object)[rows, given]
        return values
    frame = nw.from_native(X, eager_only=True)
    native_name = {str(name): name for name in frame.columns}
    chosen = [native_name[name] for name in columns.names]
    if frame.implementation.is_pandas_like():
        native = X.loc[:, chosen].copy()
        for position, column in enumerate(columns.values.T):
            if position in rows_of:
                native.isetitem(position, X[chosen[position]].array.take(rows_of[position]))
            else:
                native.isetitem(position, column.copy())
        return native
    replaced = {
        name: frame[name][rows_of[position].tolist()]
        if position in rows_of
        else columns.values[:, position].copy()
        for position, name in enumerate(chosen)
    }
    return nw.from_dict(replaced, backend=frame.implementation).to_native()


def _find_named_rows(columns: Columns, source: Columns) -> dict[int, NDArray[np.intp]]:
    """Return for each column of levels, by position, a row of the source that has each row's."""
    found = {}
    for position, (name, kind) in enumerate(zip(columns.names, columns.kinds, strict=True)):
        if kind is Kind.CONTINUOUS:
            continue
        given = source.values[:, source.names.index(name)]
        levels, firsts = np.unique(given, return_index=True)
        found[position] = firsts[np.searchsorted(levels, columns.values[:, position])]
    return found
