"""The version of the package; the build reads the first line of code."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

__all__ = ["__version__", "find_versions", "source_digest"]

__version__ = "0.1.0"

PACKAGES = ("umfi", "numpy", "scipy", "numba", "pandas", "scikit-learn")
# Files and folders that read input or show results, and decide no number.
FRONT_ENDS = frozenset({"cli", "plots", "report", "selector.py", "status.py", "__main__.py"})


@cache
def source_digest(*, whole: bool = False) -> str:
    """Return a short digest of the code that decides numbers: other code may give others.

    Parameters
    ----------
    whole : bool
        Whether command line, pictures and report count as well.

    Examples
    --------
    >>> len(source_digest())
    12
    """
    digest = hashlib.blake2b(digest_size=6)
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        relative = path.relative_to(folder)
        if whole or relative.parts[0] not in FRONT_ENDS:
            digest.update(relative.as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def find_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers may depend on.

    Examples
    --------
    >>> "numpy" in find_versions()
    True
    """
    from importlib.metadata import version

    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
