"""Where experiments run: how large they are, what they keep, and how long they may take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import umfi
from umfi.tasks import Budget, count_workers
from umfi.version import source_digest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CHECKPOINT_NAME", "TIMINGS_NAME", "Methods", "Tables", "Workshop"]

T = TypeVar("T")
# From the name that is shown to a method and its settings.
Methods = Mapping[str, Mapping[str, Any]]
# What an experiment measured, by the name of its file.
Tables = dict[str, "pd.DataFrame"]
CHECKPOINT_NAME = "unfinished.umfi"
TIMINGS_NAME = "timings.json"


@dataclass(frozen=True)
class Workshop:
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

    def run(self, method: str, X: Any, y: Any, *label: object, **settings: Any) -> Any:
        """Return what a method of umfi says, from the checkpoint if it was done before."""
        name = ", ".join(map(str, (method, *label)))
        call = getattr(umfi, method)
        return call(
            X,
            y,
            random_state=self.seed_of(method, *label),
            n_jobs=self.n_jobs,
            executor=self.executor,
            progress=False,
            checkpoint=umfi.Checkpoint(self.folder / CHECKPOINT_NAME, label=name),
            **settings,
        )

    def track(self, steps: Iterable[T], title: str, *, n_parts: int | None = None) -> Iterator[T]:
        """Yield the steps, and show how far it is.

        Parameters
        ----------
        steps : iterable
        title : str
        n_parts : int, optional
            Stop when one of so many parts of the time that is left is over, after one step at
            least; without it all steps are done, however long they take.
        """
        steps = list(steps)
        own = Budget() if n_parts is None else self.budget.share(n_parts)
        with _shown(self.progress, title, len(steps)) as advance:
            for number, step in enumerate(steps):
                if number and own.is_over:
                    self.notes.append(f"Cut by the time limit: {title}, {number} of {len(steps)}.")
                    return
                yield step
                advance(1)

    def time(self, what: Callable[[], Any], *label: object) -> float:
        """Return the seconds that something takes; those of an earlier start are kept."""
        path = self.folder / TIMINGS_NAME
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        # Times of other code or of other numbers of workers are no times of this run.
        workers = f"{count_workers(self.n_jobs)} workers, {source_digest()}"
        name = ", ".join(map(str, (*label, workers)))
        if name not in known:
            start = perf_counter()
            what()
            known[name] = perf_counter() - start
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(known, indent=1), encoding="utf-8")
        return float(known[name])


@contextmanager
def _shown(
    progress: Callable[[str, int], Any] | None, title: str, n_steps: int
) -> Iterator[Callable[[int], Any]]:
    if progress is None:
        yield lambda n_done: None
    else:
        with progress(title, n_steps) as advance:
            yield advance
