"""What gets an importance: a column, or a group of columns that is taken as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from umfi.columns import Columns
from umfi.errors import InputError, listed

__all__ = ["Feature", "find_representatives", "read_features"]

Groups = Mapping[str, Sequence[str | int]]


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
    """

    name: str
    positions: tuple[int, ...]
    is_constant: bool


def read_features(columns: Columns, groups: Groups | None) -> tuple[Feature, ...]:
    """Return the features of a table: groups where their first column stands, other columns alone.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.frames import read_columns
    >>> columns = read_columns(np.random.default_rng(0).normal(size=(20, 3)))
    >>> [(feature.name, feature.positions) for feature in read_features(columns, {"b": [1, 2]})]
    [('x1', (0,)), ('b', (1, 2))]
    """
    if groups is not None and not isinstance(groups, Mapping):
        raise InputError(
            f"groups={groups!r} is not valid: pass a dictionary such as "
            "{'texture': ['sand', 'silt', 'clay']}."
        )
    members = {
        str(name): _find_members(columns, str(name), of) for name, of in dict(groups or {}).items()
    }
    taken: dict[int, str] = {}
    for name, positions in members.items():
        for position in positions:
            if position in taken:
                raise InputError(
                    f"Column {columns.names[position]!r} is in two groups, {taken[position]!r} and "
                    f"{name!r}: leave it out of one."
                )
            taken[position] = name
    clashes = [
        name for name in members if name in columns.names and columns.index(name) not in taken
    ]
    if clashes:
        raise InputError(
            f"Group {listed(clashes)} has the name of a column outside of groups: choose another."
        )
    is_constant = columns.is_constant()
    features = []
    for position, name in enumerate(columns.names):
        if position not in taken:
            features.append(Feature(name, (position,), bool(is_constant[position])))
        elif members[taken[position]][0] == position:
            own = members[taken[position]]
            features.append(Feature(taken[position], own, bool(is_constant[list(own)].all())))
    return tuple(features)


def _find_members(columns: Columns, name: str, members: Sequence[str | int]) -> tuple[int, ...]:
    if isinstance(members, str) or not isinstance(members, Sequence) or len(members) == 0:
        raise InputError(f"groups[{name!r}]={members!r} is not valid: pass a list of column names.")
    return tuple(sorted({columns.index(member) for member in members}))


def find_representatives(columns: Columns, features: Sequence[Feature]) -> list[int]:
    """Return for each feature the index of the feature whose scores it gets.

    A column that repeats another one gets its scores, so that copies come out equal. Groups stand
    for themselves.
    """
    originals = columns.first_copies()
    alone = {
        feature.positions[0]: index
        for index, feature in enumerate(features)
        if len(feature.positions) == 1
    }
    return [
        alone.get(int(originals[feature.positions[0]]), index)
        if len(feature.positions) == 1
        else index
        for index, feature in enumerate(features)
    ]
