"""Results as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from numpy.typing import NDArray

from umfi.diagnosis import GOOD_LEAKAGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from umfi.diagnosis import Diagnosis
    from umfi.result import ImportanceResult

__all__ = ["plot_importances", "plot_leakage"]

# Okabe and Ito's blue and orange, which colour-blind readers can tell apart.
BAR_COLOUR = "#0072B2"
SPREAD_COLOUR = "#D55E00"
PALE_COLOUR = "#B8CCD8"
GOOD_COLOUR = "#009E73"
LINE_COLOURS = ("#E69F00", "#0072B2", "#D55E00", "#CC79A7", "#56B4E9")
LINE_MARKERS = ("s", "D", "^", "v", "P")

BAR_HEIGHT_INCHES = 0.22
MAX_HEIGHT_INCHES = 40.0


def plot_importances(result: ImportanceResult, ax: Axes | None = None) -> Axes:
    """Draw one bar a feature, largest on top, and return the axes.

    Lines show the 95 % intervals if there are any, or else the spread over the repeats. After a
    test the bars of features that are not related are pale.

    Parameters
    ----------
    result : ImportanceResult
    ax : matplotlib axes, optional
        A new figure of fitting height by default.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> ax = umfi.bivariate(X, y, random_state=0).plot()
    >>> len(ax.patches)
    4
    """
    table = result.table
    if ax is None:
        height = min(1.4 + BAR_HEIGHT_INCHES * len(table), MAX_HEIGHT_INCHES)
        _, ax = plt.subplots(figsize=(7.0, max(2.4, height)), layout="constrained")
    places = range(len(table))
    errors, what = _error_bars(table, result.n_repeats)
    is_related = table.get("related", pd.Series(True, index=table.index))
    ax.barh(
        places,
        table["importance"],
        xerr=errors,
        color=is_related.map({True: BAR_COLOUR, False: PALE_COLOUR}).tolist(),
        ecolor=SPREAD_COLOUR,
        height=0.72,
    )
    names = [_plain_text(name) for name in table["feature"]]
    ax.set_yticks(places, names, fontsize=9 if len(table) <= 60 else 6)
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.grid(axis="x", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    settings = result.settings
    ax.set_xlabel(f"importance ({settings.get('measure', 'score')}{what})")
    if not is_related.all():
        level = settings.get("alpha", 0.05)
        label = f"not related (false discovery rate {level:g})"
        ax.legend(handles=[Patch(color=PALE_COLOUR, label=label)], frameon=False, fontsize=9)
    method = str(settings.get("method", "feature"))
    method = method.replace("ultra_", "ultra-").replace("_", " ")
    ax.set_title(f"{method} importance for {_plain_text(settings.get('target', 'y'))}", loc="left")
    return ax


def plot_leakage(diagnosis: Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw how well the others tell each feature, before and after removal; return the axes.

    One line a remover, features in the order of the table (as figures 6 and 14 of the paper); what
    lies in the green band is as good as nothing.

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
    table = diagnosis.table
    names = table["feature"].unique()
    if ax is None:
        width = float(np.clip(2.5 + BAR_HEIGHT_INCHES * len(names), 6.0, MAX_HEIGHT_INCHES))
        _, ax = plt.subplots(figsize=(width, 4.4), layout="constrained")
    places = np.arange(len(names))
    for number, (remover, part) in enumerate(table.groupby("remover", sort=False)):
        if number == 0:
            ax.plot(places, part["before"], color="black", marker="o", markersize=3, label="before")
        ax.plot(
            places,
            part["leakage"],
            color=LINE_COLOURS[number % len(LINE_COLOURS)],
            marker=LINE_MARKERS[number % len(LINE_MARKERS)],
            markersize=4,
            label=_plain_text(remover),
        )
    lowest = max(float(table[["before", "leakage"]].min().min()), -0.5)
    bottom = min(-0.08, 1.1 * lowest)
    ax.axhspan(bottom, GOOD_LEAKAGE, color=GOOD_COLOUR, alpha=0.1, linewidth=0)
    ax.axhline(0.0, color="0.4", linewidth=0.8)
    ax.set_ylim(bottom, 1.02)
    ax.set_xlim(-0.5, len(names) - 0.5)
    labels = [_plain_text(name) for name in names]
    ax.set_xticks(places, labels, rotation=90, fontsize=8 if len(names) <= 60 else 5)
    ax.set_ylabel("R² of the feature from the others")
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, ncols=6, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return ax


def _error_bars(table: pd.DataFrame, n_repeats: int) -> tuple[NDArray[np.float64] | None, str]:
    """Return lengths below and above the bars, shape (2, n_features), and what they are."""
    if "low" in table:
        below, above = table["importance"] - table["low"], table["high"] - table["importance"]
        return np.clip([below, above], 0.0, None), ", with 95 % intervals"
    if n_repeats > 1:
        return np.array([table["spread"]] * 2), f", ± spread over {n_repeats} repeats"
    return None, ""


def _plain_text(name: object) -> str:
    """Return a name as text: a dollar sign in it must not start a formula."""
    return str(name).replace("$", r"\$")
