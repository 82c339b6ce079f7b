"""The page itself: one file with its style and script inside."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined

from umfi.errors import InputError
from umfi.report.content import gather

if TYPE_CHECKING:
    from umfi.importance.result import ImportanceResult

__all__ = ["render_report", "write_report"]


def render_report(result: ImportanceResult, X: Any = None) -> str:
    """Return the report of a result as HTML.

    Parameters
    ----------
    result : ImportanceResult
    X : frame or array, optional
        The features, for a picture of how they depend on each other.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> render_report(umfi.bivariate(X, y, random_state=0))[:15]
    '<!doctype html>'
    """
    # Names of columns are anybody's text: all of it is escaped, and the page's rules let no script
    # run but the one below, whatever else might be in it.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = _asset("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.from_string(_asset("page.html")).render(
        **gather(result, X), style=_asset("style.css"), script=script, script_digest=digest
    )


def write_report(result: ImportanceResult, path: str | os.PathLike[str], X: Any = None) -> Path:
    """Write the report of a result, making missing folders, and return the path."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{str(path)!r} would not be opened as a page: name it 'report.html'.")
    page = render_report(result, X)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    # What a name may hold but UTF-8 cannot is shown as a question mark.
    unfinished.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    unfinished.replace(path)
    return path


def _asset(name: str) -> str:
    return (files("umfi.report") / name).read_text(encoding="utf-8")
