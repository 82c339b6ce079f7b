"""What commands print and write, and how they end."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_type_hints

import typer

from umfi.errors import InputError, RunError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from umfi.importance.result import ImportanceResult

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "OUT_OF_TIME",
    "RUN_FAILED",
    "command",
    "plain_errors",
    "print_document",
    "print_json",
    "print_notes",
    "print_result",
    "print_table",
    "printable",
    "say",
    "write_table",
]

BAD_INPUT, RUN_FAILED, OUT_OF_TIME, INTERRUPTED = 2, 3, 4, 130
# Options that do not have the name of the library's argument; --remover may be --removers.
PARAMETERS = {"max_permutations": "permutations", "n_jobs": "jobs", "random_state": "seed"}
# Names are folded on narrow screens, but not narrower than this.
MIN_NAME_WIDTH = 20


def say(message: str) -> None:
    """Print a line for the person in front of the screen, not for the program behind the pipe."""
    typer.echo(printable(message), err=True)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that ends with one sentence and an exit code if it cannot be carried out."""
    # Options that commands have in common are one parameter there, and one by one on the screen.
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options: dict[str, Parameter] = {}
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            options |= signature(groups[name], eval_str=True).parameters
        else:
            options[name] = parameter.replace(annotation=hints[name])

    def run(**given: Any) -> None:
        with plain_errors(options, is_json=given.get("json", False)):
            for name, kind in groups.items():
                given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
            function(**given)

    run.__doc__, run.__name__ = function.__doc__, function.__name__
    keyword = Parameter.KEYWORD_ONLY
    run.__signature__ = Signature([one.replace(kind=keyword) for one in options.values()])  # type: ignore[attr-defined]
    run.__annotations__ = {name: one.annotation for name, one in options.items()}
    return run


@contextmanager
def plain_errors(options: Container[str] = (), *, is_json: bool = False) -> Iterator[None]:
    """Print what is wrong as one sentence, and end with the code that says of what kind it is."""
    try:
        yield
    except (InputError, RunError) as error:
        code = BAD_INPUT if isinstance(error, InputError) else RUN_FAILED
        _end(_with_option(error, options), code, is_json)
    except BrokenPipeError:
        # The reader has seen enough, and is gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except OSError as error:
        where = f" {str(error.filename)!r}" if error.filename else ""
        what = f"A file cannot be read or written{where} ({error.strerror or error})"
        way_out = "close it elsewhere, make room, or choose another --out."
        _end(f"{what}: {way_out}", RUN_FAILED, is_json)
    except MemoryError:
        way_out = "leave columns out by --drop, or take fewer workers by --jobs 1."
        _end(f"There is not enough memory: {way_out}", RUN_FAILED, is_json)
    except KeyboardInterrupt as stop:
        _end(str(stop) or "Stopped.", INTERRUPTED, is_json, label="")


def _with_option(error: InputError | RunError, options: Container[str]) -> str:
    """Return a message of the library that names the option to change instead of the argument."""
    argument = error.argument or ""
    for name in (PARAMETERS.get(argument, argument), f"{argument}s"):
        if name in options:
            option = f"--{name.replace('_', '-')}"
            if error.value is None:
                return f"{error.message} See {option}."
            return f"{option} {error.value} {error.message}"
    return str(error)


def _end(sentence: str, code: int, is_json: bool, label: str = "Error: ") -> NoReturn:
    if is_json:
        print_json({"error": sentence, "exit_code": code})
    say(f"{label}{sentence}")
    raise typer.Exit(code) from None


def printable(text: str) -> str:
    """Return text without letters that would steer a terminal."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text
    )


def print_table(table: pd.DataFrame, *, left: Iterable[str] = ("feature",)) -> None:
    """Print columns of text; names may be folded, and nothing is cut."""
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    left = tuple(left)
    cells = table.map(lambda cell: printable(str(cell)))
    widest = {
        str(name): max([cell_len(str(name)), *map(cell_len, column)])
        for name, column in cells.items()
    }
    least = {
        name: min(width, MIN_NAME_WIDTH) if name in left else width
        for name, width in widest.items()
    }
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in widest:
        shown.add_column(
            Text(name),
            justify="left" if name in left else "right",
            overflow="fold",
            min_width=least[name],
            no_wrap=name not in left,
        )
    for row in cells.itertuples(index=False):
        shown.add_row(*map(Text, row))
    console = Console()
    # What is wider than the screen goes on in the next line; files and pipes have no width.
    needed = sum((least if console.is_terminal else widest).values()) + 3 * len(widest)
    Console(width=max(console.width, needed)).print(shown)


def print_result(result: ImportanceResult) -> None:
    """Print the answer: in words, as a table, and what to know about it."""
    from umfi.report import answer_in_words

    settings = result.settings
    typer.echo(
        printable(
            f"{settings['method']} importance for {settings['target']} in {settings['measure']}: "
            f"{settings['n_rows']:,} rows, {settings['n_features']:,} features, "
            f"{result.n_repeats} {'repeat' if result.n_repeats == 1 else 'repeats'}"
            + (f" of {sampled:,} rows" if (sampled := settings.get("n_sampled_rows")) else "")
        )
    )
    print_table(_readable_columns(result), left=("feature", "related"))
    typer.echo(printable(" ".join(answer_in_words(result))))
    print_notes(result.notes)


def print_notes(notes: Iterable[str]) -> None:
    """Print what a reader should know."""
    for note in notes:
        typer.echo(printable(f"Note: {note}"))


def _readable_columns(result: ImportanceResult) -> pd.DataFrame:
    """Return what is shown of a result, as text: whatever was computed."""
    import pandas as pd

    from umfi.importance.display import describe_parts

    table = result.table
    shown = pd.DataFrame({"feature": table["feature"].astype(str)})
    shown["importance"] = table["importance"].map("{:.4f}".format)
    if result.part_scores is not None:
        shown = shown.join(describe_parts(table))
    elif "low" in table:
        low, high = (table[end].map("{:.4f}".format) for end in ("low", "high"))
        shown["95 % interval"] = low + " to " + high
    elif "spread" in table:
        shown["spread"] = table["spread"].map(lambda one: "" if one != one else f"{one:.4f}")
    if "p_value" in table:
        stars = table["tail"].map({True: "*", False: ""})
        shown["p-value"] = table["p_value"].map("{:.2g}".format) + stars
        shown["q-value"] = table["q_value"].map("{:.2g}".format)
        leaks = table["leaks"].map({True: " (leaks)", False: ""})
        shown["related"] = pd.Series(result.related_in_words(table), table.index) + leaks
        shown.loc[table["feature"].isin(result.undecided), ["p-value", "q-value"]] = ""
    return shown


def write_table(
    table: pd.DataFrame, draw: Callable[[], Axes], folder: Path, name: str
) -> list[Path]:
    """Write a table and its picture under one name, and return their paths."""
    from umfi.plots import save_picture

    csv = folder / f"{name}.csv"
    table.to_csv(csv, index=False)
    return [csv, save_picture(draw, folder / f"{name}.png")]


def print_document(
    document: Mapping[str, Any],
    files: Sequence[Path],
    show: Callable[[], None],
    *,
    is_json: bool,
) -> None:
    """Print what a command found, for machines or as ``show`` does it, and what was written."""
    if is_json:
        print_json({**document, "files": [str(path) for path in files]})
        return
    show()
    if files:
        typer.echo("Written: " + ", ".join(map(str, files)))


def print_json(document: Mapping[str, Any]) -> None:
    """Print for machines: numbers that JSON does not know are null."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    text = json.dumps(_plain(document), indent=1, ensure_ascii=encoding != "utf8", allow_nan=False)
    typer.echo(text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
