"""A data file becomes a table, with notes on what had to be found out."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from umfi.cli.files.cells import restore_whole_numbers, tidy_columns
from umfi.cli.files.opening import broken_file, read_bytes, unpack
from umfi.cli.files.text import read_text
from umfi.errors import InputError, listed, unknown_name

__all__ = ["DataFile", "read_data_file"]

SUFFIXES = {
    "text": (".csv", ".tsv", ".tab", ".txt", ".dat"),
    "Parquet": (".parquet", ".pq"),
    "Feather": (".feather", ".arrow", ".ipc"),
    "Excel": (".xlsx", ".xlsm"),
}
# What other programs write; some of it cannot be read without running what it says.
UNREAD = {".avro", ".db", ".dta", ".h5", ".hdf5", ".htm", ".html", ".json", ".jsonl", ".mat", ".nc"}
UNREAD |= {".npy", ".npz", ".ods", ".orc", ".pdf", ".pickle", ".pkl", ".rda", ".rdata", ".rds"}
UNREAD |= {".sas7bdat", ".sav", ".sqlite", ".xlsb", ".xml"}
OLD_EXCEL = b"\xd0\xcf\x11\xe0"
ARROW_STREAM = b"\xff\xff\xff\xff"
# Titles may stand above the names in a sheet, but not many.
MAX_TITLE_ROWS = 20

_NO_NAME = re.compile(r"(Unnamed: \d+(_level_\d+)?)?")


@dataclass(frozen=True)
class DataFile:
    """What a data file holds.

    Attributes
    ----------
    frame : DataFrame
        Columns of unique names that are text; rows are numbered from 0.
    notes : list of str
        What was found out where it was not plain, a sentence each.
    """

    frame: pd.DataFrame
    notes: list[str]


def read_data_file(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> DataFile:
    r"""Return the table in a file, and notes on what was found out about it.

    Read are delimited text (also packed by gzip, bzip2, xz or zip), Parquet, Feather and Excel;
    what a file is shows in its first bytes.

    Parameters
    ----------
    path : str or path
    delimiter : str, optional
        Of text: one character, or "tab", "comma", "semicolon", "bar" or "blank". Found out from
        the first lines if not given.
    encoding : str, optional
        Of text. Found out if not given: UTF-8, UTF-16, or else Windows-1252.
    sheet : str, optional
        Of an Excel file: its name, or its number from 1; the first one if not given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "soil.csv"
    ...     _ = path.write_text("ph;clay\n6,5;12\n7,1;30\n")
    ...     data = read_data_file(path)
    >>> data.frame["ph"].tolist()
    [6.5, 7.1]
    >>> data.notes
    ['Fields are separated by semicolons.', 'Numbers are written with decimal commas.']
    """
    path = Path(path)
    label = repr(path.name)
    data = read_bytes(path)
    if path.suffix.lower() in UNREAD:
        raise _unread(label, path.suffix)
    data, inner_name = unpack(data, path.name)
    suffix = Path(inner_name).suffix.lower()
    kind = _find_kind(data, suffix, label)
    _refuse_options(kind, label, delimiter=delimiter, encoding=encoding, sheet=sheet)
    notes: list[str] = []
    if kind != _kind_of_suffix(suffix) and suffix:
        notes.append(f"{label} is read as {kind}, which it is in spite of its name.")
    if kind == "text":
        table = read_text(data, label=label, suffix=suffix, delimiter=delimiter, encoding=encoding)
        names, frame, with_commas = table.names, table.frame, table.with_commas
        notes += table.notes
    elif kind == "Excel":
        names, frame = _read_excel(data, sheet, label, notes)
        with_commas = False
    else:
        frame = _read_arrow(data, kind, label, notes)
        names, with_commas = [str(name) for name in frame.columns], False
    is_written = kind in ("text", "Excel")  # By hand, perhaps.
    if is_written:
        frame = _drop_empty_rows(frame, notes)
    frame = _name_columns(frame, names, label, notes)
    if is_written:
        frame, told = tidy_columns(frame, with_commas=with_commas)
        notes += told
    if frame.shape[0] == 0:
        raise InputError(f"{label} has column names but no rows.")
    return DataFile(frame.reset_index(drop=True), notes)


def _unread(label: str, suffix: str) -> InputError:
    return InputError(
        f"{label} is of a kind that is not read, {suffix}: save the table as .csv, .xlsx or "
        ".parquet."
    )


def _kind_of_suffix(suffix: str) -> str:
    return next((kind for kind, suffixes in SUFFIXES.items() if suffix in suffixes), "text")


def _find_kind(data: bytes, suffix: str, label: str) -> str:
    """Return "text", "Parquet", "Feather" or "Excel" by the first bytes of a file."""
    if data.startswith(b"PAR1"):
        return "Parquet"
    if data.startswith((b"ARROW1", b"FEA1")):
        return "Feather"
    if data.startswith(b"PK\x03\x04"):
        return "Excel"
    if data.startswith(OLD_EXCEL):
        raise InputError(
            f"{label} is an old or locked Excel file: save it as .xlsx without a password, or as "
            ".csv."
        )
    if suffix in UNREAD:
        raise _unread(label, suffix)
    kind = _kind_of_suffix(suffix)
    if kind == "Feather" and data.startswith(ARROW_STREAM):
        return kind
    if kind != "text":
        raise InputError(
            f"{label} is no {kind} file in spite of its name: rename it, or write it again."
        )
    return kind


def _refuse_options(kind: str, label: str, **options: str | None) -> None:
    for name, value in options.items():
        owner = "Excel" if name == "sheet" else "text"
        if value is not None and kind != owner:
            what = "text files" if owner == "text" else "Excel files"
            raise InputError(f"--{name} is for {what} and {label} is none: leave it out.")


def _optional(module: str, kind: str) -> Any:
    """Return a module that only some users have."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(
            f"Reading {kind} files needs {package}: install umfi[files], or pass a .csv file."
        ) from None


def _read_arrow(data: bytes, kind: str, label: str, notes: list[str]) -> pd.DataFrame:
    source = _optional("pyarrow", kind).BufferReader(data)
    try:
        if kind == "Parquet":
            table = _optional("pyarrow.parquet", kind).read_table(source)
        elif data.startswith(ARROW_STREAM):
            table = _optional("pyarrow.ipc", kind).open_stream(source).read_all()
        else:
            table = _optional("pyarrow.feather", kind).read_table(source)
        frame: pd.DataFrame = table.to_pandas()
    except InputError:
        raise
    except Exception as error:  # Whatever a reader makes of rubbish.
        raise broken_file(label) from error
    if any(name is not None for name in frame.index.names):
        named = [str(name) for name in frame.index.names if name is not None]
        clashing = [name for name in named if name in map(str, frame.columns)]
        if clashing:
            raise _repeated(clashing, label)
        return frame.reset_index()
    if not isinstance(frame.index, pd.RangeIndex):
        notes.append("The names of rows are left out.")
    return frame


def _read_excel(
    data: bytes, sheet: str | None, label: str, notes: list[str]
) -> tuple[list[str], pd.DataFrame]:
    openpyxl = _optional("openpyxl", "Excel")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of openpyxl, on styles that it does not know.
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheets = {one.title: one for one in book.worksheets}
            chosen = _choose_sheet(list(sheets), sheet, notes)
            sheets[chosen].reset_dimensions()  # Some programs write wrong ones.
            rows = list(sheets[chosen].iter_rows(values_only=True))
    except InputError:
        raise
    except Exception as error:  # Whatever a reader makes of rubbish.
        raise broken_file(label) from error
    n_filled = [sum(_is_filled(cell) for cell in row) for row in rows]
    top = next((at for at, n in enumerate(n_filled[:MAX_TITLE_ROWS]) if n > 1), None)
    if top is None:
        what = "is empty" if not any(n_filled) else "has one column only"
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
    if sheet not in titles and sheet.isdecimal() and 1 <= int(sheet) <= len(titles):
        return titles[int(sheet) - 1]
    if sheet not in titles:
        raise unknown_name("--sheet", sheet, titles)
    return sheet


def _is_filled(cell: Any) -> bool:
    return cell is not None and str(cell).strip() != ""


def _name_columns(
    frame: pd.DataFrame, names: Sequence[str], label: str, notes: list[str]
) -> pd.DataFrame:
    """Return the columns under unique names without blanks around them."""
    stripped = [name.strip() for name in names]
    repeated = [name for name, count in Counter(stripped).items() if count > 1 and name]
    if repeated:
        raise _repeated(repeated, label)
    kept: dict[str, pd.Series[Any]] = {}
    for position, name in enumerate(stripped):
        column = frame.iloc[:, position]
        if _NO_NAME.fullmatch(name):
            if column.isna().all():
                continue
            if _labels_rows(column):
                notes.append(f"Column {position + 1} has no name, labels rows and is left out.")
                continue
            name = f"column {position + 1}"
            notes.append(f"Column {position + 1} has no name and is called {name!r}.")
            if name in stripped:
                raise _repeated([name], label)
        kept[name] = column
    if len(kept) < 2:
        raise InputError(f"{label} has one column only: a target and features are needed.")
    return pd.DataFrame(kept, index=frame.index)


def _labels_rows(column: pd.Series[Any]) -> bool:
    """Return whether a column without a name counts the rows, or names each."""
    if not column.is_unique or column.isna().any():
        return False
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any():
        return bool(numbers.isna().all())
    is_whole = bool((numbers == numbers.round()).all())
    return is_whole and bool(numbers.max() - numbers.min() == len(column) - 1)


def _repeated(names: Sequence[str], label: str) -> InputError:
    return InputError(
        f"{label} has more than one column named {listed(names)}: rename the repeats, and see "
        "that the first line holds the names."
    )


def _drop_empty_rows(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    is_empty = frame.isna().all(axis=1)
    if not is_empty.any():
        return frame
    notes.append(f"Rows without any value are left out: {int(is_empty.sum())}.")
    return frame.loc[~is_empty].apply(restore_whole_numbers)
