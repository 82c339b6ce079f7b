"""What all methods share: checked arguments, the rows of each repeat, and how tasks run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np

from umfi.data.columns import Columns, Kind
from umfi.data.contracts import PredictivePower, ProtocolName, measure_of
from umfi.data.reading import read_table
from umfi.data.target import Target, Task
from umfi.errors import MAX_LISTED_NAMES, InputError, check_count, listed
from umfi.execution import Answers, Runner, Streams, TaskName, Work
from umfi.execution.checkpoint import Checkpoint, describe, describe_table, find_seed
from umfi.importance.assembly import assemble
from umfi.importance.features import Feature, Groups, find_representatives, read_features
from umfi.importance.result import ImportanceResult
from umfi.importance.specification import Outline
from umfi.inference.sequential import count_test_rows
from umfi.power import PredictingPower, find_power, score_columns
from umfi.removal import MIN_CELL_ROWS, has_rare_levels
from umfi.version import __version__, find_versions, source_digest

__all__ = ["Problem", "find_protocol", "identify_data"]

# Fewer deserve a word: about seven rows a tree are out of bag.
FEW_ROWS = 20


@dataclass(frozen=True)
class Problem:
    """A checked question: which of these columns are related to this response.

    Leaving it, as a context manager, lets workers and files go.

    Attributes
    ----------
    columns, target : the data of all rows
    power : what measures predictive power
    streams : random streams by name
    outline : the question without its data
    runner : what carries out tasks; not there on other processes
    sampled : the rows of the repeats under way
    """

    columns: Columns
    target: Target
    power: PredictivePower
    streams: Streams
    outline: Outline
    runner: Runner
    sampled: dict[int, tuple[Columns, Target]] = field(default_factory=dict, init=False)
    lock: Any = field(default_factory=Lock, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"runner": None, "sampled": {}, "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=Lock())

    def __enter__(self) -> Problem:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.runner.close(is_waiting=kind is not KeyboardInterrupt)

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
        executor: Any,
        progress: bool | None,
        checkpoint: Any,
        time_limit: Any,
        missing: str = "error",
        groups: Groups | None = None,
        power_task: Task | None = None,
        **own_arguments: Any,
    ) -> Problem:
        """Return the problem, or raise before anything long starts.

        ``power_task`` is what the power is used for, if that is not the task of the response.
        """
        # The clock starts here.
        runner = Runner(n_jobs=n_jobs, executor=executor, progress=progress, time_limit=time_limit)
        kept_in = Checkpoint.read(checkpoint)
        columns, target, n_dropped = read_table(X, y, task=task, kinds=kinds, missing=missing)
        features = read_features(columns, groups)
        chosen = find_power(power, power_task or target.task)
        if "protocol" in own_arguments:
            own_arguments["protocol"] = find_protocol(own_arguments["protocol"], chosen)
            if own_arguments["protocol"] == "paper":
                chosen = _measure_as_paper(chosen, target)
        n_repeats = check_count("repeats", repeats)
        n_sampled_rows = _count_sampled_rows(subsample, columns.n_rows)
        if random_state is None and kept_in is not None:
            random_state = find_seed(kept_in)
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
            "data": _describe_data(columns, target),
            "notes": _notes(columns, target, n_dropped),
            "versions": find_versions(),
        }
        outline = Outline(
            features=features,
            representatives=tuple(find_representatives(columns, features)),
            repeats=n_repeats,
            n_rows=columns.n_rows,
            n_sampled_rows=n_sampled_rows,
            settings=settings,
        )
        if kept_in is not None:
            runner.keep_in(
                kept_in,
                lambda: {"method": method, **_identify(columns, target, arguments)},
                outline.to_plain,
            )
        return cls(
            columns=columns,
            target=target,
            power=chosen,
            streams=streams,
            outline=outline,
            runner=runner,
        )

    @property
    def features(self) -> tuple[Feature, ...]:
        """What gets an importance."""
        return self.outline.features

    @property
    def repeats(self) -> int:
        """How often everything is run."""
        return self.outline.repeats

    @property
    def n_sampled_rows(self) -> int | None:
        """Rows of each repeat, None for all."""
        return self.outline.n_sampled_rows

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments and facts for the result."""
        return self.outline.settings

    def refuse_columns(self) -> None:
        """Raise if the power has no room for all columns at once."""
        refuse = getattr(self.power, "refuse_columns", None)
        if refuse is not None:
            refuse(self.columns, self.n_sampled_rows or self.columns.n_rows)

    def score(self, columns: Columns, target: Target, *stream: str | int) -> float:
        """Return nu of the columns, drawing from the random stream of this name."""
        return score_columns(self.power, columns, target, self.streams.seed(*stream))

    def rows_of(self, repeat: int) -> tuple[Columns, Target]:
        """Return the columns and response of one repeat; the same rows for every feature."""
        if self.n_sampled_rows is None or repeat >= self.repeats:  # Those beyond are of all rows.
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

    def take_test_rows(self) -> Problem:
        """Return the problem of no more rows than a test takes, drawn at random."""
        n_rows = self.columns.n_rows
        n_tested = count_test_rows(n_rows)
        if n_tested == n_rows:
            return self
        note = f"Tests take {n_tested:,} of the {n_rows:,} rows, drawn at random."
        if note not in self.settings["notes"]:
            self.settings["notes"].append(note)
        rng = self.streams.generator("rows", "test")
        rows = np.sort(rng.choice(n_rows, n_tested, replace=False))
        columns, target = self.columns.take_rows(rows), self.target.take_rows(rows)
        return replace(self, columns=columns, target=target)

    def run(
        self,
        stage: str,
        work: Work,
        names: Iterable[TaskName],
        *,
        title: str | None = None,
        label_of: Callable[[TaskName], str] | None = None,
        owner_of: Callable[[TaskName], int] | None = None,
        is_one_due: bool = False,
    ) -> Answers:
        """Return the answers of a stage after doing the named tasks; see :class:`Runner`."""
        method = self.outline.method

        def label(name: TaskName) -> str:
            return f"{method} {stage} {name}" if label_of is None else label_of(name)

        return self.runner.run(
            stage,
            work,
            list(names),
            title=title or method,
            label_of=label,
            owner_of=owner_of,
            is_one_due=is_one_due,
        )

    def run_features(
        self, stage: str, work: Work, names: Iterable[TaskName], *, title: str | None = None
    ) -> Answers:
        """Return the answers of a stage whose tasks are named by a feature first.

        A feature's tasks are done by the same machine, where several share the work.
        """
        return self.run(
            stage,
            work,
            names,
            title=title,
            label_of=lambda name: self.describe_task(stage, int(name[0])),
            owner_of=lambda name: int(name[0]),
        )

    def describe_task(self, stage: str, feature: int, run: int | None = None) -> str:
        """Return what dashboards say of a task."""
        what = f"{self.outline.method} of {self.features[feature].name}, {stage}"
        return what if run is None else f"{what}, repeat {run}"

    def assemble(self) -> ImportanceResult:
        """Return the result of what has been done."""
        try:
            return assemble(self.outline, self.runner.answers_of, self.runner.describe_stop())
        except InputError:
            self.runner.pass_on_interrupt()
            raise


# Arguments that tasks do not depend on, because their names say it: a checkpoint can be extended.
FREE_ARGUMENTS = frozenset({"repeats", "max_permutations", "alpha", "test", "max_context"})


def _identify(columns: Columns, target: Target, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the answers of all tasks, for a checkpoint."""
    fixed = {name: value for name, value in arguments.items() if name not in FREE_ARGUMENTS}
    return {
        **{name: describe(value) for name, value in fixed.items()},
        **identify_data(columns, target),
    }


def identify_data(columns: Columns, target: Target | None) -> dict[str, Any]:
    """Return what is asked about, and by which code, for a checkpoint."""
    kinds = [
        f"{kind.value}, gaps as {columns.missing[name]}" if name in columns.missing else kind.value
        for name, kind in zip(columns.names, columns.kinds, strict=True)
    ]
    versions = find_versions() | {"umfi": f"{__version__} ({source_digest()})"}
    y = target and [target.name, target.task, list(target.classes), target.values]
    return {
        "X": describe_table(columns.names, kinds, columns.values),
        "y": describe(y),
        "versions": {name: versions[name] for name in sorted(versions) if name != "pandas"},
    }


def find_protocol(protocol: ProtocolName | None, power: PredictivePower) -> ProtocolName:
    """Return the protocol that was asked for, or the one that fits the power."""
    is_predicting = isinstance(power, PredictingPower)
    if protocol is None:
        return "one-fit" if is_predicting else "matched"
    if protocol == "one-fit" and not is_predicting:
        raise InputError(
            f"protocol='one-fit' averages predictions, and power={power!r} only scores: pass "
            "protocol='matched'."
        )
    return protocol


def _measure_as_paper(power: PredictivePower, target: Target) -> PredictivePower:
    """Return the power as the authors measure it: classes by accuracy."""
    if not isinstance(power, PredictingPower) or power.measure is not None:
        return power
    return power.with_measure("accuracy") if target.task == "classification" else power


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
    if n_sampled < FEW_ROWS:
        raise InputError(
            f"subsample={subsample!r} leaves {n_sampled} of {n_rows} rows, and {FEW_ROWS} at least "
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


def _describe_data(columns: Columns, target: Target) -> dict[str, Any]:
    """Return what a reader of the result may ask about the data."""
    kinds = Counter(str(kind) for kind in columns.kinds)
    is_measured = np.array([kind is Kind.CONTINUOUS for kind in columns.kinds])
    return {
        "kinds": dict(kinds),
        "tied": [columns.names[i] for i in np.flatnonzero(columns.has_heavy_ties & is_measured)],
        "class_sizes": np.bincount(target.labels).tolist() if target.classes else [],
    }


def _notes(columns: Columns, target: Target, n_dropped: int) -> list[str]:
    notes = list(target.notes)
    if columns.n_rows < FEW_ROWS:
        notes.append(f"With {columns.n_rows} rows, importances are little more than chance.")
    if n_dropped > 0:
        notes.append(
            f"{n_dropped} of {n_dropped + columns.n_rows} rows hold missing values and are left "
            "out."
        )
    if columns.missing:
        counts = {
            name: int(columns.is_missing(columns.names.index(name)).sum())
            for name in columns.missing
        }
        notes.append(
            f"Missing values are a level of their own in {listed(counts)} "
            f"({sum(counts.values()):,} in all); numbers count there by their order alone."
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
