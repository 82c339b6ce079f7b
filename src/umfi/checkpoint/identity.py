"""What makes two runs the same: the data, the settings and the code that decide its numbers.

An identity is a dictionary of plain values, one entry for each argument, so that a difference can
be named.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.errors import listed

__all__ = ["describe", "describe_table", "digest_of", "find_differences"]

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Shown as they are in a message; longer values are only said to differ.
MAX_SHOWN_LETTERS = 60


def describe(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """Return a plain description of an argument, equal for arguments that do the same.

    Objects are their class and what they hold, functions their code, arrays a digest: what Python
    prints of them may hold addresses, or leave things out.

    Examples
    --------
    >>> describe({"b": (1, 2.5), "a": None})
    {'a': None, 'b': [1, 2.5]}
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        plain = value.item()
        return repr(value) if isinstance(plain, np.generic) else describe(plain, seen)
    if id(value) in seen:
        return "itself"
    inner = functools.partial(describe, seen=(*seen, id(value)))
    if isinstance(value, np.ndarray):
        return {"array": list(value.shape), "digest": digest_array(value)}
    if isinstance(value, Mapping):
        pairs = sorted(((str(key), inner(one)) for key, one in value.items()), key=lambda p: p[0])
        return dict(pairs)
    if isinstance(value, set | frozenset):
        return sorted((inner(one) for one in value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [inner(one) for one in value]
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, types.CodeType):
        return _describe_code(value, inner)
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        used = _find_globals(value)
        held = [*cells, value.__defaults__, value.__kwdefaults__, used]
        return {"function": value.__qualname__, "code": inner(value.__code__), "held": inner(held)}
    if isinstance(value, types.MethodType):
        return inner([value.__self__, value.__func__])
    return _describe_object(value, inner)


def _find_globals(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function uses of its module; of other modules' functions the names."""
    found: dict[str, Any] = {}
    for name in function.__code__.co_names:
        if name in function.__globals__:
            value = function.__globals__[name]
            home = getattr(value, "__module__", None)
            if isinstance(value, types.ModuleType):
                continue
            if callable(value) and home != function.__module__:
                value = f"{home}.{getattr(value, '__qualname__', type(value).__qualname__)}"
            found[name] = value
    return found


def _describe_code(code: types.CodeType, inner: Any) -> str:
    """Return a digest of what code does, wherever it stands."""
    parts = [code.co_code.hex(), inner(code.co_consts), list(code.co_names)]
    return digest_of(parts)


def _describe_object(value: Any, inner: Any) -> Any:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, functools.partial):
        return {"class": kind, "held": inner([value.func, value.args, value.keywords])}
    if hasattr(value, "get_params"):  # An estimator of scikit-learn.
        return {"class": kind, "held": inner(value.get_params(deep=False))}
    if dataclasses.is_dataclass(value):
        held = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return {"class": kind, "held": inner(held)}
    state = {**_find_slots(value), **getattr(value, "__dict__", {})}
    if isinstance(value, np.random.Generator):
        state = dict(value.bit_generator.state)
    elif isinstance(value, np.random.RandomState):
        state = {"state": value.get_state(legacy=False)}
    if state:
        return {"class": kind, "held": inner(state)}
    return {"class": kind, "shown": ADDRESS.sub("", repr(value))}


def _find_slots(value: Any) -> dict[str, Any]:
    """Return what an object holds in slots, its own and those of the classes above."""
    names = [
        name
        for one in type(value).__mro__
        for name in np.atleast_1d(getattr(one, "__slots__", ())).tolist()
    ]
    return {str(name): getattr(value, str(name)) for name in names if hasattr(value, str(name))}


def digest_of(value: Any) -> str:
    """Return a digest of a plain value."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def digest_array(values: NDArray[Any]) -> str:
    """Return a digest of an array's values, whatever their order in memory."""
    if values.dtype == object:
        return digest_of([repr(value) for value in values.ravel()])
    contiguous = np.ascontiguousarray(values)
    return hashlib.blake2b(contiguous.view(np.uint8).data, digest_size=8).hexdigest()


def describe_table(
    names: Sequence[str], kinds: Sequence[str], values: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the description of a table: each column with its kind and a digest of its values.

    Parameters
    ----------
    names, kinds : sequence of str, length n_columns
    values : ndarray of float64, shape (n_rows, n_columns)
    """
    return {
        "rows": int(values.shape[0]),
        "columns": list(names),
        "kinds": list(kinds),
        "values": [digest_array(column) for column in values.T],
    }


def find_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return in words how two identities differ.

    Examples
    --------
    >>> find_differences({"subsample": 0.5, "missing": "drop"}, {"subsample": 1, "missing": "drop"})
    ['subsample was 0.5 and is now 1']
    """
    found = []
    for name in dict.fromkeys([*old, *new]):
        before, now = old.get(name), new.get(name)
        if digest_of(before) == digest_of(now):  # 1 and 1.0 are equal, and yet not the same.
            continue
        if name == "X" and before and now:
            found.append(_compare_tables(before, now))
        elif name == "versions" and before and now:
            found += [
                f"{package} was {before.get(package)} and is now {now.get(package)}"
                for package in dict.fromkeys([*before, *now])
                if before.get(package) != now.get(package)
            ]
        elif max(len(repr(before)), len(repr(now))) <= MAX_SHOWN_LETTERS and name != "y":
            found.append(f"{name} was {before!r} and is now {now!r}")
        else:
            found.append(f"{name} is another")
    return found


def _compare_tables(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if old["rows"] != new["rows"]:
        return f"X had {old['rows']} rows and has now {new['rows']}"
    if old["columns"] != new["columns"]:
        gone = [name for name in old["columns"] if name not in set(new["columns"])]
        come = [name for name in new["columns"] if name not in set(old["columns"])]
        if not gone and not come:
            return "the columns of X stand in another order"
        lost = f"without {listed(gone)}" if gone else ""
        added = f"with {listed(come)} added" if come else ""
        return "X is now " + " and ".join(filter(None, [lost, added]))
    changed = [
        name
        for name, *pair in zip(
            new["columns"],
            zip(old["kinds"], old["values"], strict=True),
            zip(new["kinds"], new["values"], strict=True),
            strict=True,
        )
        if pair[0] != pair[1]
    ]
    return f"X has other values in {listed(changed)}"
