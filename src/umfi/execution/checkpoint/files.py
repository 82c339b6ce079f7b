"""One SQLite file on the disk: opened, read, written, and what is left of a damaged one."""

from __future__ import annotations

import sqlite3
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import copy2
from typing import Any, NamedTuple

from umfi.errors import InputError
from umfi.execution.checkpoint.kept import N_RUN_COLUMNS, N_TASK_COLUMNS, KeptRun
from umfi.execution.checkpoint.salvage import find_rows

__all__ = [
    "Content",
    "cannot_use",
    "note_left",
    "open_file",
    "put_plans",
    "put_run",
    "put_tasks",
    "read_file",
    "replace_damaged",
    "transaction",
    "write_runs",
]

# "umfi" in ASCII: tells our files from others.
APPLICATION_ID = 0x756D6669
FORMAT_VERSION = 1
SQLITE_MAGIC = b"SQLite format 3\x00"
APPLICATION_ID_PLACE = 68
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


class Content(NamedTuple):
    """Runs of a file, and whether the file is damaged."""

    runs: list[KeptRun]
    is_damaged: bool


def read_file(path: Path, wanted: KeptRun | None = None) -> Content:
    """Return what a file holds: of a wanted run alone, as long as the file is whole."""
    if path.stat().st_size == 0:
        return Content([], is_damaged=False)
    try:
        with closing(_connect_to_read(path)) as connection:
            content = _read_tables(connection, path, wanted)
        if not content.is_damaged:
            return content
    except sqlite3.OperationalError as error:
        if any(sign in str(error) for sign in ("locked", "unable to open", "readonly")):
            raise cannot_use(path, error) from None
    except InputError:
        raise
    except (sqlite3.DatabaseError, ValueError, TypeError):
        pass  # Torn pages may say anything.
    return _salvage(path, wanted)


def _read_tables(
    connection: sqlite3.Connection, path: Path, wanted: KeptRun | None = None
) -> Content:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if n_tables == 0:
        return Content([], is_damaged=False)
    if application != APPLICATION_ID:
        return Content([], is_damaged=True)  # Or no file of ours, as its rows will show.
    if version > FORMAT_VERSION:
        raise InputError(f"{str(path)!r} was written by a newer umfi: install that version.")
    if not _is_as_left(path):
        (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if state != "ok":
            return Content([], is_damaged=True)
    # One transaction, so that a run that is going on is seen at one moment.
    connection.execute("BEGIN")
    of_label, of_digest = "", ""
    if wanted is not None:
        of_label, of_digest = "WHERE label = :label", "WHERE digest = :digest"
    values = {} if wanted is None else {"label": wanted.label, "digest": wanted.digest}

    def select(table: str, where: str) -> sqlite3.Cursor:
        return connection.execute(f"SELECT * FROM {table} {where} ORDER BY rowid", values)

    kept = [KeptRun.from_row(row) for row in select("runs", of_label)]
    runs = {run.digest: run for run in kept if run is not None}
    for digest, stage, n_tasks in select("stages", of_digest):
        if digest in runs:
            runs[digest].planned[stage] = n_tasks
    are_whole = [row[0] in runs and runs[row[0]].add(row) for row in select("tasks", of_digest)]
    connection.execute("COMMIT")
    return Content(list(runs.values()), is_damaged=None in kept or not all(are_whole))


# By path: size and time of a file when this process let go of it, so that it need not be read from
# end to end when the next run of many begins.
_left: dict[Path, tuple[int, int]] = {}


def _stamp(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def note_left(path: Path) -> None:
    """Note in which state this process let go of a file."""
    with suppress(OSError):
        _left[path.absolute()] = _stamp(path)


def _is_as_left(path: Path) -> bool:
    return _left.get(path.absolute()) == _stamp(path)


def _salvage(path: Path, wanted: KeptRun | None) -> Content:
    """Return what is whole in a damaged file, or raise if it is no file of ours."""
    found = {wanted.digest: wanted} if wanted is not None else {}
    # The last one who tried to rescue it may have been killed before the end.
    files = [one for one in (path, _rescued(path)) if one.exists()]
    for row in _rows_of(files, N_RUN_COLUMNS):
        with suppress(ValueError, TypeError):
            run = KeptRun.from_row(row)
            if run is not None:
                found.setdefault(run.digest, run)
    n_tasks = 0
    for row in _rows_of(files, N_TASK_COLUMNS):
        with suppress(ValueError, TypeError):
            n_tasks += row[0] in found and found[row[0]].add(row)
    head = path.read_bytes()[: APPLICATION_ID_PLACE + 4]
    is_ours = head.startswith(SQLITE_MAGIC) and head[APPLICATION_ID_PLACE:] in (
        APPLICATION_ID.to_bytes(4, "big"),
        b"",
    )
    n_runs = len(found) - (wanted is not None)
    if not n_tasks and not n_runs and not is_ours:
        raise _not_a_checkpoint(path)
    return Content(list(found.values()), is_damaged=True)


def _rows_of(files: Iterable[Path], n_columns: int) -> Iterator[tuple[Any, ...]]:
    for file in files:
        yield from find_rows(file, n_columns=n_columns)


def _not_a_checkpoint(path: Path) -> InputError:
    return InputError(f"{str(path)!r} is not a checkpoint of umfi: choose another name.")


def cannot_use(path: Path, error: Exception) -> InputError:
    """Return what to tell the user when a file is held or cannot be written."""
    if "locked" in str(error) or isinstance(error, BlockingIOError):
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


def _connect(path: Path, mode: str = "mode=rwc") -> sqlite3.Connection:
    # As an address: with "rwc" a file is made if there is none.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=START_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection to a file that is there."""
    connection = _connect(path, "mode=rw")
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if "locked" in str(error):
            raise
        return _read_aside(path)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


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


def _read_aside(path: Path) -> sqlite3.Connection:
    """Return a connection to a file in a folder that cannot be written to: nobody else can either.

    SQLite could not read the log there, where all that is new may be, so both are copied.
    """
    log = path.with_name(path.name + "-wal")
    if not log.exists() or log.stat().st_size == 0:
        return _connect(path, "mode=ro&immutable=1")
    with tempfile.TemporaryDirectory(prefix="umfi-") as folder:
        aside = Path(folder) / path.name
        copy2(path, aside)
        copy2(log, aside.with_name(log.name))
        with closing(_connect(aside)) as copied:
            read = sqlite3.connect(":memory:", isolation_level=None)
            copied.backup(read)
    return read


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all that happens inside, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def put_run(connection: sqlite3.Connection, run: KeptRun) -> None:
    """Write the row of a run, in the place of what had its label."""
    connection.execute("DELETE FROM runs WHERE label = ?", (run.label,))
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", run.to_row())


def put_tasks(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows of tasks; those that are there stay."""
    connection.executemany("INSERT OR IGNORE INTO tasks VALUES (?, ?, ?, ?, ?, ?)", rows)


def put_plans(connection: sqlite3.Connection, digest: str, planned: Mapping[str, int]) -> None:
    """Write how many tasks stages have."""
    rows = [(digest, *one) for one in planned.items()]
    connection.executemany("INSERT OR REPLACE INTO stages VALUES (?, ?, ?)", rows)


def write_runs(path: Path, runs: Iterable[KeptRun]) -> None:
    """Write all there is of some runs into a file, and leave one plain file."""
    with closing(open_file(path)) as connection:
        with transaction(connection):
            for run in runs:
                put_run(connection, run)
                put_tasks(connection, run.task_rows())
                put_plans(connection, run.digest, run.planned)
        connection.execute("PRAGMA journal_mode = DELETE")


def replace_damaged(path: Path, runs: Iterable[KeptRun]) -> None:
    """Write what was salvaged to a new file, and keep the damaged one under another name.

    There is a file of this name at every moment. The log must be gone before the new file takes its
    place, because SQLite would write it into that one.
    """
    runs = list(runs)
    rescued = _rescued(path)
    rescued.unlink(missing_ok=True)
    write_runs(rescued, runs)
    damaged = path.with_name(path.name + ".damaged")
    number = 1
    while damaged.exists():
        number += 1
        damaged = path.with_name(f"{path.name}.damaged{number}")
    copy2(path, damaged)
    log = path.with_name(path.name + "-wal")
    if log.exists():
        copy2(log, damaged.with_name(damaged.name + "-wal"))
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    rescued.replace(path)
    n_tasks = sum(len(answers) for run in runs for answers in run.answers.values())
    warnings.warn(
        f"The checkpoint {str(path)!r} is damaged: {n_tasks} finished tasks could be read and are "
        f"kept, the others are done again, and the old file is now {str(damaged)!r}.",
        RuntimeWarning,
        stacklevel=4,
    )


def _rescued(path: Path) -> Path:
    return path.with_name(path.name + "-rescued")
