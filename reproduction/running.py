"""One experiment from beginning to end: measured, assessed, drawn and written down.

What was measured is stored in tables, and the verdict is made of these alone, so that it can be
made again without measuring again.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from filelock import FileLock, Timeout

import umfi
from reproduction.claims import Claim
from reproduction.session import RUNS_NAME, Session, Tables, count_workers
from reproduction.stored_runs import code_version

# In the order of the paper.
FIGURES = (
    "figure1", "figure3", "figure4", "figure6", "figure7", "figure8", "figure9", "figure10",
    "figure11", "figure12", "figure13", "figure14", "figure15",
)  # fmt: skip
# Table 1 is a part of figure 3.
EXPERIMENTS = (*FIGURES, "table1")
MEASURED_NAME = "measured.json"
LOCK_NAME = ".lock"
PICTURE_FORMATS, DOTS_PER_INCH = ("png", "svg"), 150
# Words that pages are read by.
SHOWN = ("claim", "found", "holds if", "paper", "verdict")
FULL_SIZE, CUT = "With the paper's numbers of runs", ", as far as a time limit allowed (below)"


@dataclass(frozen=True)
class Reproduced:
    """The outcome of an experiment."""

    name: str
    title: str
    statement: str  # What the paper claims, in words.
    claims: list[Claim]
    notes: list[str]  # Differences from the paper, of the experiment and of this run.
    omitted: list[str]  # What a time limit left out; it is among the notes, too.
    shown: list[pd.DataFrame]  # Short tables that the paper has too.
    is_full: bool  # Of the paper's size.
    seconds_on: dict[int, float]  # All starts together, by the number of workers.
    files: list[Path]

    @property
    def seconds(self) -> float:
        """What it took, on however many workers."""
        return sum(self.seconds_on.values())

    @property
    def verdict(self) -> str:
        """The claim, what was found and every difference, as Markdown."""
        claims = pd.DataFrame([claim.to_plain() for claim in self.claims])
        size = FULL_SIZE if self.is_full else "With fewer runs"
        cut = CUT if self.omitted else ""
        # A start that only puts finished runs together is not worth a word.
        times = [
            f"{_format_seconds(seconds)} on {'one core' if n == 1 else f'{n} cores'}"
            for n, seconds in sorted(self.seconds_on.items())
            if seconds > 0.01 * self.seconds
        ]
        lines = [
            f"# {self.name}: {self.title}",
            "",
            self.statement,
            "",
            f"{size}{cut}: {' and '.join(times)}.",
            "",
            *_to_markdown(claims[list(SHOWN)]),
            "",
            *[line for table in self.shown for line in [*_to_markdown(table), ""]],
            "Differences from the paper:",
            "",
            *(f"- {note}" for note in self.notes),
        ]
        return "\n".join(lines) + "\n"


def reproduce(
    name: str,
    folder: str | os.PathLike[str],
    *,
    is_full: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    executor: Any = None,
    time_limit: float | None = None,
    shows_progress: bool = False,
) -> Reproduced:
    """Run an experiment and write its numbers, picture and verdict; done ones are only assessed.

    After ``time_limit`` seconds, all starts together, replications that are not needed are left
    out and noted; a later call with more time goes on from there. Each experiment has a folder of
    its own in ``folder``, one for quick and one for full size.
    """
    experiment = find_experiment(name)
    own = folder_of(name, folder, is_full=is_full)
    settings = {"seed": seed, "is_full": is_full, "time_limit": time_limit, "umfi": code_version()}
    measured = _read_measured(own)
    if measured is None or measured["settings"] != settings:
        session = Session(own, is_full, seed, n_jobs, executor, shows_progress)
        own.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(own / LOCK_NAME, timeout=0):
                _measure(experiment, session, settings)
        except Timeout:
            raise umfi.RunError(
                f"Another run is at work in {str(own)!r}: wait for it, or pass another folder."
            ) from None
    return conclude(name, folder, is_full=is_full)


def conclude(
    name: str, folder: str | os.PathLike[str], *, is_full: bool, draws: bool = True
) -> Reproduced:
    """Assess and draw what an experiment measured, whatever version of the library measured it.

    Without ``draws`` there is no picture; the other parameters are those of :func:`reproduce`.
    """
    experiment = find_experiment(name)
    own = folder_of(name, folder, is_full=is_full)
    measured = _read_measured(own)
    if measured is None:
        raise umfi.InputError(
            f"{str(own)!r} holds no measurements: run 'python -m reproduction {name}' first."
        )
    paths = [own / f"{table}.csv" for table in measured["tables"]]
    # Assessed as read, so that a verdict made again is the same.
    tables = {path.stem: pd.read_csv(path) for path in paths}
    claims = experiment.assess(tables)
    pd.DataFrame([claim.to_plain() for claim in claims]).to_csv(own / "claims.csv", index=False)
    pictures = _draw(experiment, tables, own, name) if draws else []
    found = Reproduced(
        name=name,
        title=experiment.TITLE,
        statement=experiment.CLAIM,
        claims=claims,
        notes=[*_items(experiment.DIFFERENCES), *measured["notes"], *_code_notes(measured)],
        omitted=measured["notes"],
        shown=[tables[table] for table in getattr(experiment, "SHOWN", ())],
        is_full=is_full,
        seconds_on=measured["seconds_on"],
        files=[*paths, own / "claims.csv", *pictures, own / "verdict.md"],
    )
    (own / "verdict.md").write_text(found.verdict, "utf-8")
    return found


def find_experiment(name: str) -> Any:
    """Return the module of an experiment, or raise with the nearest name."""
    if name in EXPERIMENTS:
        return import_module(f"reproduction.{name}")
    names = ("list", "all", *EXPERIMENTS)
    nearest = difflib.get_close_matches(name, names, n=1)
    hint = f": did you mean {nearest[0]!r}?" if nearest else "."
    raise umfi.InputError(f"Unknown experiment {name!r}{hint} Valid: {', '.join(names)}.")


def folder_of(name: str, folder: str | os.PathLike[str], *, is_full: bool) -> Path:
    """Return the folder of an experiment; a quick one never takes the place of a full one."""
    return Path(folder) / ("full" if is_full else "quick") / name


def _format_seconds(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> _format_seconds(42.3), _format_seconds(5430), _format_seconds(300_000)
    ('42 s', '1 h 30 min', '3 d 11 h')
    """
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours == 0:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def _items(text: str) -> list[str]:
    """Return the items of a list in Markdown, a line each."""
    return [" ".join(item.split()) for item in f"\n{text}".split("\n- ")[1:]]


def _to_markdown(table: pd.DataFrame) -> list[str]:
    """Return a table as lines of Markdown, numbers to three digits."""
    rows = [
        [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.itertuples(index=False)
    ]
    lines = [list(table.columns), ["---"] * len(table.columns), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _measure(experiment: Any, session: Session, settings: dict[str, Any]) -> None:
    """Run an experiment, and write its tables and what is known of them."""
    if settings["time_limit"] is not None:
        # A limit that is over already leaves what is done, and one step of everything.
        left = settings["time_limit"] - session.runs.seconds_before
        session = replace(session, deadline=monotonic() + left)
    start = perf_counter()
    tables: Tables = experiment.measure(session)
    seconds_on = session.runs.seconds_found
    seconds_on[count_workers(session.n_jobs)] += perf_counter() - start
    for name, table in tables.items():
        table.to_csv(session.folder / f"{name}.csv", index=False)
    measured = {
        "settings": settings,
        "seconds_on": dict(seconds_on),
        "notes": session.omitted,
        "tables": list(tables),
        "version": code_version(),
        "versions": dict(session.runs.versions),
    }
    path = session.folder / MEASURED_NAME
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    unfinished.replace(path)
    if not session.omitted:  # Else a later start may go on.
        session.remove_checkpoint()
        (session.folder / RUNS_NAME).unlink(missing_ok=True)


def _read_measured(folder: Path) -> dict[str, Any] | None:
    """Return what is known of a measurement beside its tables; None if there is none.

    ``settings`` decide the numbers, ``seconds_on`` is what they took by the number of workers,
    ``notes`` say what was left out, ``versions`` how many runs are of which code.
    """
    path = folder / MEASURED_NAME
    if not path.exists():
        return None
    try:
        measured = json.loads(path.read_text(encoding="utf-8"))
        # JSON has no whole numbers for names.
        seconds_on = {int(n): float(seconds) for n, seconds in measured["seconds_on"].items()}
        if not {"settings", "notes", "tables"} <= measured.keys():
            raise KeyError
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise umfi.RunError(
            f"{str(path)!r} cannot be read: remove it to run the experiment."
        ) from None
    return {"version": "", "versions": {}, **measured, "seconds_on": seconds_on}


def _code_notes(measured: Mapping[str, Any]) -> list[str]:
    """Return a note if some runs are of other code than the last ones."""
    versions = measured["versions"]
    parts = [
        f"{count:,} of {sum(versions.values()):,} runs by umfi {name}"
        for name, count in versions.items()
        if name != measured["version"]
    ]
    return [f"Begun with other versions of the code: {', '.join(parts)}."] if parts else []


def _draw(experiment: Any, tables: Tables, folder: Path, name: str) -> list[Path]:
    """Write the picture in all formats, and return the paths."""
    figure = experiment.draw(tables)
    paths = [folder / f"{name}.{kind}" for kind in PICTURE_FORMATS]
    for path in paths:
        figure.savefig(path, dpi=DOTS_PER_INCH)
    plt.close(figure)
    return paths
