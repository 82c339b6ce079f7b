"""What all methods share: checked arguments, the rows of each repeat, and the result."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from umfi.columns import MIN_ROWS, Columns, Kind
from umfi.contracts import PredictivePower, measure_of
from umfi.errors import MAX_LISTED_NAMES, InputError, check_count, listed
from umfi.inference import MAX_INTERVAL_SHARE, MIN_INTERVAL_REPEATS, MIN_INTERVAL_SHARE
from umfi.methods.features import Feature, Groups, read_features
from umfi.power import find_power, score_columns
from umfi.reading import read_table
from umfi.removal import MIN_CELL_ROWS, has_rare_levels
from umfi.result import SCORE_COLUMNS, ImportanceResult
from umfi.target import Target, Task
from umfi.tasks import Streams, TaskName, check_workers, run_tasks

__all__ = ["Problem", "ScorePair"]

Answer = TypeVar("Answer")

# An interval also needs the importance of all rows: one run for so many repeats.
REPEATS_PER_WHOLE = 5


@dataclass(frozen=True)
class ScorePair:
    """The two scores of an importance, and the importance: their difference."""

    score_with: float
    score_without: float
    importance: float

    @classmethod
    def difference(cls, score_with: float, score_without: float) -> ScorePair:
        """Return the pair with the plain difference as its importance."""
        return cls(score_with, score_without, score_with - score_without)

    @classmethod
    def no_difference(cls, score: float) -> ScorePair:
        """Return the pair of a feature that can have no importance."""
        return cls(score, score, 0.0)


@dataclass(frozen=True)
class Problem:
    """A checked question: which of these columns are related to this response.

    Attributes
    ----------
    columns, target : the data of all rows
    features : what gets an importance; the columns one by one unless there are groups
    power : what measures predictive power
    streams : random streams by name
    repeats : int
    n_sampled_rows : rows of each repeat, None for all
    n_jobs, executor, progress : how tasks run
    settings : arguments and facts for the result
    sampled : the rows of the repeats under way
    """

    columns: Columns
    target: Target
    features: tuple[Feature, ...]
    power: PredictivePower
    streams: Streams
    repeats: int
    n_sampled_rows: int | None
    n_jobs: int | None
    executor: str | None
    progress: bool | None
    settings: dict[str, Any]
    sampled: dict[int, tuple[Columns, Target]] = field(default_factory=dict, init=False)
    lock: Any = field(default_factory=Lock, init=False)

    @classmethod
    def check(
        cls,
        method: str,
        X: Any,
        y: Any,
        *,
        task: str,
        power: Any,
        kinds: Mapping[str, str] | None,
        repeats: int,
        subsample: int | float | None,
        random_state: Any,
        n_jobs: int | None,
        executor: str | None,
        progress: bool | None,
        missing: str = "error",
        groups: Groups | None = None,
        power_task: Task | None = None,
        **own_arguments: Any,
    ) -> Problem:
        """Return the problem, or raise before anything long starts.

        ``power_task`` is what the power is used for, if that is not the task of the response.
        """
        columns, target, n_dropped = read_table(X, y, task=task, kinds=kinds, missing=missing)
        features = read_features(columns, groups)
        chosen = find_power(power, power_task or target.task)
        check_workers(n_jobs, executor)
        n_repeats = check_count("repeats", repeats)
        n_sampled_rows = _count_sampled_rows(subsample, columns.n_rows)
        streams = Streams.from_random_state(random_state)
        arguments = {
            **own_arguments,
            "groups": {
                feature.name: [columns.names[position] for position in feature.positions]
                for feature in features
                if groups and feature.name in map(str, groups)
            }
            or None,
            "task": task,
            "power": power if isinstance(power, str) else chosen,
            "kinds": {str(name): str(kind) for name, kind in kinds.items()} if kinds else None,
            "missing": missing,
            "repeats": n_repeats,
            "subsample": subsample,
            "random_state": streams.entropy,
        }
        settings = {
            "method": method,
            **{name: _plain(value) for name, value in arguments.items()},
            "task": target.task,
            "measure": measure_of(chosen, power_task or target.task),
            "target": target.name,
            "classes": list(target.classes),
            "n_rows": columns.n_rows,
            "n_sampled_rows": n_sampled_rows,
            "n_features": len(features),
            "notes": _notes(columns, target, n_dropped),
            "versions": _versions(),
        }
        return cls(
            columns=columns,
            target=target,
            features=features,
            power=chosen,
            streams=streams,
            repeats=n_repeats,
            n_sampled_rows=n_sampled_rows,
            n_jobs=n_jobs,
            executor=executor,
            progress=progress,
            settings=settings,
        )

    def refuse_columns(self) -> None:
        """Raise if the power has no room for all columns at once."""
        refuse = getattr(self.power, "refuse_columns", None)
        if refuse is not None:
            refuse(self.columns, self.n_sampled_rows or self.columns.n_rows)

    def score(self, columns: Columns, target: Target, *stream: str | int) -> float:
        """Return nu of the columns, drawing from the random stream of this name."""
        return score_columns(self.power, columns, target, self.streams.seed(*stream))

    @property
    def sampled_share(self) -> float:
        """Rows of a repeat as a share of all."""
        return (self.n_sampled_rows or self.columns.n_rows) / self.columns.n_rows

    @property
    def runs(self) -> range:
        """Numbers of the repeats, then of those on all rows that intervals are made with."""
        is_fitting = MIN_INTERVAL_SHARE <= self.sampled_share <= MAX_INTERVAL_SHARE
        if not is_fitting or self.repeats < MIN_INTERVAL_REPEATS:
            return range(self.repeats)
        return range(self.repeats + ceil(self.repeats / REPEATS_PER_WHOLE))

    def rows_of(self, repeat: int) -> tuple[Columns, Target]:
        """Return the columns and response of one repeat; the same rows for every feature."""
        if self.n_sampled_rows is None or repeat >= self.repeats:
            return self.columns, self.target
        with self.lock:
            if repeat not in self.sampled:
                # One repeat follows the other, so two at most are under way.
                for old in sorted(self.sampled)[:-1]:
                    del self.sampled[old]
                self.sampled[repeat] = self._sample_rows(repeat)
            return self.sampled[repeat]

    def _sample_rows(self, repeat: int) -> tuple[Columns, Target]:
        rng = self.streams.generator("rows", repeat)
        rows = np.sort(rng.choice(self.columns.n_rows, self.n_sampled_rows, replace=False))
        return self.columns.take_rows(rows), self.target.take_rows(rows)

    def run(
        self,
        work: Callable[[TaskName], Answer],
        names: Iterable[TaskName],
        *,
        title: str | None = None,
    ) -> dict[TaskName, Answer]:
        """Return the answers of the named tasks."""
        return run_tasks(
            work,
            list(names),
            n_jobs=self.n_jobs,
            executor=self.executor,
            progress=self.progress,
            title=title or str(self.settings["method"]),
        )

    def run_features(
        self,
        work: Callable[[Columns, Target, Feature, int], ScorePair],
        representatives: Sequence[int],
        tests: pd.DataFrame | None = None,
    ) -> ImportanceResult:
        """Return the result of scoring each feature in each repeat.

        Parameters
        ----------
        work : callable
            From the columns and response of a repeat, a feature and the repeat to scores.
        representatives : sequence of int
            For each feature the index of the feature whose scores it gets.
        tests : DataFrame, optional
            Outcomes of tests, for the result.
        """

        def work_on(name: TaskName) -> ScorePair:
            index, repeat = int(name[0]), int(name[1])
            return work(*self.rows_of(repeat), self.features[index], repeat)

        scored = sorted(set(representatives))
        answers = self.run(work_on, [(index, repeat) for repeat in self.runs for index in scored])
        return self.result(
            (
                (feature, repeat, answers[index, repeat])
                for repeat in self.runs
                for feature, index in enumerate(representatives)
            ),
            tests=tests,
        )

    def result(
        self,
        pairs: Iterable[tuple[int, int, ScorePair]],
        *,
        extra: Mapping[str, Sequence[Any]] | None = None,
        tests: pd.DataFrame | None = None,
    ) -> ImportanceResult:
        """Return the result from (feature index, repeat, scores), extra columns and tests."""
        rows = [
            (
                self.features[feature].name,
                repeat,
                pair.score_with,
                pair.score_without,
                pair.importance,
            )
            for feature, repeat, pair in pairs
        ]
        scores = pd.DataFrame(rows, columns=list(SCORE_COLUMNS))
        for name, values in (extra or {}).items():
            scores[name] = values
        is_whole = scores["repeat"] >= self.repeats
        return ImportanceResult(
            scores=scores[~is_whole],
            settings=self.settings,
            tests=tests,
            whole_scores=scores[is_whole].reset_index(drop=True) if is_whole.any() else None,
        )


def _count_sampled_rows(subsample: int | float | None, n_rows: int) -> int | None:
    if subsample is None:
        return None
    is_number = isinstance(subsample, int | float | np.integer | np.floating)
    is_share = isinstance(subsample, float | np.floating) and 0.0 < subsample <= 1.0
    is_count = is_number and not isinstance(subsample, bool) and subsample >= 1
    if not is_share and not (is_count and np.isfinite(subsample) and subsample == int(subsample)):
        raise InputError(
            f"subsample={subsample!r} is not valid: pass a whole number of rows, or a share from "
            "0.0 to 1.0."
        )
    n_sampled = round(subsample * n_rows) if is_share else int(subsample)
    if n_sampled > n_rows:
        raise InputError(f"subsample={subsample!r} is more than the {n_rows} rows of X.")
    if n_sampled < MIN_ROWS:
        raise InputError(
            f"subsample={subsample!r} leaves {n_sampled} of {n_rows} rows, and {MIN_ROWS} at least "
            "are needed: pass a larger share, or None for all rows."
        )
    return n_sampled


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold; objects are shown as the code that makes them."""
    if value is None or isinstance(value, str | bool | int | float | list | dict):
        return value
    if isinstance(value, np.generic):
        return value.item()
    return repr(value)


def _notes(columns: Columns, target: Target, n_dropped: int) -> list[str]:
    notes = list(target.notes)
    if n_dropped > 0:
        notes.append(
            f"{n_dropped} of {n_dropped + columns.n_rows} rows hold missing values and are left "
            "out."
        )
    rare = [
        name
        for name, kind, column in zip(columns.names, columns.kinds, columns.values.T, strict=True)
        if kind is Kind.CATEGORICAL and has_rare_levels(column)
    ]
    if rare:
        notes.append(
            f"Levels of fewer than {MIN_CELL_ROWS} rows in {listed(rare)} are removed together "
            "with those most like them, which may leave some leakage: merge levels where you can."
        )
    constant = [
        name for name, flag in zip(columns.names, columns.is_constant(), strict=True) if flag
    ]
    if constant:
        plural = len(constant) > 1
        notes.append(
            f"{'Columns' if plural else 'Column'} {listed(constant)} {'are' if plural else 'is'} "
            "constant and can have no importance."
        )
    originals = columns.first_copies()
    copies = [
        f"{name!r} of {columns.names[original]!r}"
        for position, (name, original) in enumerate(zip(columns.names, originals, strict=True))
        if original != position and name not in constant
    ]
    if copies:
        shown = ", ".join(copies[:MAX_LISTED_NAMES])
        more = (
            f" and {len(copies) - MAX_LISTED_NAMES} more" if len(copies) > MAX_LISTED_NAMES else ""
        )
        notes.append(f"Copies of other columns: {shown}{more}.")
    return notes


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ("umfi", "numpy", "scipy", "numba", "pandas", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
