"""``python -m reproduction``: the experiments of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from umfi.cli import options
from umfi.cli.output import (
    OUT_OF_TIME,
    plain_errors,
    print_files,
    print_json,
    print_notes,
    print_table,
    printable,
    say,
)

if TYPE_CHECKING:
    from reproduction import Reproduced

__all__ = ["reproduce"]


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="list, all, or one such as figure1.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        options.option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="For numbers and pictures; reproduced by default.",
        ),
    ] = Path("reproduced"),
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="The paper's numbers of runs, hours; quick by default.",
            show_default=False,
        ),
    ] = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    executor: options.ExecutorName = None,
    time_limit: Annotated[
        str | None,
        options.option(
            "--time-limit", metavar="TIME", help="For each, all starts together: 30m or 2h."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run an experiment of the paper, and tell which of its claims hold.

    Example: python -m reproduction figure1 --out reproduced
    """
    with plain_errors(is_json=json):
        from reproduction import EXPERIMENTS
        from reproduction import reproduce as run
        from umfi.errors import unknown_name

        if experiment == "list":
            _print_list(is_json=json)
            return
        names = EXPERIMENTS if experiment == "all" else (experiment,)
        if experiment != "all" and experiment not in EXPERIMENTS:
            raise unknown_name("experiment", experiment, ("list", "all", *EXPERIMENTS))
        found = []
        size = "full" if full else "quick"
        for name in names:
            try:
                one = run(
                    name, out, is_full=full, seed=seed, n_jobs=jobs, executor=executor,
                    time_limit=time_limit, progress=_show_steps,
                )  # fmt: skip
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"Stopped: what is done is kept in {out / size / name}, and the same command "
                    "goes on from there."
                ) from None
            found.append(one)
            if not json:
                say(f"{name}: {one.title}, {one.seconds:.0f} s")
        if json:
            print_json({one.name: _to_plain(one) for one in found})
        else:
            _print_claims(found)
            print_files([path for one in found for path in one.files] if len(found) == 1 else [out])
        if any(one.is_cut for one in found):
            say(f"What is done is kept in {out}: the same with more time goes on from there.")
            raise typer.Exit(OUT_OF_TIME)


def _to_plain(found: Reproduced) -> dict[str, Any]:
    return {
        "title": found.title,
        "claims": [claim.to_plain() for claim in found.claims],
        "notes": found.notes,
        "is_cut": found.is_cut,
        "seconds": found.seconds,
    }


def _print_list(*, is_json: bool) -> None:
    from importlib import import_module

    from reproduction import EXPERIMENTS

    titles = {name: import_module(f"reproduction.{name}").TITLE for name in EXPERIMENTS}
    if is_json:
        print_json(titles)
        return
    for name, title in titles.items():
        typer.echo(f"{name:9} {title}")


def _print_claims(found: list[Reproduced]) -> None:
    import pandas as pd

    from reproduction import sum_up

    rows = [{"experiment": one.name, **claim.to_plain()} for one in found for claim in one.claims]
    table = pd.DataFrame(rows)[["experiment", "claim", "found", "holds if", "paper", "verdict"]]
    print_table(table.astype(str), left=("experiment", "claim", "paper", "verdict"))
    typer.echo(printable(sum_up(rows)))
    print_notes(
        f"{one.name}: {note}"
        for one in found
        for note in one.notes
        if one.is_cut and "time limit" in note
    )


@contextmanager
def _show_steps(title: str, n_steps: int) -> Iterator[Callable[[int], None]]:
    from umfi.execution import progress_bar

    with progress_bar(title, n_steps, None) as advance:
        yield advance


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(reproduce)

if __name__ == "__main__":
    app(prog_name="python -m reproduction")
