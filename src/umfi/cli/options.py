"""Options that commands have in common, and how their words are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from umfi.errors import InputError


def option(*names: str, help: str, metavar: str | None = None) -> Any:  # noqa: A002
    """Return an option whose help is one line: it says itself what the default is."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=False)


def argument(metavar: str, *, help: str) -> Any:  # noqa: A002
    """Return an argument whose help is one line."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


Data = Annotated[Path, argument("DATA", help="CSV, TSV, Parquet, Feather or Excel file.")]
Target = Annotated[str, option("--target", "-t", metavar="NAME", help="Column to explain.")]
Out = Annotated[
    Path | None, option("--out", "-o", metavar="FOLDER", help="For the table and the report.")
]
OutTables = Annotated[
    Path | None, option("--out", "-o", metavar="FOLDER", help="For the table and the picture.")
]
Drop = Annotated[
    list[str] | None,
    option("--drop", metavar="NAMES", help="Columns to leave out: id,date (or give it again)"),
]
Kinds = Annotated[
    list[str] | None,
    option("--kinds", metavar="WORDS", help="What columns are: soil=categorical,ph=ordinal"),
]
Groups = Annotated[
    list[str] | None,
    option("--groups", metavar="WORDS", help="Columns to take as one: size=width,height"),
]
Missing = Annotated[
    str, option("--missing", metavar="WORD", help="error (default), drop (the rows) or level")
]
Task = Annotated[
    str, option("--task", metavar="WORD", help="auto (default), regression, classification")
]
Remover = Annotated[
    str | None,
    option("--remover", metavar="NAME", help="joint (default), linear, transport, chained"),
]
Power = Annotated[
    str,
    option("--power", metavar="NAME", help="forest (default), extra-trees, boosting, linear, ..."),
]
Test = Annotated[
    str | None,
    option("--test", metavar="NAME", help="permutation (default), full-permutation, none"),
]
Permutations = Annotated[
    int | None,
    option("--permutations", metavar="N", help="Permuted copies per feature, at most; 199."),
]
Repeats = Annotated[
    int | None,
    option("--repeats", metavar="N", help="1 by default, 5 for methods without intervals."),
]
Subsample = Annotated[
    float | None,
    option("--subsample", metavar="ROWS", help="Rows per repeat: a fraction, or a number of them."),
]
Alpha = Annotated[
    float | None, option("--alpha", metavar="LEVEL", help="False discovery rate of the test; 0.05.")
]
Seed = Annotated[
    int, option("--seed", metavar="N", help="The same seed gives the same numbers; 0.")
]
Jobs = Annotated[int | None, option("--jobs", metavar="N", help="Workers; all cores by default.")]
ExecutorName = Annotated[
    str | None, option("--executor", metavar="NAME", help="threads, processes, dask or tcp://...")
]
CheckpointFile = Annotated[
    Path | None,
    option("--checkpoint", metavar="FILE", help="Where progress is saved; by default in --out."),
]
Fresh = Annotated[bool, option("--fresh", help="Discard the saved progress and start anew.")]
TimeLimit = Annotated[
    str | None, option("--time-limit", metavar="TIME", help="Stop after 30s, 10m or 1h30m.")
]
Delimiter = Annotated[
    str | None, option("--delimiter", metavar="SIGN", help="Between columns, if not detected.")
]
Encoding = Annotated[
    str | None, option("--encoding", metavar="NAME", help="Of a text file, if not detected.")
]
Sheet = Annotated[
    str | None, option("--sheet", metavar="NAME", help="Of an Excel file; the first by default.")
]
Json = Annotated[bool, option("--json", help="Print JSON instead of a table.")]


@dataclass(frozen=True)
class TableOptions:
    """How a table is read from its file."""

    drop: Drop = None
    kinds: Kinds = None
    missing: Missing = "error"
    delimiter: Delimiter = None
    encoding: Encoding = None
    sheet: Sheet = None


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out, whatever it computes."""

    jobs: Jobs = None
    executor: ExecutorName = None
    time_limit: TimeLimit = None
    checkpoint: CheckpointFile = None
    fresh: Fresh = False

    @property
    def settings(self) -> dict[str, Any]:
        """What the library calls them, but for the checkpoint."""
        return {"n_jobs": self.jobs, "executor": self.executor, "time_limit": self.time_limit}


def read_list(words: Iterable[str] | None, known: Sequence[str] = ()) -> list[str]:
    """Return names that are separated by commas, unless a name with commas is known as it is.

    Examples
    --------
    >>> read_list(["id, date", "a,b"], known=["a,b"])
    ['id', 'date', 'a,b']
    """
    names = []
    for word in words or ():
        names += [word] if word in known else [part.strip() for part in word.split(",")]
    return [name for name in names if name]


def read_kinds(words: Iterable[str] | None) -> dict[str, str] | None:
    """Return kinds by column, from words such as "soil=categorical,ph=ordinal".

    Examples
    --------
    >>> read_kinds(["soil=categorical", "a=b=ordinal"])
    {'soil': 'categorical', 'a=b': 'ordinal'}
    """
    kinds = {}
    for word in read_list(words):
        name, sign, kind = word.rpartition("=")
        if not sign or not name:
            raise InputError(f"--kinds {word!r} has no kind: write it as --kinds NAME=categorical.")
        kinds[name.strip()] = kind.strip()
    return kinds or None


def read_groups(words: Iterable[str] | None, known: Sequence[str]) -> dict[str, list[str]] | None:
    """Return columns by group, from words such as "size=width,height".

    Examples
    --------
    >>> read_groups(["size=width,height"], known=["width", "height"])
    {'size': ['width', 'height']}
    """
    groups = {}
    for word in words or ():
        name, sign, members = word.partition("=")
        if not sign or not name or not members:
            raise InputError(
                f"--groups {word!r} has no columns: write it as --groups NAME=first,second."
            )
        if name.strip() in groups:
            raise InputError(f"--groups names {name!r} twice: name all its columns at once.")
        groups[name.strip()] = read_list([members], known)
    return groups or None


def read_subsample(rows: float | None) -> float | int | None:
    """Return a fraction of the rows as it is, and more than one as a number of rows."""
    return int(rows) if rows is not None and rows > 1 and rows.is_integer() else rows
