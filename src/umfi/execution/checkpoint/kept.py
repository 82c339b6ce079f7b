"""What is kept of a run, and how it is told in rows of a table.

Each row has a checksum that is keyed with the identity of the run: an answer that passes belongs to
this data, these settings and this code, wherever it was found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["N_RUN_COLUMNS", "N_TASK_COLUMNS", "KeptRun", "TaskName", "task_row"]

N_RUN_COLUMNS, N_TASK_COLUMNS = 7, 6

TaskName = tuple[str | int, ...]


@dataclass
class KeptRun:
    """What a file holds of one run.

    Attributes
    ----------
    label, digest : str
    identity : dict
        What decides the numbers.
    outline : dict
        What is needed to make a result of the answers.
    n_workers : int
        Of the last start.
    begun : str
        When, as text.
    answers : dict
        From stage and name of a task to its answer, as text.
    seconds : dict
        The same, to what it took.
    planned : dict
        From stage to its number of tasks, as far as that is known.
    """

    label: str
    digest: str
    identity: dict[str, Any]
    outline: dict[str, Any]
    n_workers: int
    begun: str
    answers: dict[str, dict[TaskName, str]] = field(default_factory=dict)
    seconds: dict[str, dict[TaskName, float]] = field(default_factory=dict)
    planned: dict[str, int] = field(default_factory=dict)

    def add(self, row: tuple[Any, ...]) -> bool:
        """Take a row of a task, if it belongs to this run and is whole; return whether it does."""
        digest, stage, name, answer, seconds, checksum = row
        if digest != self.digest or checksum != _checksum(digest, stage, name, answer):
            return False
        key = tuple(json.loads(name))
        self.answers.setdefault(stage, {})[key] = answer
        self.seconds.setdefault(stage, {})[key] = float(seconds)
        return True

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> KeptRun | None:
        """Return the run of a row, None if the row is torn."""
        label, digest, identity, outline, n_workers, begun, checksum = row
        if checksum != _checksum(digest, label, identity, outline):
            return None
        return cls(label, digest, json.loads(identity), json.loads(outline), n_workers, begun)

    def to_row(self) -> tuple[Any, ...]:
        """Return the run as a row."""
        identity, outline = json.dumps(self.identity), json.dumps(self.outline)
        checksum = _checksum(self.digest, self.label, identity, outline)
        return (
            self.label, self.digest, identity, outline, self.n_workers, self.begun, checksum,
        )  # fmt: skip

    def task_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the tasks as rows."""
        for stage, answers in self.answers.items():
            for name, answer in answers.items():
                yield task_row(self.digest, stage, name, answer, self.seconds[stage][name])


def task_row(
    digest: str, stage: str, name: TaskName, answer: str, seconds: float
) -> tuple[Any, ...]:
    """Return a task that is done as a row."""
    text = json.dumps(name)
    return digest, stage, text, answer, seconds, _checksum(digest, stage, text, answer)


def _checksum(digest: Any, *texts: Any) -> bytes:
    text = "\0".join(map(str, texts))
    return hashlib.blake2b(text.encode(), key=str(digest).encode(), digest_size=8).digest()
