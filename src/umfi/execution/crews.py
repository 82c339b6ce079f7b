"""Who does the work: this thread, threads, processes, or any executor of concurrent.futures.

A crew takes a group of tasks and returns a future. All else, which tasks and how many at a time, is
for the scheduler.
"""

from __future__ import annotations

import glob
import os
import platform
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from umfi.errors import InputError, RunError, unknown_name
from umfi.execution.groups import Outcome, TaskName, Work, run_group
from umfi.execution.parcels import Parcel, pack, run_from_files, run_sent
from umfi.execution.processes import hire, let_go

__all__ = ["Crew", "LostWorkError", "check_workers", "count_workers", "find_crew"]

EXECUTORS = ("threads", "serial", "processes", "dask")
ADDRESS_MARK = "://"

# What a group should take: long beside what it costs to send, short beside a run. Threads share
# memory, so that sending costs them next to nothing.
GROUP_SECONDS = 1.0
THREAD_GROUP_SECONDS = 0.05
# More would be more than a scheduler takes in.
MAX_GROUPS_PER_SECOND = 200
# Times that workers may die without any answer between before it is taken for the work's fault.
MAX_LOSSES = 10


class LostWorkError(Exception):
    """A group was lost with its worker, and can be done again."""


class Crew(Protocol):
    """Does groups of tasks.

    Attributes
    ----------
    n_workers : int
    group_seconds : float
        How long a group should take.
    n_ahead : int
        How many groups may wait, for workers not to wait.
    """

    n_workers: int
    group_seconds: float
    n_ahead: int

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Any:
        """Return a future of the group: ``add_done_callback``, ``cancel``."""

    def collect(self, future: Any) -> Outcome:
        """Return the outcome of a future that is done, or raise LostWorkError."""

    def take_back(self, future: Any) -> None:
        """Cancel a group that no worker has begun, if that can be told."""

    def check(self) -> None:
        """Raise if nobody is left to work; called while nothing happens."""

    def close(self, *, is_waiting: bool = True) -> None:
        """Let go of all workers that are the crew's own."""


class SerialCrew:
    """Does everything at once on the caller's thread."""

    n_workers = 1
    group_seconds = 0.0
    n_ahead = 0

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(run_group(work, names))
        return future

    def collect(self, future: Future[Outcome]) -> Outcome:
        return future.result()

    def take_back(self, future: Future[Outcome]) -> None:
        """Do nothing: it is done."""

    def check(self) -> None:
        """Do nothing: the caller is there."""

    def close(self, *, is_waiting: bool = True) -> None:
        """Do nothing: nobody was hired."""


class ThreadCrew:
    """Threads, which share the caller's memory."""

    group_seconds = THREAD_GROUP_SECONDS

    def __init__(self, executor: Executor, n_workers: int, *, is_own: bool) -> None:
        self.executor = executor
        self.n_workers = self.n_ahead = n_workers
        self.is_own = is_own

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Future[Outcome]:
        try:
            return self.executor.submit(run_group, work, names)
        except RuntimeError as error:
            raise _takes_no_work(error) from error

    def collect(self, future: Future[Outcome]) -> Outcome:
        return future.result()

    def take_back(self, future: Future[Outcome]) -> None:
        future.cancel()

    def check(self) -> None:
        """Do nothing: threads do not die."""

    def close(self, *, is_waiting: bool = True) -> None:
        if self.is_own:
            self.executor.shutdown(wait=is_waiting, cancel_futures=True)


class ProcessCrew:
    """Processes of this machine, which share the table through files mapped into memory.

    Parameters
    ----------
    n_workers : int
    executor : Executor, optional
        Of the caller; by default one of our own, which is kept for the next run.
    """

    def __init__(self, n_workers: int, executor: Executor | None = None) -> None:
        self.n_workers = self.n_ahead = n_workers
        self.group_seconds = GROUP_SECONDS
        self.given = executor
        self.files = _ParcelFiles()
        self.executor: Any = executor or hire(n_workers)
        self.n_losses = 0
        self.sent_to: dict[int, Any] = {}

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Future[Outcome]:
        parcel = self.files.write(work)
        future: Future[Outcome]
        try:
            future = self.executor.submit(run_from_files, *parcel, names)
        except (BrokenExecutor, RuntimeError) as error:
            self._replace_executor(error)
            future = self.executor.submit(run_from_files, *parcel, names)
        self.sent_to[id(future)] = self.executor
        return future

    def collect(self, future: Future[Outcome]) -> Outcome:
        sent_to = self.sent_to.pop(id(future))
        try:
            outcome: Outcome = future.result()
        except BrokenExecutor as error:
            # All groups under way are lost with one process, which counts once.
            if sent_to is self.executor:
                self._replace_executor(error)
            raise LostWorkError from None
        self.n_losses = 0
        return outcome

    def _replace_executor(self, error: BaseException) -> None:
        self.n_losses += 1
        if self.given is not None and not isinstance(error, BrokenExecutor):
            raise _takes_no_work(error) from error
        if self.given is not None:
            raise RunError(
                "A process of the executor died, perhaps for want of memory, and the executor "
                "takes no more work: pass a new one, or executor='processes'."
            ) from error
        if self.n_losses > MAX_LOSSES:
            raise RunError(
                f"Processes died {self.n_losses} times without an answer, perhaps for want of "
                "memory: run fewer workers, or use threads instead of processes.",
                argument="executor",
            ) from error
        let_go(self.executor, self.n_workers, is_kept=False)
        self.executor = hire(self.n_workers)

    def take_back(self, future: Future[Outcome]) -> None:
        future.cancel()

    def check(self) -> None:
        """Do nothing: executors tell when a process dies."""

    def close(self, *, is_waiting: bool = True) -> None:
        if self.given is None:
            let_go(self.executor, self.n_workers, is_kept=is_waiting)
        self.files.remove()


class ExecutorCrew:
    """Any executor of concurrent.futures; its workers may be on other machines.

    Nothing is known of them, so that a worker is sent the parcel when it says that it is missing.
    """

    def __init__(self, executor: Executor, n_workers: int) -> None:
        self.executor = executor
        self.n_workers = self.n_ahead = n_workers
        self.group_seconds = GROUP_SECONDS
        self.parcel: tuple[Work, Parcel] | None = None

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Future[Outcome]:
        if self.parcel is None or self.parcel[0] is not work:
            self.parcel = (work, pack(work))
        parcel = self.parcel[1]
        answer: Future[Outcome] = Future()

        def pass_on(first: Future[Outcome | None]) -> None:
            try:
                outcome = first.result()
                if outcome is None:
                    sent = (parcel.head, [bytearray(array.data) for array in parcel.arrays])
                    second = self.executor.submit(run_sent, parcel.key, sent, names)
                    second.add_done_callback(pass_on)
                else:
                    answer.set_result(outcome)
            except BaseException as error:
                answer.set_exception(error)

        try:
            first = self.executor.submit(run_sent, parcel.key, None, names)
        except RuntimeError as error:
            raise _takes_no_work(error) from error
        first.add_done_callback(pass_on)
        return answer

    def collect(self, future: Future[Outcome]) -> Outcome:
        try:
            return future.result()
        except (BrokenExecutor, CancelledError) as error:
            raise _takes_no_work(error) from error

    def take_back(self, future: Future[Outcome]) -> None:
        """Do nothing: where the group is cannot be told."""

    def check(self) -> None:
        """Do nothing: executors tell when a worker dies."""

    def close(self, *, is_waiting: bool = True) -> None:
        """Do nothing: the executor is the caller's."""


def _takes_no_work(error: BaseException) -> RunError:
    return RunError(f"The executor takes no more work ({error}): pass a new one to go on.")


class _ParcelFiles:
    """A folder of parcels, each array written once."""

    def __init__(self) -> None:
        _remove_left_folders()
        self.folder = tempfile.mkdtemp(prefix=f"{_folder_prefix()}{os.getpid()}-")
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.written: dict[tuple[int, int], str] = {}
        self.last: tuple[Work, Parcel] | None = None
        self.kept: list[Any] = []

    def write(self, work: Work) -> tuple[str, str, list[str]]:
        """Return the folder, the key of the work and the names of its arrays' files."""
        if self.last is None or self.last[0] is not work:
            parcel = pack(work)
            try:
                self._write(parcel)
            except OSError as error:
                raise RunError(
                    f"The table cannot be written to {self.folder!r} for the processes "
                    f"({error.strerror}): make room there, or set TMPDIR to a folder with room."
                ) from error
            self.last = (work, parcel)
        parcel = self.last[1]
        return self.folder, parcel.key, [self.written[array.place] for array in parcel.arrays]

    def _write(self, parcel: Parcel) -> None:
        for array in parcel.arrays:
            if array.place not in self.written:
                name = f"{len(self.written)}.array"
                (Path(self.folder) / name).write_bytes(array.data)
                self.written[array.place] = name
                self.kept.append(array.data)
        (Path(self.folder) / parcel.key).write_bytes(parcel.head)


def _folder_prefix() -> str:
    """Return how folders of this machine begin; others may share the disk."""
    node = "".join(letter for letter in platform.node() if letter.isalnum())
    return f"umfi-{node}-"


def _remove_left_folders() -> None:
    """Remove what runs left that were killed: folders named by processes that are gone."""
    if not Path("/proc/self").exists():
        return
    prefix = _folder_prefix()
    for folder in Path(tempfile.gettempdir()).glob(f"{glob.escape(prefix)}*-*"):
        pid = folder.name.removeprefix(prefix).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


def count_workers(n_jobs: int | None) -> int:
    """Return the number of workers: all usable cores for None and -1, all but one for -2, ..."""
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer)
    ):
        raise InputError(
            "is not a number of workers: pass 1, 2, ... or None.", argument="n_jobs", value=n_jobs
        )
    if n_jobs == 0:
        raise InputError(
            "leaves nobody to work: pass 1 or more, or None for all cores.",
            argument="n_jobs",
            value=0,
        )
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if n_jobs is None:
        return n_cores or 1
    if n_jobs < 0:
        return max(1, (n_cores or 1) + 1 + int(n_jobs))
    return int(n_jobs)


def check_workers(n_jobs: int | None, executor: Any) -> None:
    """Raise if these settings cannot be run; called before any long work starts."""
    count_workers(n_jobs)
    if executor is None or isinstance(executor, Executor):
        return
    if isinstance(executor, str):
        if executor not in EXECUTORS and ADDRESS_MARK not in executor:
            raise unknown_name("executor", executor, EXECUTORS)
        if executor == "dask" or ADDRESS_MARK in executor:
            _import_dask()
        return
    if _is_dask_client(executor):
        _import_dask().refuse_client(executor)
        return
    raise InputError(
        f"is not an executor: pass {', '.join(map(repr, EXECUTORS))}, the address of a Dask "
        "scheduler, a dask.distributed.Client or an executor of concurrent.futures.",
        argument="executor",
        value=executor,
    )


def find_crew(n_jobs: int | None, executor: Any) -> Crew:
    """Return the crew for ``n_jobs`` and ``executor``, as methods are given them."""
    check_workers(n_jobs, executor)
    n_workers = count_workers(n_jobs)
    if executor == "serial" or (executor in (None, "threads") and n_workers == 1):
        return SerialCrew()
    if executor is None or executor == "threads":
        return ThreadCrew(ThreadPoolExecutor(n_workers, "umfi"), n_workers, is_own=True)
    if executor == "processes":
        return ProcessCrew(n_workers)
    if isinstance(executor, str) or _is_dask_client(executor):
        crew: Crew = _import_dask().find_dask_crew(n_jobs, executor)
        return crew
    # Executors do not tell how many they are, but those of the standard library know.
    n_known = getattr(executor, "_max_workers", None)
    n_workers = int(n_known) if n_jobs is None and n_known else n_workers
    if isinstance(executor, ThreadPoolExecutor):
        return ThreadCrew(executor, n_workers, is_own=False)
    if isinstance(executor, ProcessPoolExecutor):
        return ProcessCrew(n_workers, executor)
    return ExecutorCrew(executor, n_workers)


def _is_dask_client(executor: Any) -> bool:
    # A client can also pass itself off as an executor, and is then treated as one.
    return (
        not isinstance(executor, Executor)
        and type(executor).__module__.partition(".")[0] == "distributed"
    )


def _import_dask() -> Any:
    try:
        from umfi.execution import dask
    except ImportError as error:
        raise InputError(
            f"Dask is not installed ({error}): install umfi[cluster], or pass another executor."
        ) from None
    return dask
