"""Results as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from umfi.result import ImportanceResult

__all__ = ["plot_importances"]

# Okabe and Ito's blue and orange, which colour-blind readers can tell apart.
BAR_COLOUR = "#0072B2"
SPREAD_COLOUR = "#D55E00"
PALE_COLOUR = "#B8CCD8"

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
