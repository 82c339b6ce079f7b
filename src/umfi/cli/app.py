"""All commands."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from umfi.cli.rank import demo, rank
from umfi.cli.runs import merge, status
from umfi.cli.tables import compare, diagnose
from umfi.version import __version__

__all__ = ["app"]

# A backspace keeps the lines of a paragraph as they are.
HELP = """Find the features of a table that are related to a response.

\b
Examples:
  umfi demo
  umfi rank data.csv --target y --out results

\b
Exit codes: 0 done, 1 unexpected, 2 something to change in the command or the
data, 3 the run failed on its way, 4 time was up, 130 stopped by Ctrl-C.
"""

app = typer.Typer(
    name="umfi",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    # Plain help is half as long, and errors are one sentence instead of a box.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"umfi {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Let no letter that the screen lacks end a run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


SHORT_HELP: dict[Callable[..., None], str] = {
    rank: "Rank the features of a table by how they relate to a response.",
    compare: "Compare the importances that several methods give.",
    diagnose: "Check whether removal works on a table.",
    demo: "Rank the features of a real table that needs no download.",
    status: "Show how far a run is, and the importances so far.",
    merge: "Merge the checkpoints of several machines.",
}
for command, short_help in SHORT_HELP.items():
    app.command(short_help=short_help)(command)
