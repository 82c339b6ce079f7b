"""A study: checked data and arguments, the rows of each repeat, and how its tasks are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from umfi.data.columns import Columns
from umfi.data.contracts import PredictivePower, ProtocolName, measure_of
from umfi.data.frames import drop_incomplete_rows, read_columns
from umfi.data.reading import read_table
from umfi.data.target import Target, Task
from umfi.errors import InputError, check_count
from umfi.execution import Answers, Runner, Streams
from umfi.execution.checkpoint import Checkpoint, describe, describe_table, find_seed
from umfi.importance.features import (
    describe_data,
    find_notes,
    find_representatives,
    read_features,
)
from umfi.importance.options import (
    check_arguments,
    count_sampled_rows,
    find_protocol,
    measure_accuracy,
)
from umfi.importance.result import ImportanceResult
from umfi.importance.specification import Assembler, Specification, assemble
from umfi.inference.sequential import count_test_rows
from umfi.power import find_power, score_columns
from umfi.version import __version__, find_versions, source_digest

__all__ = ["Recent", "Study"]

# Arguments that tasks do not depend on, because their names say it: a checkpoint can be extended.
FREE_ARGUMENTS = frozenset({"repeats", "max_permutations", "alpha", "test", "max_context"})

Made = TypeVar("Made")


class Recent:
    """Holds what was made for the repeats under way: one follows the other, so two at most."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.lock = Lock()

    def __reduce__(self) -> tuple[type[Recent], tuple[()]]:
        return Recent, ()  # Other processes make their own.

    def get(self, repeat: int, make: Callable[[], Made]) -> Made:
        """Return what was made for a repeat, after making it if need be."""
        with self.lock:
            if repeat not in self.made:
                for old in sorted(self.made)[:-1]:
                    del self.made[old]
                self.made[repeat] = make()
            return self.made[repeat]


@dataclass(frozen=True, eq=False, kw_only=True)
class Study(Specification):
    """Which of these columns are related to this response: all that tasks need, prepared once.

    As a context manager it connects the checkpoint, and in the end releases workers and files.

    Attributes
    ----------
    columns, response : the data of all rows; only :func:`umfi.diagnose` does without a response
    power : what measures predictive power
    streams : random streams by name
    arguments : as they were given, which decide whether a checkpoint holds the same run
    runner, checkpoint : what carries out tasks and stores answers; not there on other processes
    """

    columns: Columns
    response: Target | None
    power: PredictivePower
    streams: Streams
    arguments: Mapping[str, Any]
    runner: Runner
    checkpoint: Checkpoint | None
    sampled: Recent = field(default_factory=Recent, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"arguments": {}, "runner": None, "checkpoint": None}

    def __enter__(self) -> Study:
        if self.checkpoint is not None:
            self.runner.keep_in(self.checkpoint, self.identify, self.to_plain)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.runner.close(is_waiting=kind is not KeyboardInterrupt)

    @classmethod
    def prepare(
        cls,
        method: str,
        X: Any,
        y: Any,
        own: Mapping[str, Any],
        options: Mapping[str, Any],
        *,
        power_task: Task | None = None,
    ) -> Study:
        """Return the study of a table and response, or raise before anything long starts.

        From the method's own arguments and the options of :mod:`umfi.importance.options`; the power
        is used for another task than the response's if one is given.
        """
        own = check_arguments(own, options)
        # The clock starts here.
        names = ("n_jobs", "executor", "progress", "time_limit")
        runner = Runner(**{name: options[name] for name in names})
        checkpoint = Checkpoint.read(options["checkpoint"])
        columns, response, n_dropped = _read(X, y, options)
        features = read_features(columns, options["groups"])
        task = response.task if response else "regression"
        power = find_power(options["power"], power_task or task)
        if "protocol" in own:
            own["protocol"] = find_protocol(own["protocol"], power)
            if own["protocol"] == "paper" and task == "classification":
                power = measure_accuracy(power)
        n_repeats = check_count("repeats", options.get("repeats", 1))
        n_sampled_rows = count_sampled_rows(options.get("subsample"), columns.n_rows)
        seed = options["random_state"]
        if seed is None and checkpoint is not None:
            seed = find_seed(checkpoint)
        streams = Streams.from_random_state(seed)
        groups = {
            feature.name: [columns.names[position] for position in feature.positions]
            for feature in features
            if feature.name in map(str, options["groups"] or ())
        }
        kinds = {str(name): str(kind) for name, kind in (options["kinds"] or {}).items()}
        test_names = ("test", "max_permutations", "alpha")
        arguments = {
            **own,
            **{name: options[name] for name in test_names if name in options},
            "groups": groups or None,
            "task": options["task"],
            "power": options["power"] if isinstance(options["power"], str) else power,
            "kinds": kinds or None,
            "missing": options["missing"],
            "repeats": n_repeats,
            "subsample": options.get("subsample"),
            "random_state": streams.entropy,
        }
        settings = {
            "method": method,
            **{name: _plain(value) for name, value in arguments.items()},
            "task": task,
            "measure": measure_of(power, power_task or task),
            "target": response.name if response else None,
            "classes": list(response.classes) if response else [],
            "n_rows": columns.n_rows,
            "n_sampled_rows": n_sampled_rows,
            "n_features": len(features),
            "data": describe_data(columns, response),
            "notes": find_notes(columns, response, n_dropped),
            "versions": find_versions(),
        }
        return cls(
            features=features,
            representatives=tuple(find_representatives(columns, features)),
            settings=settings,
            columns=columns,
            response=response,
            power=power,
            streams=streams,
            arguments=arguments,
            runner=runner,
            checkpoint=checkpoint,
        )

    @property
    def target(self) -> Target:
        """The response of all rows."""
        if self.response is None:
            raise ValueError("This study has no response.")
        return self.response

    @property
    def protocol(self) -> ProtocolName:
        """How the two scores of an importance are made comparable."""
        protocol: ProtocolName = self.settings["protocol"]
        return protocol

    @property
    def n_rows_each(self) -> int:
        """Rows of each repeat."""
        return self.settings["n_sampled_rows"] or self.columns.n_rows

    def refuse_columns(self) -> None:
        """Raise if the power has no room for all columns at once."""
        refuse = getattr(self.power, "refuse_columns", None)
        if refuse is not None:
            refuse(self.columns, self.n_rows_each)

    def score(self, columns: Columns, target: Target, *stream: str | int) -> float:
        """Return nu of the columns, drawing from the random stream of this name."""
        return score_columns(self.power, columns, target, self.streams.seed(*stream))

    def is_sampled(self, repeat: int) -> bool:
        """Return whether a repeat has rows of its own; those beyond the last are of all rows."""
        return self.settings["n_sampled_rows"] is not None and repeat < self.repeats

    def rows_of(self, repeat: int) -> tuple[Columns, Target]:
        """Return the columns and response of one repeat; the same rows for every feature."""
        if not self.is_sampled(repeat):
            return self.columns, self.target
        n_rows = self.settings["n_sampled_rows"]
        return self.sampled.get(repeat, lambda: self._draw_rows(n_rows, repeat))

    def _draw_rows(self, n_rows: int, name: str | int) -> tuple[Columns, Target]:
        rng = self.streams.generator("rows", name)
        rows = np.sort(rng.choice(self.columns.n_rows, n_rows, replace=False))
        return self.columns.take_rows(rows), self.target.take_rows(rows)

    def take_test_rows(self) -> Study:
        """Return the study of no more rows than a test takes, drawn at random."""
        n_tested = count_test_rows(self.columns.n_rows)
        if n_tested == self.columns.n_rows:
            return self
        columns, target = self._draw_rows(n_tested, "test")
        return replace(self, columns=columns, response=target)

    def run(
        self,
        stage: str,
        work: Callable[[Any], Any],
        tasks: Iterable[Any],
        **how: Any,
    ) -> Answers:
        """Return the answers of a stage after doing the tasks that are not yet done.

        Tasks are named tuples of text and numbers; those of one ``feature`` are done by the same
        machine, where several divide the work. How is as for :meth:`Runner.run`.
        """
        tasks = list(tasks)
        usual: dict[str, Any] = {"title": self.method, "label_of": partial(self._label, stage)}
        if tasks and hasattr(tasks[0], "feature"):
            usual["owner_of"] = attrgetter("feature")
        return self.runner.run(stage, work, tasks, **(usual | how))

    def _label(self, stage: str, task: Any) -> str:
        """Return what dashboards show of a task."""
        fields = {
            name: self.features[value].name if name in ("feature", "partner") else value
            for name, value in task._asdict().items()
        }
        of_feature = f" of {fields.pop('feature')}" if "feature" in fields else ""
        rest = [f"{name} {value}" for name, value in fields.items()]
        return ", ".join([f"{self.method}{of_feature}", stage, *rest])

    def finish(self, assembler: Assembler) -> ImportanceResult:
        """Return the result of what has been done."""
        runner = self.runner
        try:
            return assemble(self, assembler, runner.answers_of, runner.describe_stop())
        except InputError:
            runner.pass_on_interrupt()
            raise

    def identify(self) -> dict[str, Any]:
        """Return what decides the answers of all tasks, for a checkpoint."""
        columns, target = self.columns, self.response
        fixed = {name: one for name, one in self.arguments.items() if name not in FREE_ARGUMENTS}
        kinds = [
            f"{kind.value}, gaps as {columns.missing[name]}"
            if name in columns.missing
            else kind.value
            for name, kind in zip(columns.names, columns.kinds, strict=True)
        ]
        versions = find_versions() | {"umfi": f"{__version__} ({source_digest()})"}
        y = target and [target.name, target.task, list(target.classes), target.values]
        return {
            "method": self.method,
            **{name: describe(value) for name, value in fixed.items()},
            "X": describe_table(columns.names, kinds, columns.values),
            "y": describe(y),
            "versions": {name: versions[name] for name in sorted(versions) if name != "pandas"},
        }


def _read(X: Any, y: Any, options: Mapping[str, Any]) -> tuple[Columns, Target | None, int]:
    """Return the columns, the response if there is one, and how many rows were dropped."""
    kinds, missing = options["kinds"], options["missing"]
    if y is not None:
        return read_table(X, y, task=options["task"], kinds=kinds, missing=missing)
    n_rows = len(X)
    if missing == "drop":
        X, _ = drop_incomplete_rows(X)
    return read_columns(X, kinds=kinds, missing=missing), None, n_rows - len(X)


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold; objects are shown as the code that makes them."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, str | int | float | dict) else repr(value)
