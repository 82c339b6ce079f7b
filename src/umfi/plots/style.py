"""What all pictures have in common: colours, names of features, sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt

if TYPE_CHECKING:
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
    "name_rows",
    "new_axes",
    "note_hidden",
    "plain_text",
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


def new_axes(n_rows: int, *, width: float = 7.0, room: float = 1.4, stretch: float = 1.0) -> Axes:
    """Return axes of a new figure that has room for so many rows."""
    height = max(room + 1.0, room + stretch * ROW_INCHES * n_rows)
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def row_font(ax: Axes, n_rows: int) -> float:
    """Return a size of letters, in points, with which so many names fit above each other."""
    height = 72.0 * ax.get_window_extent().height / ax.figure.dpi
    return float(min(max(0.8 * height / max(n_rows, 1), MIN_ROW_FONT), MAX_ROW_FONT))


def name_rows(ax: Axes, features: Iterable[object]) -> None:
    """Give rows their names, the first on top, and a quiet grid."""
    names = [plain_text(name) for name in features]
    ax.set_yticks(range(len(names)), names, fontsize=row_font(ax, len(names)))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="x", color="0.5", alpha=0.3, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


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
