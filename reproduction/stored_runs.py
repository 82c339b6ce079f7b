"""Runs that are done: a line each, in a file small enough to be taken along to another machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from umfi.errors import RunError
from umfi.version import __version__, source_digest

__all__ = ["StoredRuns", "version_of_code"]


def version_of_code() -> str:
    """Return what tells which code a run is of.

    Examples
    --------
    >>> import umfi
    >>> version_of_code().startswith(umfi.__version__)
    True
    """
    return f"{__version__} ({source_digest()})"


class StoredRuns:
    """Named numbers of every run that is done, and what each run took.

    A line is written when a run is done, so that whoever kills an experiment loses one run at most.
    Runs of other code are taken, because an experiment may take days; which code it was is kept.

    Parameters
    ----------
    path : Path
        Lines of JSON; made when the first run is done.

    Attributes
    ----------
    versions : Counter
        How many of the runs that were asked for are of which code.
    n_new : int
        How many were added since the file was opened.
    seconds_before : float
        What all runs took that the file held when it was opened.
    seconds_found : dict
        What those took of them that were asked for, by the number of workers.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     StoredRuns(Path(folder) / "runs.jsonl").add("linear, 3", "a1b2", {"x1": 0.25}, 1.5, 2)
    ...     StoredRuns(Path(folder) / "runs.jsonl").find("linear, 3", "a1b2")
    {'x1': 0.25}
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.versions: Counter[str] = Counter()
        self.n_new = 0
        self.seconds_found: dict[int, float] = {}
        # By what a run is called and a digest of what was asked.
        self._kept: dict[tuple[str, str], dict[str, Any]] = {}
        content = path.read_bytes() if path.exists() else b""
        # A line that a kill broke off is written over by the next.
        self._n_bytes = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._n_bytes].splitlines(), start=1):
            try:
                kept = json.loads(line)
                self._kept[kept["run"], kept["asked"]] = {
                    "umfi": str(kept["umfi"]),
                    "workers": int(kept["workers"]),
                    "seconds": float(kept["seconds"]),
                    "values": dict(kept["values"]),
                }
            except (ValueError, TypeError, KeyError):
                raise RunError(
                    f"Line {number} of {str(path)!r} cannot be read: remove the line to run it "
                    "again."
                ) from None
        self.seconds_before = sum(kept["seconds"] for kept in self._kept.values())

    def find(self, run: str, asked: str) -> dict[str, float] | None:
        """Return the numbers of a run, None if it has not been done."""
        if (run, asked) not in self._kept:
            return None
        kept = self._kept[run, asked]
        self.versions[kept["umfi"]] += 1
        n_workers = kept["workers"]
        self.seconds_found[n_workers] = self.seconds_found.get(n_workers, 0.0) + kept["seconds"]
        return dict(kept["values"])

    def add(
        self, run: str, asked: str, values: Mapping[str, float], seconds: float, n_workers: int
    ) -> None:
        """Keep the numbers of a run that is done, and what it took on how many workers."""
        version = version_of_code()
        kept = {
            "umfi": version,
            "workers": n_workers,
            "seconds": seconds,
            "values": dict(values),
        }
        line = json.dumps({"run": run, "asked": asked, **kept}, ensure_ascii=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.truncate(self._n_bytes)
            self._n_bytes += file.write(line.encode() + b"\n")
        self._kept[run, asked] = kept
        self.versions[version] += 1
        self.n_new += 1
