"""Pairs of features: sharing and interaction, and how they depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from umfi.data.columns import MIN_ROWS
from umfi.data.frames import drop_incomplete_rows, read_columns
from umfi.errors import InputError
from umfi.importance.pairs import associate
from umfi.plots.style import MAX_FEATURES, ink, new_axes, note_hidden, plain_text, row_font

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from umfi.importance.partners import Partners

__all__ = ["plot_partners", "plot_redundancy"]

# Of each effect: the column that says which pairs have it, a colour, and how far lines bend, so
# that two between the same features do not hide each other.
PAIR_COLOURS = {
    "sharing": ("shares", "#0072B2", 0.12),
    "interaction": ("interacts", "#E69F00", -0.12),
}
# From pale to dark also without colours.
DEPENDENCE_COLOURS = "Blues"


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
        side = float(np.clip(4.5 + 0.07 * len(names), 5.0, 20.0))
        ax = new_axes(side, side)
    # Half an angle from the top, which the title needs.
    angles = np.pi / 2.0 - 2.0 * np.pi * (np.arange(len(names)) + 0.5) / len(names)
    points = {name: (np.cos(a), np.sin(a)) for name, a in zip(names, angles, strict=True)}
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
                    points[first],
                    points[second],
                    arrowstyle="-",
                    connectionstyle=f"arc3,rad={bend}",
                    color=colour,
                    alpha=0.8,
                    linewidth=0.8 + widest * max(strength, 0.0) / strongest,
                )
            )
    # As large as the circle leaves room for.
    inches = ax.get_window_extent().height / ax.figure.dpi
    font = float(np.clip(72.0 * inches / 3.4 * 2.0 * np.pi / len(names) * 0.8, 3.0, 10.0))
    asked = set(table["feature"])
    for name, angle in zip(names, angles, strict=True):
        x, y = points[name]
        is_left, is_linked = x < -1e-9, name in linked
        ax.plot(x, y, "o", color=ink() if is_linked else "0.75", markersize=5)
        ax.text(
            1.06 * x,
            1.06 * y,
            plain_text(name),
            rotation=np.degrees(angle) + (180.0 if is_left else 0.0),
            rotation_mode="anchor",
            horizontalalignment="right" if is_left else "left",
            verticalalignment="center",
            fontsize=font,
            color=ink() if is_linked else "0.5",
            fontweight="bold" if name in asked and len(asked) < len(names) else "normal",
        )
    handles = [
        Line2D([], [], color=colour, linewidth=3, label=verdict)
        for verdict, colour, _ in PAIR_COLOURS.values()
    ]
    ax.legend(handles=handles, frameon=False, fontsize=9, loc="lower right")
    # Names reach beyond the circle.
    ax.set(xlim=(-1.7, 1.7), ylim=(-1.7, 1.7), aspect="equal")
    ax.set_axis_off()
    target = plain_text(partners.settings.get("target", "y"))
    ax.set_title(f"features that share or interact: {target}", loc="left", pad=14.0)
    if not linked:
        ax.text(0.0, 0.0, "no pair was found", horizontalalignment="center", color="0.4")
    return ax


def plot_redundancy(
    X: Any,
    ax: Axes | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    max_features: int = MAX_FEATURES,
) -> Axes:
    """Draw how features depend on each other, similar ones side by side; return the axes.

    Each square is the proportion of one feature that the other one explains, by :func:`associate`:
    the squared rank correlation of numbers, and what corresponds to it for categories. Dark blocks
    are features that carry the same information. Dependence that rises and falls is not seen.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
        Rows with missing values are left out, or where these are most, missing values are a level
        of their own.
    ax : matplotlib axes, optional
        A new figure of fitting size by default.
    kinds : dict, optional
        As in :func:`umfi.ultra_marginal`.
    max_features : int
        How many are drawn, the first ones.

    Examples
    --------
    >>> import umfi
    >>> from umfi.plots import plot_redundancy
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> ax = plot_redundancy(X)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x1', 'x3', 'x4', 'x2']
    """
    columns = read_columns(_without_gaps(X), kinds=kinds, missing="level")
    n_features = columns.n_columns
    columns = columns.select(range(min(n_features, max_features)))
    explained = associate(columns)
    order = _order_alike(explained)
    n_shown = len(order)
    if ax is None:
        side = float(np.clip(2.6 + 0.17 * n_shown, 4.0, 26.0))
        ax = new_axes(side + 0.8, side)
    picture = ax.imshow(
        explained[np.ix_(order, order)], cmap=DEPENDENCE_COLOURS, vmin=0.0, vmax=1.0, aspect="equal"
    )
    names = [plain_text(columns.names[position]) for position in order]
    font = row_font(ax, n_shown)
    ax.set_xticks(range(n_shown), names, rotation=90, fontsize=font)
    ax.set_yticks(range(n_shown), names, fontsize=font)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(picture, ax=ax, shrink=0.6, pad=0.02)
    bar.set_label("squared rank correlation, or its like for categories")
    bar.outline.set_visible(False)
    ax.set_title("dependence between features", loc="left")
    note_hidden(ax, n_shown, n_features)
    return ax


def _without_gaps(X: Any) -> Any:
    """Return the complete rows of a table if they are most of it, or all of it."""
    try:
        complete, _ = drop_incomplete_rows(X)
    except InputError:
        return X
    return complete if len(complete) >= max(len(X) / 2, MIN_ROWS) else X


def _order_alike(explained: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Return an order of features in which similar ones stand side by side."""
    if len(explained) < 3:
        return list(range(len(explained)))
    distances = squareform(1.0 - explained, checks=False)
    tree = hierarchy.linkage(distances, "average", optimal_ordering=True)
    return [int(leaf) for leaf in hierarchy.leaves_list(tree)]
