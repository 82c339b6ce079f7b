"""How well removal works on a table: what is left to tell a feature, and what else is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from umfi.errors import listed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Diagnosis", "find_verdict"]

# Leakage up to this is as good as none, and up to that may be lived with; in R².
GOOD_LEAKAGE, DOUBTFUL_LEAKAGE = 0.05, 0.15
# What the fit may hide before a good removal is doubtful.
HIDDEN_LEAKAGE = 0.15
# Less retention than this deserves a word.
LOW_RETENTION = 0.7
GENTLE_REMOVERS = ("linear", "transport", "LinearRemover", "TransportRemover")


def find_verdict(
    leakage: float, excess: float, chance: float = GOOD_LEAKAGE, is_rare: bool = False
) -> str:
    """Return good, doubtful or failed.

    Parameters
    ----------
    leakage, excess : float
        See :class:`Diagnosis`.
    chance : float
        What chance alone may show in a table of this size.
    is_rare : bool
        Whether the feature has levels too rare to be judged.

    Examples
    --------
    >>> find_verdict(0.02, 0.01), find_verdict(0.02, 0.3), find_verdict(0.5, 0.5)
    ('good', 'doubtful', 'failed')
    """
    if leakage > max(DOUBTFUL_LEAKAGE, chance):
        return "failed"
    is_leaking = leakage > max(GOOD_LEAKAGE, chance) or excess > max(HIDDEN_LEAKAGE, chance)
    return "doubtful" if is_leaking or is_rare else "good"


@dataclass(frozen=True)
class Diagnosis:
    """What :func:`umfi.diagnose` found.

    Attributes
    ----------
    table : DataFrame, one row for each remover and feature
        ``remover, feature``;

        ``before``, the out-of-bag R² with which the other features tell the feature as they are;

        ``leakage``, the same after removal, by the one that finds more of a forest and extremely
        randomised trees (for booleans and categories the share of the room above chance);

        ``excess``, how much better the feature is told than permuted copies of it that were
        removed together with it: a transformation that is fitted to these rows tells less than
        nothing about what it was fitted to, which can hide leakage, but not from this difference;

        ``retention``, the power of what is left together with the feature, as a share of the power
        of all features; missing without a response;

        ``distortion``, the mean over the other features of 1 - MIC_e(before, after);

        ``verdict``, good up to a leakage of 0.05 and an excess of 0.15, failed beyond a leakage
        of 0.15, doubtful between; in short tables chance is allowed for. A feature with levels
        of fewer than 10 rows is doubtful at best, because nobody can tell.
    settings : dict

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> found = umfi.diagnose(X, y, remover="linear", random_state=0)
    >>> found.table["verdict"].tolist()
    ['good', 'good', 'good', 'good']
    """

    table: pd.DataFrame
    settings: dict[str, Any]

    @property
    def summary(self) -> pd.DataFrame:
        """One row a remover: numbers of verdicts and means."""
        import pandas as pd

        rows = []
        for remover, part in self.table.groupby("remover", sort=False):
            counts = part["verdict"].value_counts()
            rows.append(
                {
                    "remover": remover,
                    **{name: int(counts.get(name, 0)) for name in ("good", "doubtful", "failed")},
                    "leakage": part["leakage"].mean(),
                    "worst": part["leakage"].max(),
                    "retention": part["retention"].mean(),
                    "distortion": part["distortion"].mean(),
                }
            )
        return pd.DataFrame(rows)

    @property
    def advice(self) -> list[str]:
        """What to do, in words."""
        advice = [
            sentence
            for remover, part in self.table.groupby("remover", sort=False)
            for sentence in _advise(str(remover), part)
        ]
        return [*advice, *self.settings.get("notes", ())]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw leakage before and after for each feature (as figures 6 and 14 of the paper)."""
        from umfi.plots import plot_leakage

        return plot_leakage(self, ax=ax)

    def __repr__(self) -> str:
        """Return the summary and the advice."""
        shown = self.summary.round(3)
        if self.summary["retention"].isna().all():
            shown = shown.drop(columns="retention")
        return "\n".join([shown.to_string(index=False), "", *self.advice])

    def _repr_html_(self) -> str:
        from html import escape

        table = self.table.round(3).to_html(index=False)
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self.advice) + table


def _advise(remover: str, part: pd.DataFrame) -> list[str]:
    """Return sentences about one remover."""
    bad = part[part["verdict"] != "good"].sort_values("leakage", ascending=False)
    is_found, is_hidden = bad["leakage"] > GOOD_LEAKAGE, bad["excess"] > HIDDEN_LEAKAGE
    rare = bad["feature"][~is_found & ~is_hidden].tolist()
    bad = bad[is_found | is_hidden]
    worst = listed(bad["feature"].head(3).tolist())
    sentences = []
    if rare:
        sentences.append(
            f"{remover}: {listed(rare)} has levels of too few rows to tell whether they are "
            "removed: merge levels where you can."
        )
    if len(bad) == 0 and not rare:
        sentences.append(
            f"{remover}: no leakage is found for any of the {len(part)} features, so that its "
            "importances can be relied on as far as removal goes."
        )
    elif len(bad) > 0 and not is_found.any():
        sentences.append(
            f"{remover}: forests find nothing of any feature in the others; for {len(bad)} of "
            f"{len(part)}, {worst} first, that is in part because removal is fitted to these very "
            "rows, so their p-values may be too small."
        )
    elif len(bad) > 0:
        n_failed = int((bad["verdict"] == "failed").sum())
        sentences.append(
            f"{remover}: {len(bad)} of {len(part)} features are still told by the others "
            f"({n_failed} clearly), {worst} first. Their importances may be too low where others "
            "tell the same, and above zero where they are unrelated."
        )
        sentences.append(
            f"Use joint removal, the default, instead of {remover!r}."
            if remover.startswith(GENTLE_REMOVERS)
            else "Protect features that tell each other as one group, or leave one out."
        )
    retention = part["retention"].mean()
    if np.isfinite(retention) and retention < LOW_RETENTION:
        sentences.append(
            f"{remover} keeps {100 * retention:.0f} % of the power on average: importances are "
            "comparable with each other, and smaller than with a gentler remover."
        )
    return sentences
