"""What cells mean: missing values, numbers however they are written, and text."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Any, NamedTuple

import pandas as pd

from umfi.errors import shortened

__all__ = [
    "MISSING_WORDS",
    "Remark",
    "find_stray",
    "is_number",
    "is_text",
    "labels_rows",
    "restore_whole_numbers",
    "settle_objects",
    "tidy_columns",
    "write_notes",
]

# Those of pandas, the question mark of the UCI tables, and the errors of Excel. Numbers such as
# -999 are left alone: they may be measured.
MISSING_WORDS = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"}
MISSING_WORDS |= {"1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"}
MISSING_WORDS |= {"#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}
# Missing among numbers only: elsewhere a dash may be a strand, or the outcome of a test.
MISSING_AMONG_NUMBERS = {"-", "--", "–", "—", ".", ".."}
# A column of text with at least this proportion of numbers was probably meant to be numbers.
MIN_PROPORTION_OF_NUMBERS = 0.8

PERCENT = "Signs of per cent are left out in {names}."
COMMAS = "Decimal commas are read in {names}."
THOUSANDS = "Commas are read as separators of thousands in {names}."
DASHES = "Dashes and dots without a number are taken as missing in {names}."
STRAYS = (
    "Text stays text where not every entry is a number: {names}; correct such entries if the "
    "column is a quantity."
)

_WITH_POINT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WITH_POINT_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
_WITH_COMMA = re.compile(r"[+-]?(?=[\d,])(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)?(?:,\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.(?!\d{3}$)\d+(?:[eE][+-]?\d+)?")


class Remark(NamedTuple):
    """What is to be said about a column: a sentence with a place for names, and a detail."""

    note: str
    name: str
    detail: str = ""


def write_notes(remarks: Iterable[Remark]) -> list[str]:
    """Return one sentence for all columns of which the same is to be said."""
    grouped: dict[str, list[Remark]] = {}
    for remark in remarks:
        grouped.setdefault(remark.note, []).append(remark)
    notes = []
    for note, group in grouped.items():
        names = shortened([f"{one.name!r}{one.detail}" for one in group])
        name, it = (repr(group[0].name), "it") if len(group) == 1 else ("NAME", "one of them")
        notes.append(note.format(names=names, name=name, it=it))
    return notes


def is_number(text: str) -> bool:
    """Return whether a text is a number, with a point or a comma."""
    return _has_point_form(text) or _WITH_COMMA.fullmatch(text) is not None


def _has_point_form(text: str) -> bool:
    return bool(_WITH_POINT.fullmatch(text) or _WITH_POINT_GROUPED.fullmatch(text))


def _number(text: str, *, with_comma: bool) -> float | int:
    plain = text.replace(".", "").replace(",", ".") if with_comma else text.replace(",", "")
    is_whole = plain.lstrip("+-").isdigit()
    return int(plain) if is_whole and len(plain) < 19 else float(plain)


def uses_decimal_commas(rows: Iterable[Sequence[str]], delimiter: str) -> bool:
    """Return whether numbers are written with decimal commas, by the fields of the first rows."""
    columns = [
        [field.strip() for field in column if field.strip() not in MISSING_WORDS]
        for column in zip_longest(*rows, fillvalue="")
    ]
    numbers = [column for column in columns if column and all(map(_WITH_COMMA.fullmatch, column))]
    with_comma = [field for column in numbers for field in column if "," in field]
    if any(not _WITH_POINT_GROUPED.fullmatch(field) for field in with_comma):
        return True
    # Nothing but 1,234 and the like: a thousand and more, unless the rest of the file speaks for
    # a country that separates fields by semicolons.
    has_points = any(_DECIMAL_POINT.fullmatch(field) for column in columns for field in column)
    return bool(with_comma) and delimiter == ";" and not has_points


def is_text(column: pd.Series[Any]) -> bool:
    """Return whether a column holds text, and missing values at most besides."""
    if isinstance(column.dtype, pd.StringDtype):
        return True
    is_object = column.dtype == object
    return bool(is_object and pd.api.types.infer_dtype(column, skipna=True) == "string")


def settle_objects(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of Python objects as numbers, booleans, dates or text if it is such."""
    if column.dtype != object:
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind == "boolean":
        return column.astype("boolean")
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return column.astype(float)
    if kind in ("date", "datetime", "datetime64"):
        has_zone = any(getattr(cell, "tzinfo", None) is not None for cell in column)
        dates = pd.to_datetime(column, errors="coerce", utc=has_zone)
        # Old versions of pandas cannot hold every date; one that is lost must not go missing.
        return dates if dates.notna().sum() == column.notna().sum() else column
    if kind in ("time", "timedelta"):
        return pd.to_timedelta(column.map(str, na_action="ignore") if kind == "time" else column)
    scalars = (str, bool, int, float, Decimal, datetime.date, datetime.time, datetime.timedelta)
    if kind.startswith("mixed") and all(isinstance(cell, scalars) for cell in column.dropna()):
        return column.map(str, na_action="ignore")
    return column


def restore_whole_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return floats as whole numbers if only missing values, gone now, made floats of them."""
    if not pd.api.types.is_float_dtype(column.dtype) or column.isna().any():
        return column
    # Larger floats have no fraction in any case.
    is_whole = bool(((column == column.round()) & (column.abs() < 2**53)).all())
    return column.astype("int64") if is_whole else column


def find_stray(column: pd.Series[Any]) -> str | None:
    """Return an entry that is no number in a column of text most of whose entries are numbers."""
    counts = column.value_counts(sort=False)
    others = [str(level) for level in counts.index if not is_number(str(level))]
    n_most = (1.0 - MIN_PROPORTION_OF_NUMBERS) * counts.sum() + 1e-9
    return others[0] if 0 < counts[others].sum() <= n_most else None


def labels_rows(column: pd.Series[Any]) -> bool:
    """Return whether the values of a column without a name count the rows, or name each."""
    if not column.is_unique or column.isna().any():
        return False
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any():
        return bool(numbers.isna().all())
    is_whole = bool((numbers == numbers.round()).all())
    return is_whole and bool(numbers.max() - numbers.min() == len(column) - 1)


def tidy_columns(frame: pd.DataFrame, *, with_commas: bool) -> tuple[pd.DataFrame, list[str]]:
    """Return a table whose text is stripped, and numbers where text is numbers, with notes.

    With commas, 1,234 is little more than one and 1.234 more than a thousand, not vice versa.

    Examples
    --------
    >>> import pandas as pd
    >>> tidy, notes = tidy_columns(pd.DataFrame({"ph": ["6,5", " 7 "]}), with_commas=False)
    >>> tidy["ph"].tolist(), notes
    ([6.5, 7.0], ["Decimal commas are read in 'ph'."])
    """
    tidy: dict[Any, pd.Series[Any]] = {}
    remarks: list[Remark] = []
    for name, column in frame.items():
        tidy[name] = _strip(column)
        if is_text(tidy[name]):
            tidy[name], found = _read_numbers(tidy[name], str(name), with_commas=with_commas)
            remarks += found
    order = (PERCENT, COMMAS, THOUSANDS, DASHES, STRAYS)
    remarks.sort(key=lambda remark: order.index(remark.note))
    return pd.DataFrame(tidy, index=frame.index), write_notes(remarks)


def _strip(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column without blanks around text and without words for missing values."""
    if not isinstance(column.dtype, pd.StringDtype) and column.dtype != object:
        return column
    stripped = {level: level.strip() for level in column.unique() if isinstance(level, str)}
    changed = {
        level: None if text in MISSING_WORDS else text
        for level, text in stripped.items()
        if text != level or text in MISSING_WORDS
    }
    if changed:
        column = column.map(lambda cell: changed.get(cell, cell), na_action="ignore")
        column = column.infer_objects()
    return settle_objects(column)


def _read_numbers(
    column: pd.Series[Any], name: str, *, with_commas: bool
) -> tuple[pd.Series[Any], list[Remark]]:
    """Return a column of text as numbers if it is that, with remarks."""
    remarks = []
    levels = [str(level) for level in column.dropna().unique()]
    numbers = [level for level in levels if level not in MISSING_AMONG_NUMBERS]
    if numbers and all(level.endswith("%") for level in numbers):
        column = column.map(lambda cell: cell.removesuffix("%").rstrip(), na_action="ignore")
        numbers = [level.removesuffix("%").rstrip() for level in numbers]
        remarks.append(Remark(PERCENT, name))
    has_commas = bool(numbers) and all(map(_WITH_COMMA.fullmatch, numbers))
    has_points = bool(numbers) and all(map(_has_point_form, numbers))
    if not has_commas and not has_points:
        stray = find_stray(column)
        if stray is not None:
            remarks.append(Remark(STRAYS, name, f" ({stray!r})"))
        return column, remarks
    is_comma_form = has_commas and (with_commas or not has_points)
    if not (is_comma_form and with_commas) and any("," in level for level in numbers):
        remarks.append(Remark(COMMAS if is_comma_form else THOUSANDS, name))
    if len(numbers) < len(levels):
        remarks.append(Remark(DASHES, name))
    values = {level: _number(level, with_comma=is_comma_form) for level in numbers}
    return column.map(values), remarks
