"""Text becomes a table: its comments, delimiter and decimal commas are found out."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import pandas as pd

from umfi.cli.files.cells import GAPS, is_number, uses_decimal_commas
from umfi.cli.files.encoding import to_utf8
from umfi.errors import InputError

__all__ = ["TextTable", "read_text"]

# In this order: a tab or semicolon in every line is hardly ever part of a name or value, a comma
# may be one of decimals, and blanks stand in names.
DELIMITERS = ("\t", ";", "|", ",", " ")
DELIMITER_NAMES = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "blanks"}
SPELLED = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}
SPELLED |= {"blank": " ", "blanks": " ", "space": " ", "whitespace": " "}
SUGGESTED = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
N_SAMPLE_ROWS = 100
# A field may hold a whole text; the module's own limit is a few pages.
MAX_FIELD_LETTERS = 2**31 - 1
# A delimiter that splits this share of the rows as it splits the names is the one.
MIN_EVEN_SHARE = 0.9

_PREAMBLE = re.compile(rb"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*")
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


class _Body(NamedTuple):
    """The table in a text, as UTF-8, and what stood above it."""

    text: bytes
    n_lines_above: int
    last_comment: str


class _Shape(NamedTuple):
    """How a text is cut into fields, with its names and first rows."""

    body: _Body
    delimiter: str
    names: list[str]
    rows: list[list[str]]
    has_row_names: bool
    share: float


def read_text(
    data: bytes, *, label: str, suffix: str, delimiter: str | None, encoding: str | None
) -> TextTable:
    r"""Return the table in a text.

    Parameters
    ----------
    data : bytes
    label : str
        What the file is called in messages.
    suffix : str
        In small letters, with the dot; suggests a delimiter.
    delimiter, encoding : str, optional
        Found out if not given.

    Examples
    --------
    >>> table = read_text(b"# soils\nph;clay\n6,5;12\n", label="'soil.csv'", suffix=".csv",
    ...                   delimiter=None, encoding=None)
    >>> table.names, table.with_commas
    (['ph', 'clay'], True)
    """
    text, notes = to_utf8(data, encoding, label)
    body = _skip_preamble(text)
    hint = _EXCEL_HINT.match(body.text)
    if hint:
        body = _Body(body.text[hint.end() :], body.n_lines_above + 1, "")
        delimiter = delimiter or hint[1].decode()
    if not body.text.strip():
        raise InputError(f"{label} is empty: pass a file with column names and rows.")
    shape = _find_shape(body, _one_character(delimiter), label)
    commented = _uncomment_names(shape, label)
    if commented is not None:
        shape = commented
        line = _first_line(shape.body)
        notes.append(f"The column names are taken from the comment in line {line}.")
    if delimiter is None and SUGGESTED.get(suffix, shape.delimiter) != shape.delimiter:
        notes.append(f"Fields are separated by {DELIMITER_NAMES[shape.delimiter]}.")
    if shape.has_row_names:
        notes.append("The first field of each row has no column name and is left out.")
    if all(is_number(name.strip()) for name in shape.names):
        notes.append("All column names are numbers: put a line of names first if there is none.")
    n_short, first_short = _check_rows(shape, label)
    if n_short:
        notes.append(
            f"Rows with fewer fields than names, {n_short} of them and the first in line "
            f"{first_short}, are taken to lack the last ones."
        )
    with_commas = uses_decimal_commas(shape.rows, shape.delimiter)
    if with_commas:
        notes.append("Numbers are written with decimal commas.")
    frame = _read_values(shape, decimal="," if with_commas else ".", label=label)
    return TextTable(shape.names, frame, with_commas, notes)


def _skip_preamble(text: bytes) -> _Body:
    """Return a text without the blank lines and comments at its top."""
    match = _PREAMBLE.match(text)
    above = text[: match.end()] if match else b""
    comments = [line for line in _LINE_END.split(above) if line.lstrip().startswith(b"#")]
    last = comments[-1].lstrip().lstrip(b"#").strip() if comments else b""
    rest = text[len(above) :]
    if rest.lstrip(b" \t").startswith(b"#") and not _LINE_END.search(rest):
        rest = b""  # A comment without the end of a line.
    return _Body(rest, len(_LINE_END.findall(above)), last.decode())


def _first_line(body: _Body) -> int:
    return body.n_lines_above + 1


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


def _lines(body: _Body) -> Iterator[str]:
    return io.TextIOWrapper(io.BytesIO(body.text), "utf-8", newline="")


def _records(body: _Body, delimiter: str, label: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line in which each record begins, and its fields."""
    csv.field_size_limit(MAX_FIELD_LETTERS)
    reader = csv.reader(_lines(body), delimiter=delimiter, skipinitialspace=True)
    start = 1
    try:
        for fields in reader:
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield start + body.n_lines_above, fields
            start = reader.line_num + 1
    except csv.Error:
        raise _unclosed_quote(label, start + body.n_lines_above) from None


def _unclosed_quote(label: str, line: int) -> InputError:
    return InputError(f"{label} has a quote in line {line} that is not closed: correct that line.")


def _find_shape(body: _Body, delimiter: str | None, label: str) -> _Shape:
    """Return how the text is cut best, or raise if it has one column only."""
    first_line = _LINE_END.split(body.text, maxsplit=1)[0].decode().strip()
    best: _Shape | None = None
    for candidate in [delimiter] if delimiter else DELIMITERS:
        shape = _cut(body, candidate, label)
        if len(shape.names) > 1 and (best is None or shape.share > best.share):
            best = shape
        if best is not None and best.share >= MIN_EVEN_SHARE:
            break
    if best is not None and (delimiter or best.share >= 0.5 or _has_long_rows(best)):
        return best
    if delimiter:
        raise InputError(
            f"{label} has one column only if {delimiter!r} is the delimiter: its first line is "
            f"{_shortened(first_line)}."
        )
    raise InputError(
        f"{label} seems to have one column only: pass its delimiter as --delimiter, and let the "
        f"first line, {_shortened(first_line)}, hold the column names."
    )


def _has_long_rows(shape: _Shape) -> bool:
    """Return whether rows hold more than there are names for: of which the user is told."""
    return shape.delimiter != " " and all(len(row) > len(shape.names) for row in shape.rows)


def _shortened(line: str, width: int = 40) -> str:
    return repr(line if len(line) <= width else line[: width - 3] + "...")


def _cut(body: _Body, delimiter: str, label: str) -> _Shape:
    """Return the names and first rows as a delimiter cuts them."""
    if delimiter == " ":  # Any number of blanks, or tabs, is one of them.
        text = _BLANKS.sub(lambda match: match[1] or match[2] or b" ", body.text)
        body = body._replace(text=text.strip(b" "))
    sample = [fields for _, fields in islice(_records(body, delimiter, label), N_SAMPLE_ROWS + 1)]
    names, rows = sample[0], sample[1:]
    while len(names) > 1 and not any("".join(row[len(names) - 1 :]).strip() for row in sample):
        names.pop()
    has_row_names = bool(rows) and _has_row_names(rows, len(names))
    width = len(names) + has_row_names
    n_even = sum(len(row) == width or (len(row) > width and not any(row[width:])) for row in rows)
    return _Shape(body, delimiter, names, rows, has_row_names, n_even / len(rows) if rows else 1.0)


def _has_row_names(rows: list[list[str]], n_names: int) -> bool:
    """Return whether rows begin with names of their own, as R writes them."""
    if any(len(row) != n_names + 1 for row in rows) or not any(row[-1].strip() for row in rows):
        return False
    first = [row[0].strip() for row in rows]
    if len(set(first)) < len(first):
        return False
    if not all(map(is_number, first)):
        return not any(map(is_number, first))
    # Numbers are names only if they count: others are values, and a name lacks.
    return all(one.isdigit() for one in first) and [int(one) for one in first] == list(
        range(int(first[0]), int(first[0]) + len(first))
    )


def _uncomment_names(shape: _Shape, label: str) -> _Shape | None:
    """Return the text with its last comment as the first line, if that holds the names."""
    body = shape.body
    if not body.last_comment or not any(map(is_number, shape.names)):
        return None
    text = body.last_comment.encode() + b"\n" + body.text
    above = _cut(_Body(text, body.n_lines_above - 1, ""), shape.delimiter, label)
    is_header = len(above.names) == len(shape.names) and not any(map(is_number, above.names))
    return above if is_header else None


def _check_rows(shape: _Shape, label: str) -> tuple[int, int]:
    """Return how many rows are short and where the first is, or raise at one that is long."""
    if not shape.rows:
        raise InputError(f"{label} has column names but no rows.")
    width = len(shape.names) + shape.has_row_names
    n_short, first_short = 0, 0
    for line, fields in _odd_records(shape, width, label):
        if len(fields) < width:
            n_short += 1
            first_short = first_short or line
        elif any(field.strip() for field in fields[width:]):
            raise InputError(
                f"{label} has {len(fields)} fields in line {line} but {len(shape.names)} column "
                "names: correct that line, quote what holds a delimiter, or pass --delimiter."
            )
    return n_short, first_short


def _odd_records(shape: _Shape, width: int, label: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records below the names that have more or fewer fields than they should."""
    body, delimiter = shape.body, shape.delimiter
    if b'"' in body.text:
        records = islice(_records(body, delimiter, label), 1, None)
        yield from (record for record in records if len(record[1]) != width)
        return
    # Without quotes it is enough to count, which takes a tenth of the time.
    lines = enumerate(_lines(body), start=_first_line(body))
    for line, text in islice(lines, 1, None):
        if text.count(delimiter) != width - 1 and text.strip():
            yield line, text.rstrip("\r\n").split(delimiter)


def _read_values(shape: _Shape, *, decimal: str, label: str) -> pd.DataFrame:
    width = len(shape.names) + shape.has_row_names
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # Long rows are checked.
            frame = pd.read_csv(
                io.BytesIO(shape.body.text),
                sep=shape.delimiter,
                header=0,
                names=list(range(width)),
                usecols=list(range(int(shape.has_row_names), width)),
                index_col=False,
                skipinitialspace=True,
                na_values=sorted(GAPS),
                low_memory=False,
                encoding="utf-8",
                decimal=decimal,
            )
    except pd.errors.ParserError:
        *_, (last_line, _) = _records(shape.body, shape.delimiter, label)
        raise _unclosed_quote(label, last_line) from None
    frame.columns = pd.RangeIndex(len(shape.names))
    return frame
