"""What every method returns: scores for each feature and repeat, and the settings behind them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from umfi.errors import InputError, check_level, unknown_name
from umfi.importance.display import (
    PARTS,
    Printed,
    Shown,
    explain_table,
    note_leakage,
    show_importances,
)
from umfi.inference import (
    MAX_INTERVAL_FRACTION,
    MIN_INTERVAL_FRACTION,
    MIN_INTERVAL_REPEATS,
    adjust_p_values,
    row_interval,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["SCORE_COLUMNS", "ImportanceResult", "load_result"]

SCORE_COLUMNS = (
    "feature",
    "repeat",
    "score_with",
    "score_without",
    "importance",
    "standard_error",
)

FRAME_NAMES = ("scores", "tests", "part_scores", "part_tests")
# Columns of numbers that may be missing.
NUMBERS = ["leakage", "standard_error"]
FORMAT_NAME = "umfi.ImportanceResult"
FORMAT_VERSION = 4


@dataclass(frozen=True, repr=False, eq=False)
class ImportanceResult(Printed):
    """Importances of the features of a table.

    Attributes
    ----------
    scores : DataFrame
        A row for each feature and repeat: ``feature, repeat, score_with, score_without,
        importance, standard_error``; the importance is the difference of the two scores, except
        where a method says that it floors or clips, and its standard error, from the rows of the
        fit, is missing where the power only scores. Features stand in the order of the table's
        columns.
    settings : dict
        The method, its arguments (``random_state`` as the seed and ``task`` as the task that was
        used; objects as the code that makes them), and what was found out about the data.
        ``settings["notes"]`` lists what a reader should know.
    tests : DataFrame, optional
        A row for each feature where a test was asked for: ``feature, p_value, tail,
        n_permutations, leakage, leaks``; see :attr:`table`.
    part_scores : DataFrame, optional
        Like ``scores``, of each ``part`` that :func:`umfi.decompose` finds.
    part_tests : DataFrame, optional
        Like ``tests``, of the parts ``"alone"`` and ``"irreplaceable"``.

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
    tests: pd.DataFrame | None = None
    part_scores: pd.DataFrame | None = None
    part_tests: pd.DataFrame | None = None

    @property
    def importances(self) -> pd.Series:
        """Mean importance of each feature, in the order of the columns; larger says more."""
        return self.scores.groupby("feature", sort=False)["importance"].mean().rename("importance")

    @property
    def table(self) -> pd.DataFrame:
        """One row per feature, largest first, with what was asked for.

        ``feature, importance``; ``low, high``, the 95 % interval of :meth:`intervals`; ``spread``,
        the standard deviation over the repeats where there are several, which is not a confidence
        interval; and after a test ``p_value``, ``q_value``
        (adjusted for the false discovery rate), ``related`` (at the test's level), ``tail`` (the
        p-value is read off a fitted tail), ``leakage`` and ``leaks`` (do not trust the p-value:
        the other features predict more of the feature than of its permuted copies); and
        ``remover``, where it was chosen for each feature. Of :func:`umfi.decompose` also
        ``alone, together, irreplaceable, replaceable``, each with ``_low`` and ``_high`` where
        there are intervals, and with ``_p_value`` where it was tested.
        """
        import pandas as pd

        grouped = self.scores.groupby("feature", sort=False)["importance"]
        table = pd.DataFrame({"importance": self.importances})
        intervals = self._estimate(self.scores, ["feature"], 0.95).set_index("feature")
        if intervals["low"].notna().any():
            table = table.join(intervals[["low", "high"]])
        if self.tests is not None:
            tests = self.tests.set_index("feature")
            table["p_value"] = tests["p_value"]
            adjusted = adjust_p_values(tests["p_value"].to_numpy(), "fdr")
            table["q_value"] = pd.Series(adjusted, index=tests.index)
            table["related"] = table["q_value"] <= self.settings.get("alpha", 0.05)
            table["tail"] = tests["tail"]
            table["leakage"] = tests["leakage"]
            table["leaks"] = tests["leaks"]
        if self.n_repeats > 1:
            table["spread"] = grouped.std()
        if self.part_scores is not None:
            table = table.join(self._wide_parts())
        table = table.sort_values("importance", ascending=False, kind="stable")
        return table.rename_axis("feature").reset_index()

    def related(self, alpha: float = 0.05, control: str = "fdr") -> list[str]:
        """Return the names of the related features, in the order of the columns.

        Parameters
        ----------
        alpha : float
            Level of the control.
        control : {"fdr", "by", "holm", "none"}
            What is controlled at the level: the false discovery rate (Benjamini and Hochberg; for
            any dependence between tests ``"by"``, Benjamini and Yekutieli), the chance of any
            false positive (``"holm"``), or of one for each feature (``"none"``).

        Examples
        --------
        >>> import umfi
        >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
        >>> result = umfi.ultra_marginal(X, y, test="permutation", random_state=0)
        >>> result.related(), result.related(alpha=0.01, control="holm")
        (['x1', 'x2', 'x3'], ['x1', 'x2', 'x3'])
        """
        level = check_level("alpha", alpha)
        if self.tests is None:
            raise InputError(
                "There are no p-values: run umfi.ultra_marginal, ablation, bivariate or decompose "
                "with test='permutation'."
            )
        adjusted = adjust_p_values(self.tests["p_value"].to_numpy(), control)
        return [str(name) for name in self.tests["feature"][adjusted <= level]]

    def intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Return confidence intervals: ``feature, low, high``, in the order of the columns.

        They are for the importance that fits of this many rows find, and come from the rows of
        the same fit: the importance is a mean over rows of what one row gains by the feature. As
        rows grow in number that is the importance of the population; a forest of few rows may
        find less (docs/inference.md). Powers that only score have none, unless the method is run
        with ``subsample=0.5`` and 20 repeats or more.

        Examples
        --------
        >>> import umfi
        >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
        >>> result = umfi.ultra_marginal(X, y, random_state=0)
        >>> wide, narrow = result.intervals(level=0.99), result.intervals(level=0.5)
        >>> bool((wide["high"] > narrow["high"]).all())
        True
        """
        found = self._estimate(self.scores, ["feature"], check_level("level", level))
        if found["low"].isna().all():
            raise InputError(
                f"There are no intervals, because this method or power only scores: run it with "
                f"subsample=0.5 ({MIN_INTERVAL_FRACTION} to {MAX_INTERVAL_FRACTION}) and "
                f"repeats={MIN_INTERVAL_REPEATS} or more."
            )
        return found[["feature", "low", "high"]]

    def _estimate(self, scores: pd.DataFrame, by: list[str], level: float) -> pd.DataFrame:
        """Return ``estimate, low, high`` by feature or part, NaN where they are unknown."""
        import pandas as pd

        n_rows = self.settings.get("n_rows", 1)
        fraction = (self.settings.get("n_sampled_rows") or n_rows) / n_rows
        if "standard_error" not in scores:  # Results of earlier versions have none.
            scores = scores.assign(standard_error=float("nan"))
        rows = []
        for names, own in scores.groupby(by, sort=False):
            estimates, errors = own["importance"].to_numpy(), own["standard_error"].to_numpy()
            interval = row_interval(estimates, errors, fraction, n_rows, level)
            rows.append((*names, float(estimates.mean()), *interval))
        return pd.DataFrame(rows, columns=[*by, "estimate", "low", "high"])

    def parts(self, level: float = 0.95) -> pd.DataFrame:
        """Return what importances consist of: ``feature, part, estimate, low, high, p_value``.

        Four rows per feature; see :func:`umfi.decompose`. Intervals at the level, and p-values of
        ``alone`` and ``irreplaceable``, are missing where they were not asked for.

        Examples
        --------
        >>> import umfi
        >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
        >>> result = umfi.decompose(X, y, repeats=2, random_state=0)
        >>> result.parts()["part"].tolist()[:4]
        ['alone', 'together', 'irreplaceable', 'replaceable']
        """
        import pandas as pd

        level = check_level("level", level)
        if self.part_scores is None:
            raise InputError("There are no parts: run umfi.decompose instead of a method.")
        parts = self._estimate(self.part_scores, ["feature", "part"], level)
        if self.part_tests is None:
            return parts.assign(p_value=float("nan"))
        p_values = self.part_tests.set_index(["feature", "part"])["p_value"]
        keys = pd.MultiIndex.from_frame(parts[["feature", "part"]])
        return parts.assign(p_value=p_values.reindex(keys).to_numpy())

    def _wide_parts(self) -> pd.DataFrame:
        """Return the parts for the table, one row per feature."""
        import pandas as pd

        parts = self.parts()
        names = {"estimate": "{}", "low": "{}_low", "high": "{}_high", "p_value": "{}_p_value"}
        columns = {}
        for part in PARTS:
            own = parts[parts["part"] == part].set_index("feature")
            for value, name in names.items():
                if value == "estimate" or own[value].notna().any():
                    columns[name.format(part)] = own[value]
        return pd.DataFrame(columns)

    @property
    def n_repeats(self) -> int:
        """Number of repeats behind each importance."""
        return int(self.scores["repeat"].nunique())

    def plot(self, ax: Axes | None = None, *, kind: str | None = None, **arguments: Any) -> Axes:
        """Draw the result, and return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            A new figure of fitting size by default.
        kind : {"importances", "parts", "stability"}, optional
            Bars, largest first; bars made up of their parts; or the ranks over the repeats. By
            default bars, made up of their parts where these are known.
        **arguments
            Such as ``max_features=30``; see :mod:`umfi.plots`.
        """
        from umfi.plots import plot_importances, plot_parts, plot_stability

        draw_by_kind = {
            "importances": plot_importances,
            "parts": plot_parts,
            "stability": plot_stability,
        }
        if ax is not None and not hasattr(ax, "barh"):
            raise InputError(
                f"ax={ax!r} are no axes: result.plot().figure.savefig('importance.png') writes a "
                "file."
            )
        if kind is None:
            kind = "importances" if self.part_scores is None else "parts"
        if kind not in draw_by_kind:
            raise unknown_name("kind of picture", kind, draw_by_kind)
        return draw_by_kind[kind](self, ax=ax, **arguments)

    def report(self, path: str | os.PathLike[str], X: Any = None) -> Path:
        """Write a page to read and to pass on, which needs no network, and return its path.

        Parameters
        ----------
        path : path of the HTML file; missing folders are made
        X : frame or array, optional
            The features, for a picture of how they are associated.

        Examples
        --------
        >>> import tempfile, umfi
        >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = umfi.bivariate(X, y, random_state=0).report(folder + "/report.html")
        ...     path.name
        'report.html'
        """
        # The report stands above all methods, which need results.
        write_report = import_module("umfi.report").write_report
        written: Path = write_report(self, path, X)
        return written

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
            **{
                name: {str(key): _as_json(str(key), column) for key, column in frame.items()}
                for name, frame in self._frames().items()
            },
        }
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_text(
            json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
        )
        unfinished.replace(path)
        return path

    def _frames(self) -> dict[str, pd.DataFrame]:
        frames = {name: getattr(self, name) for name in FRAME_NAMES}
        return {name: frame for name, frame in frames.items() if frame is not None}

    def _show(self) -> Shown:
        return show_importances(self)

    @property
    def undecided(self) -> list[str]:
        """Names of the features that a run was to test, and whose test had not begun at its end."""
        if self.tests is None or self.settings.get("stopped") is None:
            return []
        return [str(name) for name in self.tests["feature"][self.tests["n_permutations"] == 0]]

    def related_in_words(self, table: pd.DataFrame) -> list[str]:
        """Return "yes", "no" or, where a run ended before its test began, "undecided"."""
        words = table["related"].map({True: "yes", False: "no"})
        return words.mask(table["feature"].isin(self.undecided), "undecided").tolist()

    @property
    def notes(self) -> list[str]:
        """What a reader should know: of the settings, and of the tests."""
        return [*self.settings.get("notes", ()), *self.footnotes, *note_leakage(self)]

    @property
    def footnotes(self) -> list[str]:
        """What explains the numbers of :attr:`table`."""
        return explain_table(self)


def _as_json(name: str, column: pd.Series) -> list[Any]:
    """Return values as JSON knows them: what was not measured is null."""
    values: list[Any] = column.tolist()
    return [None if value != value else value for value in values] if name in NUMBERS else values


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
    import pandas as pd

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
    frames = {name: pd.DataFrame(document[name]) for name in FRAME_NAMES if name in document}
    for frame in frames.values():
        for name in frame.columns.intersection(NUMBERS):
            frame[name] = frame[name].astype(float)  # A column of nothing but nulls is of objects.
    return ImportanceResult(settings=dict(document["settings"]), **frames)
