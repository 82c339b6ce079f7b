"""What a checkpoint holds: how far its runs are, and the importances so far."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from umfi.errors import InputError
from umfi.execution.checkpoint import StoredRun, merge, read_checkpoint
from umfi.importance import METHODS
from umfi.importance.result import ImportanceResult
from umfi.importance.specification import Specification, assemble

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RunStatus", "checkpoint_status", "format_seconds", "merge_checkpoints"]


@dataclass(frozen=True, repr=False, eq=False)
class RunStatus:
    """How far a run is.

    Attributes
    ----------
    label : str
        Which of several runs in one file it is; empty if there is one only.
    method : str
    settings : dict
        Of the run.
    begun : str
        When it was begun, in universal time.
    stages : DataFrame
        A row for each stage that has begun: ``stage, done, left, seconds``; seconds of work that a
        task takes in the mean.
    seconds_left : float
        What is left of these stages would take with as many workers as at the last start. A test
        may go on for further rounds, and stages that have not begun are not counted.
    result : ImportanceResult or None
        What is known so far; None while no feature has an importance, and for runs that have no
        importances.
    """

    label: str
    method: str
    settings: dict[str, object]
    begun: str
    stages: pd.DataFrame
    seconds_left: float
    result: ImportanceResult | None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left of the stages that have begun."""
        return bool((self.stages["left"] == 0).all())

    def __repr__(self) -> str:
        """Return what was asked, how far it is, and the importances so far."""
        n_done, n_left = int(self.stages["done"].sum()), int(self.stages["left"].sum())
        name = f"{self.label}: " if self.label else ""
        lines = [
            f"{name}{self.method} of {self.settings.get('target')!r}, begun {self.begun}",
            f"{n_done} tasks done, {n_left} left"
            + (f", about {format_seconds(self.seconds_left)}" if n_left else ""),
            self.stages.to_string(index=False, float_format="{:.3g}".format),
        ]
        if self.result is not None:
            lines.append(repr(self.result))
        return "\n".join(lines)


def format_seconds(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> format_seconds(42.3), format_seconds(5430), format_seconds(300_000)
    ('42 s', '1 h 30 min', '3 d 11 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def checkpoint_status(path: str | os.PathLike[str]) -> list[RunStatus]:
    """Return how far the runs of a checkpoint are; they may be going on.

    Parameters
    ----------
    path : str or path
        The file that a method was given as ``checkpoint=``.

    Examples
    --------
    >>> import tempfile
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = umfi.bivariate(X, y, checkpoint=f"{folder}/run.umfi")
    ...     [status] = umfi.checkpoint_status(f"{folder}/run.umfi")
    >>> status.is_complete, status.result.scores.equals(result.scores)
    (True, True)
    """
    return [_describe(run) for run in read_checkpoint(path)]


def merge_checkpoints(
    paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]
) -> list[RunStatus]:
    """Put checkpoints of the same run together, and return how far it is.

    The files come from several machines, each of which did its part of one run (see
    :class:`umfi.Checkpoint`), or began it anew. The same call with ``checkpoint=out`` then does
    what is left, if anything is, and returns the result.

    Parameters
    ----------
    paths : sequence of str or path
    out : str or path
        The file to write; what it holds already stays in it.

    Examples
    --------
    >>> import tempfile
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [f"{folder}/{part}.umfi" for part in (1, 2)]
    ...     for part, file in enumerate(files, start=1):
    ...         checkpoint = umfi.Checkpoint(file, share=(part, 2))
    ...         partial = umfi.bivariate(X, y, random_state=0, checkpoint=checkpoint)
    ...     [status] = umfi.merge_checkpoints(files, f"{folder}/all.umfi")
    >>> status.is_complete
    True
    """
    if isinstance(paths, str | os.PathLike) or not paths:
        raise InputError(f"paths={paths!r} is not valid: pass a list of checkpoints.")
    merge(paths, out)
    return checkpoint_status(out)


def _describe(run: StoredRun) -> RunStatus:
    import pandas as pd

    rows = []
    seconds_left = 0.0
    known = [seconds for of_stage in run.seconds.values() for seconds in of_stage.values()]
    for stage in dict.fromkeys([*run.planned, *run.answers]):
        seconds = list(run.seconds.get(stage, {}).values())
        n_left = max(0, run.planned.get(stage, 0) - len(seconds))
        guess = seconds or known
        mean = sum(guess) / len(guess) if guess else float("nan")
        rows.append((stage, len(seconds), n_left, mean))
        seconds_left += n_left * mean if n_left else 0.0
    settings = run.outline["settings"]
    result = None
    if settings["method"] in METHODS:
        assembler = METHODS[settings["method"]].assemble
        with suppress(InputError):  # No feature may have an importance yet.
            result = assemble(Specification.from_plain(run.outline), assembler, run.read)
    return RunStatus(
        label=run.label,
        method=str(settings["method"]),
        settings=settings,
        begun=run.begun,
        stages=pd.DataFrame(rows, columns=["stage", "done", "left", "seconds"]),
        seconds_left=seconds_left / max(1, run.n_workers),
        result=result,
    )
