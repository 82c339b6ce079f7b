"""Who does the work: this thread, threads, processes, or any executor of concurrent.futures.

A worker pool sends a group of tasks to an executor and returns a future. All else, which tasks and
how many at a time, is for the scheduler.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from typing import Any

import numpy as np

from umfi.errors import InputError, RunError, unknown_name
from umfi.execution.payload import Payload, PayloadFiles, pack, run_from_files, run_sent
from umfi.execution.tasks import LostWorkError, Outcome, TaskName, Work, run_group

__all__ = ["WorkerPool", "check_workers", "count_workers", "find_pool"]

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
# To start and to load the kernels takes a process seconds; a table and kernels take its memory.
IDLE_SECONDS = 60.0


class WorkerPool:
    """Sends groups of tasks to an executor whose workers share the caller's memory.

    Those whose workers do not derive from it. ``n_ahead`` is how many groups may wait, for workers
    not to wait.
    """

    group_seconds = THREAD_GROUP_SECONDS

    def __init__(self, executor: Any, n_workers: int, *, is_own: bool = False) -> None:
        self.executor = executor
        self.n_workers = self.n_ahead = n_workers
        self.is_own = is_own

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Any:
        """Return a future of the group: ``add_done_callback``, ``cancelled``."""
        return self._send(run_group, work, names)

    def _send(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self.executor.submit(function, *arguments)
        except RuntimeError as error:
            raise _takes_no_work(error) from error

    def collect(self, future: Any) -> Outcome:
        """Return the outcome of a future that is done, or raise LostWorkError."""
        outcome: Outcome = future.result()
        return outcome

    def withdraw(self, future: Any) -> None:
        """Cancel a group that no worker has begun, if that can be known."""
        future.cancel()

    def check(self) -> None:
        """Raise if no worker is left; called while nothing happens."""

    def close(self, *, is_waiting: bool = True) -> None:
        """Let go of all workers that are the pool's own."""
        if self.is_own:
            self.executor.shutdown(wait=is_waiting, cancel_futures=True)


def _takes_no_work(error: BaseException) -> RunError:
    return RunError(f"The executor takes no more work ({error}): pass a new one to go on.")


class SerialPool(WorkerPool):
    """Does everything at once on the caller's thread."""

    group_seconds = 0.0

    def __init__(self) -> None:
        super().__init__(None, 1)
        self.n_ahead = 0

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(run_group(work, names))
        return future


class RemotePool(WorkerPool):
    """Any executor, whose workers may be on other machines.

    Nothing is known of them, so that a worker is sent the payload when it says that it is missing.
    """

    group_seconds = GROUP_SECONDS
    packed: tuple[Work, Any] | None = None

    def _pack(self, work: Work) -> Any:
        """Return the payload of the work as it travels: packed once, as long as it is the same."""
        if self.packed is None or self.packed[0] is not work:
            self.packed = (work, self._prepare(pack(work)))
        return self.packed[1]

    def _prepare(self, payload: Payload) -> Any:
        return payload

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Any:
        payload = self._pack(work)
        answer: Future[Outcome] = Future()

        def pass_on(first: Future[Outcome | None]) -> None:
            try:
                outcome = first.result()
                if outcome is None:
                    sent = (payload.head, [bytes(array.data) for array in payload.arrays])
                    second = self.executor.submit(run_sent, payload.key, sent, names)
                    second.add_done_callback(pass_on)
                else:
                    answer.set_result(outcome)
            except BaseException as error:
                answer.set_exception(error)

        self._send(run_sent, payload.key, None, names).add_done_callback(pass_on)
        return answer

    def collect(self, future: Any) -> Outcome:
        try:
            return super().collect(future)
        except (BrokenExecutor, CancelledError) as error:
            raise _takes_no_work(error) from error

    def withdraw(self, future: Any) -> None:
        """Do nothing: where the group is cannot be known."""


class ProcessPool(RemotePool):
    """Processes of this machine, which share the table through files mapped into memory.

    Parameters
    ----------
    n_workers : int
    executor : Executor, optional
        Of the caller; by default one of our own, which is used again by the next run.
    """

    def __init__(self, n_workers: int, executor: Executor | None = None) -> None:
        super().__init__(executor or hire(n_workers), n_workers, is_own=executor is None)
        self.files = PayloadFiles()
        self.n_losses = 0
        self.sent_to: dict[int, Any] = {}

    def _prepare(self, payload: Payload) -> tuple[str, str, list[str]]:
        return self.files.write(payload)

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Any:
        payload = self._pack(work)
        try:
            future = self.executor.submit(run_from_files, *payload, names)
        except (BrokenExecutor, RuntimeError) as error:
            self._replace_executor(error)
            future = self.executor.submit(run_from_files, *payload, names)
        self.sent_to[id(future)] = self.executor
        return future

    def collect(self, future: Any) -> Outcome:
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
        if not self.is_own and not isinstance(error, BrokenExecutor):
            raise _takes_no_work(error) from error
        if not self.is_own:
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
        self.executor.shutdown(wait=False, kill_workers=True)
        self.executor = hire(self.n_workers)

    def withdraw(self, future: Any) -> None:
        future.cancel()

    def close(self, *, is_waiting: bool = True) -> None:
        if self.is_own and is_waiting:
            let_go(self.executor, self.n_workers)
        elif self.is_own:
            self.executor.shutdown(wait=False, kill_workers=True)
        self.files.remove()


# By process, so that a child that is forked starts its own: how many workers, and the executor.
_idle: dict[int, tuple[int, Any]] = {}


def hire(n_workers: int) -> Any:
    """Return an executor that is the caller's alone, until it is let go.

    It is loky's, which needs no ``if __name__ == "__main__"`` in scripts. Not its reusable one:
    that is shared by all runs of a process, and its workers leave when they are idle for a while,
    of which it warns on a thread of its own that dies where warnings are errors.
    """
    n_idle, executor = _idle.pop(os.getpid(), (0, None))
    if n_idle == n_workers:
        return executor
    if executor is not None:
        executor.shutdown(wait=False)
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(n_workers, timeout=None, initializer=_settle)


def let_go(executor: Any, n_workers: int) -> None:
    """Leave an executor to the next run, if that comes soon."""
    _, former = _idle.pop(os.getpid(), (0, None))
    if former is not None:
        former.shutdown(wait=False)
    idle = _idle[os.getpid()] = (n_workers, executor)
    timer = threading.Timer(IDLE_SECONDS, _end_idle, args=[idle])
    timer.daemon = True
    timer.start()


def _end_idle(idle: tuple[int, Any]) -> None:
    if _idle.get(os.getpid()) is idle:
        _, executor = _idle.pop(os.getpid(), (0, None))
        if executor is not None:  # Else a run was faster.
            executor.shutdown(wait=False)


def _settle() -> None:
    """Prepare a process: Ctrl-C is for the one that the user talks to, and tables are no leak."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from joblib.externals.loky import process_executor

    # Otherwise it leaves once it holds 300 MB more than after its first task.
    process_executor._USE_PSUTIL = False


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


def find_pool(n_jobs: int | None, executor: Any) -> WorkerPool:
    """Return the workers for ``n_jobs`` and ``executor``, as methods are given them."""
    check_workers(n_jobs, executor)
    n_workers = count_workers(n_jobs)
    if executor == "serial" or (executor in (None, "threads") and n_workers == 1):
        return SerialPool()
    if executor is None or executor == "threads":
        return WorkerPool(ThreadPoolExecutor(n_workers, "umfi"), n_workers, is_own=True)
    if executor == "processes":
        return ProcessPool(n_workers)
    if isinstance(executor, str) or _is_dask_client(executor):
        pool: WorkerPool = _import_dask().find_dask_pool(n_jobs, executor)
        return pool
    # Executors do not say how many they are, but those of the standard library know.
    n_known = getattr(executor, "_max_workers", None)
    n_workers = int(n_known) if n_jobs is None and n_known else n_workers
    if isinstance(executor, ThreadPoolExecutor):
        return WorkerPool(executor, n_workers)
    if isinstance(executor, ProcessPoolExecutor):
        return ProcessPool(n_workers, executor)
    return RemotePool(executor, n_workers)


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
