"""What cells mean: gaps, numbers however they are written, and text."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pandas as pd

from umfi.errors import MAX_LISTED_NAMES, listed

__all__ = [
    "GAPS",
    "Stray",
    "find_stray",
    "is_number",
    "is_text",
    "restore_whole_numbers",
    "settle_objects",
    "tidy_columns",
    "uses_decimal_commas",
]

# Those of pandas, the question mark of the UCI tables, and the errors of Excel. Numbers such as
# -999 are left alone: they may be measured.
GAPS = frozenset({"#N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"})
GAPS |= {"<NA>", "N/A", "NA", "NULL", "NaN"}
GAPS |= {"", "#N/A N/A", "None", "n/a", "nan", "null", "?"}
GAPS |= {"#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}
# Gaps among numbers only: elsewhere a dash may be a strand, or the outcome of a test.
GAPS_AMONG_NUMBERS = frozenset(["-", "--", "–", "—", ".", ".."])
# A column of text with at least this share of numbers was probably meant to be numbers.
MIN_NUMBER_SHARE = 0.8

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_WITH_POINT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)" + _EXPONENT)
_WITH_POINT_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
_WITH_COMMA = re.compile(r"[+-]?(?=[\d,])(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)?(?:,\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.(?!\d{3}$)\d+" + _EXPONENT)


class Stray(NamedTuple):
    """Entries that keep a column of numbers from being one."""

    example: str
    n_rows: int


def is_number(text: str) -> bool:
    """Return whether a text is a number, with a point or a comma.

    Examples
    --------
    >>> [is_number(text) for text in ("1.5e3", "1.234,5", "1,234.5", "<0.01")]
    [True, True, True, False]
    """
    return _has_point_form(text) or _WITH_COMMA.fullmatch(text) is not None


def _has_point_form(text: str) -> bool:
    return bool(_WITH_POINT.fullmatch(text) or _WITH_POINT_GROUPED.fullmatch(text))


def _number(text: str, *, with_comma: bool) -> float | int:
    plain = text.replace(".", "").replace(",", ".") if with_comma else text.replace(",", "")
    is_whole = plain.lstrip("+-").isdigit()
    return int(plain) if is_whole and len(plain) < 19 else float(plain)


def uses_decimal_commas(rows: Iterable[Sequence[str]], delimiter: str) -> bool:
    """Return whether a file is one of decimal commas, by the fields of its first rows.

    Examples
    --------
    >>> uses_decimal_commas([["1,5", "clay"], ["2,25", "sand"]], ";")
    True
    """
    columns = [[field for field in column if field not in GAPS] for column in _turned(rows)]
    numbers = [column for column in columns if column and all(map(_WITH_COMMA.fullmatch, column))]
    with_comma = [field for column in numbers for field in column if "," in field]
    if any(not _WITH_POINT_GROUPED.fullmatch(field) for field in with_comma):
        return True
    # Nothing but 1,234 and the like: a thousand and more, unless the rest of the file speaks for
    # a country that separates fields by semicolons.
    has_points = any(_DECIMAL_POINT.fullmatch(field) for column in columns for field in column)
    return bool(with_comma) and delimiter == ";" and not has_points


def _turned(rows: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    rows = list(rows)
    for position in range(max(map(len, rows), default=0)):
        yield [row[position].strip() for row in rows if position < len(row)]


def is_text(column: pd.Series[Any]) -> bool:
    """Return whether a column holds text, and gaps at most besides."""
    if isinstance(column.dtype, pd.StringDtype):
        return True
    is_object = column.dtype == object
    return bool(is_object and pd.api.types.infer_dtype(column, skipna=True) == "string")


def settle_objects(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of Python objects as numbers, booleans, dates or text if it is such.

    Examples
    --------
    >>> import pandas as pd
    >>> settle_objects(pd.Series([True, None], dtype=object)).dtype
    BooleanDtype
    >>> settle_objects(pd.Series([1, "n/a*"], dtype=object)).tolist()
    ['1', 'n/a*']
    """
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
        # Old versions of pandas cannot hold every date; one that is lost must not be a gap.
        return dates if dates.notna().sum() == column.notna().sum() else column
    if kind in ("time", "timedelta"):
        return pd.to_timedelta(column.map(str, na_action="ignore") if kind == "time" else column)
    scalars = (str, bool, int, float, Decimal, datetime.date, datetime.time, datetime.timedelta)
    if kind.startswith("mixed") and all(isinstance(cell, scalars) for cell in column.dropna()):
        return column.map(str, na_action="ignore")
    return column


def restore_whole_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return floats as whole numbers if they are: gaps alone, gone now, made floats of them.

    Examples
    --------
    >>> import pandas as pd
    >>> restore_whole_numbers(pd.Series([1.0, 2.0])).tolist()
    [1, 2]
    """
    if not pd.api.types.is_float_dtype(column.dtype) or column.isna().any():
        return column
    # Larger floats have no fraction in any case.
    is_whole = bool(((column == column.round()) & (column.abs() < 2**53)).all())
    return column.astype("int64") if is_whole else column


def find_stray(column: pd.Series[Any]) -> Stray | None:
    """Return what is no number in a column of text most of whose entries are numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> find_stray(pd.Series(["1", "2.5", "3", "4", "<0.01"]))
    Stray(example='<0.01', n_rows=1)
    """
    counts = column.value_counts(sort=False)
    others = [str(level) for level in counts.index if not is_number(str(level))]
    n_others = int(counts[others].sum())
    if n_others == 0 or n_others > (1.0 - MIN_NUMBER_SHARE) * int(counts.sum()) + 1e-9:
        return None
    return Stray(others[0], n_others)


def tidy_columns(frame: pd.DataFrame, *, with_commas: bool) -> tuple[pd.DataFrame, list[str]]:
    """Return a table whose text is stripped, and numbers where text is numbers, with notes.

    Parameters
    ----------
    frame : DataFrame of unique names
    with_commas : bool
        Whether 1,234 is little more than one and 1.234 more than a thousand, not vice versa.

    Examples
    --------
    >>> import pandas as pd
    >>> tidy, notes = tidy_columns(pd.DataFrame({"ph": ["6,5", " 7 "]}), with_commas=False)
    >>> tidy["ph"].tolist(), notes
    ([6.5, 7.0], ["Decimal commas are read in 'ph'."])
    """
    tidy: dict[Any, pd.Series[Any]] = {}
    found: dict[str, list[str]] = {"percent": [], "commas": [], "groups": [], "gaps": []}
    strays: list[str] = []
    for name, column in frame.items():
        column = tidy[name] = _tidy_column(column)
        if not is_text(column):
            continue
        levels = [str(level) for level in column.dropna().unique()]
        numbers = [level for level in levels if level not in GAPS_AMONG_NUMBERS]
        if numbers and all(level.endswith("%") for level in numbers):
            column = tidy[name] = column.map(
                lambda cell: cell.removesuffix("%").rstrip(), na_action="ignore"
            )
            levels = [level.removesuffix("%").rstrip() for level in levels]
            numbers = [level.removesuffix("%").rstrip() for level in numbers]
            found["percent"].append(str(name))
        has_commas = bool(numbers) and all(map(_WITH_COMMA.fullmatch, numbers))
        has_points = bool(numbers) and all(map(_has_point_form, numbers))
        if not has_commas and not has_points:
            stray = find_stray(column)
            if stray is not None:
                strays.append(f"{str(name)!r} ({stray.example!r})")
            continue
        is_comma_form = has_commas and (with_commas or not has_points)
        value_of = {level: _number(level, with_comma=is_comma_form) for level in numbers}
        tidy[name] = column.map(value_of)
        if not (is_comma_form and with_commas) and any("," in level for level in numbers):
            found["commas" if is_comma_form else "groups"].append(str(name))
        if len(numbers) < len(levels):
            found["gaps"].append(str(name))
    notes = {
        "percent": "Signs of per cent are left out in {}.",
        "commas": "Decimal commas are read in {}.",
        "groups": "Commas are read as separators of thousands in {}.",
        "gaps": "Dashes and dots without a number are taken as missing in {}.",
    }
    told = [text.format(listed(found[key])) for key, text in notes.items() if found[key]]
    if strays:
        hidden = len(strays) - MAX_LISTED_NAMES
        more = f" and {hidden} more" if hidden > 0 else ""
        told.append(
            "Text stays text where not every entry is a number: "
            + ", ".join(strays[:MAX_LISTED_NAMES])
            + f"{more}; correct such entries if the column is a quantity."
        )
    return pd.DataFrame(tidy, index=frame.index), told


def _tidy_column(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column without blanks around text and without text that means a gap."""
    if not isinstance(column.dtype, pd.StringDtype) and column.dtype != object:
        return column
    changed = {}
    for level in filter(lambda cell: isinstance(cell, str), column.unique()):
        stripped = level.strip()
        if stripped != level or stripped in GAPS:
            changed[level] = None if stripped in GAPS else stripped
    if changed:
        column = column.map(lambda cell: changed.get(cell, cell), na_action="ignore")
        column = column.infer_objects()
    return settle_objects(column)
