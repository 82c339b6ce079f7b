"""Where experiments run: how large they are, what they keep, and how long they may take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import umfi
from reproduction.stored_runs import StoredRuns
from umfi.execution import Budget, count_workers
from umfi.execution.checkpoint import forget
from umfi.version import source_digest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CHECKPOINT_NAME", "RUNS_NAME", "Methods", "Session", "Tables"]

T = TypeVar("T")
# From the name that is shown to a method and its settings.
Methods = Mapping[str, Mapping[str, Any]]
# What an experiment measured, by the name of its file.
Tables = dict[str, "pd.DataFrame"]
# Of the run that is under way; those that are done are in the other file.
CHECKPOINT_NAME = "unfinished.umfi"
RUNS_NAME = "runs.jsonl"


def _importances(result: Any) -> Mapping[str, float]:
    return dict(result.importances)


def _digest(asked: Iterable[Any]) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for part in asked:
        digest.update(_to_bytes(part))
    return digest.hexdigest()


def _to_bytes(value: Any) -> bytes:
    """Return what tells a table, its names included, or a plain value from others."""
    if hasattr(value, "to_frame") or hasattr(value, "columns"):
        names = list(value.columns) if hasattr(value, "columns") else [value.name]
        cells = value.to_numpy()
        told = cells.tobytes() if cells.dtype.kind in "fiub" else repr(cells.tolist()).encode()
        return repr([names, cells.shape]).encode() + told
    return repr(value).encode()


@dataclass(frozen=True)
class Session:
    """Settings of a reproduction.

    Attributes
    ----------
    folder : Path
        Of this experiment.
    is_full : bool
        Whether it has the size of the paper's.
    seed : int
    n_jobs, executor
        As for all methods.
    progress : callable
        Called with a title and the number of steps; returns what is called after each.
    budget : Budget
        When it is over, steps that can be done without are left out.
    notes : list of str
        What was left out is noted here.
    """

    folder: Path
    is_full: bool = False
    seed: int = 0
    n_jobs: int | None = None
    executor: Any = None
    progress: Callable[[str, int], Any] | None = None
    budget: Budget = field(default_factory=Budget)
    notes: list[str] = field(default_factory=list)

    def choose(self, *, quick: T, full: T) -> T:
        """Return what fits the size of the experiment."""
        return full if self.is_full else quick

    def seed_of(self, *names: object) -> int:
        """Return the seed of something by its name, whatever ran before it."""
        text = json.dumps([self.seed, *map(str, names)])
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")

    @cached_property
    def runs(self) -> StoredRuns:
        """The runs that are done, by this start or by earlier ones."""
        return StoredRuns(self.folder / RUNS_NAME)

    def run(
        self,
        method: str,
        X: pd.DataFrame,
        y: pd.Series,
        *label: object,
        read: Callable[[Any], Mapping[str, float]] = _importances,
        **settings: Any,
    ) -> dict[str, float]:
        """Return what a method of umfi says of each feature.

        Parameters
        ----------
        method : str
        X, y
            The table and its response.
        *label
            What tells this run from others.
        read : callable
            From the result to numbers by feature; its importances by default.
        **settings
            Of the method.
        """
        seed = self.seed_of(method, *label)
        asked = (seed, X, y, {name: repr(value) for name, value in settings.items()})
        # Of other code, or of what else was asked, an unfinished run is none of ours.
        whose = " ".join([*map(str, label), _digest(asked), source_digest()])

        def compute() -> Mapping[str, float]:
            result = getattr(umfi, method)(
                X,
                y,
                random_state=seed,
                n_jobs=self.n_jobs,
                executor=self.executor,
                progress=False,
                checkpoint=umfi.Checkpoint(self.folder / CHECKPOINT_NAME, label=whose),
                **settings,
            )
            if result.settings.get("stopped"):  # Ctrl-C; half a run is no run.
                raise KeyboardInterrupt
            return read(result)

        return self.keep(compute, method, *label, asked=asked)

    def keep(
        self, compute: Callable[[], Mapping[str, float]], *label: object, asked: Iterable[Any]
    ) -> dict[str, float]:
        """Return numbers by feature, computed once and kept for later starts.

        Parameters
        ----------
        compute : callable
            Without arguments, returns the numbers.
        *label
            What tells them from others.
        asked : iterable
            All that they depend on, beside the code: tables, plain values, what prints as it is.
        """
        name, digest = ", ".join(map(str, label)), _digest(asked)
        known = self.runs.find(name, digest)
        if known is None:
            start = perf_counter()
            known = {str(feature): float(value) for feature, value in compute().items()}
            seconds = perf_counter() - start
            self.runs.add(name, digest, known, seconds, count_workers(self.n_jobs))
            # A run that is done needs it no more, and nothing else is under way.
            if (self.folder / CHECKPOINT_NAME).exists():
                forget(self.folder / CHECKPOINT_NAME)
        return known

    def track(self, steps: Iterable[T], title: str, *, n_parts: int | None = None) -> Iterator[T]:
        """Yield the steps, and show how far it is.

        Parameters
        ----------
        steps : iterable
        title : str
        n_parts : int, optional
            Stop when one of so many parts of the time that is left is over, after one step at
            least and all that were done before; without it all steps are done, however long they
            take.
        """
        steps = list(steps)
        own = Budget() if n_parts is None else self.budget.share(n_parts)
        n_new = self.runs.n_new
        with _shown(self.progress, title, len(steps)) as advance:
            for number, step in enumerate(steps):
                if number and own.is_over and self.runs.n_new > n_new:
                    self.notes.append(f"Cut by the time limit: {title}, {number} of {len(steps)}.")
                    return
                yield step
                advance(1)

    def time(self, what: Callable[[], Any], *label: object) -> float:
        """Return the seconds that something takes; those of an earlier start are kept."""

        def compute() -> dict[str, float]:
            start = perf_counter()
            what()
            return {"seconds": perf_counter() - start}

        # Times of other code or of other numbers of workers are no times of this run.
        asked = (count_workers(self.n_jobs), source_digest())
        return self.keep(compute, *label, asked=asked)["seconds"]


@contextmanager
def _shown(
    progress: Callable[[str, int], Any] | None, title: str, n_steps: int
) -> Iterator[Callable[[int], Any]]:
    if progress is None:
        yield lambda n_done: None
    else:
        with progress(title, n_steps) as advance:
            yield advance
