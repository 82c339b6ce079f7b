"""One experiment from beginning to end: measured, judged, drawn and written down.

What was measured stays in tables, and the verdict is made of these alone, so that it can be made
again without measuring again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from umfi.errors import InputError, RunError, unknown_name
from umfi.execution import Budget, count_workers, read_seconds
from umfi.experiments.claims import Claim
from umfi.experiments.runs import version_of_code
from umfi.experiments.workshop import CHECKPOINT_NAME, RUNS_NAME, Tables, Workshop
from umfi.importance.status import format_seconds
from umfi.version import __version__, source_digest

__all__ = ["EXPERIMENTS", "Reproduced", "conclude", "reproduce"]

# In the order of the paper; table 1 belongs to figures 3 and 4.
EXPERIMENTS = (
    "figure1", "figure3", "figure4", "figure6", "figure7", "figure8", "figure9", "figure10",
    "figure11", "figure12", "figure13", "figure14", "figure15",
)  # fmt: skip
MEASURED_NAME = "measured.json"
LOCK_NAME = "lock"
# Words that pages are read by.
SHOWN = ("claim", "found", "holds if", "paper", "verdict")
FULL_SIZE, CUT = "With the paper's numbers of runs", ", as far as a time limit allowed (below)"


@dataclass(frozen=True)
class _Measured:
    """What is known of a measurement beside its tables.

    Attributes
    ----------
    settings : dict
        What decides the numbers.
    seconds_on : dict
        What it took, all starts together, by the number of workers.
    notes : list of str
        What was left out.
    tables : list of str
        Names of the tables.
    version : str
        The code.
    versions : dict
        How many runs are of which code, which is another where others began.
    """

    settings: dict[str, Any]
    seconds_on: dict[int, float]
    notes: list[str]
    tables: list[str]
    version: str = ""
    versions: dict[str, int] = field(default_factory=dict)

    @property
    def is_cut(self) -> bool:
        """Whether something was left out, so that a later start may go on."""
        return bool(self.notes)

    @property
    def words(self) -> list[str]:
        """What a reader has to know of how it was measured."""
        parts = [
            f"{count:,} of {sum(self.versions.values()):,} runs by umfi {name}"
            for name, count in self.versions.items()
            if name != self.version
        ]
        said = [f"Begun with other versions of the code: {', '.join(parts)}."] if parts else []
        return [*self.notes, *said]


@dataclass(frozen=True)
class Reproduced:
    """What is left of an experiment.

    Attributes
    ----------
    name, title, statement : str
        The last is what the paper claims, in words.
    claims : list of Claim
    notes : list of str
        Differences from the paper, of the experiment and of this run.
    shown : list of DataFrame
        Short tables that the paper has too.
    is_full, is_cut : bool
        Whether it has the paper's size, and whether time ran out.
    seconds_on : dict
        What it took, all starts together, by the number of workers.
    files : list of Path
    """

    name: str
    title: str
    statement: str
    claims: list[Claim]
    notes: list[str]
    shown: list[pd.DataFrame]
    is_full: bool
    is_cut: bool
    seconds_on: dict[int, float]
    files: list[Path]

    @property
    def seconds(self) -> float:
        """What it took, on however many workers."""
        return sum(self.seconds_on.values())

    @property
    def words(self) -> list[str]:
        """The claim, what was found and every difference, as lines of Markdown."""
        claims = pd.DataFrame([claim.to_plain() for claim in self.claims])
        size = FULL_SIZE if self.is_full else "With fewer runs"
        cut = CUT if self.is_cut else ""
        # A start that only puts finished runs together is not worth a word.
        times = [
            f"{format_seconds(seconds)} on {'one core' if n == 1 else f'{n} cores'}"
            for n, seconds in sorted(self.seconds_on.items())
            if seconds > 0.01 * self.seconds
        ]
        tables = [line for table in self.shown for line in [*_to_markdown(table), ""]]
        return [
            self.statement,
            "",
            f"{size}{cut}: {' and '.join(times)}.",
            "",
            *_to_markdown(claims[list(SHOWN)]),
            "",
            *tables,
            "Differences from the paper:",
            "",
            *(f"- {note}" for note in self.notes),
        ]


def reproduce(
    name: str,
    folder: str | os.PathLike[str],
    *,
    is_full: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    executor: Any = None,
    time_limit: float | str | None = None,
    progress: Callable[[str, int], Any] | None = None,
) -> Reproduced:
    """Run an experiment and write its numbers, picture and verdict; done ones are only judged.

    Parameters
    ----------
    name : str
        One of :data:`EXPERIMENTS`.
    folder : path
        Each experiment has a folder in it, of quick and of full size.
    is_full : bool
        Whether it has the size of the paper's, or one of minutes.
    seed : int
    n_jobs, executor
        As for all methods.
    time_limit : float or str, optional
        After this time, all starts together, replications that are not needed are left out and
        noted; a later call with more time goes on from there.
    progress : callable, optional
        See :class:`Workshop`.
    """
    experiment = _find(name)
    seconds_allowed = read_seconds(time_limit)
    own = _folder_of(name, folder, is_full=is_full)
    settings = {
        "seed": seed,
        "is_full": is_full,
        "time_limit": seconds_allowed,
        "umfi": f"{__version__} ({source_digest(whole=True)})",
    }
    if _read_measured(own, settings) is None:
        workshop = Workshop(own, is_full, seed, n_jobs, executor, progress)
        _measure(experiment, workshop, settings)
    return conclude(name, folder, is_full=is_full)


def conclude(name: str, folder: str | os.PathLike[str], *, is_full: bool) -> Reproduced:
    """Judge and draw what an experiment measured, whatever version of the library measured it.

    Parameters
    ----------
    name, folder, is_full
        As for :func:`reproduce`.
    """
    experiment = _find(name)
    own = _folder_of(name, folder, is_full=is_full)
    measured = _read_measured(own)
    if measured is None:
        raise InputError(f"{str(own)!r} holds no measurements: run 'umfi reproduce {name}' first.")
    paths = [own / f"{table}.csv" for table in measured.tables]
    # Judged as read, so that a verdict made again is the same.
    tables = {path.stem: pd.read_csv(path) for path in paths}
    claims = experiment.judge(tables)
    pd.DataFrame([claim.to_plain() for claim in claims]).to_csv(own / "claims.csv", index=False)
    found = Reproduced(
        name=name,
        title=experiment.TITLE,
        statement=experiment.CLAIM,
        claims=claims,
        notes=[*experiment.DIFFERENCES, *measured.words],
        shown=[tables[table] for table in getattr(experiment, "SHOWN", ())],
        is_full=is_full,
        is_cut=measured.is_cut,
        seconds_on=measured.seconds_on,
        files=[*paths, own / "claims.csv", *_draw(experiment, tables, own, name)],
    )
    verdict = own / "verdict.md"
    verdict.write_text("\n".join([f"# {name}: {found.title}", "", *found.words, ""]), "utf-8")
    found.files.append(verdict)
    return found


def _folder_of(name: str, folder: str | os.PathLike[str], *, is_full: bool) -> Path:
    """Return the folder of an experiment; a quick one never takes the place of a full one."""
    return Path(folder) / ("full" if is_full else "quick") / name


def _to_markdown(table: pd.DataFrame) -> list[str]:
    """Return a table as lines of Markdown, numbers to three digits."""
    rows = [
        [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.itertuples(index=False)
    ]
    lines = [list(table.columns), ["---"] * len(table.columns), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _find(name: str) -> Any:
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return import_module(f"umfi.experiments.{name}")


def _measure(experiment: Any, workshop: Workshop, settings: dict[str, Any]) -> None:
    """Run an experiment, and write its tables and what is known of them."""
    own = workshop.folder
    own.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(own / LOCK_NAME).acquire(timeout=0).lock
    except Timeout:
        raise RunError(
            f"Another run is at work in {str(own)!r}: wait for it, or pass another folder."
        ) from None
    try:
        if settings["time_limit"] is not None:
            # A limit that is over already leaves what is done, and one step of everything.
            left = settings["time_limit"] - workshop.runs.seconds_before
            workshop = replace(workshop, budget=Budget(max(left, 1e-3)))
        start = perf_counter()
        tables: Tables = experiment.measure(workshop)
        n_workers, seconds_on = count_workers(workshop.n_jobs), dict(workshop.runs.seconds_found)
        seconds_on[n_workers] = seconds_on.get(n_workers, 0.0) + perf_counter() - start
        for table_name, table in tables.items():
            table.to_csv(own / f"{table_name}.csv", index=False)
        measured = _Measured(
            settings,
            seconds_on,
            workshop.notes,
            list(tables),
            version_of_code(),
            dict(workshop.runs.versions),
        )
        path = own / MEASURED_NAME
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_text(json.dumps(asdict(measured), indent=1), encoding="utf-8")
        unfinished.replace(path)
        if not measured.is_cut:  # Else a later start may go on.
            for name in (CHECKPOINT_NAME, RUNS_NAME):
                (own / name).unlink(missing_ok=True)
    finally:
        with suppress(OSError):  # Windows does not remove what is open.
            (own / LOCK_NAME).unlink()
        lock.release()


def _read_measured(folder: Path, settings: dict[str, Any] | None = None) -> _Measured | None:
    """Return what is known of a measurement; None if there is none with these settings."""
    path = folder / MEASURED_NAME
    if not path.exists():
        return None
    try:
        measured = _Measured(**json.loads(path.read_text(encoding="utf-8")))
        # JSON has no whole numbers for names.
        seconds_on = {int(n): float(seconds) for n, seconds in measured.seconds_on.items()}
        measured = replace(measured, seconds_on=seconds_on)
    except (OSError, ValueError, TypeError, AttributeError):
        raise RunError(f"{str(path)!r} cannot be read: remove it to run the experiment.") from None
    return measured if settings is None or measured.settings == settings else None


def _draw(experiment: Any, tables: Tables, folder: Path, name: str) -> list[Path]:
    """Write the picture as PNG and SVG, and return the paths."""
    import matplotlib.pyplot as plt

    figure = experiment.draw(tables)
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=150)
    plt.close(figure)
    return paths
