"""Processes of this machine that work for one run, and are kept a while for the next.

They are loky's, which need no ``if __name__ == "__main__"`` in scripts. Its own way to keep them is
not used: there a process that was idle for some seconds leaves, and if it does so in the moment
that work is sent, loky warns on a thread of its own, which dies of it where warnings are errors.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

__all__ = ["hire", "let_go"]

# To start and to load the kernels takes a process seconds; a table and kernels take its memory.
IDLE_SECONDS = 60.0

_lock = threading.Lock()
_kept: list[tuple[int, Any, threading.Timer]] = []


def _forget_in_child() -> None:
    """Leave the processes to the one that hired them, and the lock to whoever held it there."""
    global _lock
    _lock = threading.Lock()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


def hire(n_workers: int) -> Any:
    """Return an executor that is the caller's alone, until it is let go."""
    with _lock:
        idle = _take_kept()
    if idle is not None:
        n_idle, executor = idle
        if n_idle == n_workers:
            return executor
        executor.shutdown(wait=False)
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(n_workers, timeout=None, initializer=_settle)


def let_go(executor: Any, n_workers: int, *, is_kept: bool) -> None:
    """Keep an executor for the next run, or end its processes whatever they do."""
    if not is_kept:
        executor.shutdown(wait=False, kill_workers=True)
        return
    timer = threading.Timer(IDLE_SECONDS, _end_idle, args=[executor])
    timer.daemon = True
    with _lock:
        former = _take_kept()
        _kept.append((n_workers, executor, timer))
    timer.start()
    if former is not None:
        former[1].shutdown(wait=False)


def _take_kept() -> tuple[int, Any] | None:
    if not _kept:
        return None
    n_workers, executor, timer = _kept.pop()
    timer.cancel()
    return n_workers, executor


def _end_idle(executor: Any) -> None:
    with _lock:
        if not _kept or _kept[0][1] is not executor:
            return
        _kept.clear()
    executor.shutdown(wait=False)


def _settle() -> None:
    """Prepare a process: Ctrl-C is for the one that the user talks to, and tables are no leak."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from joblib.externals.loky import process_executor

    # Otherwise it leaves once it holds 300 MB more than after its first task.
    process_executor._USE_PSUTIL = False
