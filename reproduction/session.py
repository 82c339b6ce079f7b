"""One start of an experiment: how large it is, what it stores, and how long it may take."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

import umfi
from reproduction.stored_runs import StoredRuns, code_version

T = TypeVar("T")
# From the name that is shown to a method and its settings.
Methods = Mapping[str, Mapping[str, Any]]
# What an experiment measured, by the name of its file.
Tables = dict[str, pd.DataFrame]
# Of the run that is under way; those that are done are in the other file.
CHECKPOINT_NAME = "unfinished.umfi"
RUNS_NAME = "runs.jsonl"


def ultra_marginal(remover: Any, protocol: str = "paper", **arguments: Any) -> dict[str, Any]:
    """Return the settings of ultra-marginal importance."""
    return {"method": "ultra_marginal", "remover": remover, "protocol": protocol, **arguments}


def count_workers(n_jobs: int | None) -> int:
    """Return on how many workers methods of umfi run: all usable cores for None and -1."""
    has_affinity = hasattr(os, "sched_getaffinity")
    n_cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if n_jobs is None:
        return n_cores
    return n_jobs if n_jobs > 0 else max(1, n_cores + 1 + n_jobs)


def _importances(result: Any) -> Mapping[str, float]:
    return dict(result.importances)


def _digest(parts: Iterable[Any]) -> str:
    """Return what distinguishes tables, their names included, and plain values from others."""
    digest = hashlib.blake2b(digest_size=6)
    for part in parts:
        if isinstance(part, pd.DataFrame | pd.Series):
            table = pd.DataFrame(part)
            digest.update(repr([*table.columns, table.shape]).encode())
            digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Session:
    """Settings of a start, and what it has done."""

    folder: Path  # Of this experiment.
    is_full: bool = False  # Of the size of the paper's.
    seed: int = 0
    n_jobs: int | None = None  # As for all methods of umfi, and the next.
    executor: Any = None
    shows_progress: bool = False  # If standard error is a terminal.
    deadline: float = math.inf  # By time.monotonic: then steps that are not needed are left out,
    omitted: list[str] = field(default_factory=list)  # and that is noted here.

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
        X: pd.DataFrame,
        y: pd.Series,
        settings: Mapping[str, Any],
        *label: object,
        read: Callable[[Any], Mapping[str, float]] = _importances,
    ) -> dict[str, float]:
        """Return what a method of umfi gives each feature.

        Settings are ``method`` and its arguments, the label distinguishes this run from others,
        and ``read`` makes numbers by feature of the result: its importances by default.
        """
        arguments = dict(settings)
        method = arguments.pop("method")
        seed = self.seed_of(method, *label)
        inputs = (seed, X, y, {name: repr(value) for name, value in arguments.items()})
        # An unfinished run of other code or of other inputs is not continued.
        checkpoint_label = " ".join([*map(str, label), _digest(inputs), code_version()])

        def compute() -> Mapping[str, float]:
            result = getattr(umfi, method)(
                X,
                y,
                random_state=seed,
                n_jobs=self.n_jobs,
                executor=self.executor,
                progress=False,
                checkpoint=umfi.Checkpoint(self.folder / CHECKPOINT_NAME, label=checkpoint_label),
                **arguments,
            )
            if result.settings.get("stopped"):  # Ctrl-C; half a run is no run.
                raise KeyboardInterrupt
            return read(result)

        return self.find_or_compute(compute, method, *label, inputs=inputs)

    def find_or_compute(
        self, compute: Callable[[], Mapping[str, float]], *label: object, inputs: Iterable[Any]
    ) -> dict[str, float]:
        """Return numbers by feature, computed once and stored for later starts.

        Inputs are all that the numbers depend on beside the code: tables and plain values.
        """
        name, digest = ", ".join(map(str, label)), _digest(inputs)
        values = self.runs.find(name, digest)
        if values is None:
            start = perf_counter()
            values = {str(feature): float(value) for feature, value in compute().items()}
            seconds = perf_counter() - start
            self.runs.add(name, digest, values, seconds, count_workers(self.n_jobs))
            self.remove_checkpoint()
        return values

    def remove_checkpoint(self) -> None:
        """Remove the checkpoint and what lies beside it: a run that is done needs it no more."""
        for path in self.folder.glob(f"{CHECKPOINT_NAME}*"):
            path.unlink()

    def track(self, steps: Iterable[T], title: str, *, n_parts: int | None = None) -> Iterator[T]:
        """Yield the steps, and show how far it is.

        With ``n_parts`` it stops when one of so many parts of the time that is left is over, after
        one step at least and all that were done before; without it all steps are done, however
        long they take.
        """
        steps = list(steps)
        now = monotonic()
        end = math.inf if n_parts is None else now + max(0.0, self.deadline - now) / n_parts
        n_new = self.runs.n_new
        console = Console(stderr=True)
        is_hidden = not (self.shows_progress and console.is_terminal)
        shown = track(steps, title, console=console, transient=True, disable=is_hidden)
        for number, step in enumerate(shown):
            if number and monotonic() >= end and self.runs.n_new > n_new:
                self.omitted.append(f"Cut by the time limit: {title}, {number} of {len(steps)}.")
                return
            yield step

    def time(self, what: Callable[[], Any], *label: object) -> float:
        """Return the seconds that something takes; those of an earlier start are stored."""

        def compute() -> dict[str, float]:
            start = perf_counter()
            what()
            return {"seconds": perf_counter() - start}

        # Times of other code or of other numbers of workers are no times of this run.
        inputs = (count_workers(self.n_jobs), code_version())
        return self.find_or_compute(compute, *label, inputs=inputs)["seconds"]


def run_iterations(
    session: Session,
    X: pd.DataFrame,
    y: pd.Series,
    methods: Methods,
    n_iterations: Mapping[str, int],
    *,
    rows_name: str,
    n_rows: int,
) -> pd.DataFrame:
    """Return importances on random subsets of rows: ``method, iteration, feature, importance``.

    An iteration draws the same ``n_rows`` rows for all methods; ``rows_name`` is what they are.
    """
    found = []
    for number, (name, settings) in enumerate(methods.items()):
        steps = range(n_iterations[name])
        for iteration in session.track(steps, name, n_parts=len(methods) - number):
            rng = np.random.default_rng(session.seed_of(rows_name, iteration))
            drawn = np.sort(rng.choice(len(X), min(n_rows, len(X)), replace=False))
            importances = session.run(X.iloc[drawn], y.iloc[drawn], settings, name, iteration)
            found += [(name, iteration, feature, value) for feature, value in importances.items()]
    return pd.DataFrame(found, columns=["method", "iteration", "feature", "importance"])
