"""What gets an importance: a column, or a group of columns that is taken as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.errors import InputError
from umfi.removal import count_directions

__all__ = ["Feature", "find_representatives", "read_features", "with_copies"]

Groups = Mapping[str, Iterable[str | int]]


@dataclass(frozen=True)
class Feature:
    """A column or a group of columns.

    Attributes
    ----------
    name : str
    positions : tuple of int
        Where its columns stand in the table.
    is_constant : bool
        Whether it can tell nothing.
    n_directions : int
        Columns of numbers that it stands for: more than one for groups and categories.
    """

    name: str
    positions: tuple[int, ...]
    is_constant: bool
    n_directions: int


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
    representatives = []
    for index, feature in enumerate(features):
        if len(feature.positions) == 1:
            original = int(originals[feature.positions[0]])
            representatives.append(first_alone.setdefault(original, index))
        else:
            representatives.append(index)
    return representatives
