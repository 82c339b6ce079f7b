"""A data file becomes a table, with notes on what had to be found out."""

from __future__ import annotations

import bz2
import difflib
import gzip
import io
import lzma
import os
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from umfi.cli.files.cells import labels_rows, restore_whole_numbers, tidy_columns
from umfi.cli.files.text import read_text
from umfi.errors import InputError, listed, unknown_name

__all__ = ["DataFile", "read_data_file"]

SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".xlsx": "Excel", ".xlsm": "Excel"}
SUFFIXES |= dict.fromkeys([".feather", ".arrow", ".ipc"], "Feather")
# What other programs write; some of it cannot be read without running what it says.
UNREAD = {".avro", ".db", ".dta", ".h5", ".hdf5", ".htm", ".html", ".json", ".jsonl", ".mat", ".nc"}
UNREAD |= {".npy", ".npz", ".ods", ".orc", ".pdf", ".pickle", ".pkl", ".rda", ".rdata", ".rds"}
UNREAD |= {".sas7bdat", ".sav", ".sqlite", ".xlsb", ".xml"}
ZIPPED, OLD_EXCEL, ARROW_STREAM = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\xff\xff\xff\xff"
# By how a file begins.
UNPACKERS: dict[bytes, Callable[[bytes], bytes]] = {
    rb"\x1f\x8b": gzip.decompress,
    rb"BZh.1AY&SY": bz2.decompress,
    rb"\xfd7zXZ\x00": lzma.decompress,
}
KINDS = {b"PAR1": "Parquet", b"ARROW1": "Feather", b"FEA1": "Feather", ZIPPED: "Excel"}
# Titles may stand above the names in a sheet, but not many.
MAX_TITLE_ROWS = 20

_NO_NAME = re.compile(r"(Unnamed: \d+(_level_\d+)?)?")


class DataFile(NamedTuple):
    """A table whose columns have unique names that are text, and notes, a sentence each."""

    frame: pd.DataFrame
    notes: list[str]


def read_data_file(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> DataFile:
    """Return the table in a file, and notes on what was found out about it.

    Read are delimited text (also packed by gzip, bzip2, xz or zip), Parquet, Feather and Excel;
    what a file is shows in its first bytes. The delimiter, one character or its name, and the
    encoding are those of text; the sheet is the name or number, from 1, of one in an Excel file.
    """
    path = Path(path)
    label = repr(path.name)
    data = _read_bytes(path, label)
    if path.suffix.lower() in UNREAD:
        raise _unread(label, path.suffix)
    data, inner_name = _unpack(data, path.name, label)
    if not data.strip():
        raise InputError(f"{label} is empty: pass a file with column names and rows.")
    suffix = Path(inner_name).suffix.lower()
    kind = _find_kind(data, suffix, label)
    for name, value in {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}.items():
        owner = "Excel" if name == "sheet" else "text"
        if value is not None and kind != owner:
            raise InputError(f"--{name} is for {owner} files and {label} is none: leave it out.")
    notes: list[str] = []
    if kind != SUFFIXES.get(suffix, "text") and suffix:
        notes.append(f"{label} is read as {kind}, which it is in spite of its name.")
    with_commas = False
    if kind == "text":
        names, frame, with_commas, found = read_text(
            data, label=label, suffix=suffix, delimiter=delimiter, encoding=encoding
        )
        notes += found
    elif kind == "Excel":
        names, frame = _read_excel(data, sheet, label, notes)
    else:
        names, frame = _read_arrow(data, kind, label, notes)
    is_written = kind in ("text", "Excel")  # By hand, perhaps.
    if is_written:
        is_empty = frame.isna().all(axis=1)
        if is_empty.any():
            notes.append(f"Rows without any value are left out: {int(is_empty.sum())}.")
            frame = frame.loc[~is_empty].apply(restore_whole_numbers)
    frame = _name_columns(frame, names, label, notes)
    if is_written:
        frame, found = tidy_columns(frame, with_commas=with_commas)
        notes += found
    if frame.shape[0] == 0:
        raise InputError(f"{label} has column names but no rows.")
    return DataFile(frame.reset_index(drop=True), notes)


def _read_bytes(path: Path, label: str) -> bytes:
    """Return what a file holds, or raise with the way out."""
    if re.match(r"(https?|ftp|s3|gs):/", str(path)):
        raise InputError(f"{str(path)!r} is an address: download it and pass the file.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: pass a file in it.")
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _not_found(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{label} cannot be read ({reason}): check the file.") from None


def _not_found(path: Path) -> InputError:
    """Return the error for a file that is not there, with names like it if there are any."""
    if not path.parent.is_dir():
        return InputError(f"There is no folder {str(path.parent)!r}: check the path.")
    there = {one.name.lower(): one.name for one in path.parent.iterdir() if one.is_file()}
    wanted = path.name.lower()
    near = [there[name] for name in difflib.get_close_matches(wanted, there, n=3)]
    near = near or [there[name] for name in sorted(there) if Path(name).stem == Path(wanted).stem]
    hint = f"did you mean {listed(near)}?" if near else "check the path."
    return InputError(f"There is no file {path.name!r} in {str(path.parent)!r}: {hint}")


def _unpack(data: bytes, name: str, label: str) -> tuple[bytes, str]:
    """Return what was packed by gzip, bzip2, xz or zip and its name; other bytes as they are."""
    is_packed_name = name.lower().endswith((".gz", ".bz2", ".xz", ".zip"))
    inner_name = name[: name.rindex(".")] if is_packed_name else name
    with _refuse_broken(label):
        for beginning, unpack in UNPACKERS.items():
            if re.match(beginning, data, re.DOTALL):
                return unpack(data), inner_name
        if not data.startswith(ZIPPED):
            return data, inner_name
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if any(name.startswith("xl/") for name in names):
                return data, inner_name  # Excel files are zipped in themselves.
            files = [one for one in names if not one.endswith("/")]
            files = [one for one in files if not one.startswith(("__MACOSX/", "."))]
            if len(files) != 1:
                raise InputError(
                    f"{label} holds {len(files)} files: unpack it and pass one of them."
                )
            try:
                return archive.read(files[0]), files[0]
            except RuntimeError as error:
                raise InputError(f"{label} is locked by a password: unpack it first.") from error


@contextmanager
def _refuse_broken(label: str) -> Iterator[None]:
    """Raise that a file is broken, whatever error a reader makes of rubbish."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{label} is broken or cut short: write or download it again.") from error


def _unread(label: str, suffix: str) -> InputError:
    return InputError(
        f"{label} is of a kind that is not read, {suffix}: save the table as .csv, .xlsx or "
        ".parquet."
    )


def _find_kind(data: bytes, suffix: str, label: str) -> str:
    """Return "text", "Parquet", "Feather" or "Excel" by the first bytes of a file."""
    for beginning, kind in KINDS.items():
        if data.startswith(beginning):
            return kind
    if data.startswith(OLD_EXCEL):
        raise InputError(
            f"{label} is an old or locked Excel file: save it as .xlsx without a password, or as "
            ".csv."
        )
    if suffix in UNREAD:
        raise _unread(label, suffix)
    kind = SUFFIXES.get(suffix, "text")
    if kind != "text" and not (kind == "Feather" and data.startswith(ARROW_STREAM)):
        raise InputError(
            f"{label} is no {kind} file in spite of its name: rename it, or write it again."
        )
    return kind


def _optional(module: str, kind: str) -> Any:
    """Return a module that only some users have."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(
            f"Reading {kind} files needs {package}: install umfi[files], or pass a .csv file."
        ) from None


def _read_arrow(
    data: bytes, kind: str, label: str, notes: list[str]
) -> tuple[list[str], pd.DataFrame]:
    source = _optional("pyarrow", kind).BufferReader(data)
    with _refuse_broken(label):
        if kind == "Parquet":
            table = _optional("pyarrow.parquet", kind).read_table(source)
        elif data.startswith(ARROW_STREAM):
            table = _optional("pyarrow.ipc", kind).open_stream(source).read_all()
        else:
            table = _optional("pyarrow.feather", kind).read_table(source)
        frame: pd.DataFrame = table.to_pandas()
    named = [str(name) for name in frame.index.names if name is not None]
    clashing = [name for name in named if name in map(str, frame.columns)]
    if clashing:
        raise _repeated(clashing, label)
    if named:
        frame = frame.reset_index()
    elif not isinstance(frame.index, pd.RangeIndex):
        notes.append("The names of rows are left out.")
    return [str(name) for name in frame.columns], frame


def _read_excel(
    data: bytes, sheet: str | None, label: str, notes: list[str]
) -> tuple[list[str], pd.DataFrame]:
    openpyxl = _optional("openpyxl", "Excel")
    with _refuse_broken(label), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of openpyxl, on styles that it does not know.
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {one.title: one for one in book.worksheets}
        chosen = _choose_sheet(list(sheets), sheet, notes)
        sheets[chosen].reset_dimensions()  # Some programs write wrong ones.
        rows = list(sheets[chosen].iter_rows(values_only=True))
    n_filled = [sum(cell is not None and str(cell).strip() != "" for cell in row) for row in rows]
    top = next((row for row, n in enumerate(n_filled[:MAX_TITLE_ROWS]) if n > 1), None)
    if top is None:
        what = "has one column only" if any(n_filled) else "is empty"
        raise InputError(f"Sheet {chosen!r} of {label} {what}: pass a table with --sheet.")
    if any(n_filled[:top]):
        notes.append(f"The column names are taken from row {top + 1} of the sheet.")
    width = max(map(len, rows))
    names = ["" if cell is None else str(cell) for cell in rows[top]]
    padded = [[*row, *[None] * (width - len(row))] for row in rows[top + 1 :]]
    return names + [""] * (width - len(names)), pd.DataFrame(padded, columns=range(width))


def _choose_sheet(titles: list[str], sheet: str | None, notes: list[str]) -> str:
    if sheet is None:
        if len(titles) > 1:
            notes.append(
                f"Read is the first of {len(titles)} sheets, {titles[0]!r}: pass --sheet for "
                f"another, {listed(titles[1:])}."
            )
        return titles[0]
    if sheet in titles:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(titles):
        return titles[int(sheet) - 1]
    raise unknown_name("--sheet", sheet, titles)


def _name_columns(
    frame: pd.DataFrame, names: Sequence[str], label: str, notes: list[str]
) -> pd.DataFrame:
    """Return the columns under unique names without blanks around them."""
    stripped = [name.strip() for name in names]
    repeated = [name for name, count in Counter(stripped).items() if count > 1 and name]
    if repeated:
        raise _repeated(repeated, label)
    named: dict[str, pd.Series[Any]] = {}
    for position, name in enumerate(stripped):
        column = frame.iloc[:, position]
        if _NO_NAME.fullmatch(name):
            if column.isna().all():
                continue
            if labels_rows(column):
                notes.append(f"Column {position + 1} has no name, labels rows and is left out.")
                continue
            name = f"column {position + 1}"
            notes.append(f"Column {position + 1} has no name and is called {name!r}.")
            if name in stripped:
                raise _repeated([name], label)
        named[name] = column
    if len(named) < 2:
        raise InputError(f"{label} has one column only: a target and features are needed.")
    return pd.DataFrame(named, index=frame.index)


def _repeated(names: Sequence[str], label: str) -> InputError:
    return InputError(
        f"{label} has more than one column named {listed(names)}: rename the repeats, and see "
        "that the first line holds the names."
    )
