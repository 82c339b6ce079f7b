"""What every method returns: scores for each feature and repeat, and the settings behind them."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from umfi.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SCORE_COLUMNS", "ImportanceResult", "load_result"]

SCORE_COLUMNS = ("feature", "repeat", "score_with", "score_without", "importance")

FORMAT_NAME = "umfi.ImportanceResult"
FORMAT_VERSION = 1

# A repr longer than a screen is not read.
MAX_PRINTED_ROWS = 20


@dataclass(frozen=True, repr=False, eq=False)
class ImportanceResult:
    """Importances of the features of a table.

    Attributes
    ----------
    scores : DataFrame
        A row for each feature and repeat: ``feature, repeat, score_with, score_without,
        importance``; the importance is the difference of the two scores, except where a method
        says that it floors or clips. Features stand in the order of the table's columns.
    settings : dict
        The method, its arguments (``random_state`` as the seed and ``task`` as the task that was
        used; objects as the code that makes them), and what was found out about the data.
        ``settings["notes"]`` lists what a reader should know.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> result = umfi.bivariate(X, y, random_state=0)
    >>> list(result.importances.index)
    ['x1', 'x2', 'x3', 'x4']
    """

    scores: pd.DataFrame
    settings: dict[str, Any]

    @property
    def importances(self) -> pd.Series:
        """Mean importance of each feature, in the order of the columns; larger says more."""
        means = self.scores.groupby("feature", sort=False)["importance"].mean()
        return means.rename("importance")

    @property
    def table(self) -> pd.DataFrame:
        """One row a feature, largest first: ``feature, importance, spread``.

        The spread is the standard deviation over the repeats, missing when there is only one. It
        is not a confidence interval.
        """
        grouped = self.scores.groupby("feature", sort=False)["importance"]
        table = pd.DataFrame({"importance": grouped.mean(), "spread": grouped.std()})
        table = table.sort_values("importance", ascending=False, kind="stable")
        return table.rename_axis("feature").reset_index()

    @property
    def n_repeats(self) -> int:
        """Number of repeats behind each importance."""
        return int(self.scores["repeat"].nunique())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the importances as bars, largest first, and return the axes."""
        from umfi.plots import plot_importances

        return plot_importances(self, ax=ax)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as JSON, making missing folders, and return the path.

        An existing file is replaced only once the new one is complete.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "settings": self.settings,
            "scores": {str(name): column.tolist() for name, column in self.scores.items()},
        }
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_text(
            json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
        )
        unfinished.replace(path)
        return path

    def _headline(self) -> str:
        settings = self.settings
        counts = (
            _counted(settings.get("n_rows", 0), "row"),
            _counted(self.scores["feature"].nunique(), "feature"),
            _counted(self.n_repeats, "repeat"),
        )
        return (
            f"{settings.get('method', 'importance')} of {settings.get('target', 'y')!r} in "
            f"{settings.get('measure', 'score')} ({', '.join(counts)})"
        )

    def _printed_table(self) -> tuple[pd.DataFrame, str]:
        table = self.table
        hidden = len(table) - MAX_PRINTED_ROWS
        more = f"... and {hidden} more features: see .table" if hidden > 0 else ""
        if self.n_repeats == 1:
            table = table.drop(columns="spread")
        return table.head(MAX_PRINTED_ROWS), more

    def __repr__(self) -> str:
        """Return the head of the table with one line on what it is and the notes."""
        table, more = self._printed_table()
        body = table.to_string(index=False, float_format=lambda value: f"{value:.4f}")
        notes = [f"Note: {note}" for note in self.settings.get("notes", ())]
        return "\n".join(filter(None, [self._headline(), body, more, *notes]))

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        table, more = self._printed_table()
        body = table.to_html(index=False, float_format=lambda value: f"{value:.4f}", border=0)
        lines = [more, *(f"Note: {note}" for note in self.settings.get("notes", ()))]
        small = "".join(f"<p><small>{html.escape(line)}</small></p>" for line in lines if line)
        return f"<div><p><b>{html.escape(self._headline())}</b></p>{body}{small}</div>"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def load_result(path: str | os.PathLike[str]) -> ImportanceResult:
    """Return the result that :meth:`ImportanceResult.save` wrote.

    Examples
    --------
    >>> import tempfile, umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> result = umfi.bivariate(X, y, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = result.save(folder + "/new/result.json")
    ...     bool((umfi.load_result(path).importances == result.importances).all())
    True
    """
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {str(path)!r}: check the path.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT_NAME:
        raise InputError(f"{str(path)!r} does not hold a result saved by umfi.")
    if document.get("version", 0) > FORMAT_VERSION:
        raise InputError(
            f"{str(path)!r} was saved by a newer version of umfi: update umfi to read it."
        )
    return ImportanceResult(
        scores=pd.DataFrame(document["scores"]), settings=dict(document["settings"])
    )
