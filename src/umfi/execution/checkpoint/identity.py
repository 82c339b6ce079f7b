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
import re
import sys
import sysconfig
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError, listed

__all__ = ["describe", "describe_table", "digest_of", "find_differences"]

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Shown as they are in a message; longer values are only said to differ.
MAX_SHOWN_LETTERS = 60
FRAME_LABELS = ("index", "columns", "name")
# An argument that holds more than this is not described, because it would take for ever.
MAX_OBJECTS = 100_000


def describe(value: Any) -> Any:
    """Return a plain description of an argument, equal for arguments that do the same.

    Objects are their class and a digest of what they hold, functions one of their code and what it
    uses, arrays one of their values: what Python prints of them may hold addresses, or leave things
    out. Code of installed packages is known by their versions, code of users by what it says.

    Examples
    --------
    >>> describe({"b": (1, 2.5), "a": None})
    {'a': None, 'b': [1, 2.5]}
    """
    return _Describer().describe(value)


class _Describer:
    """Describes an argument and all it holds, each object once."""

    def __init__(self) -> None:
        # By identity; objects are kept, because others could take their place in memory.
        self.known: dict[int, tuple[Any, Any]] = {}

    def describe(self, value: Any) -> Any:
        """Return the description of one value."""
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, np.generic):
            plain = value.item()
            return repr(value) if isinstance(plain, np.generic) else self.describe(plain)
        if id(value) not in self.known:
            if len(self.known) > MAX_OBJECTS:
                raise InputError(
                    "It cannot be told whether the power or remover is the same as in the "
                    "checkpoint, because it holds too much: run without checkpoint, or pass an "
                    "object that holds its settings alone."
                )
            self.known[id(value)] = (value, "itself")  # Where it holds itself.
            self.known[id(value)] = (value, self._describe_new(value))
        return self.known[id(value)][1]

    def _describe_new(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            digest = digest_array(value)
            return {"array": list(value.shape), "type": str(value.dtype), "digest": digest}
        if isinstance(value, Mapping):
            pairs = [(_key(key), self.describe(one)) for key, one in value.items()]
            return dict(sorted(pairs, key=lambda pair: pair[0]))
        if isinstance(value, set | frozenset):
            return sorted((self.describe(one) for one in value), key=repr)
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return [self.describe(one) for one in value]
        if isinstance(value, types.ModuleType):
            return self._describe_module(value)
        if isinstance(value, type):
            return {"class": _name(value), "digest": digest_of(self._code_of_class(value))}
        return {"class": _name(type(value)), "digest": digest_of(self._contents_of(value))}

    def _contents_of(self, value: Any) -> Any:
        """Return what decides what an object does."""
        # Compiled and cached functions are what they were made of.
        inner = getattr(value, "py_func", None) or getattr(value, "__wrapped__", None)
        if isinstance(inner, types.FunctionType):
            return self.describe(inner)
        if isinstance(value, types.CodeType):
            return [value.co_code.hex(), self.describe(value.co_consts), list(value.co_names)]
        if isinstance(value, types.FunctionType):
            if _is_installed(value.__module__):
                return [_name(value), _version_of(value.__module__)]
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            held = [cells, value.__defaults__, value.__kwdefaults__, _find_globals(value)]
            return [value.__qualname__, self.describe(value.__code__), self.describe(held)]
        if isinstance(value, types.MethodType):
            return [self.describe(value.__self__), value.__func__.__qualname__]
        if isinstance(value, functools.partial):
            return self.describe([value.func, value.args, value.keywords])
        if isinstance(value, logging.Logger | io.IOBase):
            return str(getattr(value, "name", ""))  # What they hold changes with use.
        code = self._code_of_class(type(value))
        if hasattr(value, "get_params"):  # An estimator of scikit-learn.
            return [code, self.describe(value.get_params(deep=False))]
        if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            return [code, self.describe({one.name: getattr(value, one.name) for one in fields})]
        return [code, self._describe_state(value)]

    def _describe_state(self, value: Any) -> Any:
        if isinstance(value, np.random.Generator):
            return self.describe(dict(value.bit_generator.state))
        if isinstance(value, np.random.RandomState):
            return self.describe(value.get_state(legacy=False))
        if hasattr(value, "to_numpy"):  # Frames and series, whatever made them.
            labels: list[Any] = [getattr(value, name, None) for name in FRAME_LABELS]
            held = [one.to_numpy() if hasattr(one, "to_numpy") else one for one in labels]
            return self.describe([value.to_numpy(), *held])
        own = getattr(value, "__dict__", {})
        state = {**_find_slots(value), **(own if isinstance(own, Mapping) else {})}
        if not state:
            return ADDRESS.sub("", repr(value))
        return self.describe({name: one for name, one in state.items() if not _is_lock(one)})

    def _code_of_class(self, kind: type) -> Any:
        """Return the code of a class and those above it, versions where they are installed."""
        found: dict[str, Any] = {}
        for one in kind.__mro__:
            if _is_installed(one.__module__):
                found[_name(one)] = _version_of(one.__module__)
                continue
            members = {
                name: getattr(member, "fget", None) or getattr(member, "__func__", None) or member
                for name, member in vars(one).items()
                if not (name.startswith("__") and not callable(member)) and name != "__slots__"
            }
            found[_name(one)] = {
                name: self.describe(member)
                for name, member in members.items()
                if not isinstance(member, types.GetSetDescriptorType | types.MemberDescriptorType)
            }
        return found

    def _describe_module(self, module: types.ModuleType) -> Any:
        """Return a digest of a module of the user's; of installed ones the version."""
        if _is_installed(module.__name__):
            return [module.__name__, _version_of(module.__name__)]
        file = getattr(module, "__file__", None)
        try:
            source = Path(str(file)).read_bytes()
        except OSError:
            return module.__name__
        return [module.__name__, hashlib.blake2b(source, digest_size=12).hexdigest()]


def _key(key: Any) -> str:
    """Return the key of a mapping as text; 1 and "1" differ."""
    return key if isinstance(key, str) else f"{type(key).__name__} {ADDRESS.sub('', repr(key))}"


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _is_lock(value: Any) -> bool:
    return type(value).__module__ in ("_thread", "threading")


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


@functools.cache
def _is_installed(module_name: str | None) -> bool:
    """Return whether a module is part of Python or of an installed package, this one included."""
    top = (module_name or "").partition(".")[0]
    if top in ("umfi", "builtins") or top in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is not None and file.startswith(_installed_folders())


@functools.cache
def _version_of(module_name: str) -> str:
    """Return the version of what is installed; Python's own is compared anyway."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(module_name.partition(".")[0])
    return ""


def _find_globals(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function uses of its module, also in functions inside it."""
    codes, found = [function.__code__], {}
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        for name in code.co_names:
            if name in function.__globals__:
                found[name] = function.__globals__[name]
    return found


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
