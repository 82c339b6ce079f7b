"""Work on its way to other processes: packed once, unpacked once in each.

A payload is a short pickle of the work, and beside it the large arrays that the work uses. Arrays
are distinguished by where they lie in memory, so that the stages of a run, which work on the same
table, send it once.
"""

from __future__ import annotations

import glob
import mmap
import os
import pickle
import platform
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle
import numpy as np

from umfi.errors import RunError
from umfi.execution.tasks import Outcome, TaskName, Work, make_portable, run_group
from umfi.execution.threads import keep_to_one_blas_thread
from umfi.version import __version__, find_versions, source_digest

__all__ = [
    "LargeArray",
    "Payload",
    "PayloadFiles",
    "forget_payloads",
    "pack",
    "run_from_files",
    "run_sent",
]

# Smaller arrays travel inside the pickle.
MIN_LARGE_BYTES = 1 << 16
# Stages of other runs may be under way on the same worker.
MAX_UNPACKED = 4


@dataclass(frozen=True)
class LargeArray:
    """The bytes of an array that is sent beside the pickle.

    Attributes
    ----------
    place : tuple of int
        Where it lies in memory, and its size: equal for the same array.
    data : memoryview
        Holds on to the array, so that no other can take its place.
    """

    place: tuple[int, int]
    data: memoryview


@dataclass(frozen=True)
class Payload:
    """Work, packed; the key is how a worker knows that it has unpacked it."""

    key: str
    head: bytes
    arrays: list[LargeArray]


def pack(work: Work) -> Payload:
    """Return the work as a payload."""
    arrays: list[LargeArray] = []

    def stays_inside(buffer: pickle.PickleBuffer) -> bool:
        data = buffer.raw()
        if data.nbytes < MIN_LARGE_BYTES:
            return True
        address = np.frombuffer(data, dtype=np.uint8).ctypes.data
        arrays.append(LargeArray((address, data.nbytes), data))
        return False

    try:
        pickled = cloudpickle.dumps(work, protocol=5, buffer_callback=stays_inside)
    except Exception as error:
        raise RunError(
            f"The power or remover cannot be sent to other processes ({error}): use threads "
            "instead, or one that can be pickled.",
            argument="executor",
        ) from error
    return Payload(uuid4().hex, pickle.dumps((_this_software(), pickled)), arrays)


class PayloadFiles:
    """A folder of payloads, each array written once."""

    def __init__(self) -> None:
        _remove_left_folders()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{_folder_prefix()}{os.getpid()}-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        # By place; arrays are held on to, because others could take their place in memory.
        self.written: dict[tuple[int, int], tuple[str, memoryview]] = {}

    def write(self, payload: Payload) -> tuple[str, str, list[str]]:
        """Return the folder, the key of the work and the names of its arrays' files."""
        try:
            for array in payload.arrays:
                if array.place not in self.written:
                    name = f"{len(self.written)}.array"
                    (self.folder / name).write_bytes(array.data)
                    self.written[array.place] = name, array.data
            (self.folder / payload.key).write_bytes(payload.head)
        except OSError as error:
            raise RunError(
                f"The table cannot be written to {str(self.folder)!r} for the processes "
                f"({error.strerror}): make room there, or set TMPDIR to a folder with room."
            ) from error
        files = [self.written[array.place][0] for array in payload.arrays]
        return str(self.folder), payload.key, files


def _folder_prefix() -> str:
    """Return how folders of this machine begin; others may share the disk."""
    return f"umfi-{''.join(filter(str.isalnum, platform.node()))}-"


def _remove_left_folders() -> None:
    """Remove what runs left that were killed: folders named by processes that are gone."""
    if not Path("/proc/self").exists():
        return
    prefix = _folder_prefix()
    for folder in Path(tempfile.gettempdir()).glob(f"{glob.escape(prefix)}*-*"):
        pid = folder.name.removeprefix(prefix).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


_unpacked: OrderedDict[str, Work] = OrderedDict()
_unpacking = threading.Lock()


def run_sent(key: str, sent: Sequence[Any] | None, names: Sequence[TaskName]) -> Outcome | None:
    """Return the answers of these tasks, or None if the payload is still to be sent here.

    ``sent`` is the head of the payload and its arrays.
    """
    return _run(key, None if sent is None else lambda: sent, names)


def run_from_files(
    folder: str, key: str, files: Sequence[str], names: Sequence[TaskName]
) -> Outcome | None:
    """Return the answers of these tasks, the payload being in files.

    Arrays are mapped into memory: processes of one machine share one copy.
    """

    def read() -> tuple[bytes, list[mmap.mmap]]:
        mapped = []
        for file in files:
            with open(Path(folder) / file, "rb") as array:
                mapped.append(mmap.mmap(array.fileno(), 0, access=mmap.ACCESS_READ))
        return (Path(folder) / key).read_bytes(), mapped

    return _run(key, read, names)


def _run(
    key: str, read: Callable[[], Sequence[Any]] | None, names: Sequence[TaskName]
) -> Outcome | None:
    """Return the answers of these tasks, unpacking the work if this process has not yet done so."""
    with _unpacking:
        work = _unpacked.get(key)
        if work is None:
            if read is None:
                return None
            work = _unpacked[key] = _unpack(*read())
            keep_to_one_blas_thread()
            while len(_unpacked) > MAX_UNPACKED:
                _unpacked.popitem(last=False)
        _unpacked.move_to_end(key)
    return make_portable(run_group(work, names))


def forget_payloads(keys: Sequence[str]) -> None:
    """Let go of work that no more tasks will come of."""
    with _unpacking:
        for key in keys:
            _unpacked.pop(key, None)


def _unpack(head: bytes, buffers: Sequence[Any]) -> Work:
    callers, pickled = pickle.loads(head)
    own = _this_software()
    different = [name for name in callers if callers[name] != own.get(name)]
    if different:
        here, there = (
            ", ".join(f"{name} {of[name]}" for name in different) for of in (own, callers)
        )
        raise RunError(
            f"This worker has {here}, and the run was started with {there}: install the same "
            "versions everywhere."
        )
    # Read-only, and never copied: all groups of a worker, and all that it unpacks, share the table.
    shared = [memoryview(buffer).toreadonly() for buffer in buffers]
    work: Work = pickle.loads(pickled, buffers=shared)
    return work


def _this_software() -> dict[str, str]:
    """Return the versions of all that numbers depend on."""
    own = {"umfi": f"{__version__} ({source_digest()})"}
    return {name: one for name, one in find_versions().items() if name != "pandas"} | own
