"""The SQLite file of a checkpoint: opened, read, written, and what can be read of a damaged one.

Each row has a checksum keyed with the identity of its run: an answer that passes belongs to this
data, these settings and this code. Nothing in the file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copy2
from typing import Any, NamedTuple

from filelock import Timeout

from umfi.errors import InputError
from umfi.execution.tasks import TaskName

__all__ = [
    "Content",
    "StoredRun",
    "cannot_use",
    "open_file",
    "read_file",
    "replace_damaged",
    "task_row",
    "write_rows",
    "write_runs",
]

# "umfi" in ASCII: distinguishes our files from others.
APPLICATION_ID = 0x756D6669
FORMAT_VERSION = 1
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
CREATE TABLE runs (
  label TEXT UNIQUE, digest TEXT, identity TEXT, outline TEXT, n_workers INTEGER, begun TEXT,
  checksum BLOB
);
CREATE TABLE stages (digest TEXT, stage TEXT, n_tasks INTEGER, UNIQUE (digest, stage));
CREATE TABLE tasks (
  digest TEXT, stage TEXT, name TEXT, answer TEXT, seconds REAL, checksum BLOB,
  UNIQUE (digest, stage, name)
);
"""
# How long others may hold the file before it is given up.
START_SECONDS = 5.0
IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
NOT_WRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
# The first page of SQLite's file format says at byte 28 how many pages there are.
PAGE_BYTES, PAGE_COUNT_BYTE = 4096, 28
# After so many rows in a row that cannot be read there is none: an inner page leads to fewer.
MAX_LOST_ROWS = 30_000


@dataclass
class StoredRun:
    """What a file holds of one run.

    Attributes
    ----------
    label, digest : str
    identity : dict
        What decides the numbers.
    outline : dict
        What is needed to make a result of the answers.
    n_workers : int
        Of the last start.
    begun : str
        When, as text.
    answers, seconds : dict
        From stage and name of a task to its answer, as JSON text, and to how long it took.
    planned : dict
        From stage to its number of tasks, as far as that is known.
    """

    label: str
    digest: str
    identity: dict[str, Any]
    outline: dict[str, Any]
    n_workers: int
    begun: str
    answers: dict[str, dict[TaskName, str]] = field(default_factory=dict)
    seconds: dict[str, dict[TaskName, float]] = field(default_factory=dict)
    planned: dict[str, int] = field(default_factory=dict)

    def read(self, stage: str) -> dict[TaskName, Any]:
        """Return the answers of a stage."""
        return {name: json.loads(text) for name, text in self.answers.get(stage, {}).items()}

    def add(self, row: tuple[Any, ...]) -> bool:
        """Take a row of a task, if it belongs to this run and is whole; return whether it does."""
        digest, stage, name, answer, seconds, checksum = row
        if digest != self.digest or checksum != _checksum(digest, stage, name, answer):
            return False
        key = tuple(json.loads(name))
        self.answers.setdefault(stage, {})[key] = answer
        self.seconds.setdefault(stage, {})[key] = float(seconds)
        return True

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> StoredRun | None:
        """Return the run of a row, None if the row is torn."""
        label, digest, identity, outline, n_workers, begun, checksum = row
        if checksum != _checksum(digest, label, identity, outline):
            return None
        return cls(label, digest, json.loads(identity), json.loads(outline), n_workers, begun)

    def to_row(self) -> tuple[Any, ...]:
        """Return the run as a row."""
        identity, outline = json.dumps(self.identity), json.dumps(self.outline)
        checksum = _checksum(self.digest, self.label, identity, outline)
        return self.label, self.digest, identity, outline, self.n_workers, self.begun, checksum


def task_row(
    digest: str, stage: str, name: TaskName, answer: str, seconds: float
) -> tuple[Any, ...]:
    """Return a task that is done as a row."""
    text = json.dumps(name)
    return digest, stage, text, answer, seconds, _checksum(digest, stage, text, answer)


def _checksum(digest: Any, *texts: Any) -> bytes:
    text = "\0".join(map(str, texts))
    return hashlib.blake2b(text.encode(), key=str(digest).encode(), digest_size=8).digest()


class Content(NamedTuple):
    """Runs of a file, and whether the file is damaged."""

    runs: list[StoredRun]
    is_damaged: bool


def read_file(path: Path, wanted: StoredRun | None = None) -> Content:
    """Return what a file holds: of a wanted run alone, as long as the file is whole."""
    if path.stat().st_size == 0:
        return Content([], is_damaged=False)
    try:
        with _open_to_read(path) as connection:
            content = _read_tables(connection, path, wanted)
    except sqlite3.Error as error:
        if _code_of(error) in IN_USE | NOT_WRITABLE:
            raise cannot_use(path, error) from None
    except InputError:
        raise
    except (ValueError, TypeError):
        pass  # Torn pages may say anything.
    else:
        if not content.is_damaged:
            return content
    return _recover(path, wanted)


def _read_tables(connection: sqlite3.Connection, path: Path, wanted: StoredRun | None) -> Content:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if n_tables == 0:
        return Content([], is_damaged=False)
    if application != APPLICATION_ID:
        return Content([], is_damaged=True)  # Or no file of ours, as its rows will show.
    if version > FORMAT_VERSION:
        raise InputError(f"{str(path)!r} was written by a newer umfi: install that version.")
    (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        return Content([], is_damaged=True)
    of_label, of_digest, values = "", "", {}
    if wanted is not None:
        of_label, of_digest = "WHERE label = :label", "WHERE digest = :digest"
        values = {"label": wanted.label, "digest": wanted.digest}

    def select(table: str, where: str) -> sqlite3.Cursor:
        return connection.execute(f"SELECT * FROM {table} {where} ORDER BY rowid", values)

    # One transaction, so that a run that is going on is seen at one moment.
    with connection:
        connection.execute("BEGIN")
        stored = [StoredRun.from_row(row) for row in select("runs", of_label)]
        runs = {run.digest: run for run in stored if run is not None}
        for digest, stage, n_tasks in select("stages", of_digest):
            if digest in runs:
                runs[digest].planned[stage] = n_tasks
        are_whole = [row[0] in runs and runs[row[0]].add(row) for row in select("tasks", of_digest)]
    return Content(list(runs.values()), is_damaged=None in stored or not all(are_whole))


def _recover(path: Path, wanted: StoredRun | None) -> Content:
    """Return what SQLite can still read of a damaged file, or raise if it is no file of ours."""
    found = {wanted.digest: wanted} if wanted is not None else {}
    n_found = 0
    with _copied(path) as copy:
        _renew_first_page(copy)
        with closing(_connect(copy)) as connection:
            # So that it opens files of which the end is missing.
            connection.execute("PRAGMA writable_schema = ON")
            for row in _readable_rows(connection, "runs"):
                with suppress(ValueError, TypeError):
                    run = StoredRun.from_row(row)
                    if run is not None:
                        n_found += 1
                        found.setdefault(run.digest, run)
            for row in _readable_rows(connection, "tasks"):
                with suppress(ValueError, TypeError):
                    n_found += row[0] in found and found[row[0]].add(row)
    with path.open("rb") as file:
        is_ours = APPLICATION_ID.to_bytes(4, "big") in file.read(PAGE_BYTES)[:100]
    if not n_found and not is_ours:
        raise InputError(f"{str(path)!r} is not a checkpoint of umfi: choose another name.")
    return Content(list(found.values()), is_damaged=True)


def _renew_first_page(path: Path) -> None:
    """Put the first page of a new file in the place of a damaged one: it is the same in all."""
    new = path.with_name("new")
    open_file(new).close()
    page = bytearray(new.read_bytes()[:PAGE_BYTES])
    n_pages = -(-path.stat().st_size // PAGE_BYTES)
    page[PAGE_COUNT_BYTE : PAGE_COUNT_BYTE + 4] = n_pages.to_bytes(4, "big")
    with path.open("r+b") as file:
        file.write(page)


def _readable_rows(connection: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that can be read; they are numbered without gaps."""
    number, n_lost = 1, 0
    while n_lost < MAX_LOST_ROWS:
        query = f"SELECT * FROM {table} WHERE rowid >= ? ORDER BY rowid"
        try:
            for row in connection.execute(query, (number,)):
                number, n_lost = number + 1, 0
                yield row
        except sqlite3.Error:
            number, n_lost = number + 1, n_lost + 1
        else:
            return


def _code_of(error: BaseException) -> int | None:
    """Return the kind of an error of SQLite, without its subkind."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def cannot_use(path: Path, error: Exception) -> InputError:
    """Return the error for a file that is held or cannot be written."""
    if isinstance(error, Timeout) or _code_of(error) in IN_USE:
        return InputError(
            "is in use by another run: wait for it, or choose another file.",
            argument="checkpoint",
            value=str(path),
        )
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(
        f"cannot be written ({reason}): choose a file in a folder that can, with room to spare.",
        argument="checkpoint",
        value=str(path),
    )


def _connect(path: Path, mode: str = "rwc") -> sqlite3.Connection:
    # As an address: with "rwc" a file is made if there is none.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=START_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection for writing, to a file with tables."""
    connection = _connect(path)
    try:
        # Readers see the last complete state while a run writes; what is committed stays, also if
        # the power fails.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if n_tables == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that is there, and a copy where SQLite cannot write, as it must for its log."""
    with ExitStack() as until_closed:
        try:
            connection = until_closed.enter_context(closing(_connect(path, "rw")))
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.Error as error:
            if _code_of(error) not in NOT_WRITABLE:
                raise
            copy = until_closed.enter_context(_copied(path))
            connection = until_closed.enter_context(closing(_connect(copy)))
        yield connection


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    """Copy a file and its log to a folder for the moment."""
    with tempfile.TemporaryDirectory(prefix="umfi-") as folder:
        copy = Path(folder) / "copy"
        _copy(path, copy)
        yield copy


def _copy(path: Path, to: Path) -> None:
    copy2(path, to)
    with suppress(FileNotFoundError):
        copy2(log_of(path), log_of(to))


def log_of(path: Path) -> Path:
    """Return where SQLite keeps what is not yet in the file itself."""
    return path.with_name(path.name + "-wal")


def write_rows(
    connection: sqlite3.Connection,
    *,
    runs: Iterable[tuple[Any, ...]] = (),
    plans: Iterable[tuple[Any, ...]] = (),
    tasks: Iterable[tuple[Any, ...]] = (),
) -> None:
    """Write all of these rows, or none; a run takes the place of its label, and tasks stay."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", runs)
        connection.executemany("INSERT OR REPLACE INTO stages VALUES (?, ?, ?)", plans)
        connection.executemany("INSERT OR IGNORE INTO tasks VALUES (?, ?, ?, ?, ?, ?)", tasks)


def write_runs(path: Path, runs: Iterable[StoredRun]) -> None:
    """Write all there is of some runs into a file, and leave one plain file."""
    with closing(open_file(path)) as connection:
        for run in runs:
            tasks = (
                task_row(run.digest, stage, name, answer, run.seconds[stage][name])
                for stage, answers in run.answers.items()
                for name, answer in answers.items()
            )
            plans = [(run.digest, *one) for one in run.planned.items()]
            write_rows(connection, runs=[run.to_row()], plans=plans, tasks=tasks)
        connection.execute("PRAGMA journal_mode = DELETE")


def replace_damaged(path: Path, runs: Iterable[StoredRun]) -> None:
    """Write what was recovered to a new file, and keep the damaged one under another name.

    There is a file of this name at every moment. The log must be gone before the new file takes its
    place, because SQLite would write it into that one.
    """
    runs = list(runs)
    recovered = path.with_name(path.name + "-recovered")
    recovered.unlink(missing_ok=True)
    write_runs(recovered, runs)
    damaged = path.with_name(path.name + ".damaged")
    number = 1
    while damaged.exists():
        number += 1
        damaged = path.with_name(f"{path.name}.damaged{number}")
    _copy(path, damaged)
    log_of(path).unlink(missing_ok=True)
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    recovered.replace(path)
    n_tasks = sum(len(answers) for run in runs for answers in run.answers.values())
    warnings.warn(
        f"The checkpoint {str(path)!r} is damaged: {n_tasks} finished tasks could be read and are "
        f"kept, the others are done again, and the old file is now {str(damaged)!r}.",
        RuntimeWarning,
        stacklevel=4,
    )
