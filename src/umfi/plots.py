"""Results as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch
from numpy.typing import NDArray

from umfi.diagnosis import GOOD_LEAKAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from umfi.comparison import Comparison
    from umfi.diagnosis import Diagnosis
    from umfi.partnership import Partners
    from umfi.result import ImportanceResult

__all__ = ["plot_comparison", "plot_importances", "plot_leakage", "plot_partners", "plot_parts"]

# Okabe and Ito's blue and orange, which colour-blind readers can tell apart.
BAR_COLOUR = "#0072B2"
SPREAD_COLOUR = "#D55E00"
PALE_COLOUR = "#B8CCD8"
GOOD_COLOUR = "#009E73"
LINE_COLOURS = ("#E69F00", "#0072B2", "#D55E00", "#CC79A7", "#56B4E9")
LINE_MARKERS = ("s", "D", "^", "v", "P")

# What a feature says alone and together; what nothing replaces, and what others say too.
PART_COLOURS = {
    "alone": "#0072B2",
    "together": "#E69F00",
    "irreplaceable": "#009E73",
    "replaceable": "#B5D9CC",
}

# Of each kind of pair: who is drawn, in which colour, and how far lines bend, so that two between
# the same features do not hide each other.
PAIR_COLOURS = {
    "sharing": ("shares", "#0072B2", 0.12),
    "interaction": ("interacts", "#E69F00", -0.12),
}

BAR_HEIGHT_INCHES = 0.22
MAX_HEIGHT_INCHES = 40.0
# Of longer names the middle is left out.
MAX_NAME_LETTERS = 32


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
    _name_features(ax, table["feature"])
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
    table = comparison.table
    names = list(comparison.results)
    if axes is None:
        height = min(1.4 + BAR_HEIGHT_INCHES * len(table), MAX_HEIGHT_INCHES)
        _, grid = plt.subplots(
            1,
            len(names),
            figsize=(1.6 + 2.0 * len(names), max(2.4, height)),
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        axes = list(grid[0])
    for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
        colour = (BAR_COLOUR, *LINE_COLOURS[2:])[number % 4]
        ax.barh(range(len(table)), table[name], color=colour, height=0.72)
        _name_features(ax, table["feature"])
        settings = comparison.results[name].settings
        ax.set_xlabel(str(settings.get("measure", "score")))
        ax.set_title(
            "\n".join(_plain_text(name).replace("_", " ").split(", ")), loc="left", fontsize=10
        )
    return axes


def plot_parts(result: ImportanceResult, ax: Axes | None = None) -> Axes:
    """Draw two stacked bars a feature, largest importance on top, and return the axes.

    The upper bar is what the feature says alone and what only together with others, the lower one
    what nothing can replace and what others say too. Both add up to the importance, which a black
    line marks; parts below zero lie left of it.

    Parameters
    ----------
    result : ImportanceResult
        From :func:`umfi.decompose`.
    ax : matplotlib axes, optional
        A new figure of fitting height by default.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> ax = umfi.decompose(X, y, repeats=1, random_state=0).plot()
    >>> len(ax.patches)
    16
    """
    table = result.table
    if ax is None:
        height = min(1.8 + 1.5 * BAR_HEIGHT_INCHES * len(table), MAX_HEIGHT_INCHES)
        _, ax = plt.subplots(figsize=(7.0, max(2.8, height)), layout="constrained")
    places = np.arange(len(table))
    for stack, shift in ((("alone", "together"), -0.2), (("irreplaceable", "replaceable"), 0.2)):
        below, above = np.zeros(len(table)), np.zeros(len(table))
        for part in stack:
            widths = table[part].to_numpy()
            starts = np.where(widths < 0.0, below, above)
            ax.barh(
                places + shift,
                widths,
                left=starts,
                height=0.36,
                color=PART_COLOURS[part],
                label=part,
            )
            below, above = below + np.minimum(widths, 0.0), above + np.maximum(widths, 0.0)
    importances = table["importance"].to_numpy()
    ax.vlines(
        importances,
        places - 0.4,
        places + 0.4,
        color="black",
        linewidth=1.6,
        clip_on=False,
        label="importance",
    )
    _name_features(ax, table["feature"])
    ax.set_xlabel(f"importance ({result.settings.get('measure', 'score')})")
    ax.set_title(
        f"what features say about {_plain_text(result.settings.get('target', 'y'))}",
        loc="left",
        pad=40.0,
    )
    ax.legend(
        frameon=False,
        fontsize=9,
        ncols=3,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
    )
    return ax


def plot_partners(partners: Partners, ax: Axes | None = None) -> Axes:
    """Draw features on a circle, with a line for each pair that shares or interacts.

    Blue lines share, orange ones interact; the thicker, the more R². Where a pair was looked at
    from both sides, the stronger one counts. Features without a line are grey.

    Parameters
    ----------
    partners : Partners
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("nonlinear_interactions", n=400, random_state=0)
    >>> ax = umfi.partners(X, y, "x1", random_state=0).plot()
    >>> len(ax.patches)
    1
    """
    table = partners.table
    names = list(dict.fromkeys([*table["feature"], *table["partner"]]))
    if ax is None:
        side = float(np.clip(4.5 + 0.07 * len(names), 5.0, 9.0))
        _, ax = plt.subplots(figsize=(side, side), layout="constrained")
    # Half a step from the top, which the title needs.
    angles = np.pi / 2.0 - 2.0 * np.pi * (np.arange(len(names)) + 0.5) / len(names)
    places = {name: (np.cos(a), np.sin(a)) for name, a in zip(names, angles, strict=True)}
    strongest = max(float(table[list(PAIR_COLOURS)].to_numpy().max()), 1e-12)
    widest = 5.0 if len(names) <= 20 else 3.0
    linked: set[str] = set()
    for effect, (verdict, colour, bend) in PAIR_COLOURS.items():
        found: dict[frozenset[str], float] = {}
        for row in table[table[verdict]].to_dict("records"):
            pair = frozenset((str(row["feature"]), str(row["partner"])))
            found[pair] = max(found.get(pair, 0.0), float(row[effect]))
        for pair, strength in found.items():
            first, second = sorted(pair, key=names.index)
            linked |= pair
            ax.add_patch(
                FancyArrowPatch(
                    places[first],
                    places[second],
                    arrowstyle="-",
                    connectionstyle=f"arc3,rad={bend}",
                    color=colour,
                    alpha=0.8,
                    linewidth=0.8 + widest * max(strength, 0.0) / strongest,
                )
            )
    font = 10.0 if len(names) <= 20 else 7.5
    asked = set(table["feature"])
    for name, angle in zip(names, angles, strict=True):
        x, y = places[name]
        is_left = x < -1e-9
        ax.plot(x, y, "o", color="black" if name in linked else "0.75", markersize=5)
        ax.text(
            1.06 * x,
            1.06 * y,
            _plain_text(name),
            rotation=np.degrees(angle) + (180.0 if is_left else 0.0),
            rotation_mode="anchor",
            horizontalalignment="right" if is_left else "left",
            verticalalignment="center",
            fontsize=font,
            color="black" if name in linked else "0.5",
            fontweight="bold" if name in asked and len(asked) < len(names) else "normal",
        )
    handles = [
        Line2D([], [], color=colour, linewidth=3, label=verdict)
        for verdict, colour, _ in PAIR_COLOURS.values()
    ]
    ax.legend(handles=handles, frameon=False, fontsize=9, loc="lower right")
    # Names reach beyond the circle.
    ax.set_xlim(-1.7, 1.7)
    ax.set_ylim(-1.7, 1.7)
    ax.set_aspect("equal")
    ax.set_axis_off()
    target = _plain_text(partners.settings.get("target", "y"))
    ax.set_title(f"features that share or interact: {target}", loc="left", pad=14.0)
    if not linked:
        ax.text(0.0, 0.0, "no pair was found", horizontalalignment="center", color="0.4")
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


def _name_features(ax: Axes, features: pd.Series) -> None:
    """Give horizontal bars their names, the first on top, and a quiet grid."""
    n_features = len(features)
    names = [_plain_text(name) for name in features]
    ax.set_yticks(range(n_features), names, fontsize=9 if n_features <= 60 else 6)
    ax.set_ylim(n_features - 0.4, -0.6)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.grid(axis="x", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _error_bars(table: pd.DataFrame, n_repeats: int) -> tuple[NDArray[np.float64] | None, str]:
    """Return lengths below and above the bars, shape (2, n_features), and what they are."""
    if "low" in table:
        below, above = table["importance"] - table["low"], table["high"] - table["importance"]
        return np.clip([below, above], 0.0, None), ", with 95 % intervals"
    if n_repeats > 1:
        return np.array([table["spread"]] * 2), f", ± spread over {n_repeats} repeats"
    return None, ""


def _plain_text(name: object) -> str:
    """Return a name as text: not too long, and a dollar sign in it must not start a formula."""
    text = str(name)
    if len(text) > MAX_NAME_LETTERS:
        half = MAX_NAME_LETTERS // 2
        text = f"{text[:half]}…{text[-half + 1 :]}"
    return text.replace("$", r"\$")
