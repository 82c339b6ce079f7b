"""How kernels are compiled, and where the compiled copies are stored.

Copies lie in a folder named by the kernels' own sources. Numba looks only at the file of the
function that is called when it decides whether a copy is still good, not at the files of the
functions that it calls; a folder that changes its name with any of the sources beside the kernel
makes sure that no edit, update or pull leaves old kernels in use, as long as kernels call none from
another folder. It lies in the user's cache, so an installation may be read-only.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import platformdirs
from numba import config, njit
from numba.core import event
from numba.extending import intrinsic, overload

__all__ = ["inlined_kernel", "kernel", "read_only", "tree_kernel"]

Function = TypeVar("Function")
Array = TypeVar("Array", bound="np.ndarray[Any, Any]")

NOTICE = "umfi compiles its kernels for this machine, once; this can take a minute."

SETTINGS: dict[str, Any] = {"cache": True, "nogil": True}


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, or that makes arrays."""
    return _compile(function, SETTINGS)


def tree_kernel(function: Function) -> Function:
    """Compile a function that works inside a tree and makes no arrays.

    Without reference counting: every array it sees is held by its caller, and counting takes
    atomic instructions for each row of a table and each piece of scratch memory that is touched.
    """
    return _compile(function, {**SETTINGS, "_nrt": False})


def inlined_kernel(function: Function) -> Function:
    """Compile a small function of a tree into its caller, which saves passing arrays about."""
    return _compile(function, {**SETTINGS, "_nrt": False, "forceinline": True})


def read_only(array: Array) -> Array:
    """Return a view of an array that cannot be written to; kernels may call it, too.

    Numba compiles a kernel anew for arrays that are read-only, as those are that a worker maps into
    its memory. Kernels that are given all their tables as such views are compiled once.
    """
    view: Any = np.asarray(array).view()
    view.flags.writeable = False
    return view


@intrinsic
def _as_read_only(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        context.nrt.incref(builder, array, arguments[0])
        return arguments[0]

    return array.copy(readonly=True)(array), generate


@overload(read_only)
def _read_only_in_kernels(array):  # type: ignore[no-untyped-def]
    return lambda array: _as_read_only(array)  # type: ignore[call-arg]


def _compile(function: Function, settings: dict[str, Any]) -> Function:
    with _kernel_cache(Path(function.__code__.co_filename).parent):  # type: ignore[attr-defined]
        compiled: Function = njit(**settings)(function)
    return compiled


@cache
def _source_digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for path in [Path(__file__), *sorted(sources.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder(sources: Path) -> Path:
    """Return the first folder that is ours to write to: the user's cache, else temporary files.

    A folder that somebody else could write to is not used, because loading a copy runs it.
    """
    name = f"kernels-{_source_digest(sources)}"
    user = os.getuid() if hasattr(os, "getuid") else None
    for folder in (_user_cache(), Path(tempfile.gettempdir()) / f"umfi-{user}"):
        try:
            (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            is_ours = user is None or folder.stat().st_uid == (folder / name).stat().st_uid == user
        except OSError:
            continue
        if is_ours and os.access(folder / name, os.W_OK):
            return folder / name
    return Path(tempfile.mkdtemp(prefix="umfi-kernels-"))


def _user_cache() -> Path:
    """Return the folder of downloads, too; temporary files for a user without a home."""
    with suppress(RuntimeError):
        folder = platformdirs.user_cache_path("umfi")
        if folder.is_absolute():
            return folder
    return Path(tempfile.gettempdir()) / "umfi"


@contextmanager
def _kernel_cache(sources: Path) -> Iterator[None]:
    """Make functions that are decorated inside the block keep their compiled copies in our folder.

    A folder set by the user, with NUMBA_CACHE_DIR, is left alone.
    """
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    if not before:
        config.CACHE_DIR = str(_cache_folder(sources))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]


class _CompileNotice(event.Listener):
    """Says once that one of our kernels is being compiled, so that nobody wonders about the wait.

    Numba reports compiling only, and not that a copy is loaded.
    """

    has_spoken = False

    def on_start(self, event: Any) -> None:
        # Others compile as well, and functions of theirs may be without a module.
        kernel = getattr(event.data.get("dispatcher"), "py_func", None)
        module = getattr(kernel, "__module__", None) or ""
        if not self.has_spoken and module.split(".")[0] == __package__:
            self.has_spoken = True
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Say nothing: the answer follows."""


event.register("numba:compile", _CompileNotice())  # type: ignore[no-untyped-call]
