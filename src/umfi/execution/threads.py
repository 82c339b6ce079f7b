"""How many threads the libraries below us use: one, because tasks run side by side.

And because sums of products must not depend on how many cores a machine has.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["keep_to_one_blas_thread", "one_blas_thread", "one_openmp_thread"]

_lock = threading.RLock()
_found: dict[int, Any] = {}
_inside: list[Any] = []


def _limit(user_api: str) -> Any:
    """Return the limit to one thread, to be lifted by its ``restore_original_limits``.

    Looking for libraries takes milliseconds, and can block for ever if another thread loads one
    meanwhile; so it is done again only after something was imported.
    """
    with _lock:
        n_modules = len(sys.modules)
        if n_modules not in _found:
            _found.clear()
            _found[n_modules] = ThreadpoolController()
        return _found[n_modules].limit(limits=1, user_api=user_api)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep the linear algebra of this process to one thread, until the last run has left."""
    with _lock:
        _inside.append(_inside[0] if _inside else _limit("blas"))
    try:
        yield
    finally:
        with _lock:
            limits = _inside.pop()
            if not _inside:
                limits.restore_original_limits()


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Keep OpenMP to one thread; its limit is this thread's own."""
    limits = _limit("openmp")
    try:
        yield
    finally:
        limits.restore_original_limits()


def keep_to_one_blas_thread() -> None:
    """Do the same for good, in a process that works for others.

    Only the thread that set a limit can lift it, and groups side by side come on several.
    """
    _limit("blas")
