"""Stored runs: a line each, in a file small enough to be taken along to another machine."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import umfi


@cache
def code_version() -> str:
    """Return the version of umfi, and a digest of the code of umfi and of the experiments.

    Examples
    --------
    >>> code_version().startswith(umfi.__version__)
    True
    """
    digest = hashlib.blake2b(digest_size=6)
    for folder in (Path(umfi.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder.parent).as_posix().encode() + path.read_bytes())
    return f"{umfi.__version__} ({digest.hexdigest()})"


class StoredRuns:
    """Numbers by feature of every run that is done, and what each run took, as lines of JSON.

    A line is written when a run is done, so that an experiment that is killed loses one run at
    most. Runs of other code are taken, because an experiment may take days; which code it was is
    stored.

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
        self.n_new = 0
        # Of the runs that were asked for: how many are of which code, and what those that were
        # stored already took, by the number of workers.
        self.versions: Counter[str] = Counter()
        self.seconds_found: dict[int, float] = defaultdict(float)
        # By the name of a run and a digest of its settings and data.
        self._stored: dict[tuple[str, str], dict[str, Any]] = {}
        content = path.read_bytes() if path.exists() else b""
        # A line that a kill left incomplete is overwritten by the next.
        self._n_bytes = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._n_bytes].splitlines(), start=1):
            try:
                run = json.loads(line)
                self._stored[run["run"], run["asked"]] = {
                    "umfi": str(run["umfi"]),
                    "workers": int(run["workers"]),
                    "seconds": float(run["seconds"]),
                    "values": dict(run["values"]),
                }
            except (ValueError, TypeError, KeyError):
                raise umfi.RunError(
                    f"Line {number} of {str(path)!r} cannot be read: remove the line to run it "
                    "again."
                ) from None
        self.seconds_before = sum(run["seconds"] for run in self._stored.values())

    def find(self, name: str, digest: str) -> dict[str, float] | None:
        """Return the numbers of a run, None if it has not been done."""
        run = self._stored.get((name, digest))
        if run is None:
            return None
        self.versions[run["umfi"]] += 1
        self.seconds_found[run["workers"]] += run["seconds"]
        return dict(run["values"])

    def add(
        self, name: str, digest: str, values: Mapping[str, float], seconds: float, n_workers: int
    ) -> None:
        """Store the numbers of a run, and what it took on how many workers."""
        run = {
            "umfi": code_version(),
            "workers": n_workers,
            "seconds": seconds,
            "values": dict(values),
        }
        line = json.dumps({"run": name, "asked": digest, **run}, ensure_ascii=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.truncate(self._n_bytes)
            self._n_bytes += file.write(line.encode() + b"\n")
        self._stored[name, digest] = run
        self.versions[code_version()] += 1
        self.n_new += 1
