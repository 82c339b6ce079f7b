"""``python -m reproduction``: run the experiments of the paper and say which claims hold."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import umfi
from reproduction.claims import sum_up
from reproduction.running import (
    EXPERIMENTS,
    FIGURES,
    SHOWN,
    Reproduced,
    find_experiment,
    folder_of,
    reproduce,
)

# The exit codes of the command umfi.
BAD_INPUT, RUN_FAILED, OUT_OF_TIME, INTERRUPTED = 2, 3, 4, 130
UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "": 1.0}
# Of output that goes to a file or another program.
WIDTH_WITHOUT_SCREEN = 500


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Run an experiment of the paper, and say which of its claims hold.",
        epilog="Example: python -m reproduction figure1 --out reproduced",
    )
    add = parser.add_argument
    add("name", metavar="NAME", help="list, all, or one such as figure1")
    add("--out", "-o", metavar="FOLDER", type=Path, default=Path("reproduced"),
        help="for numbers and pictures; reproduced by default")  # fmt: skip
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="minutes; the default")
    size.add_argument("--full", action="store_true", help="the paper's numbers of runs, hours")
    add("--seed", metavar="N", type=int, default=0,
        help="the same seed gives the same numbers; 0")  # fmt: skip
    add("--jobs", metavar="N", type=int, help="workers; all cores by default")
    add("--executor", metavar="NAME", help="threads, processes, dask or tcp://...")
    add("--time-limit", metavar="TIME", help="for each, all starts together: 30m or 2h")
    add("--json", action="store_true", help="print JSON, for programs")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    options = _read_options(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # No letter that the screen lacks ends a run.
            stream.reconfigure(errors="replace")
    try:
        return _run(options)
    except umfi.InputError as error:
        return _fail(f"Error: {error}", BAD_INPUT, options)
    except BrokenPipeError:  # Whoever read the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (umfi.RunError, OSError) as error:
        return _fail(f"Error: {error}", RUN_FAILED, options)
    except KeyboardInterrupt as stop:
        return _fail(str(stop) or "Stopped.", INTERRUPTED, options)


def _fail(message: str, code: int, options: argparse.Namespace) -> int:
    if options.json:
        _print_json({"error": message.removeprefix("Error: "), "exit_code": code})
    print(message, file=sys.stderr)
    return code


def _run(options: argparse.Namespace) -> int:
    if options.name == "list":
        titles = {name: find_experiment(name).TITLE for name in EXPERIMENTS}
        if options.json:
            _print_json(titles)
        else:
            print("\n".join(f"{name:9} {title}" for name, title in titles.items()))
        return 0
    time_limit = read_seconds(options.time_limit)
    found = []
    for name in FIGURES if options.name == "all" else (options.name,):
        try:
            one = reproduce(
                name, options.out, is_full=options.full, seed=options.seed, n_jobs=options.jobs,
                executor=options.executor, time_limit=time_limit, shows_progress=True,
            )  # fmt: skip
        except KeyboardInterrupt:
            own = folder_of(name, options.out, is_full=options.full)
            raise KeyboardInterrupt(
                f"Stopped: what is done is stored in {own}, and the same command goes on from "
                "there."
            ) from None
        found.append(one)
        if not options.json:
            print(f"{name}: {one.title}, {one.seconds:.0f} s", file=sys.stderr)
    if options.json:
        _print_json({one.name: _to_plain(one) for one in found})
    else:
        _print_claims(found)
        files = found[0].files if len(found) == 1 else [options.out]
        print(f"Written: {', '.join(map(str, files))}")
    if any(one.omitted for one in found):
        print(
            f"What is done is stored in {options.out}: the same with more time goes on from there.",
            file=sys.stderr,
        )
        return OUT_OF_TIME
    return 0


def read_seconds(text: str | None) -> float | None:
    """Return a time limit in seconds, None for none.

    Examples
    --------
    >>> read_seconds("1h30m"), read_seconds("2.5"), read_seconds(None)
    (5400.0, 2.5, None)
    """
    if text is None:
        return None
    amount = r"(\d+(?:\.\d+)?)"
    if re.fullmatch(rf"(?:{amount}[dhms])+|{amount}", text):
        parts = re.findall(rf"{amount}([dhms]?)", text)
        seconds = sum(float(number) * UNITS[unit] for number, unit in parts)
        if seconds > 0.0:
            return seconds
    raise umfi.InputError(f"--time-limit {text!r} is not a time: pass seconds, 30m or 1h30m.")


def _to_plain(found: Reproduced) -> dict[str, Any]:
    return {
        "title": found.title,
        "claims": [claim.to_plain() for claim in found.claims],
        "notes": found.notes,
        "is_cut": bool(found.omitted),
        "seconds": found.seconds,
    }


def _print_json(document: dict[str, Any]) -> None:
    """Print for machines: numbers that JSON does not know are null."""
    print(json.dumps(_finite(document), indent=1))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _print_claims(found: list[Reproduced]) -> None:
    """Print all claims as a table, those that hold as a sentence, and what was left out."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [{"experiment": one.name, **claim.to_plain()} for one in found for claim in one.claims]
    names = ("experiment", *SHOWN)
    table = Table(*names, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(row[name]) for name in names))
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_WITHOUT_SCREEN)
    console.print(table)
    if len(found) == 1:
        for short in found[0].shown:
            print(short.to_string(index=False, float_format="{:.3g}".format), end="\n\n")
    print(sum_up(rows))
    for one in found:
        for note in one.omitted:
            print(f"Note: {one.name}: {note}")


if __name__ == "__main__":
    sys.exit(main())
