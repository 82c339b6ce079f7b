"""Named tasks: one random stream each, run serially or on threads, answers keyed by name.

A task is known by what it is, never by when it ran, so its random numbers and its place in the
result do not depend on the number of workers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from umfi.errors import InputError, is_whole_number, unknown_name

__all__ = ["Streams", "TaskName", "check_workers", "count_workers", "kernel_seed", "run_tasks"]

TaskName = tuple[str | int, ...]
Answer = TypeVar("Answer")

EXECUTORS = ("serial", "threads")


@dataclass(frozen=True)
class Streams:
    """A seed from which every task gets a random stream of its own.

    Attributes
    ----------
    entropy : int
        Passed as ``random_state``, it gives the same streams again.
    """

    entropy: int

    @classmethod
    def from_random_state(cls, random_state: Any) -> Streams:
        """Return the streams for None, a whole number, a Generator or a SeedSequence.

        A generator is advanced, so that calling twice with the same one gives fresh numbers.
        """
        if random_state is None:
            return cls(entropy=int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        if isinstance(random_state, np.random.SeedSequence):
            return cls(entropy=int(random_state.generate_state(1, np.uint64)[0]))
        if isinstance(random_state, np.random.Generator):
            return cls(entropy=int(random_state.integers(2**63)))
        if isinstance(random_state, np.random.RandomState):
            return cls(entropy=int(random_state.randint(2**63, dtype=np.int64)))
        if not is_whole_number(random_state) or random_state < 0:
            raise InputError(
                f"random_state={random_state!r} is not a seed: pass a whole number from 0 up, "
                "a numpy Generator or None."
            )
        return cls(entropy=int(random_state))

    def seed(self, *name: str | int) -> np.random.SeedSequence:
        """Return the seed sequence of the task with this name.

        Examples
        --------
        >>> first, second = (Streams(7).seed("rainfall", 0) for _ in range(2))
        >>> bool((first.generate_state(4) == second.generate_state(4)).all())
        True
        """
        digest = hashlib.blake2b(repr(name).encode(), digest_size=16).digest()
        return np.random.SeedSequence(
            self.entropy, spawn_key=tuple(int(word) for word in np.frombuffer(digest, "<u4"))
        )

    def generator(self, *name: str | int) -> np.random.Generator:
        """Return a generator on the stream of the task with this name."""
        return np.random.default_rng(self.seed(*name))


def kernel_seed(seed: np.random.SeedSequence) -> np.uint64:
    """Return the 64 bits with which the forest kernels start their own streams."""
    return np.uint64(seed.generate_state(1, np.uint64)[0])


def count_workers(n_jobs: int | None) -> int:
    """Return the number of workers: all usable cores for None and -1, all but one for -2, ..."""
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer)
    ):
        raise InputError(f"n_jobs={n_jobs!r} is not a number of workers: pass 1, 2, ... or None.")
    if n_jobs == 0:
        raise InputError("n_jobs=0 leaves nobody to work: pass 1 or more, or None for all cores.")
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if n_jobs is None:
        return n_cores or 1
    if n_jobs < 0:
        return max(1, (n_cores or 1) + 1 + int(n_jobs))
    return int(n_jobs)


def check_workers(n_jobs: int | None, executor: str | None) -> None:
    """Raise if these settings cannot be run; called before any long work starts."""
    count_workers(n_jobs)
    if executor is not None and executor not in EXECUTORS:
        raise unknown_name("executor", executor, EXECUTORS)


def run_tasks(
    work: Callable[[TaskName], Answer],
    names: Sequence[TaskName],
    *,
    n_jobs: int | None = None,
    executor: str | None = None,
    progress: bool | None = None,
    title: str = "",
) -> dict[TaskName, Answer]:
    """Return the answer of every named task, in the order of the names.

    Parameters
    ----------
    work : callable
        Computes one task from its name alone; releases the GIL where it takes long.
    names : sequence of tuples
        No name twice.
    n_jobs, executor, progress
        As in :func:`umfi.ultra_marginal`.
    title : str
        What the progress bar says.

    Examples
    --------
    >>> run_tasks(lambda name: name[0] ** 2, [(3,), (2,)])
    {(3,): 9, (2,): 4}
    """
    check_workers(n_jobs, executor)
    n_workers = 1 if executor == "serial" else min(count_workers(n_jobs), max(1, len(names)))
    answers: dict[TaskName, Answer] = {}
    # Tasks run side by side, so that each takes one core; and sums of products must not depend on
    # how many cores a machine has.
    with (
        threadpool_limits(limits=1, user_api="blas"),
        _progress_bar(title, len(names), progress) as advance,
    ):
        for name, answer in _run(work, names, n_workers):
            answers[name] = answer
            advance()
    return {name: answers[name] for name in names}


def _run(
    work: Callable[[TaskName], Answer], names: Sequence[TaskName], n_workers: int
) -> Iterable[tuple[TaskName, Answer]]:
    """Yield names with answers as they finish, which is any order."""
    if n_workers == 1:
        return ((name, work(name)) for name in names)
    parallel = Parallel(n_jobs=n_workers, backend="threading", return_as="generator_unordered")
    finished: Iterable[tuple[TaskName, Answer]] = parallel(
        delayed(_named)(work, name) for name in names
    )
    return finished


def _named(work: Callable[[TaskName], Answer], name: TaskName) -> tuple[TaskName, Answer]:
    return name, work(name)


@contextmanager
def _progress_bar(title: str, n_tasks: int, progress: bool | None) -> Any:
    """Yield a function to call after each task; it draws only in a terminal."""
    if progress is False:
        yield lambda: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        shown = bar.add_task(title, total=n_tasks)
        yield lambda: bar.advance(shown)
