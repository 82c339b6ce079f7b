"""A run of a command: the table it is about, the folder and the file of its progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from umfi.cli import options
from umfi.cli.output import INTERRUPTED, OUT_OF_TIME, say
from umfi.errors import ErrorCode, InputError, StopCode
from umfi.execution.checkpoint import forget, read_checkpoint

if TYPE_CHECKING:
    from umfi.cli.files import Prepared

__all__ = ["Progress", "common_settings", "load_table", "make_folder"]


def load_table(data: Path, target: str | None, how: options.TableOptions) -> Prepared:
    """Return features and response of a file, and say what was done to get them."""
    from umfi.cli.files import prepare, read_data_file

    kinds = options.read_kinds(how.kinds)
    read = read_data_file(data, delimiter=how.delimiter, encoding=how.encoding, sheet=how.sheet)
    dropped = options.read_list(how.drop, [str(name) for name in read.frame])
    prepared = prepare(read.frame, target, drop=dropped, kinds=kinds, missing=how.missing)
    prepared.notes[:0] = read.notes
    for note in prepared.notes:
        say(f"Note: {note}")
    return prepared


def common_settings(
    loaded: Prepared, task: str, seed: int, table: options.TableOptions, run: options.RunOptions
) -> dict[str, Any]:
    """Return what all methods are called with beside the data, as the library names it."""
    return {
        "task": task,
        "kinds": loaded.kinds,
        "missing": table.missing,
        "random_state": seed,
        **run.settings,
    }


def make_folder(out: Path | None) -> Path | None:
    """Make the folder for files before any long work, or raise."""
    if out is None:
        return None
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".umfi"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"--out {str(out)!r} is no folder that can be written to ({error.strerror}): choose "
            "another."
        ) from None
    return out


class Progress(NamedTuple):
    """The file in which the progress of a run is saved.

    Attributes
    ----------
    path : file, if any
    is_own : whether it was not asked for by name, and goes when all is done
    repeats : how many repeats the run that is stored there was asked for
    """

    path: Path | None
    is_own: bool
    repeats: int = 0

    @classmethod
    def choose(cls, name: str, folder: Path | None, run: options.RunOptions) -> Progress:
        """Return where to save a run: in the file that was named, or else in the folder."""
        own = None if folder is None else folder / f"unfinished-{name}.umfi"
        path = run.checkpoint or own
        if path is None:
            return cls(None, is_own=False)
        if run.fresh and path.exists():
            forget(path)
        stored = read_checkpoint(path) if path.is_file() else []
        n_done = sum(len(answers) for one in stored for answers in one.answers.values())
        if n_done:
            say(f"Going on from {path}: {n_done:,} tasks are done.")
        repeats = max((int(one.outline["settings"].get("repeats", 0)) for one in stored), default=0)
        return cls(path, run.checkpoint is None, repeats)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Say how to go on after an error of the file, or an interrupt that says nothing itself."""
        try:
            yield
        except InputError as error:
            if error.code is not ErrorCode.OTHER_RUN:
                raise
            raise InputError(
                f"{error.message} --fresh starts anew.", argument=error.argument, value=error.value
            ) from None
        except KeyboardInterrupt as stop:
            if str(stop) or self.path is None or not self.path.exists():
                raise
            raise KeyboardInterrupt(
                f"Stopped: progress is saved in {self.path}, and the same command goes on from "
                "there."
            ) from None

    def finish(self, *settings: Mapping[str, Any], repeats: int = 0) -> None:
        """Remove the file if all is done; if not, say how to go on, and end with a fitting code.

        ``settings`` are those of the results, ``repeats`` is how many were asked for now.
        """
        codes = [one["stop_code"] for one in settings if "stop_code" in one]
        if codes:
            if self.path is not None:
                say(f"Progress is saved in {self.path}: the same command goes on from there.")
            raise typer.Exit(INTERRUPTED if StopCode.INTERRUPTED in codes else OUT_OF_TIME)
        if self.path is None or not self.is_own:
            return
        if self.repeats > repeats:
            say(f"{self.path} holds more repeats than these, and is left as it is.")
            return
        # All it held is in the result now, and the next run may be another one.
        self.path.unlink(missing_ok=True)
