"""Runs that keep their answers in a file, so that they can go on where they were broken off.

Answers are written by the second, in transactions. Nothing in the file is ever executed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from umfi.errors import ErrorCode, InputError, is_whole_number
from umfi.execution.checkpoint.files import (
    Content,
    cannot_use,
    note_left,
    open_file,
    put_plans,
    put_run,
    put_tasks,
    read_file,
    replace_damaged,
    transaction,
    write_runs,
)
from umfi.execution.checkpoint.identity import digest_of, find_differences
from umfi.execution.checkpoint.kept import KeptRun, TaskName, task_row
from umfi.execution.checkpoint.locks import FileLock

__all__ = ["Checkpoint", "Section", "begin", "find_seed", "forget", "merge", "read_checkpoint"]

TEST_SETTINGS = ("test", "max_permutations", "alpha")
# What a crash may cost.
WRITE_SECONDS = 1.0
# How long others may hold the file in mid-run before writing is put off.
BUSY_SECONDS = 0.5


@dataclass(frozen=True)
class Checkpoint:
    """Where a run keeps what it has done, for ``checkpoint=`` of the methods.

    A path alone will do for most runs.

    Parameters
    ----------
    path : str or path
        One file; it is made if it is not there, with the folders above it.
    label : str
        Tells several runs in one file apart.
    share : tuple of int
        ``(2, 5)`` does the second of five parts of the work, for five machines with a file each;
        :func:`umfi.merge_checkpoints` puts the files together.

    Examples
    --------
    >>> Checkpoint("run.umfi", share=(2, 5)).share
    (2, 5)
    """

    path: str | os.PathLike[str]
    label: str = ""
    share: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        """Refuse what is no file or no share."""
        is_path = isinstance(self.path, str | os.PathLike) and str(self.path) not in ("", ".")
        if not is_path:
            raise InputError(
                "is not valid: pass the name of a file, such as 'run.umfi'.",
                argument="checkpoint",
                value=self.path,
            )
        is_pair = isinstance(self.share, Sequence) and len(self.share) == 2
        if (
            not is_pair
            or not all(map(is_whole_number, self.share))
            or not 1 <= self.share[0] <= self.share[1]
        ):
            raise InputError(
                f"share={self.share!r} is not valid: pass (1, 5), (2, 5), ... for five machines."
            )

    @classmethod
    def read(cls, checkpoint: Any) -> Checkpoint | None:
        """Return what ``checkpoint=`` of a method means."""
        if checkpoint is None or isinstance(checkpoint, Checkpoint):
            return checkpoint
        return cls(checkpoint)

    @property
    def file(self) -> Path:
        """The path, from the root, because a power may change folders."""
        return Path(self.path).absolute()


def read_checkpoint(path: str | os.PathLike[str]) -> list[KeptRun]:
    """Return the runs of a file, which may be going on."""
    path = Path(path).absolute()
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}: check the name of the checkpoint.")
    return read_file(path).runs


def forget(path: str | os.PathLike[str]) -> None:
    """Remove a file, if it is a checkpoint and no run uses it."""
    path = Path(path).absolute()
    lock = _lock(path)
    try:
        read_checkpoint(path)
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    finally:
        lock.let_go()


def find_seed(checkpoint: Checkpoint) -> int | None:
    """Return the seed of the run that a file holds, None if it holds none."""
    if not checkpoint.file.is_file():
        return None
    runs = read_file(checkpoint.file, KeptRun(checkpoint.label, "", {}, {}, 1, "")).runs
    seeds = [run.identity.get("random_state") for run in runs if run.label == checkpoint.label]
    return next((int(seed) for seed in seeds if seed is not None), None)


class Section:
    """One run in an open file: its answers so far, and where new ones go.

    Made by :func:`begin`.
    """

    def __init__(self, path: Path, run: KeptRun, lock: FileLock) -> None:
        self.path = path
        self.run = run
        self.lock = lock
        self.connection: sqlite3.Connection | None = None
        self.held_back: list[tuple[Any, ...]] = []
        self.planned: dict[str, int] = {}
        self.last_write = time.monotonic()
        self.has_warned = False

    def read(self, stage: str) -> dict[TaskName, str]:
        """Return the answers that were kept of a stage before this run."""
        return dict(self.run.answers.get(stage, {}))

    def plan(self, stage: str, n_tasks: int) -> None:
        """Note how many tasks a stage has."""
        self.planned[stage] = n_tasks

    @property
    def is_behind(self) -> bool:
        """Whether answers are held back that could not be written."""
        return bool(self.held_back)

    def write(self, stage: str, done: Iterable[tuple[TaskName, str, float]]) -> None:
        """Keep names, answers and seconds of tasks, by the second."""
        is_slow = False
        for name, answer, seconds in done:
            self.held_back.append(task_row(self.run.digest, stage, name, answer, seconds))
            is_slow = is_slow or seconds > WRITE_SECONDS / 4
        if is_slow or time.monotonic() - self.last_write >= WRITE_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is held back; if that fails the run goes on, and it is tried again."""
        if not self.held_back and not self.planned:
            return
        self.last_write = time.monotonic()
        try:
            if self.connection is None:
                self.connection = open_file(self.path)
                self.connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
            with transaction(self.connection):
                put_tasks(self.connection, self.held_back)
                put_plans(self.connection, self.run.digest, self.planned)
        except (sqlite3.Error, OSError) as error:
            self._disconnect()
            if not self.has_warned:
                self.has_warned = True
                warnings.warn(
                    f"The checkpoint {str(self.path)!r} cannot be written now ({error}): the run "
                    "goes on, and tries again; make room for it, or keep the result it returns.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return
        self.held_back.clear()
        self.planned.clear()
        self.has_warned = False

    def _disconnect(self) -> None:
        if self.connection is not None:
            with suppress(sqlite3.Error):
                self.connection.close()
            self.connection = None

    def close(self) -> None:
        """Write what is held back, and leave one plain file."""
        try:
            self.flush()
            if self.held_back:
                warnings.warn(
                    f"{len(self.held_back)} finished tasks could not be written to "
                    f"{str(self.path)!r} and will be done again if the run goes on from there.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            if self.connection is not None:
                with suppress(sqlite3.Error):  # Somebody may be reading.
                    self.connection.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._disconnect()
            note_left(self.path)
            self.lock.let_go()


def begin(
    checkpoint: Checkpoint,
    identity: Mapping[str, Any],
    outline: Mapping[str, Any],
    n_workers: int = 1,
) -> Section:
    """Return the section of a run in a file, begun or gone on with.

    Parameters
    ----------
    checkpoint : Checkpoint
    identity : mapping
        Plain; what decides the numbers. A file that holds another one under the same label is
        refused.
    outline : mapping
        Plain; what is needed to make a result of the answers.
    n_workers : int
    """
    path = checkpoint.file
    plain = json.loads(json.dumps(dict(identity)))
    run = KeptRun(
        label=checkpoint.label,
        digest=digest_of([checkpoint.label, plain]),
        identity=plain,
        outline=dict(outline),
        n_workers=n_workers,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    lock = _lock(path)
    try:
        content = read_file(path, run) if path.exists() else Content([], is_damaged=False)
        others = []
        for kept in content.runs:
            if kept.label == run.label and kept.digest != run.digest:
                differences = "; ".join(find_differences(kept.identity, run.identity))
                raise InputError(
                    f"holds another run: {differences}. Call with what it was begun with, or "
                    "choose another file.",
                    code=ErrorCode.OTHER_RUN,
                    argument="checkpoint",
                    value=str(path),
                )
            if kept.digest != run.digest:
                others.append(kept)
            elif kept is not run:
                run.answers, run.seconds = kept.answers, kept.seconds
                run.planned, run.begun = kept.planned, kept.begun
                # A shorter run does not make the file a shorter one.
                run.outline = _longer(kept.outline, run.outline)
        if content.is_damaged:
            replace_damaged(path, [*others, run])
        with closing(open_file(path)) as connection, transaction(connection):
            put_run(connection, run)
        return Section(path, run, lock)
    except (sqlite3.Error, OSError) as error:
        lock.let_go()
        raise cannot_use(path, error) from None
    except BaseException:
        lock.let_go()
        raise


def _lock(path: Path) -> FileLock:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(
                "is a folder: pass the name of a file.", argument="checkpoint", value=str(path)
            )
        return FileLock(path.with_name(path.name + "-lock"))
    except OSError as error:
        raise cannot_use(path, error) from None


def merge(paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> list[KeptRun]:
    """Write all that several files hold of the same runs into one, and return its runs."""
    out = Path(out).absolute()
    lock = _lock(out)
    try:
        merged: dict[str, KeptRun] = {}
        before = read_file(out) if out.exists() else Content([], is_damaged=False)
        contents = [(out, before.runs), *((Path(path), read_checkpoint(path)) for path in paths)]
        for path, runs in contents:
            for run in runs:
                if run.label not in merged:
                    merged[run.label] = run
                else:
                    _join(merged[run.label], run, path)
        if before.is_damaged:
            replace_damaged(out, before.runs)
        write_runs(out, merged.values())
        return list(merged.values())
    except (sqlite3.Error, OSError) as error:
        raise cannot_use(out, error) from None
    finally:
        lock.let_go()


def _join(run: KeptRun, other: KeptRun, path: Path) -> None:
    """Add to a run what another file holds of it."""
    if run.digest != other.digest:
        differences = "; ".join(find_differences(run.identity, other.identity))
        raise InputError(
            f"{str(path)!r} holds another run: {differences}.", code=ErrorCode.OTHER_RUN
        )
    for stage, answers in other.answers.items():
        own = run.answers.setdefault(stage, {})
        for name, answer in answers.items():
            if own.setdefault(name, answer) != answer:
                raise InputError(
                    f"{str(path)!r} has another answer to task {name} of {stage!r} than the files "
                    "before it: machines of different kinds do not give the same numbers."
                )
            run.seconds.setdefault(stage, {}).setdefault(name, other.seconds[stage][name])
    for stage, n_tasks in other.planned.items():
        run.planned[stage] = max(n_tasks, run.planned.get(stage, 0))
    run.outline = _longer(other.outline, run.outline)


def _longer(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outline of a run that was asked for as much as either, and else like the new."""
    longer = dict(new)
    before, now = old.get("settings", {}), dict(new.get("settings", {}))
    if now.get("test") is None and before.get("test") is not None:
        now |= {name: before[name] for name in TEST_SETTINGS if name in before}
    for one, other, name in (
        (old, longer, "repeats"),
        (before, now, "repeats"),
        (before, now, "max_permutations"),
        (before, now, "max_context"),
    ):
        if name in one and name in other:
            both = (one[name], other[name])
            other[name] = None if None in both else max(both)  # None is all there are.
    if now:
        longer["settings"] = now
    return longer
