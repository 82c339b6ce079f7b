"""Text becomes a table: its encoding, comments, delimiter and decimal commas are found.

By hand, because the sniffers of DuckDB, polars, PyArrow and pandas miss decimal commas, blanks as
delimiters, row names and comments, and accept what must be refused; and charset-normalizer takes
short texts in Windows-1252 for Cyrillic or Korean.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import pandas as pd

from umfi.cli.files.cells import MISSING_WORDS, is_number, labels_rows, uses_decimal_commas
from umfi.errors import InputError

__all__ = ["TextTable", "read_text"]

# Text has next to no control characters; pictures and programs are full of them.
MAX_PROPORTION_OF_CONTROLS = 0.05
N_SAMPLE_BYTES = 65536
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # Before UTF-16, whose mark is the beginning of this one.
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# In this order: a tab or semicolon in every line is hardly ever part of a name or value, a comma
# may be one of decimals, and blanks stand in names.
DELIMITERS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "blanks"}
SPELLED = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}
SPELLED |= {"blank": " ", "blanks": " ", "space": " ", "whitespace": " "}
SUGGESTED = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
N_SAMPLE_ROWS = 100
# A field may hold a whole text; the module's own limit is a few pages.
MAX_FIELD_LETTERS = 2**31 - 1
# A delimiter that splits this proportion of the rows as it splits the names is the one.
MIN_EVEN_PROPORTION = 0.9

_PREAMBLE = re.compile(rb"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z))*")
_LINE_END = re.compile(rb"\r\n|\r|\n")
# A quoted field, or the end of a line with the blanks around it, or else blanks.
_BLANKS = re.compile(rb'((?<![^ \t\r\n])"(?:[^"]|"")*")|[ \t]*([\r\n]+)[ \t]*|[ \t]+')
_EXCEL_HINT = re.compile(rb"sep=([,;:|\t])(?:\r\n|\r|\n)")


class TextTable(NamedTuple):
    """What a text holds: the names as written, one for each column, and the columns."""

    names: list[str]
    frame: pd.DataFrame
    with_commas: bool
    notes: list[str]


class _Cut(NamedTuple):
    """A text in UTF-8 as a delimiter cuts it into fields, with its names and first rows."""

    text: bytes
    n_lines_above: int
    delimiter: str
    names: list[str]
    rows: list[list[str]]
    has_row_names: bool  # In front of the fields that the names are for.
    even_proportion: float  # Of rows with as many fields as they should have.

    @property
    def width(self) -> int:
        return len(self.names) + self.has_row_names


def read_text(
    data: bytes, *, label: str, suffix: str, delimiter: str | None, encoding: str | None
) -> TextTable:
    r"""Return the table in a text; the suffix suggests a delimiter, the label is for messages.

    Examples
    --------
    >>> table = read_text(b"# soils\nph;clay\n6,5;12\n", label="'soil.csv'", suffix=".csv",
    ...                   delimiter=None, encoding=None)
    >>> table.names, table.with_commas
    (['ph', 'clay'], True)
    """
    text, notes = _to_utf8(data, encoding, label)
    preamble = _PREAMBLE.match(text)
    above = preamble[0] if preamble else b""
    comments = [line for line in _LINE_END.split(above) if line.lstrip().startswith(b"#")]
    text, n_above = text[len(above) :], len(_LINE_END.findall(above))
    hint = _EXCEL_HINT.match(text)
    if hint:
        text, n_above, comments = text[hint.end() :], n_above + 1, []
        delimiter = delimiter or hint[1].decode()
    if not text.strip():
        raise InputError(f"{label} is empty: pass a file with column names and rows.")
    cut = _find_delimiter(text, n_above, _one_character(delimiter), label)
    if comments and any(map(is_number, cut.names)):
        line = comments[-1].lstrip().lstrip(b"#").strip() + b"\n"
        commented = _cut(line + text, n_above - 1, cut.delimiter)
        if len(commented.names) == len(cut.names) and not any(map(is_number, commented.names)):
            cut = commented
            notes.append(f"The column names are taken from the comment in line {n_above}.")
    if delimiter is None and SUGGESTED.get(suffix, cut.delimiter) != cut.delimiter:
        notes.append(f"Fields are separated by {DELIMITERS[cut.delimiter]}.")
    if cut.has_row_names:
        notes.append("The first field of each row has no column name and is left out.")
    if all(is_number(name.strip()) for name in cut.names):
        notes.append("All column names are numbers: put a line of names first if there is none.")
    n_short, first_short = _check_rows(cut, label)
    if n_short:
        notes.append(
            f"Rows with fewer fields than names, {n_short} of them and the first in line "
            f"{first_short}, are taken to lack the last ones."
        )
    with_commas = uses_decimal_commas(cut.rows, cut.delimiter)
    if with_commas:
        notes.append("Numbers are written with decimal commas.")
    return TextTable(cut.names, _read_values(cut, with_commas, label), with_commas, notes)


def _to_utf8(data: bytes, encoding: str | None, label: str) -> tuple[bytes, list[str]]:
    """Return a text as UTF-8 without a mark, and what is to be said about its encoding."""
    marked = next((name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), None)
    found = encoding or marked or _utf16_without_mark(data)
    if found is None:
        _refuse_binary(data, label)
    for name in [found] if found else ["utf-8", "cp1252"]:
        try:
            text = data.decode(name).removeprefix("\ufeff").encode("utf-8", "replace")
        except LookupError:
            raise InputError(
                f"Unknown encoding {name!r}: pass one such as utf-8, cp1252 or utf-16."
            ) from None
        except ValueError:
            continue
        if name == "cp1252" and not encoding:
            note = "The file is not UTF-8 and is read as Windows-1252: pass --encoding if letters "
            return text, [note + "are wrong."]
        is_wide = name.startswith(("utf-16", "utf-32")) and not encoding
        return text, [f"The encoding is {name.upper()}."] if is_wide else []
    what = f"is not written in {encoding}" if encoding else "is neither UTF-8 nor Windows-1252"
    if found and not encoding:
        what = f"begins as {found.upper()} but does not go on so"
    raise InputError(f"{label} {what}: pass its encoding as --encoding, or save it as UTF-8.")


def _utf16_without_mark(data: bytes) -> str | None:
    """Return the UTF-16 in which every other byte of a Latin text is zero, if it is that."""
    first, second = (data[start:N_SAMPLE_BYTES:2] for start in (0, 1))
    for zeros, letters, name in ((second, first, "utf-16-le"), (first, second, "utf-16-be")):
        if zeros and zeros.count(0) > 0.5 * len(zeros) and letters.count(0) == 0:
            return name
    return None


def _refuse_binary(data: bytes, label: str) -> None:
    sample = data[:N_SAMPLE_BYTES]
    controls = bytes(set(range(32)) - set(b"\t\n\r\f"))
    n_controls = len(sample) - len(sample.translate(None, controls))
    if 0 in data or n_controls > 2 + MAX_PROPORTION_OF_CONTROLS * len(sample):
        raise InputError(
            f"{label} is no text and of no known kind: pass CSV, Parquet, Feather or Excel, or "
            "the encoding as --encoding."
        )


def _one_character(delimiter: str | None) -> str | None:
    if delimiter is None:
        return None
    character = SPELLED.get(delimiter.lower(), delimiter)
    if len(character) != 1 or character in '"\r\n' or not character.isascii():
        raise InputError(
            f"{delimiter!r} is no delimiter: pass one character, or tab, comma, semicolon, bar or "
            "blank."
        )
    return character


def _lines(text: bytes) -> Iterator[str]:
    return io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="")


def _records(text: bytes, n_lines_above: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line in which each record begins, and its fields."""
    csv.field_size_limit(MAX_FIELD_LETTERS)
    reader = csv.reader(_lines(text), delimiter=delimiter, skipinitialspace=True)
    start = 1
    for fields in reader:
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield start + n_lines_above, fields
        start = reader.line_num + 1


def _find_delimiter(text: bytes, n_lines_above: int, delimiter: str | None, label: str) -> _Cut:
    """Return how the text is cut best, or raise if it has one column only."""
    best: _Cut | None = None
    for candidate in [delimiter] if delimiter else DELIMITERS:
        cut = _cut(text, n_lines_above, candidate)
        if len(cut.names) > 1 and (best is None or cut.even_proportion > best.even_proportion):
            best = cut
        if best is not None and best.even_proportion >= MIN_EVEN_PROPORTION:
            break
    if best is not None:
        # Rows that hold more than there are names for get a message of their own.
        are_long = best.delimiter != " " and all(len(row) > len(best.names) for row in best.rows)
        if delimiter or best.even_proportion >= 0.5 or are_long:
            return best
    line = _LINE_END.split(text, maxsplit=1)[0].decode().strip()
    line = repr(line if len(line) <= 40 else line[:37] + "...")
    if delimiter:
        raise InputError(
            f"{label} has one column only if {delimiter!r} is the delimiter: its first line is "
            f"{line}."
        )
    raise InputError(
        f"{label} seems to have one column only: pass its delimiter as --delimiter, and let the "
        f"first line, {line}, hold the column names."
    )


def _cut(text: bytes, n_lines_above: int, delimiter: str) -> _Cut:
    """Return the names and first rows as a delimiter cuts them."""
    if delimiter == " ":  # Any number of blanks, or tabs, is one of them.
        text = _BLANKS.sub(lambda match: match[1] or match[2] or b" ", text).strip(b" ")
    records = _records(text, n_lines_above, delimiter)
    sample = [fields for _, fields in islice(records, N_SAMPLE_ROWS + 1)]
    names, rows = sample[0], sample[1:]
    while len(names) > 1 and not any("".join(row[len(names) - 1 :]).strip() for row in sample):
        names.pop()
    has_row_names = (
        len(names) > 1 <= len(rows)
        and all(len(row) == len(names) + 1 for row in rows)
        and any(row[-1].strip() for row in rows)
        and labels_rows(pd.Series([row[0].strip() for row in rows]))
    )
    width = len(names) + has_row_names
    n_even = sum(len(row) == width or (len(row) > width and not any(row[width:])) for row in rows)
    even_proportion = n_even / len(rows) if rows else 1.0
    return _Cut(text, n_lines_above, delimiter, names, rows, has_row_names, even_proportion)


def _check_rows(cut: _Cut, label: str) -> tuple[int, int]:
    """Return how many rows are short and where the first is, or raise at one that is long."""
    if not cut.rows:
        raise InputError(f"{label} has column names but no rows.")
    short: list[int] = []
    for line, fields in _odd_records(cut):
        if len(fields) < cut.width:
            short.append(line)
        elif any(field.strip() for field in fields[cut.width :]):
            raise InputError(
                f"{label} has {len(fields)} fields in line {line} but {len(cut.names)} column "
                "names: correct that line, quote what holds a delimiter, or pass --delimiter."
            )
    return len(short), short[0] if short else 0


def _odd_records(cut: _Cut) -> Iterator[tuple[int, list[str]]]:
    """Yield the records below the names that have more or fewer fields than they should."""
    if b'"' in cut.text:
        records = islice(_records(cut.text, cut.n_lines_above, cut.delimiter), 1, None)
        yield from (record for record in records if len(record[1]) != cut.width)
        return
    # Without quotes it is enough to count, which takes a tenth of the time.
    for line, text in islice(enumerate(_lines(cut.text), cut.n_lines_above + 1), 1, None):
        if text.count(cut.delimiter) != cut.width - 1 and text.strip():
            yield line, text.rstrip("\r\n").split(cut.delimiter)


def _read_values(cut: _Cut, with_commas: bool, label: str) -> pd.DataFrame:
    positions = list(range(cut.width))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # Long rows are checked.
            frame = pd.read_csv(
                io.BytesIO(cut.text),
                sep=cut.delimiter,
                header=0,
                names=positions,
                usecols=positions[cut.has_row_names :],
                index_col=False,
                skipinitialspace=True,
                na_values=sorted(MISSING_WORDS),
                low_memory=False,
                encoding="utf-8",
                decimal="," if with_commas else ".",
            )
    except pd.errors.ParserError:
        *_, (line, _) = _records(cut.text, cut.n_lines_above, cut.delimiter)
        raise InputError(
            f"{label} has a quote in line {line} that is not closed: correct that line."
        ) from None
    return frame.set_axis(range(len(cut.names)), axis=1)
