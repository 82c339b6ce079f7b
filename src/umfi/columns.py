"""The border: a frame or array becomes checked columns.

Everything behind this module works on NumPy arrays that are known to be finite, named and of a
known kind. Nothing here writes to what the caller passed in.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError, listed, unknown_name
from umfi.forest import (
    RankTable,
    new_rank_table,
    part_of_table,
    put_ranks,
    rank_columns,
    take_ranks,
)

__all__ = ["MIN_ROWS", "Columns", "Kind", "frame_like", "read_columns"]

# Below this an out-of-bag score says next to nothing: about seven rows a tree are out of bag.
MIN_ROWS = 20
# A column has heavy ties when this share of its rows holds a value that many rows hold.
MIN_TIED_SHARE = 0.1
MIN_TIED_ROWS = 5


class Kind(StrEnum):
    """What the values of a column mean."""

    CONTINUOUS = "continuous"
    BOOLEAN = "boolean"
    ORDINAL = "ordinal"
    CATEGORICAL = "categorical"


SUPPORTED_KINDS = (Kind.CONTINUOUS, Kind.BOOLEAN)


@dataclass(frozen=True)
class Columns:
    """Checked columns.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
        Column-major, so that one column is contiguous. Discrete kinds hold codes.
    names : tuple of str
        One unique name a column.
    kinds : tuple of Kind
        One kind a column.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]

    # Found out once: not fields, because a copy with other values must not inherit them, and not
    # cached_property, whose lock in Python 3.11 makes threads wait for each other.
    @property
    def ranks(self) -> RankTable:
        """The ranks of every column; what is known of a column already is not sorted again."""
        known = self.__dict__
        if "_ranks" not in known:
            self._write_ranks(new_rank_table(self.n_rows, self.n_columns))
        ranks: RankTable = known["_ranks"]
        return ranks

    def _write_ranks(self, table: RankTable) -> None:
        """Write the ranks into a table, where they stay."""
        known = self.__dict__
        if "_ranks" in known:
            put_ranks(known["_ranks"], table)
            return
        origin: _Origin | None = known.get("_origin")
        if origin is None:
            rank_columns(self.values, out=table)
        else:
            origin.write_ranks(self, table)
        known["_ranks"] = table
        if not isinstance(origin, _Selection):
            known.pop("_origin", None)  # It would keep the columns alive that these came from.

    @property
    def has_heavy_ties(self) -> NDArray[np.bool_]:
        """A mask, shape (n_columns,): columns with so many equal values that they are steps.

        Examples
        --------
        >>> import numpy as np
        >>> rows = np.arange(40.0)
        >>> read_columns(np.column_stack([rows, rows % 2, np.maximum(rows, 10)])).has_heavy_ties
        array([False,  True,  True])
        """
        known = self.__dict__
        if "_has_heavy_ties" not in known:
            origin = known.get("_origin")
            if isinstance(origin, _Selection):
                known["_has_heavy_ties"] = origin.parent.has_heavy_ties[origin.positions]
            else:
                known["_has_heavy_ties"] = self._find_heavy_ties()
        is_tied: NDArray[np.bool_] = known["_has_heavy_ties"]
        return is_tied

    def _find_heavy_ties(self) -> NDArray[np.bool_]:
        is_tied = np.zeros(self.n_columns, dtype=bool)
        for position, column in enumerate(self.values.T):
            counts = np.unique(column, return_counts=True)[1]
            n_tied = counts[counts >= MIN_TIED_ROWS].sum()
            is_tied[position] = n_tied >= MIN_TIED_SHARE * self.n_rows
        return is_tied

    def _made_from(self, origin: _Origin) -> Columns:
        self.__dict__["_origin"] = origin
        return self

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return int(self.values.shape[1])

    def index(self, feature: str | int) -> int:
        """Return the position of a feature given by name, or else by position."""
        if str(feature) in self.names:
            return self.names.index(str(feature))
        is_position = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if is_position and -self.n_columns <= int(feature) < self.n_columns:
            return int(feature) % self.n_columns
        raise unknown_name("feature", feature, self.names)

    def select(self, indices: Sequence[int] | NDArray[np.intp]) -> Columns:
        """Return the columns at these positions, in this order."""
        positions = np.asarray(indices, dtype=np.intp)
        if np.array_equal(positions, np.arange(self.n_columns)):
            return self
        chosen = positions.tolist()
        selected = Columns(
            values=np.asfortranarray(self.values[:, positions]),
            names=tuple([self.names[position] for position in chosen]),
            kinds=tuple([self.kinds[position] for position in chosen]),
        )
        return selected._made_from(_Selection(self, positions))

    def without(self, index: int) -> Columns:
        """Return all columns but the one at this position."""
        return self.select(np.delete(np.arange(self.n_columns), index))

    def with_changed(
        self, values: NDArray[np.float64], is_changed: NDArray[np.bool_] | None = None
    ) -> Columns:
        """Return continuous columns of the same names with other values.

        Parameters
        ----------
        values : ndarray of float64, shape (n_rows, n_columns)
        is_changed : ndarray of bool, shape (n_columns,), optional
            Where the values are others; everywhere by default.
        """
        changed = Columns(
            values=np.asfortranarray(values),
            names=self.names,
            kinds=(Kind.CONTINUOUS,) * self.n_columns,
        )
        if is_changed is None or is_changed.all():
            return changed
        return changed._made_from(_Change(self, is_changed))

    def take_rows(self, rows: NDArray[np.intp]) -> Columns:
        """Return these rows of every column."""
        return replace(self, values=np.asfortranarray(self.values[rows]))

    def prepend(self, other: Columns) -> Columns:
        """Return the other columns followed by these."""
        values = np.empty((self.n_rows, other.n_columns + self.n_columns), order="F")
        values[:, : other.n_columns] = other.values
        values[:, other.n_columns :] = self.values
        joined = Columns(
            values=values, names=other.names + self.names, kinds=other.kinds + self.kinds
        )
        return joined._made_from(_Join(other, self))

    def with_rows_permuted(self, index: int, permutation: NDArray[np.intp]) -> Columns:
        """Return the columns with the rows of one of them permuted."""
        values = self.values.copy(order="F")
        values[:, index] = self.values[permutation, index]
        return replace(self, values=values)

    def is_constant(self) -> NDArray[np.bool_]:
        """Return a mask, shape (n_columns,): columns that hold one value only."""
        if self.n_columns == 0:
            return np.zeros(0, dtype=bool)
        return np.all(self.values == self.values[:1], axis=0)

    def first_copies(self) -> NDArray[np.intp]:
        """Return for each column the position of the first column with the same values.

        Examples
        --------
        >>> import numpy as np
        >>> rows = np.arange(20.0)
        >>> read_columns(np.column_stack([rows, -rows, rows])).first_copies()
        array([0, 1, 0])
        """
        first: dict[bytes, int] = {}
        # Adding zero turns -0.0 into 0.0, which is the same value with other bytes.
        keys = (hashlib.blake2b(column + 0.0).digest() for column in self.values.T)
        return np.array(
            [first.setdefault(key, position) for position, key in enumerate(keys)], dtype=np.intp
        )


@dataclass(frozen=True)
class _Selection:
    """Columns taken from others."""

    parent: Columns
    positions: NDArray[np.intp]

    def write_ranks(self, columns: Columns, table: RankTable) -> None:
        put_ranks(take_ranks(self.parent.ranks, self.positions), table)


@dataclass(frozen=True)
class _Join:
    """Columns put side by side."""

    first: Columns
    second: Columns

    def write_ranks(self, columns: Columns, table: RankTable) -> None:
        # The parts are scored as well; their ranks stay where they are written.
        n_first = self.first.n_columns
        self.first._write_ranks(part_of_table(table, 0, n_first))
        self.second._write_ranks(part_of_table(table, n_first, columns.n_columns))


@dataclass(frozen=True)
class _Change:
    """Columns some of which have other values than before."""

    parent: Columns
    is_changed: NDArray[np.bool_]

    def write_ranks(self, columns: Columns, table: RankTable) -> None:
        kept, changed = np.flatnonzero(~self.is_changed), np.flatnonzero(self.is_changed)
        put_ranks(take_ranks(self.parent.ranks, kept), table, kept)
        put_ranks(rank_columns(columns.values[:, changed]), table, changed)


_Origin = _Selection | _Join | _Change


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
