"""A lock on a checkpoint, which the system lifts when the run that holds it ends, however it ends.

It is on a file of its own beside the checkpoint: closing a locked file lifts all locks on it, and
SQLite locks and closes its own as it needs.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO
from weakref import WeakSet

__all__ = ["FileLock"]

try:
    import fcntl

    def _try_lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

except ImportError:  # Windows.
    import msvcrt

    def _try_lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]


_held: WeakSet[FileLock] = WeakSet()


def _forget_in_child() -> None:
    """Close locks in a process that was forked: it would hold them longer than the run does."""
    for lock in list(_held):
        lock.file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


class FileLock:
    """Holds the lock from when it is made until it is let go.

    Raises
    ------
    BlockingIOError
        If somebody else holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        while True:
            self.file = open(path, "a+b")  # noqa: SIM115
            try:
                _try_lock(self.file)
            except (BlockingIOError, PermissionError) as error:
                self.file.close()
                raise BlockingIOError(*error.args) from None
            except OSError:
                self.file.close()
                raise
            # The one before us may have removed the file after we opened it.
            with suppress(OSError):
                if os.path.samestat(os.fstat(self.file.fileno()), os.stat(path)):
                    _held.add(self)
                    return
            self.file.close()

    def let_go(self) -> None:
        """Let others have it."""
        if not self.file.closed:
            with suppress(OSError):  # Windows does not remove what is open.
                self.path.unlink()
            self.file.close()
