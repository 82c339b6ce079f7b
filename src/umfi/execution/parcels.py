"""Work on its way to other processes: packed once, unpacked once in each.

A parcel is a short pickle of the work, and beside it the large arrays that the work uses. Arrays
are told apart by where they lie in memory, so that the stages of a run, which work on the same
table, send it once.
"""

from __future__ import annotations

import mmap
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle
import numpy as np

from umfi.errors import RunError
from umfi.execution.groups import Outcome, TaskName, Work, make_portable, run_group
from umfi.execution.threads import keep_to_one_blas_thread
from umfi.version import __version__, find_versions, source_digest

__all__ = ["LargeArray", "Parcel", "pack", "run_from_files", "run_parcel", "run_sent"]

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
        Keeps the array alive, so that no other can take its place.
    """

    place: tuple[int, int]
    data: memoryview


@dataclass(frozen=True)
class Parcel:
    """Work, packed.

    Attributes
    ----------
    key : str
        By which a worker knows that it has unpacked it.
    head : bytes
    arrays : list of LargeArray
    """

    key: str
    head: bytes
    arrays: list[LargeArray]


def pack(work: Work) -> Parcel:
    """Return the work as a parcel."""
    arrays: list[LargeArray] = []

    def keep_small(buffer: pickle.PickleBuffer) -> bool:
        data = buffer.raw()
        if data.nbytes < MIN_LARGE_BYTES:
            return True
        address = np.frombuffer(data, dtype=np.uint8).ctypes.data
        arrays.append(LargeArray((address, data.nbytes), data))
        return False

    try:
        pickled = cloudpickle.dumps(work, protocol=5, buffer_callback=keep_small)
    except Exception as error:
        raise RunError(
            f"The power or remover cannot be sent to other processes ({error}): use threads "
            "instead, or one that can be pickled.",
            argument="executor",
        ) from error
    head = pickle.dumps((_this_software(), pickled))
    return Parcel(uuid4().hex, head, arrays)


_unpacked: OrderedDict[str, Work] = OrderedDict()
_unpacking = threading.Lock()


def run_parcel(
    key: str, open_parcel: Callable[[], tuple[bytes, Sequence[Any]]], names: Sequence[TaskName]
) -> Outcome:
    """Return the answers of these tasks, unpacking the work if this process has not yet done so."""
    with _unpacking:
        work = _unpacked.get(key)
        if work is None:
            head, buffers = open_parcel()
            work = _unpacked[key] = _unpack(head, buffers)
            keep_to_one_blas_thread()
            while len(_unpacked) > MAX_UNPACKED:
                _unpacked.popitem(last=False)
        _unpacked.move_to_end(key)
    return make_portable(run_group(work, names))


def forget_parcels(keys: Sequence[str]) -> None:
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
    work: Work = pickle.loads(pickled, buffers=[_writeable(buffer) for buffer in buffers])
    return work


def _this_software() -> dict[str, str]:
    """Return the versions of all that numbers depend on."""
    own = {"umfi": f"{__version__} ({source_digest()})"}
    return {name: one for name, one in find_versions().items() if name != "pandas"} | own


def _writeable(buffer: Any) -> Any:
    """Return memory that arrays can be made of which are like those of the caller.

    Kernels are compiled anew for arrays that cannot be written to.
    """
    return bytearray(buffer) if memoryview(buffer).readonly else buffer


def run_from_files(
    folder: str, key: str, files: Sequence[str], names: Sequence[TaskName]
) -> Outcome:
    """Return the answers of these tasks, the parcel being in files.

    Arrays are mapped into memory: processes of one machine share one copy.
    """

    def open_parcel() -> tuple[bytes, list[mmap.mmap]]:
        mapped = []
        for file in files:
            with open(Path(folder) / file, "rb") as array:
                mapped.append(mmap.mmap(array.fileno(), 0, access=mmap.ACCESS_COPY))
        return (Path(folder) / key).read_bytes(), mapped

    return run_parcel(key, open_parcel, names)


def run_sent(
    key: str, sent: tuple[bytes, Sequence[Any]] | None, names: Sequence[TaskName]
) -> Outcome | None:
    """Return the answers of these tasks, or None if the parcel is still to be sent here."""
    if sent is None:
        with _unpacking:
            if key not in _unpacked:
                return None
    return run_parcel(key, lambda: sent or (b"", ()), names)
