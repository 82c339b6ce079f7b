"""A table from a file becomes features and a response, with notes on what was left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from umfi.cli.files.cells import find_stray, is_text, restore_whole_numbers, settle_objects
from umfi.data.columns import MIN_ROWS
from umfi.data.frames import MAX_LEVELS, MISSING
from umfi.errors import InputError, listed, unknown_name

__all__ = ["Prepared", "prepare"]

# What becomes of columns: one note for all columns of the same fate.
EMPTY = "Left out for having no value at all: {names}."
CONSTANT = "Left out for having one single value: {names}."
LABELS = "Left out as row labels, because most of their texts are different: {names}."
ALMOST_NUMBERS = (
    "Left out as text with too many values, though most are numbers: {names}; correct what is no "
    "number in the file."
)
NUMBERED = "Left out as row numbers: {names}; --kinds {name}=continuous keeps {it}."
UNCLEAR_DATES = (
    "Taken as text, because day and month of its dates cannot be told apart: {names}; write them "
    "as 2021-07-03."
)
DATES = "Taken as days since the first date: {names}; --drop {name} leaves {it} out."
SPANS = "Taken as days: {names}; --drop {name} leaves {it} out."

# Of the steps from one row number to the next, so many are of one.
MIN_COUNTED_SHARE = 0.9

_ISO_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_TIME = r"(?: \d{1,2}:\d{2}(?::\d{2})?)?"
_YEAR_FIRST = r"\d{4}/\d{1,2}/\d{1,2}" + _TIME
_YEAR_LAST = r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})" + _TIME
_IDENTIFIERS = {"id", "ids", "identifier", "uuid", "guid", "nr", "nummer"}
_NAMES_OF_ROWS = {"index", "idx", "row", "rownames", "rowname", "rownumber", "key", "record", "obs"}
_JOINED_IDENTIFIER = re.compile(
    r"(sample|patient|subject|participant|person|user|customer|client|row|record|case|study|obs"
    r"|observation|item|product|order|unit|plot|site|station|house|animal|object|gene)(id|no|nr)"
)


@dataclass(frozen=True)
class Prepared:
    """Features and a response.

    Attributes
    ----------
    X : DataFrame
        The features.
    y : Series, optional
        The response, without gaps; its rows are those of X.
    notes : list of str
        What was left out or converted, a sentence each.
    """

    X: pd.DataFrame
    y: pd.Series[Any] | None
    notes: list[str]


class _Fate(NamedTuple):
    """What becomes of a column: its values if it is kept, and what is to be said."""

    column: pd.Series[Any] | None
    note: str | None = None
    detail: str = ""


def prepare(
    frame: pd.DataFrame,
    target: str | None,
    *,
    drop: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
) -> Prepared:
    """Return the features and the response in a table, and notes on what was left out.

    Left out are rows without a response, and columns that are empty, constant or only label rows.
    Dates and times become days. The table itself is not changed.

    Parameters
    ----------
    frame : DataFrame
    target : str, optional
        The column that is the response, if there is one.
    drop : sequence of str
        Columns that are not to be used.
    kinds : dict, optional
        Column name to kind; these columns are neither left out nor converted.
    missing : {"error", "drop", "level"}
        Whether missing values of features are refused; the other two are left to the method.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": range(4), "ph": [6.5, 7.1, 6.9, 5.0],
    ...                       "soil": ["clay", "sand", "clay", None]})
    >>> data = prepare(frame, "soil")
    >>> list(data.X), len(data.y)
    (['ph'], 3)
    >>> for note in data.notes:
    ...     print(note)
    Left out for lack of a value of the target 'soil': 1 of 4 rows.
    Left out as row numbers: 'id'; --kinds 'id'=continuous keeps it.
    """
    dropped = [drop] if isinstance(drop, str) else [str(name) for name in drop]
    kinds = {str(name): str(kind) for name, kind in (kinds or {}).items()}
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    _refuse_names(names, target, dropped, kinds)
    if missing not in MISSING:
        raise unknown_name("value for --missing", missing, MISSING)
    y, notes = None, list[str]()
    has_target = np.ones(len(frame), dtype=bool)
    if target is not None:
        has_target = frame[target].notna().to_numpy(dtype=bool)
        y, notes = _take_target(frame[target], has_target)
    kept: dict[str, pd.Series[Any]] = {}
    fates: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        if name == target or name in dropped:
            continue
        column = settle_objects(frame[name])
        _refuse_objects(name, column)
        fate = _Fate(column[has_target])
        if name not in kinds:
            fate = _find_fate(name, column, has_target, missing)
        if fate.column is not None:
            kept[name] = fate.column
        if fate.note is not None:
            fates.setdefault(fate.note, []).append((name, fate.detail))
    notes += [_tell(note, told) for note, told in fates.items()]
    if not kept:
        beside = "" if target is None else f" beside the target {target!r}"
        raise InputError(" ".join([f"No feature is left{beside}.", *notes]))
    X = pd.DataFrame(kept, index=frame.index[has_target])
    if missing == "error":
        _refuse_gaps(X)
    return Prepared(X, y, notes)


def _refuse_names(
    names: Sequence[str], target: str | None, dropped: Sequence[str], kinds: Mapping[str, str]
) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"The table has more than one column named {listed(repeated)}: rename the repeats."
        )
    wanted_target = [] if target is None else [target]
    for option, wanted in (("target", wanted_target), ("drop", dropped), ("kinds", list(kinds))):
        for name in wanted:
            if name not in names:
                raise unknown_name(f"column for --{option}", name, names)
            if option != "target" and name == target:
                raise InputError(f"{name!r} is the target: leave it out of --{option}.")
    both = [name for name in kinds if name in dropped]
    if both:
        raise InputError(f"--drop and --kinds both name {listed(both)}: leave it out of one.")


def _refuse_objects(name: str, column: pd.Series[Any]) -> None:
    if column.dtype == object and not is_text(column) and column.notna().any():
        example = repr(column.dropna().iloc[0])
        shown = example if len(example) <= 40 else example[:37] + "..."
        raise InputError(
            f"Column {name!r} holds values such as {shown}: turn it into numbers or text, or pass "
            f"--drop {name!r}."
        )


def _take_target(column: pd.Series[Any], is_known: Any) -> tuple[pd.Series[Any], list[str]]:
    """Return the known values of the response, and a note on the others."""
    name = str(column.name)
    n_rows, n_gaps = len(column), int((~is_known).sum())
    if n_gaps == n_rows:
        raise InputError(f"The target {name!r} has no value at all: choose another with --target.")
    y = settle_objects(column[is_known]).copy()
    _refuse_objects(name, y)
    if _read_dates(y) is not None:
        raise InputError(
            f"The target {name!r} holds dates: choose another with --target, or turn it into a "
            "number, such as days since a start."
        )
    if n_gaps == 0:
        return y, []
    return restore_whole_numbers(y), [
        f"Left out for lack of a value of the target {name!r}: {n_gaps} of {n_rows} rows."
    ]


def _find_fate(name: str, column: pd.Series[Any], has_target: Any, missing: str) -> _Fate:
    """Return what becomes of a column that no kind was given for."""
    rows = column[has_target]
    known = rows.dropna()
    if len(known) == 0:
        return _Fate(None, EMPTY)
    is_constant = bool((known == known.iloc[0]).all())
    if is_constant and (missing != "level" or len(known) == len(rows)):
        return _Fate(None, CONSTANT)
    dtype = column.dtype
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _Fate(_to_days(rows), SPANS)
    dates = _read_dates(rows)
    if dates is not None:
        first = dates.min()
        return _Fate(_to_days(dates - first), DATES, f" ({first:%Y-%m-%d})")
    if is_text(column) or (isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered):
        n_levels = known.nunique()
        if n_levels == 2 or n_levels <= min(MAX_LEVELS, len(rows) / 2):
            is_unclear = is_text(column) and _are_unclear_dates(known)
            return _Fate(rows, UNCLEAR_DATES if is_unclear else None)
        stray = find_stray(known) if is_text(column) else None
        if stray is not None:
            return _Fate(None, ALMOST_NUMBERS, f" (such as {stray.example!r})")
        return _Fate(None, LABELS)
    return _Fate(None, NUMBERED) if _numbers_rows(name, column) else _Fate(rows)


def _numbers_rows(name: str, column: pd.Series[Any]) -> bool:
    """Return whether whole numbers count the rows, or are all distinct and named as identifiers.

    Numbers count the rows if they follow each other; ranks in another order are measured.
    """
    dtype = column.dtype
    known = column.dropna()
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return False
    if not known.is_unique:
        return False
    values = known.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all() or (values != np.round(values)).any():
        return False
    if _is_identifier(name):
        return True
    steps = np.diff(values)
    # Rows may have been taken out since they were numbered.
    is_counted = bool((steps >= 1.0).all()) and float((steps == 1.0).mean()) >= MIN_COUNTED_SHARE
    return len(known) == len(column) and is_counted


def _is_identifier(name: str) -> bool:
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = re.findall(r"[^\W_]+", split.lower())
    joined = "".join(words)
    return (
        bool(_IDENTIFIERS.intersection(words))
        or joined in _NAMES_OF_ROWS
        or _JOINED_IDENTIFIER.fullmatch(joined) is not None
    )


def _read_dates(rows: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return a column of dates, be they written as text, or None if it is not one."""
    if isinstance(rows.dtype, pd.PeriodDtype):
        return rows.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(rows.dtype):
        return rows
    if not is_text(rows):
        return None
    levels = [str(level) for level in rows.dropna().unique()]
    form = _find_form(levels)
    if form is None:
        return None
    days = pd.to_datetime(pd.Series(levels), format=form, errors="coerce", utc=True)
    if days.isna().any():
        return None
    return pd.to_datetime(rows.map(dict(zip(levels, days, strict=True))), utc=True)


def _are_unclear_dates(known: pd.Series[Any]) -> bool:
    """Return whether text is dates with the year last that may begin with day or month."""
    return all(re.fullmatch(_YEAR_LAST, str(level)) for level in known.unique())


def _find_form(levels: Sequence[str]) -> str | None:
    """Return how all dates are written, or None if they are none or it is not clear."""
    if all(re.fullmatch(_ISO_DATE, level) for level in levels):
        return "ISO8601"
    time = {0: "", 1: " %H:%M", 2: " %H:%M:%S"}.get(levels[0].count(":"), "")
    if all(re.fullmatch(_YEAR_FIRST, level) for level in levels):
        return "%Y/%m/%d" + time
    parts = [re.fullmatch(_YEAR_LAST, level) for level in levels]
    matches = [part for part in parts if part is not None]
    marks = {match[2] for match in matches}
    if len(matches) < len(levels) or len(marks) != 1:
        return None
    mark = marks.pop()
    first, second = (max(int(match[group]) for match in matches) for group in (1, 3))
    if mark == "." or (first > 12 >= second):
        return f"%d{mark}%m{mark}%Y{time}"
    return f"%m{mark}%d{mark}%Y{time}" if second > 12 >= first else None


def _to_days(spans: pd.Series[Any]) -> pd.Series[Any]:
    return (spans.dt.total_seconds() / 86400.0).astype(np.float64)


def _tell(note: str, told: Sequence[tuple[str, str]]) -> str:
    names = [name for name, _ in told]
    is_one = len(told) == 1
    shown = repr(names[0]) + told[0][1] if is_one else listed(names)
    return note.format(
        names=shown,
        name=repr(names[0]) if is_one else "NAME",
        it="it" if is_one else "one of them",
    )


def _refuse_gaps(X: pd.DataFrame) -> None:
    is_gap = X.isna()
    n_incomplete = int(is_gap.any(axis=1).sum())
    if n_incomplete == 0:
        return
    counts = is_gap.sum().sort_values(ascending=False, kind="stable")
    counts = counts[counts > 0]
    worst = " and ".join(f"{str(name)!r} ({count})" for name, count in counts.iloc[:2].items())
    if len(counts) > 2:
        worst = "most in " + worst
    elif len(counts) == 1:
        worst = f"all in {str(counts.index[0])!r}"
    else:
        worst = "in " + worst
    level = "--missing level to take 'missing' as a value of its own"
    if len(X) - n_incomplete < MIN_ROWS:
        way_out = f"pass {level}, or --drop to leave such columns out"
    else:
        way_out = f"pass --missing drop to leave these rows out, or {level}"
    raise InputError(f"{n_incomplete} of {len(X)} rows have missing values, {worst}: {way_out}.")
