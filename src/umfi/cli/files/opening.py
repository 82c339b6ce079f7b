"""A path becomes the bytes of a file, unpacked."""

from __future__ import annotations

import bz2
import difflib
import gzip
import io
import lzma
import re
import zipfile
import zlib
from pathlib import Path

from umfi.errors import InputError, listed

__all__ = ["broken_file", "read_bytes", "unpack"]

PACKED = (".gz", ".bz2", ".xz", ".zip")


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, or raise with the way out."""
    label = repr(path.name)
    if re.match(r"(https?|ftp|s3|gs):/", str(path)):
        raise InputError(f"{str(path)!r} is an address: download it and pass the file.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: pass a file in it.")
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _not_there(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{label} cannot be read ({reason}): check the file.") from None
    return _not_empty(data, label)


def _not_there(path: Path) -> InputError:
    if not path.parent.is_dir():
        return InputError(f"There is no folder {str(path.parent)!r}: check the path.")
    there = {one.name.lower(): one.name for one in path.parent.iterdir() if one.is_file()}
    wanted = path.name.lower()
    near = [there[name] for name in difflib.get_close_matches(wanted, there, n=3)]
    near = near or [there[name] for name in sorted(there) if Path(name).stem == Path(wanted).stem]
    hint = f"did you mean {listed(near)}?" if near else "check the path."
    return InputError(f"There is no file {path.name!r} in {str(path.parent)!r}: {hint}")


def unpack(data: bytes, name: str) -> tuple[bytes, str]:
    """Return what was packed by gzip, bzip2, xz or zip and its name; other bytes as they are.

    Examples
    --------
    >>> import gzip
    >>> unpack(gzip.compress(b"a,b"), "soil.csv.gz")
    (b'a,b', 'soil.csv')
    """
    label = repr(name)
    inner_name = name[: name.rindex(".")] if name.lower().endswith(PACKED) else name
    try:
        if data.startswith(b"\x1f\x8b"):
            return _not_empty(gzip.decompress(data), label), inner_name
        if data.startswith(b"BZh") and data[4:10] == b"1AY&SY":
            return _not_empty(bz2.decompress(data), label), inner_name
        if data.startswith(b"\xfd7zXZ\x00"):
            return _not_empty(lzma.decompress(data), label), inner_name
        if data.startswith(b"PK\x03\x04"):
            return _unzip(data, inner_name, label)
    except InputError:
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise broken_file(label) from error
    except RuntimeError as error:
        raise InputError(f"{label} is locked by a password: unpack it first.") from error
    return data, inner_name


def _unzip(data: bytes, inner_name: str, label: str) -> tuple[bytes, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if any(name.startswith("xl/") for name in names):
            return data, inner_name  # Excel files are zipped in themselves.
        hidden = ("__MACOSX/", ".")
        files = [name for name in names if not name.endswith("/") and not name.startswith(hidden)]
        if len(files) != 1:
            raise InputError(f"{label} holds {len(files)} files: unpack it and pass one of them.")
        return _not_empty(archive.read(files[0]), label), files[0]


def _not_empty(data: bytes, label: str) -> bytes:
    if not data.strip():
        raise InputError(f"{label} is empty: pass a file with column names and rows.")
    return data


def broken_file(label: str) -> InputError:
    """Return the error for a file that its reader makes nothing of."""
    return InputError(f"{label} is broken or cut short: write or download it again.")
