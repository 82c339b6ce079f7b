"""Results as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from umfi.result import ImportanceResult

__all__ = ["plot_importances"]

# Okabe and Ito's blue and orange, which colour-blind readers can tell apart.
BAR_COLOUR = "#0072B2"
SPREAD_COLOUR = "#D55E00"

BAR_HEIGHT_INCHES = 0.22
MAX_HEIGHT_INCHES = 40.0


def plot_importances(result: ImportanceResult, ax: Axes | None = None) -> Axes:
    """Draw one bar a feature, largest on top, with the spread over repeats; return the axes.

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
    has_spread = result.n_repeats > 1
    ax.barh(
        places,
        table["importance"],
        xerr=table["spread"] if has_spread else None,
        color=BAR_COLOUR,
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
    spread = f", ± spread over {result.n_repeats} repeats" if has_spread else ""
    ax.set_xlabel(f"importance ({settings.get('measure', 'score')}{spread})")
    method = str(settings.get("method", "feature"))
    method = method.replace("ultra_", "ultra-").replace("_", " ")
    ax.set_title(f"{method} importance for {_plain_text(settings.get('target', 'y'))}", loc="left")
    return ax


def _plain_text(name: object) -> str:
    """Return a name as text: a dollar sign in it must not start a formula."""
    return str(name).replace("$", r"\$")
