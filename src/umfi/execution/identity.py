"""What makes two runs the same: the data, the settings and the code that decide its numbers.

An identity is a dictionary of plain values, one entry for each argument, so that a difference can
be named.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import logging
import pickle
import re
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from joblib.hashing import NumpyHasher
from numpy.typing import NDArray

from umfi.errors import InputError, listed

__all__ = ["describe", "describe_table", "digest_of", "find_differences"]

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Longer values are only said to differ.
MAX_SHOWN_LETTERS = 60
HOLD_NO_OTHERS = (np.generic, np.ndarray, set, frozenset, types.CodeType)
FRAME_LABELS = ("index", "columns", "name")
# An argument that holds more than this would take for ever.
MAX_OBJECTS = 100_000


def describe(value: Any) -> Any:
    """Return a plain description of an argument, equal for arguments that do the same.

    Numbers, text, and lists and dictionaries of these describe themselves; all else is its class
    and a hash of what it holds. Code of installed packages counts by version, code of users by
    what it says.

    Examples
    --------
    >>> describe({"b": (1, 2.5), "a": None})
    {'a': None, 'b': [1, 2.5]}
    """
    try:
        return _as_plain(value)
    except TypeError:
        pass
    try:
        return {"class": _name(type(value)), "digest": _Hasher().hash(value)}
    except RecursionError:
        raise _holds_too_much() from None


def _holds_too_much() -> InputError:
    return InputError(
        "Whether the power or remover is the same as in the checkpoint cannot be decided, because "
        "it holds too much: run without checkpoint, or pass an object that holds its settings "
        "alone."
    )


def _as_plain(value: Any) -> Any:
    """Return a value as JSON holds it, or raise TypeError."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
        return _as_plain(value.item())
    if isinstance(value, Mapping):
        pairs = [(_key(key), _as_plain(one)) for key, one in value.items()]
        return dict(sorted(pairs, key=lambda pair: pair[0]))
    if isinstance(value, list | tuple):
        return [_as_plain(one) for one in value]
    raise TypeError


class _Hasher(NumpyHasher):  # type: ignore[misc]
    """joblib's hash, in which code counts as well, and nothing that changes with use or address."""

    def __init__(self) -> None:
        super().__init__(coerce_mmap=True)
        self.n_objects = 0
        # What was replaced, by address; held on to, because others could take its place in memory.
        self.seen: dict[int, tuple[int, Any]] = {}

    def save(self, value: Any) -> None:
        """Add a value to the hash."""
        if value is None or isinstance(value, str | bytes | bool | int | float):
            super().save(value)
            return
        self.n_objects += 1
        if self.n_objects > MAX_OBJECTS:
            raise _holds_too_much()
        if id(value) in self.seen:
            super().save(("seen", self.seen[id(value)][0]))
            return
        replacement = _replace(value)
        # Values count, and not whether two are one object, unless it may hold itself.
        if replacement is not value and not isinstance(value, HOLD_NO_OTHERS):
            self.seen[id(value)] = len(self.seen), value
        try:
            super().save(replacement)
        except (TypeError, pickle.PicklingError):  # Nothing of it is saved yet.
            super().save((_name(type(value)), ADDRESS.sub("", repr(value))))


def _replace(value: Any) -> Any:
    """Return what is to be hashed in the place of a value: mostly the value itself."""
    if isinstance(value, np.generic):
        plain = value.item()
        return value if isinstance(plain, np.generic) else plain
    if isinstance(value, np.ndarray):
        # A fresh copy, because joblib counts strides.
        is_plain = type(value) in (np.ndarray, np.memmap)
        return np.array(value, order="C", copy=True) if is_plain else value
    if type(value) is dict and not all(isinstance(key, str) for key in value):
        return {_key(key): one for key, one in value.items()}
    if isinstance(value, set | frozenset):  # Their order is not that of another process.
        return "set", sorted(_Hasher().hash(one) for one in value)
    if isinstance(value, types.ModuleType):
        return _replace_module(value)
    if isinstance(value, type):
        return _replace_class(value)
    if isinstance(value, types.CodeType):
        return value.co_code, list(value.co_consts), " ".join(value.co_names)
    if isinstance(value, types.FunctionType):
        return _replace_function(value)
    # Compiled and cached functions are what they were made of.
    inner = getattr(value, "py_func", None) or getattr(value, "__wrapped__", None)
    if isinstance(inner, types.FunctionType):
        return ("compiled", inner)
    if isinstance(value, logging.Logger | io.IOBase):
        return _name(type(value)), str(getattr(value, "name", ""))
    if type(value).__module__ in ("_thread", "threading"):
        return "lock"
    if hasattr(value, "get_params"):  # An estimator of scikit-learn.
        return type(value), value.get_params(deep=False)
    if hasattr(value, "to_numpy"):  # Frames and series, whatever made them.
        labels: list[Any] = [getattr(value, name, None) for name in FRAME_LABELS]
        held = [one.to_numpy() if hasattr(one, "to_numpy") else one for one in labels]
        return _name(type(value)), value.to_numpy(), held
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return type(value), {field.name: getattr(value, field.name) for field in fields}
    return value


def _replace_module(module: types.ModuleType) -> Any:
    version = _version_of(module.__name__)
    if version is not None:
        return "module", module.__name__, version
    try:
        return "module", module.__name__, Path(str(getattr(module, "__file__", ""))).read_bytes()
    except OSError:
        return "module", module.__name__


def _replace_class(kind: type) -> Any:
    version = _version_of(kind.__module__)
    if version is not None:
        return "class", _name(kind), version
    members = {
        name: getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        for name, member in vars(kind).items()
        if not (name.startswith("__") and not callable(member))
        and not isinstance(member, types.GetSetDescriptorType | types.MemberDescriptorType)
    }
    return "class", _name(kind), kind.__bases__, members


def _replace_function(function: types.FunctionType) -> Any:
    version = _version_of(function.__module__)
    if version is not None:
        return "function", _name(function), version
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    used = {
        name: function.__globals__[name]
        for code in _codes_in(function.__code__)
        for name in code.co_names
        if name in function.__globals__
    }
    held = (cells, function.__defaults__, function.__kwdefaults__, used)
    return "function", function.__qualname__, function.__code__, held


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function and of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


def _key(key: Any) -> str:
    """Return the key of a mapping as text; 1 and "1" differ."""
    return key if isinstance(key, str) else f"{type(key).__name__} {ADDRESS.sub('', repr(key))}"


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


@functools.cache
def _version_of(module_name: str | None) -> str | None:
    """Return the version of a module that is installed, this package included; None of a user's.

    Empty where Python's own version decides.
    """
    top = (module_name or "").partition(".")[0]
    if top in ("umfi", "builtins") or top in sys.builtin_module_names:
        return ""
    paths = sysconfig.get_paths()
    folders = tuple(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None or not file.startswith(folders):
        return None
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(top)
    return ""


def digest_of(value: Any) -> str:
    """Return a digest of a plain value."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def describe_table(
    names: Sequence[str], kinds: Sequence[str], values: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the description of a table: each column with its kind and a hash of its values.

    Parameters
    ----------
    names, kinds : sequence of str, length n_columns
    values : ndarray of float64, shape (n_rows, n_columns)
    """
    return {
        "rows": int(values.shape[0]),
        "columns": list(names),
        "kinds": list(kinds),
        "values": [_Hasher().hash(column) for column in values.T],
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
        removed = [name for name in old["columns"] if name not in set(new["columns"])]
        added = [name for name in new["columns"] if name not in set(old["columns"])]
        if not removed and not added:
            return "the columns of X stand in another order"
        without = f"without {listed(removed)}" if removed else ""
        with_ = f"with {listed(added)} added" if added else ""
        return "X is now " + " and ".join(filter(None, [without, with_]))
    before = zip(old["kinds"], old["values"], strict=True)
    now = zip(new["kinds"], new["values"], strict=True)
    pairs = zip(new["columns"], before, now, strict=True)
    return f"X has other values in {listed(name for name, one, other in pairs if one != other)}"
