"""Load features and a response from a file, with notes on what was done."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from umfi.cli import options
from umfi.cli.output import say

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Loaded", "load_table"]


@dataclass(frozen=True)
class Loaded:
    """A table as it came from a file.

    Attributes
    ----------
    X, y : the features, and the response if there is one
    kinds : what the user says that features are
    notes : what was done to get them
    """

    X: pd.DataFrame
    y: pd.Series | None = None
    kinds: dict[str, str] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [str(name) for name in self.X]


def load_table(
    data: Path,
    target: str | None,
    *,
    drop: list[str] | None,
    kinds: list[str] | None,
    missing: str,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
) -> Loaded:
    """Return features and response of a file, and say what was done to get them."""
    from umfi.cli.files import prepare, read_data_file

    given = options.read_kinds(kinds)
    read = read_data_file(data, delimiter=delimiter, encoding=encoding, sheet=sheet)
    dropped = options.read_list(drop, [str(name) for name in read.frame])
    prepared = prepare(read.frame, target, drop=dropped, kinds=given, missing=missing)
    notes = [*read.notes, *prepared.notes]
    for note in notes:
        say(f"Note: {note}")
    used = {name: kind for name, kind in (given or {}).items() if name in prepared.X}
    return Loaded(prepared.X, prepared.y, used or None, notes)
