"""What all pictures have in common: colours, names of features, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "BAR_COLOUR",
    "GOOD_COLOUR",
    "LINE_COLOURS",
    "MAX_FEATURES",
    "PALE_COLOUR",
    "ROW_INCHES",
    "SPREAD_COLOUR",
    "ink",
    "label_rows",
    "legend_above",
    "method_in_words",
    "new_axes",
    "note_hidden",
    "plain_text",
    "quiet_grid",
    "row_axes",
    "row_font",
]

# Okabe and Ito's, which colour-blind readers can distinguish.
BAR_COLOUR = "#0072B2"
SPREAD_COLOUR = "#D55E00"
PALE_COLOUR = "#A9BFCC"
GOOD_COLOUR = "#009E73"
LINE_COLOURS = ("#E69F00", "#0072B2", "#D55E00", "#CC79A7", "#56B4E9")

ROW_INCHES = 0.22
MAX_ROW_FONT, MIN_ROW_FONT = 9.0, 3.0
# A picture of more is not looked at; the table has them all.
MAX_FEATURES = 200
# Of longer names the middle is left out.
MAX_NAME_LETTERS = 32


def ink() -> str:
    """Return the colour of text and lines, which dark styles set to something bright."""
    return str(plt.rcParams["text.color"])


def new_axes(width: float, height: float) -> Axes:
    """Return axes of a new figure, whose size is in inches."""
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def row_axes(n_rows: int, *, room: float = 1.4, stretch: float = 1.0) -> Axes:
    """Return axes of a new figure that has room for so many rows."""
    return new_axes(7.0, room + max(1.0, stretch * ROW_INCHES * n_rows))


def row_font(ax: Axes, n_rows: int) -> float:
    """Return a size of letters, in points, with which so many names fit above each other."""
    height = 72.0 * ax.get_window_extent().height / ax.figure.dpi
    return float(min(max(0.8 * height / max(n_rows, 1), MIN_ROW_FONT), MAX_ROW_FONT))


def label_rows(ax: Axes, features: Sequence[object] | pd.Series, n_features: int) -> None:
    """Give rows their names, the first on top, and a quiet grid; say how many are not drawn."""
    names = [plain_text(name) for name in features]
    ax.set_yticks(range(len(names)), names, fontsize=row_font(ax, len(names)))
    ax.set_ylim(len(names) - 0.4, -0.6)
    quiet_grid(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    note_hidden(ax, len(names), n_features)


def quiet_grid(ax: Axes, axis: Literal["x", "y"]) -> None:
    """Draw lines to read an axis by, below all else, and no frame where there is no axis."""
    ax.grid(axis=axis, color="0.5", alpha=0.3, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def legend_above(ax: Axes, **arguments: Any) -> None:
    """Draw a legend above the picture, from its left end."""
    arguments.setdefault("ncols", 3)
    ax.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0.0, 1.0), **arguments)


def note_hidden(ax: Axes, n_shown: int, n_features: int) -> None:
    """Say how many features are not drawn."""
    if n_shown < n_features:
        ax.text(
            1.0,
            0.01,
            f"the first {n_shown:,} of {n_features:,} features",
            transform=ax.transAxes,
            horizontalalignment="right",
            verticalalignment="bottom",
            fontsize=8,
            color="0.5",
        )


def method_in_words(name: object) -> str:
    """Return the name of a method as it is written in a sentence."""
    return str(name).replace("ultra_", "ultra-").replace("_", " ")


def plain_text(name: object) -> str:
    """Return a name as text: one line, not too long, and a dollar sign must start no formula."""
    text = " ".join(str(name).split()) or "(no name)"
    text = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    if len(text) > MAX_NAME_LETTERS:
        half = MAX_NAME_LETTERS // 2
        text = f"{text[:half]}…{text[-half + 1 :]}"
    return text.replace("$", r"\$")
