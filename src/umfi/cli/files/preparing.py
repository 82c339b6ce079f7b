"""A table from a file becomes features and a response, with notes on what was left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from umfi.cli.files.cells import (
    Remark,
    find_stray,
    is_text,
    restore_whole_numbers,
    settle_objects,
    write_notes,
)
from umfi.data.columns import MIN_ROWS
from umfi.data.frames import MAX_LEVELS, MISSING
from umfi.errors import InputError, listed, unknown_name

__all__ = ["Prepared", "prepare"]

EMPTY = "Left out for having no value at all: {names}."
CONSTANT = "Left out for having one single value: {names}."
LABELS = "Left out as row labels, because most of their texts are different: {names}."
ALMOST_NUMBERS = (
    "Left out as text with too many values, though most are numbers: {names}; correct what is no "
    "number in the file."
)
NUMBERED = "Left out as row numbers: {names}; --kinds {name}=continuous keeps {it}."
UNCLEAR_DATES = (
    "Taken as text, because its dates do not show which is the day and which the month: {names}; "
    "write them as 2021-07-03."
)
DATES = "Taken as days since the first date: {names}; --drop {name} leaves {it} out."
SPANS = "Taken as days: {names}; --drop {name} leaves {it} out."

# So many of the differences between successive row numbers are 1.
MIN_CONSECUTIVE_PROPORTION = 0.9

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_YEAR_LAST = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}( \d{1,2}:\d{2}(:\d{2})?)?")
_DATE_FORMS = ("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_IDENTIFIERS = {"id", "ids", "identifier", "uuid", "guid", "nr", "nummer"}
_NAMES_OF_ROWS = {"index", "idx", "row", "rownames", "rowname", "rownumber", "key", "record", "obs"}
_JOINED_IDENTIFIER = re.compile(
    r"(sample|patient|subject|participant|person|user|customer|client|row|record|case|study|obs"
    r"|observation|item|product|order|unit|plot|site|station|house|animal|object|gene)(id|no|nr)"
)


class Prepared(NamedTuple):
    """Features, a response of the same rows, notes, and the kinds that features were given."""

    X: pd.DataFrame
    y: pd.Series[Any] | None
    notes: list[str]
    kinds: dict[str, str] | None = None


def prepare(
    frame: pd.DataFrame,
    target: str | None,
    *,
    drop: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
) -> Prepared:
    """Return the features and the response in a table, and notes on what was left out.

    Left out are rows without a response, and columns that are empty, constant or only label rows,
    unless their kind is given. Dates and times become days. The table itself is not changed.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": range(4), "ph": [6.5, 7.1, 6.9, 5.0],
    ...                       "soil": ["clay", "sand", "clay", None]})
    >>> data = prepare(frame, "soil")
    >>> list(data.X), len(data.y)
    (['ph'], 3)
    >>> data.notes[1]
    "Left out as row numbers: 'id'; --kinds 'id'=continuous keeps it."
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
        y = _take_target(frame[target], has_target)
        if len(y) < len(frame):
            notes.append(
                f"Left out for lack of a value of the target {target!r}: {len(frame) - len(y)} of "
                f"{len(frame)} rows."
            )
    features: dict[str, pd.Series[Any]] = {}
    remarks: list[Remark] = []
    for name in names:
        if name == target or name in dropped:
            continue
        column = settle_objects(frame[name])
        _refuse_objects(name, column)
        if name in kinds:
            features[name] = column[has_target]
            continue
        feature, note, detail = _read_feature(name, column, has_target, missing)
        if feature is not None:
            features[name] = feature
        if note:
            remarks.append(Remark(note, name, detail))
    notes += write_notes(remarks)
    if not features:
        beside = "" if target is None else f" beside the target {target!r}"
        raise InputError(" ".join([f"No feature is left{beside}.", *notes]))
    X = pd.DataFrame(features, index=frame.index[has_target])
    if missing == "error":
        _refuse_missing_values(X)
    return Prepared(X, y, notes, {name: kinds[name] for name in kinds if name in X} or None)


def _refuse_names(
    names: Sequence[str], target: str | None, dropped: Sequence[str], kinds: Mapping[str, str]
) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"The table has more than one column named {listed(repeated)}: rename the repeats."
        )
    wanted = {"target": [] if target is None else [target], "drop": dropped, "kinds": kinds}
    for option, name in ((one, name) for one, some in wanted.items() for name in some):
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
        example = example if len(example) <= 40 else example[:37] + "..."
        raise InputError(
            f"Column {name!r} holds values such as {example}: turn it into numbers or text, or "
            f"pass --drop {name!r}."
        )


def _take_target(column: pd.Series[Any], is_known: Any) -> pd.Series[Any]:
    """Return the known values of the response."""
    name = str(column.name)
    if not is_known.any():
        raise InputError(f"The target {name!r} has no value at all: choose another with --target.")
    y = settle_objects(column[is_known]).copy()
    _refuse_objects(name, y)
    if _read_dates(y) is not None:
        raise InputError(
            f"The target {name!r} holds dates: choose another with --target, or turn it into a "
            "number, such as days since a start."
        )
    return y if is_known.all() else restore_whole_numbers(y)


def _read_feature(
    name: str, column: pd.Series[Any], has_target: Any, missing: str
) -> tuple[pd.Series[Any] | None, str, str]:
    """Return a feature that no kind was given for or None, and a note with a detail, if any."""
    rows = column[has_target]
    known = rows.dropna()
    if len(known) == 0:
        return None, EMPTY, ""
    is_constant = bool((known == known.iloc[0]).all())
    if is_constant and (missing != "level" or len(known) == len(rows)):
        return None, CONSTANT, ""
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return rows.dt.total_seconds() / 86400.0, SPANS, ""
    dates = _read_dates(rows)
    if dates is not None:
        first = dates.min()
        return (dates - first).dt.total_seconds() / 86400.0, DATES, f" ({first:%Y-%m-%d})"
    is_category = isinstance(column.dtype, pd.CategoricalDtype) and not column.dtype.ordered
    if is_text(column) or is_category:
        levels = known.unique()
        if len(levels) == 2 or len(levels) <= min(MAX_LEVELS, len(rows) / 2):
            are_dates = is_text(column) and all(map(_YEAR_LAST.fullmatch, levels))
            return rows, UNCLEAR_DATES if are_dates else "", ""
        stray = find_stray(known) if is_text(column) else None
        if stray is not None:
            return None, ALMOST_NUMBERS, f" (such as {stray!r})"
        return None, LABELS, ""
    return (None, NUMBERED, "") if _numbers_rows(name, column) else (rows, "", "")


def _numbers_rows(name: str, column: pd.Series[Any]) -> bool:
    """Return whether whole numbers count the rows, or are all distinct and named as identifiers.

    Numbers count the rows if they follow each other; ranks in another order are measured.
    """
    dtype, known = column.dtype, column.dropna()
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return False
    values = known.to_numpy(dtype=np.float64)
    is_whole = bool(np.isfinite(values).all()) and bool((values == np.round(values)).all())
    if not is_whole or not known.is_unique:
        return False
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())
    joined = "".join(words)
    if _IDENTIFIERS.intersection(words) or joined in _NAMES_OF_ROWS:
        return True
    if _JOINED_IDENTIFIER.fullmatch(joined):
        return True
    # Rows may have been taken out since they were numbered.
    gaps = np.diff(values)
    is_counted = (gaps >= 1.0).all() and (gaps == 1.0).mean() >= MIN_CONSECUTIVE_PROPORTION
    return len(known) == len(column) and bool(is_counted)


def _read_dates(rows: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return a column of dates, be they written as text, or None if it is not clearly one."""
    if isinstance(rows.dtype, pd.PeriodDtype):
        return rows.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(rows.dtype):
        return rows
    if not is_text(rows):
        return None
    levels = pd.Series(rows.dropna().unique(), dtype=object)
    time = {1: " %H:%M", 2: " %H:%M:%S"}.get(levels[0].count(":"), "")
    forms = [form + time for form in _DATE_FORMS if form[2] in levels[0]]
    if all(map(_ISO_DATE.fullmatch, levels)):
        forms = ["ISO8601"]
    dates = [pd.to_datetime(levels, format=one, errors="coerce", utc=True) for one in forms]
    readings = [days for days in dates if days.notna().all()]
    if len(readings) != 1:  # Which is the day and which the month is not clear, or it is no date.
        return None
    return pd.to_datetime(rows.map(dict(zip(levels, readings[0], strict=True))), utc=True)


def _refuse_missing_values(X: pd.DataFrame) -> None:
    n_incomplete = int(X.isna().any(axis=1).sum())
    if n_incomplete == 0:
        return
    counts = X.isna().sum().sort_values(ascending=False, kind="stable")
    counts = counts[counts > 0]
    worst = "in " + " and ".join(f"{name!r} ({n})" for name, n in counts.iloc[:2].items())
    if len(counts) > 2:
        worst = "most " + worst
    elif len(counts) == 1:
        worst = f"all in {counts.index[0]!r}"
    level = "--missing level to take 'missing' as a value of its own"
    if len(X) - n_incomplete < MIN_ROWS:
        way_out = f"pass {level}, or --drop to leave such columns out"
    else:
        way_out = f"pass --missing drop to leave these rows out, or {level}"
    raise InputError(f"{n_incomplete} of {len(X)} rows have missing values, {worst}: {way_out}.")
