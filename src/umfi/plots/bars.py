"""Importances as bars: of one result, of several, and of their parts."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from numpy.typing import NDArray

from umfi.errors import InputError
from umfi.plots.style import (
    BAR_COLOUR,
    LINE_COLOURS,
    MAX_FEATURES,
    PALE_COLOUR,
    ROW_INCHES,
    SPREAD_COLOUR,
    ink,
    label_rows,
    legend_above,
    method_in_words,
    plain_text,
    row_axes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from umfi.importance.comparison import Comparison
    from umfi.importance.result import ImportanceResult

__all__ = ["plot_comparison", "plot_importances", "plot_parts"]

# What a feature adds alone and together; what nothing replaces, and what others could add too.
PART_COLOURS = {
    "alone": "#0072B2",
    "together": "#E69F00",
    "irreplaceable": "#009E73",
    "replaceable": "#8CC4B2",
}

# As many as stand above a column of bars.
TITLE_LETTERS = 18


def plot_importances(
    result: ImportanceResult, ax: Axes | None = None, *, max_features: int = MAX_FEATURES
) -> Axes:
    """Draw one bar per feature, largest on top, and return the axes.

    Lines show the 95 % intervals if there are any, or else the spread over the repeats. After a
    test the bars of features that are not related are pale, and those of features whose p-value is
    not to be trusted, because the others still carry information about them, are hatched.

    Parameters
    ----------
    result : ImportanceResult
    ax : matplotlib axes, optional
        A new figure of fitting height by default.
    max_features : int
        How many are drawn, the most important first.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> ax = umfi.bivariate(X, y, random_state=0).plot()
    >>> len(ax.patches)
    4
    """
    whole = result.table
    table = whole.head(max_features)
    if ax is None:
        ax = row_axes(len(table))
    errors, what = _error_bars(table, result.n_repeats)
    is_related = table.get("related", pd.Series(True, index=table.index))
    bars = ax.barh(
        range(len(table)),
        table["importance"],
        xerr=errors,
        color=is_related.map({True: BAR_COLOUR, False: PALE_COLOUR}).tolist(),
        ecolor=SPREAD_COLOUR,
        height=0.72,
        edgecolor="white",  # Of the hatches.
        linewidth=0.0,
    )
    leaks = table.get("leaks", pd.Series(False, index=table.index)).astype(bool)
    for bar, is_leaking in zip(bars, leaks, strict=True):
        bar.set_hatch("////" if is_leaking else None)
    ax.axvline(0.0, color=ink(), linewidth=0.8)
    label_rows(ax, table["feature"], len(whole))
    settings = result.settings
    ax.set_xlabel(f"importance ({settings.get('measure', 'score')}{what})")
    if result.tests is not None:
        level = f"false discovery rate {settings.get('alpha', 0.05):g}"
        handles = [
            Patch(color=BAR_COLOUR, label=f"related ({level})"),
            Patch(color=PALE_COLOUR, label="not related"),
        ]
        if leaks.any():
            handles.append(Patch(facecolor="0.5", edgecolor="white", hatch="////", label="leaks"))
        legend_above(ax, handles=handles, borderaxespad=0.1)
    method = method_in_words(settings.get("method", "feature"))
    ax.set_title(
        f"{method} importance for {plain_text(settings.get('target', 'y'))}",
        loc="left",
        pad=6.0 if result.tests is None else 24.0,
    )
    return ax


def plot_comparison(comparison: Comparison, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Draw a column of bars for each result, features in one order, and return the axes.

    Each has a scale of its own, because methods measure different things.

    Parameters
    ----------
    comparison : Comparison
    axes : sequence of matplotlib axes, one for each result, optional

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> axes = umfi.compare(X, y, methods=["ablation", "bivariate"], random_state=0).plot()
    >>> [ax.get_title(loc="left") for ax in axes]
    ['ablation', 'bivariate']
    """
    whole = comparison.table
    table = whole.head(MAX_FEATURES)
    names = list(comparison.results)
    if axes is None:
        _, grid = plt.subplots(
            1,
            len(names),
            figsize=(
                1.0 + 0.08 * min(max(map(len, table["feature"])), 32) + 2.0 * len(names),
                max(2.4, 1.4 + ROW_INCHES * len(table)),
            ),
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        axes = list(grid[0])
    for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
        colour = (BAR_COLOUR, *LINE_COLOURS[2:])[number % 4]
        ax.barh(range(len(table)), table[name], color=colour, height=0.72)
        ax.axvline(0.0, color=ink(), linewidth=0.8)
        # The last column says how many features are not drawn.
        is_last = number == len(names) - 1
        label_rows(ax, table["feature"], len(whole) if is_last else len(table))
        ax.set_xlabel(str(comparison.results[name].settings.get("measure", "score")))
        words = plain_text(name).replace("_", " ")
        ax.set_title("\n".join(wrap(words, TITLE_LETTERS)), loc="left", fontsize=10)
    return axes


def plot_parts(
    result: ImportanceResult, ax: Axes | None = None, *, max_features: int = MAX_FEATURES
) -> Axes:
    """Draw two stacked bars per feature, largest importance on top, and return the axes.

    The upper bar is what the feature adds alone and what only together with others, the lower one
    what nothing can replace and what others could add too. Both add up to the importance, which a
    black line marks; parts below zero lie left of it.

    Parameters
    ----------
    result : ImportanceResult
        From :func:`umfi.decompose`.
    ax : matplotlib axes, optional
        A new figure of fitting height by default.
    max_features : int
        How many are drawn, the most important first.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> ax = umfi.decompose(X, y, repeats=1, random_state=0).plot()
    >>> len(ax.patches)
    16
    """
    if result.part_scores is None:
        raise InputError("There are no parts: run umfi.decompose instead of a method.")
    whole = result.table
    table = whole.head(max_features)
    if ax is None:
        ax = row_axes(len(table), room=1.8, stretch=1.5)
    rows = np.arange(len(table))
    for stack, shift in ((("alone", "together"), -0.2), (("irreplaceable", "replaceable"), 0.2)):
        below, above = np.zeros(len(table)), np.zeros(len(table))
        for part in stack:
            widths = table[part].to_numpy()
            starts = np.where(widths < 0.0, below, above)
            colour = PART_COLOURS[part]
            ax.barh(rows + shift, widths, left=starts, height=0.36, color=colour, label=part)
            below, above = below + np.minimum(widths, 0.0), above + np.maximum(widths, 0.0)
    ax.vlines(
        table["importance"],
        rows - 0.4,
        rows + 0.4,
        color=ink(),
        linewidth=1.6,
        clip_on=False,
        label="importance",
    )
    ax.axvline(0.0, color=ink(), linewidth=0.8)
    label_rows(ax, table["feature"], len(whole))
    ax.set_xlabel(f"importance ({result.settings.get('measure', 'score')})")
    target = plain_text(result.settings.get("target", "y"))
    ax.set_title(f"parts of the importance for {target}", loc="left", pad=40.0)
    legend_above(ax)
    return ax


def _error_bars(table: pd.DataFrame, n_repeats: int) -> tuple[NDArray[np.float64] | None, str]:
    """Return lengths below and above the bars, shape (2, n_features), and what they are."""
    if "low" in table:
        below, above = table["importance"] - table["low"], table["high"] - table["importance"]
        return np.clip([below, above], 0.0, None), ", with 95 % intervals"
    if "spread" in table:
        return np.array([table["spread"]] * 2), f", ± spread over {n_repeats} repeats"
    return None, ""
