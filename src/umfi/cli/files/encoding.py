"""Text becomes UTF-8: its encoding is found out."""

from __future__ import annotations

import codecs

from umfi.errors import InputError

__all__ = ["to_utf8"]

# Text has next to no control characters; pictures and programs are full of them.
MAX_CONTROL_SHARE = 0.05
N_SAMPLE_BYTES = 65536

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def to_utf8(data: bytes, encoding: str | None, label: str) -> tuple[bytes, list[str]]:
    r"""Return a text as UTF-8 without a mark, and what is to be said about its encoding.

    Examples
    --------
    >>> to_utf8("größe".encode("utf-16"), None, "'a.csv'")
    (b'gr\xc3\xb6\xc3\x9fe', ['The encoding is UTF-16.'])
    """
    notes = []
    way_out = "pass its encoding as --encoding, or save it as UTF-8"
    if encoding is not None:
        try:
            return data.decode(encoding).removeprefix("\ufeff").encode(), []
        except LookupError:
            raise InputError(
                f"Unknown encoding {encoding!r}: pass one such as utf-8, cp1252 or utf-16."
            ) from None
        except (UnicodeError, ValueError):
            raise InputError(f"{label} is not written in {encoding}: {way_out}.") from None
    found = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    found = found or _utf16_without_mark(data)
    if found is None and _is_binary(data):
        raise InputError(
            f"{label} is no text and of no known kind: pass CSV, Parquet, Feather or Excel, or "
            "the encoding as --encoding."
        )
    try:
        text = data.decode(found or "utf-8")
    except UnicodeDecodeError:
        if found is not None:
            raise InputError(
                f"{label} begins as {found.upper()} but does not go on so: {way_out}."
            ) from None
        found = "cp1252"
        try:
            text = data.decode(found)
        except UnicodeDecodeError:
            raise InputError(f"{label} is neither UTF-8 nor Windows-1252: {way_out}.") from None
        notes.append(
            "The file is not UTF-8 and is read as Windows-1252: pass --encoding if letters are "
            "wrong."
        )
    if found is None:
        return data, []
    if found.startswith(("utf-16", "utf-32")):
        notes.append(f"The encoding is {found.upper()}.")
    return text.encode("utf-8", "replace"), notes


def _utf16_without_mark(data: bytes) -> str | None:
    """Return the UTF-16 in which every other byte of a Latin text is zero, if it is that."""
    first, second = (data[start:N_SAMPLE_BYTES:2] for start in (0, 1))
    for zeros, letters, name in ((second, first, "utf-16-le"), (first, second, "utf-16-be")):
        if zeros and zeros.count(0) > 0.5 * len(zeros) and letters.count(0) == 0:
            return name
    return None


def _is_binary(data: bytes) -> bool:
    sample = data[:N_SAMPLE_BYTES]
    controls = bytes(set(range(32)) - set(b"\t\n\r\f"))
    n_controls = len(sample) - len(sample.translate(None, controls))
    return 0 in data or n_controls > 2 + MAX_CONTROL_SHARE * len(sample)
