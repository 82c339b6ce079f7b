"""Runs that are done: a line each, in a file small enough to be taken along to another machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from umfi.errors import RunError
from umfi.version import __version__, source_digest

__all__ = ["KeptRuns"]

# By what a run is called and a digest of what was asked.
RunKey = tuple[str, str]


class KeptRuns:
    """Numbers by feature of every run that is done.

    A line is written when a run is done, so that whoever kills an experiment loses one run at most.
    Runs of other code are taken, because an experiment may take days; which code it was is kept.

    Parameters
    ----------
    path : Path
        Lines of JSON; made when the first run is done.

    Attributes
    ----------
    used : Counter
        How many of the runs that were asked for are of which version.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     KeptRuns(Path(folder) / "runs.jsonl").add("linear, 3", "a1b2", {"x1": 0.25})
    ...     KeptRuns(Path(folder) / "runs.jsonl").find("linear, 3", "a1b2")
    {'x1': 0.25}
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used: Counter[str] = Counter()
        self._kept: dict[RunKey, tuple[str, dict[str, float]]] = {}
        content = path.read_bytes() if path.exists() else b""
        # A line that a kill broke off is written over by the next.
        self._n_bytes = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._n_bytes].splitlines(), start=1):
            try:
                kept = json.loads(line)
                self._kept[kept["run"], kept["asked"]] = (kept["umfi"], kept["values"])
            except (ValueError, TypeError, KeyError):
                raise RunError(
                    f"Line {number} of {str(path)!r} cannot be read: remove the line to run it "
                    "again."
                ) from None

    def find(self, run: str, asked: str) -> dict[str, float] | None:
        """Return the numbers of a run, None if it has not been done."""
        if (run, asked) not in self._kept:
            return None
        version, values = self._kept[run, asked]
        self.used[version] += 1
        return dict(values)

    def add(self, run: str, asked: str, values: Mapping[str, float]) -> None:
        """Keep the numbers of a run that is done."""
        version = f"{__version__} ({source_digest()})"
        plain = {str(name): float(value) for name, value in values.items()}
        line = {"run": run, "asked": asked, "umfi": version, "values": plain}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.truncate(self._n_bytes)
            self._n_bytes += file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._kept[run, asked] = (version, plain)
        self.used[version] += 1
