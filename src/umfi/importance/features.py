"""What gets an importance, a column or a group of columns, and what to know of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.data.target import Target
from umfi.errors import MAX_LISTED_NAMES, InputError, listed
from umfi.importance.options import FEW_ROWS, Groups
from umfi.removal import MIN_CELL_ROWS, count_directions, has_rare_levels

__all__ = [
    "ContextOf",
    "Feature",
    "describe_data",
    "drop_constant",
    "find_distinct",
    "find_notes",
    "find_rare",
    "find_representatives",
    "read_features",
    "with_copies",
]


@dataclass(frozen=True)
class Feature:
    """A column or a group of columns, by their positions in the table."""

    name: str
    positions: tuple[int, ...]
    is_constant: bool
    n_directions: int  # Columns of numbers: more than one for groups and categories.


# From the columns of a repeat, a feature, its columns followed by permuted copies, and the name of
# the random stream to the feature's context: the columns that these candidates are added to.
ContextOf = Callable[[Columns, Feature, Sequence[Columns], tuple[str | int, ...]], Columns]


def with_copies(own: Columns, permutations: Iterable[NDArray[np.intp]]) -> list[Columns]:
    """Return a feature's columns, then a copy with permuted rows for each permutation."""
    return [own, *(own.take_rows(rows) for rows in permutations)]


def read_features(columns: Columns, groups: Groups | None) -> tuple[Feature, ...]:
    """Return the features of a table: groups where their first column stands, other columns alone.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> columns = read_columns(np.random.default_rng(0).normal(size=(20, 3)))
    >>> [(feature.name, feature.positions) for feature in read_features(columns, {"b": [1, 2]})]
    [('x1', (0,)), ('b', (1, 2))]
    """
    if groups is not None and not isinstance(groups, Mapping):
        raise InputError(
            "is not valid: pass a dictionary such as {'texture': ['sand', 'silt', 'clay']}.",
            argument="groups",
            value=groups,
        )
    members: dict[str, tuple[int, ...]] = {}
    taken: dict[int, str] = {}
    for key, own in (groups or {}).items():
        name = str(key)
        if name in members:
            raise InputError(f"Two groups are called {name!r}: choose another name for one.")
        members[name] = _find_members(columns, name, own)
        for position in members[name]:
            if position in taken:
                raise InputError(
                    f"Column {columns.names[position]!r} is in two groups, {taken[position]!r} and "
                    f"{name!r}: leave it out of one."
                )
            taken[position] = name
        if name in columns.names and columns.index(name) not in members[name]:
            raise InputError(
                f"Group {name!r} has the name of a column outside of it: choose another name."
            )
    is_constant = columns.is_constant()
    features = []
    for position, name in enumerate(columns.names):
        if position in taken and members[taken[position]][0] != position:
            continue
        own = members[taken[position]] if position in taken else (position,)
        features.append(
            Feature(
                name=taken.get(position, name),
                positions=own,
                is_constant=bool(is_constant[list(own)].all()),
                n_directions=count_directions(columns.select(own)),
            )
        )
    return tuple(features)


def _find_members(columns: Columns, name: str, members: Iterable[str | int]) -> tuple[int, ...]:
    is_listed = isinstance(members, Iterable) and not isinstance(members, str | Mapping)
    chosen = list(members) if is_listed else []
    if not chosen:
        raise InputError(f"groups[{name!r}]={members!r} is not valid: pass a list of column names.")
    try:
        return tuple(sorted({columns.index(member) for member in chosen}))
    except InputError as error:
        raise InputError(f"groups[{name!r}]: {error}") from None


def find_representatives(columns: Columns, features: Sequence[Feature]) -> list[int]:
    """Return for each feature the index of the feature whose scores it gets.

    A column that repeats another one gets its scores, so that copies come out equal. Groups stand
    for themselves.
    """
    originals = columns.first_copies()
    first_alone: dict[int, int] = {}
    return [
        index
        if len(feature.positions) > 1
        else first_alone.setdefault(int(originals[feature.positions[0]]), index)
        for index, feature in enumerate(features)
    ]


def find_distinct(columns: Columns) -> NDArray[np.bool_]:
    """Return which columns are neither constant nor copies of others, shape (n_columns,)."""
    is_original = columns.first_copies() == np.arange(columns.n_columns)
    return np.asarray(is_original & ~columns.is_constant())


def find_rare(columns: Columns) -> list[str]:
    """Return the names of categorical columns with levels too rare for a bin of their own."""
    return [
        name
        for name, kind, column in zip(columns.names, columns.kinds, columns.values.T, strict=True)
        if kind is Kind.CATEGORICAL and has_rare_levels(column)
    ]


def drop_constant(columns: Columns) -> Columns:
    """Return the columns that are not constant."""
    return columns.select(np.flatnonzero(~columns.is_constant()))


def describe_data(columns: Columns, target: Target | None) -> dict[str, Any]:
    """Return what a reader of the result may ask about the data."""
    is_measured = np.array([kind is Kind.CONTINUOUS for kind in columns.kinds])
    return {
        "kinds": dict(Counter(str(kind) for kind in columns.kinds)),
        "tied": [columns.names[i] for i in np.flatnonzero(columns.has_heavy_ties & is_measured)],
        "class_sizes": np.bincount(target.labels).tolist() if target and target.classes else [],
    }


def find_notes(columns: Columns, target: Target | None, n_dropped: int) -> list[str]:
    """Return what a reader should know of the table and the response."""
    notes = list(target.notes) if target else []
    if columns.n_rows < FEW_ROWS:
        notes.append(f"With {columns.n_rows} rows, importances are little more than chance.")
    if n_dropped > 0:
        notes.append(
            f"{n_dropped} of {n_dropped + columns.n_rows} rows hold missing values and are left "
            "out."
        )
    if columns.missing:
        counts = {
            name: int(columns.is_missing(columns.names.index(name)).sum())
            for name in columns.missing
        }
        notes.append(
            f"Missing values are a level of their own in {listed(counts)} "
            f"({sum(counts.values()):,} in all); numbers count there by their order alone."
        )
    if rare := find_rare(columns):
        notes.append(
            f"Levels of fewer than {MIN_CELL_ROWS} rows in {listed(rare)} are removed together "
            "with those most like them, which may leave some leakage: merge levels where you can."
        )
    constant = [
        name for name, flag in zip(columns.names, columns.is_constant(), strict=True) if flag
    ]
    if constant:
        plural = len(constant) > 1
        notes.append(
            f"{'Columns' if plural else 'Column'} {listed(constant)} {'are' if plural else 'is'} "
            "constant and can have no importance."
        )
    originals = columns.first_copies()
    copies = [
        f"{name!r} of {columns.names[original]!r}"
        for position, (name, original) in enumerate(zip(columns.names, originals, strict=True))
        if original != position and name not in constant
    ]
    if copies:
        n_hidden = len(copies) - MAX_LISTED_NAMES
        more = f" and {n_hidden} more" if n_hidden > 0 else ""
        notes.append(f"Copies of other columns: {', '.join(copies[:MAX_LISTED_NAMES])}{more}.")
    return notes
