"""How far numbers can be trusted: leakage before and after removal, ranks over the repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from umfi.errors import InputError
from umfi.importance.diagnose import GOOD_LEAKAGE
from umfi.plots.style import (
    BAR_COLOUR,
    GOOD_COLOUR,
    LINE_COLOURS,
    MAX_FEATURES,
    ROW_INCHES,
    SPREAD_COLOUR,
    ink,
    label_rows,
    legend_above,
    new_axes,
    note_hidden,
    plain_text,
    quiet_grid,
    row_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from umfi.importance.diagnose import Diagnosis
    from umfi.importance.result import ImportanceResult

__all__ = ["plot_leakage", "plot_stability"]

LINE_MARKERS = ("s", "D", "^", "v", "P")
# What lies between them is drawn thin and thick.
RARE, USUAL = (0.05, 0.95), (0.25, 0.75)


def plot_stability(
    result: ImportanceResult, ax: Axes | None = None, *, max_features: int = MAX_FEATURES
) -> Axes:
    """Draw which ranks each feature had over the repeats, and return the axes.

    A dot is the median rank, 1 being the most important, the thick line holds half of the repeats
    and the thin one nine tenths. Features whose lines overlap are not distinguished.

    Parameters
    ----------
    result : ImportanceResult
        Of two repeats or more.
    ax : matplotlib axes, optional
        A new figure of fitting height by default.
    max_features : int
        How many are drawn, the most important first.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> ax = umfi.bivariate(X, y, repeats=5, random_state=0).plot(kind="stability")
    >>> ax.get_xlabel()
    'rank in each of 5 repeats'
    """
    if result.n_repeats < 2:
        raise InputError("Ranks of a single run are all there is: run the method with repeats=20.")
    importances = result.scores.pivot(index="repeat", columns="feature", values="importance")
    ranks = importances.rank(axis=1, ascending=False)
    order = result.table["feature"]
    shown = order.head(max_features)
    if ax is None:
        ax = row_axes(len(shown))
    rows = np.arange(len(shown))
    for (low, high), width in ((RARE, 1.2), (USUAL, 4.0)):
        lows, highs = ranks[shown].quantile(low), ranks[shown].quantile(high)
        ax.hlines(rows, lows, highs, color=BAR_COLOUR, linewidth=width)
    ax.plot(ranks[shown].median(), rows, "o", color=SPREAD_COLOUR, markersize=4)
    label_rows(ax, shown, len(order))
    ax.set_xlim(0.5, len(order) + 0.5)
    ax.set_xlabel(f"rank in each of {result.n_repeats} repeats")
    ax.set_title("how stable the ranking is", loc="left")
    return ax


def plot_leakage(diagnosis: Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw how well others predict each feature, before and after removal; return the axes.

    One line per remover, features in the order of the table (as figures 6 and 14 of the paper);
    what lies in the green band is as good as nothing.

    Parameters
    ----------
    diagnosis : Diagnosis
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> ax = umfi.diagnose(X, remover="linear", random_state=0).plot()
    >>> [line.get_label() for line in ax.lines][:2]
    ['before', 'linear']
    """
    whole = diagnosis.table
    n_features = whole["feature"].nunique()
    names = whole["feature"].unique()[:MAX_FEATURES]
    table = whole[whole["feature"].isin(names)]
    if ax is None:
        ax = new_axes(float(np.clip(2.5 + ROW_INCHES * len(names), 6.0, 48.0)), 4.4)
    positions = np.arange(len(names))
    for number, (remover, found) in enumerate(table.groupby("remover", sort=False)):
        # A run that stopped early has gaps.
        part = found.set_index("feature").reindex(names)
        if number == 0:
            ax.plot(
                positions, part["before"], color=ink(), marker="o", markersize=3, label="before"
            )
        ax.plot(
            positions,
            part["leakage"],
            color=LINE_COLOURS[number % len(LINE_COLOURS)],
            marker=LINE_MARKERS[number % len(LINE_MARKERS)],
            markersize=4,
            label=plain_text(remover),
        )
    lowest = max(float(np.nanmin(table[["before", "leakage"]].to_numpy(), initial=0.0)), -0.5)
    bottom = min(-0.08, 1.1 * lowest)
    ax.axhspan(bottom, GOOD_LEAKAGE, color=GOOD_COLOUR, alpha=0.1, linewidth=0)
    ax.axhline(0.0, color=ink(), linewidth=0.8)
    ax.set_ylim(bottom, 1.02)
    ax.set_xlim(-0.5, len(names) - 0.5)
    labels = [plain_text(name) for name in names]
    ax.set_xticks(positions, labels, rotation=90, fontsize=8 if len(names) <= 60 else 6)
    ax.set_ylabel("R² of the feature from the others")
    quiet_grid(ax, "y")
    legend_above(ax, ncols=6)
    note_hidden(ax, len(names), n_features)
    return ax
