"""Where compiled kernels are kept: a folder named by the kernels' own source.

Numba looks only at the file of the function that is called when it decides whether a compiled copy
is still good, not at the files of the functions that it calls. A folder that changes its name with
any of the sources makes sure that no edit, update or pull leaves old kernels in use. It lies in the
user's cache, so an installation may be read-only.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba import config

__all__ = ["kernel_cache"]


def _source_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> Path:
    """Return the first place that can be written to: the user's cache, else temporary files."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    places = [Path(home) if home else Path.home() / ".cache", Path(tempfile.gettempdir())]
    for place in places:
        folder = place / "umfi" / f"kernels-{_source_digest()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="umfi-kernels-"))


@contextmanager
def kernel_cache() -> Iterator[None]:
    """Make functions that are decorated inside the block keep their compiled copies in our folder.

    A folder set by the user, with NUMBA_CACHE_DIR, is left alone.
    """
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    if not before:
        config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]
