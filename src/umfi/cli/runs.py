"""``umfi status`` and ``umfi merge``: long runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from umfi.cli import options
from umfi.cli.output import command, print_json, print_result, print_table, printable
from umfi.errors import InputError, listed

if TYPE_CHECKING:
    from umfi.importance.status import RunStatus

__all__ = ["merge", "status"]


@command
def status(
    checkpoint: Annotated[
        Path, options.argument("FILE", help="Of --checkpoint; or the folder of --out.")
    ],
    json: options.Json = False,
) -> None:
    """Show how far a run is, and the importances so far; it may be going on.

    Example: umfi status run.umfi
    """
    from umfi.importance.status import checkpoint_status

    if checkpoint.is_dir():
        checkpoint = _find_unfinished(checkpoint)
    runs = checkpoint_status(checkpoint)
    if json:
        print_json({"runs": [_to_plain(run) for run in runs]})
        return
    if not runs:
        typer.echo(f"{checkpoint} holds no run yet.")
    for run in runs:
        _print_status(run)


def _find_unfinished(folder: Path) -> Path:
    """Return the checkpoint in a folder that --out named."""
    found = sorted(folder.glob("*.umfi"))
    if len(found) == 1:
        return found[0]
    names = f"one of {listed(path.name for path in found)}" if found else "another folder"
    how_many = f"{len(found)} unfinished runs" if found else "no unfinished run"
    raise InputError(f"{str(folder)!r} holds {how_many}: pass {names}.")


@command
def merge(
    out: Annotated[Path, options.argument("OUT", help="The checkpoint to write.")],
    parts: Annotated[
        list[Path], options.argument("PARTS", help="Checkpoints of several machines.")
    ],
) -> None:
    """Put the checkpoints of several machines together, each of which did its part of a run.

    Example: umfi merge run.umfi part1.umfi part2.umfi part3.umfi
    """
    from umfi.importance.status import merge_checkpoints

    for run in merge_checkpoints(parts, out):
        _print_status(run)
    typer.echo(f"Written: {out}")


def _to_plain(run: RunStatus) -> dict[str, Any]:
    return {
        "label": run.label,
        "method": run.method,
        "target": run.settings.get("target"),
        "begun": run.begun,
        "stages": run.stages.to_dict("records"),
        "seconds_left": run.seconds_left,
        "features": None if run.result is None else run.result.table.to_dict("records"),
    }


def _print_status(run: RunStatus) -> None:
    from umfi.importance.status import format_seconds

    stages = run.stages
    n_done, n_left = int(stages["done"].sum()), int(stages["left"].sum())
    title = f"{run.label}: {run.method}" if run.label else run.method
    left = f"{n_left:,} left, about {format_seconds(run.seconds_left)}" if n_left else "none left"
    typer.echo(printable(f"{title} of {run.settings.get('target')}, begun {run.begun}"))
    typer.echo(f"{n_done:,} tasks done, {left}")
    forms = {"stage": "{}", "done": "{:,}", "left": "{:,}", "seconds": "{:.3g}"}
    shown = stages[[*forms]].apply(lambda column: column.map(forms[column.name].format))
    print_table(shown.rename(columns={"seconds": "seconds each"}), left=("stage",))
    if run.result is not None:
        print_result(run.result)
