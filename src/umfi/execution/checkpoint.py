"""Checkpoints: runs keep their answers in a file, by the second, and go on where they stopped."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from umfi.errors import ErrorCode, InputError, is_whole_number
from umfi.execution.identity import describe, describe_table, digest_of, find_differences
from umfi.execution.store import (
    Content,
    StoredRun,
    cannot_use,
    log_of,
    open_file,
    read_file,
    replace_damaged,
    task_row,
    write_rows,
    write_runs,
)
from umfi.execution.tasks import Done, TaskName

__all__ = [
    "Checkpoint",
    "Section",
    "StoredRun",
    "begin",
    "describe",
    "describe_table",
    "find_seed",
    "forget",
    "merge",
    "read_checkpoint",
]

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


def read_checkpoint(path: str | os.PathLike[str]) -> list[StoredRun]:
    """Return the runs of a file, which may be going on."""
    path = Path(path).absolute()
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}: check the name of the checkpoint.")
    return read_file(path).runs


def forget(path: str | os.PathLike[str]) -> None:
    """Remove a file, if it is a checkpoint and no run uses it."""
    path = Path(path).absolute()
    with _locked(path):
        read_checkpoint(path)
        for file in (path, log_of(path), path.with_name(path.name + "-shm")):
            file.unlink(missing_ok=True)


def find_seed(checkpoint: Checkpoint) -> int | None:
    """Return the seed of the run that a file holds, None if it holds none."""
    if not checkpoint.file.is_file():
        return None
    runs = read_file(checkpoint.file, StoredRun(checkpoint.label, "", {}, {}, 1, "")).runs
    seeds = [run.identity.get("random_state") for run in runs if run.label == checkpoint.label]
    return next((int(seed) for seed in seeds if seed is not None), None)


class Section:
    """One run in an open file: its answers so far, and where new ones go.

    Made by :func:`begin`.
    """

    def __init__(self, path: Path, run: StoredRun, until_closed: ExitStack) -> None:
        self.path = path
        self.run = run
        self.until_closed = until_closed
        self.connection: sqlite3.Connection | None = None
        self.held_back: list[tuple[Any, ...]] = []
        self.planned: dict[str, int] = {}
        self.last_write = time.monotonic()
        self.has_warned = False

    def read(self, stage: str) -> dict[TaskName, Any]:
        """Return the answers that were stored of a stage before this run."""
        return self.run.read(stage)

    def plan(self, stage: str, n_tasks: int) -> None:
        """Note how many tasks a stage has."""
        self.planned[stage] = n_tasks

    @property
    def is_behind(self) -> bool:
        """Whether answers are held back that could not be written."""
        return bool(self.held_back)

    def write(self, stage: str, done: Iterable[Done]) -> None:
        """Store tasks, by the second; called with none now and then, for what is held back."""
        is_slow = False
        for name, answer, seconds in done:
            text = json.dumps(answer, separators=(",", ":"))
            self.held_back.append(task_row(self.run.digest, stage, name, text, seconds))
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
            plans = [(self.run.digest, *one) for one in self.planned.items()]
            write_rows(self.connection, plans=plans, tasks=self.held_back)
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
        with self.until_closed:
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
                self._disconnect()


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
    run = StoredRun(
        label=checkpoint.label,
        digest=digest_of([checkpoint.label, plain]),
        identity=plain,
        outline=dict(outline),
        n_workers=n_workers,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with ExitStack() as until_closed, _usable(path):
        until_closed.enter_context(_locked(path))
        content = read_file(path, run) if path.exists() else Content([], is_damaged=False)
        others = []
        for stored in content.runs:
            if stored.digest == run.digest:
                run.answers, run.seconds = stored.answers, stored.seconds
                run.planned, run.begun = stored.planned, stored.begun
                # A shorter run does not make the file a shorter one.
                run.outline = _longer(stored.outline, run.outline)
            elif stored.label == run.label:
                differences = "; ".join(find_differences(stored.identity, run.identity))
                raise InputError(
                    f"holds another run: {differences}. Call with what it was begun with, or "
                    "choose another file.",
                    code=ErrorCode.OTHER_RUN,
                    argument="checkpoint",
                    value=str(path),
                )
            else:
                others.append(stored)
        if content.is_damaged:
            replace_damaged(path, [*others, run])
        with closing(open_file(path)) as connection:
            write_rows(connection, runs=[run.to_row()])
        return Section(path, run, until_closed.pop_all())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock on a checkpoint, which the system lifts however the run that holds it ends.

    It is on a file of its own: closing a locked file lifts all locks on it, and SQLite locks and
    closes its own as it needs.
    """
    if path.is_dir():
        raise InputError(
            "is a folder: pass the name of a file.", argument="checkpoint", value=str(path)
        )
    file = path.with_name(path.name + "-lock")
    with _usable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file.touch()  # Says why, if that is not possible.
        lock = FileLock(file, thread_local=False)
        lock.acquire(timeout=0)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not remove what is open.
            file.unlink()
        lock.release()


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Say in words which file is held or cannot be written."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise cannot_use(path, error) from None


def merge(paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> list[StoredRun]:
    """Write all that several files hold of the same runs into one, and return its runs."""
    out = Path(out).absolute()
    with _locked(out), _usable(out):
        before = read_file(out) if out.exists() else Content([], is_damaged=False)
        contents = [(out, before.runs), *((Path(path), read_checkpoint(path)) for path in paths)]
        merged: dict[str, StoredRun] = {}
        for path, runs in contents:
            for run in runs:
                if merged.setdefault(run.label, run) is not run:
                    _join(merged[run.label], run, path)
        if before.is_damaged:
            replace_damaged(out, before.runs)
        write_runs(out, merged.values())
        return list(merged.values())


def _join(run: StoredRun, other: StoredRun, path: Path) -> None:
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
