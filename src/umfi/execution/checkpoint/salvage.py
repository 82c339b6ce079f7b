"""Reads the rows that are left in a damaged SQLite file.

SQLite gives up on a file of which pages are missing. Rows lie in leaf pages of their own, so all
that are whole can be read without the rest of the tree: the layout is described in "Database File
Format" of the SQLite documentation, sections 1.6 and 2.1. What is found may be old or torn, so rows
need a checksum of their own; see :mod:`umfi.execution.checkpoint.kept`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["find_rows"]

TABLE_LEAF = 0x0D
FILE_HEADER_BYTES = 100
WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
PAGE_BYTES = 4096
WHOLE_NUMBER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def find_rows(path: Path, *, n_columns: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows of this many columns that can still be read, from the file and its log.

    Parameters
    ----------
    path : Path
        The file; its write-ahead log is looked for beside it.
    n_columns : int
        Rows of other lengths are left out.
    """
    images = _read_pages(path)
    latest = dict(images)
    for number, page in images:
        start = FILE_HEADER_BYTES if number == 1 else 0
        if len(page) < start + 8 or page[start] != TABLE_LEAF:
            continue
        (n_cells,) = struct.unpack_from(">H", page, start + 3)
        for cell in range(n_cells):
            try:
                (offset,) = struct.unpack_from(">H", page, start + 8 + 2 * cell)
                row = _read_cell(page, offset, latest)
            # Whatever a torn page says, it is no reason to stop.
            except (IndexError, struct.error, UnicodeDecodeError, KeyError, ValueError):
                continue
            if len(row) == n_columns:
                yield row


def _read_pages(path: Path) -> list[tuple[int, bytes]]:
    """Return all pages, numbered from 1; those of the log come later."""
    data = path.read_bytes()
    pages = [
        (1 + start // PAGE_BYTES, data[start : start + PAGE_BYTES])
        for start in range(0, len(data), PAGE_BYTES)
    ]
    log = path.with_name(path.name + "-wal")
    if log.exists():
        frames = log.read_bytes()[WAL_HEADER_BYTES:]
        step = FRAME_HEADER_BYTES + PAGE_BYTES
        for start in range(0, len(frames) - FRAME_HEADER_BYTES, step):
            (number,) = struct.unpack_from(">I", frames, start)
            pages.append((number, frames[start + FRAME_HEADER_BYTES : start + step]))
    return pages


def _read_cell(page: bytes, offset: int, pages: dict[int, bytes]) -> tuple[Any, ...]:
    n_bytes, offset = _read_varint(page, offset)
    _, offset = _read_varint(page, offset)  # The row's number.
    n_local = _count_local_bytes(n_bytes)
    payload = page[offset : offset + n_local]
    if n_bytes > PAGE_BYTES * len(pages):
        raise ValueError("The length is torn.")
    if n_local < n_bytes:
        (following,) = struct.unpack_from(">I", page, offset + n_local)
        parts, n_found = [payload], len(payload)
        while following and n_found < n_bytes:
            overflow = pages[following]
            if len(overflow) <= 4:
                raise ValueError("The page is torn.")
            (following,) = struct.unpack_from(">I", overflow)
            parts.append(overflow[4 : 4 + n_bytes - n_found])
            n_found += len(parts[-1])
        payload = b"".join(parts)
    if len(payload) < n_bytes:
        raise ValueError("The row is torn.")
    return _read_record(payload)


def _count_local_bytes(n_bytes: int) -> int:
    """Return how much of a row is on its leaf page; the rest is on overflow pages."""
    most = PAGE_BYTES - 35
    if n_bytes <= most:
        return n_bytes
    least = (PAGE_BYTES - 12) * 32 // 255 - 23
    n_local = least + (n_bytes - least) % (PAGE_BYTES - 4)
    return n_local if n_local <= most else least


def _read_record(payload: bytes) -> tuple[Any, ...]:
    header_end, place = _read_varint(payload, 0)
    types = []
    while place < header_end:
        one, place = _read_varint(payload, place)
        types.append(one)
    place = header_end
    values: list[Any] = []
    for one in types:
        value, n_bytes = _read_value(payload, place, one)
        values.append(value)
        place += n_bytes
    return tuple(values)


def _read_value(payload: bytes, place: int, serial_type: int) -> tuple[Any, int]:
    """Return a value and how many bytes it takes."""
    if serial_type in (0, 8, 9):
        return (None, 0, 1)[(0, 8, 9).index(serial_type)], 0
    if serial_type in WHOLE_NUMBER_BYTES:
        n_bytes = WHOLE_NUMBER_BYTES[serial_type]
        return int.from_bytes(payload[place : place + n_bytes], "big", signed=True), n_bytes
    if serial_type == 7:
        return struct.unpack_from(">d", payload, place)[0], 8
    if serial_type < 12:
        raise ValueError("Reserved for SQLite's own use.")
    n_bytes = (serial_type - 12) // 2
    data = payload[place : place + n_bytes]
    if len(data) < n_bytes:
        raise ValueError("The value is torn.")
    return (data.decode() if serial_type % 2 else data), n_bytes


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the place behind it."""
    number = 0
    for _ in range(8):
        byte = data[place]
        place += 1
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place
    return number << 8 | data[place], place + 1
