"""How well features are told by the others, before and after removal (figures 6 and 14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

import umfi
from umfi.experiments.workshop import Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_leakage", "run_leakage"]


def run_leakage(
    workshop: Workshop, X: pd.DataFrame, removers: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Return ``remover, feature, before, leakage``: out-of-bag R² of forests, as in the paper."""
    before = {
        feature: _tell(workshop, X.drop(columns=feature), X[feature], "before")
        for feature in workshop.track(X.columns, "before removal")
    }
    rows = []
    for name, settings in removers.items():
        for feature in workshop.track(X.columns, name):
            seed = workshop.seed_of(name, feature)
            left = umfi.remove_dependence(X, feature, random_state=seed, **settings)
            rows.append((name, feature, before[feature], _tell(workshop, left, X[feature], name)))
    return pd.DataFrame(rows, columns=["remover", "feature", "before", "leakage"])


def _tell(workshop: Workshop, others: pd.DataFrame, feature: pd.Series, what: str) -> float:
    """Return how well a feature is told by others."""
    seed = workshop.seed_of("told", what, feature.name)
    return umfi.predictive_power(others, feature, task="regression", random_state=seed)


def draw_leakage(table: pd.DataFrame) -> Figure:
    """Draw what the others tell of each feature, a line a remover."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(11, 4.6), layout="constrained")
    for number, (remover, part) in enumerate(table.groupby("remover", sort=False)):
        if number == 0:
            ax.plot(part["feature"], part["before"], "o-", color="black", label="before")
        colour = ("#D55E00", "#0072B2", "#E69F00", "#56B4E9", "#009E73")[number % 5]
        ax.plot(part["feature"], part["leakage"], "s-", color=colour, markersize=4, label=remover)
    ax.axhline(0.0, color="0.4", linewidth=0.8)
    ax.tick_params(axis="x", rotation=90, labelsize=7)
    ax.set_ylabel("out-of-bag R² of the feature from the others")
    ax.legend(frameon=False, ncols=6, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))
    ax.spines[["top", "right"]].set_visible(False)
    return figure
