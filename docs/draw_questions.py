"""Draws which function answers which question."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

# What the question is about, then questions and the functions that answer them.
QUESTIONS = {
    "about the data": [
        (
            "Is the feature related to the response,\nalone or together with others?",
            "ultra_marginal",
        ),
        ("What information does it carry by itself?", "bivariate"),
        ("What can no other feature replace?", "ablation"),
        ("All three on one scale, and what lies between?", "decompose"),
        ("Which features carry the same, and which does it need?", "partners"),
        ("What is the most it adds to any two others?", "marginal_contribution"),
    ],
    "about a forest": [
        ("How much does a fitted forest rely on it?", "permutation"),
        ("... beyond what associated features predict?", "conditional_permutation"),
    ],
    "about the answer": [
        ("Did removal work on this table?", "diagnose"),
        ("Do methods and powers agree?", "compare"),
    ],
}

# Ink, line and fill of a page, and the colours of the branches.
SHADES = {
    "light": ("#1a1a1a", "#8a8f98", "#ffffff", ("#0072B2", "#B35900", "#00795A")),
    "dark": ("#e8e8e8", "#7d838c", "#1d1f23", ("#56B4E9", "#E69F00", "#33C79B")),
}

ROOT, BRANCH, QUESTION, FUNCTION = 0.0, 2.45, 5.2, 10.55
WIDTHS = {ROOT: 1.75, BRANCH: 2.05, QUESTION: 4.85, FUNCTION: 3.05}
GAP = 0.55


def draw_questions(path: Path, shade: str) -> None:
    """Write the diagram to a file, for a light or a dark page."""
    ink, line, fill, colours = SHADES[shade]
    n_questions = sum(map(len, QUESTIONS.values()))
    height = n_questions + GAP * (len(QUESTIONS) - 1)
    figure, ax = plt.subplots(figsize=(10.4, 6.6))
    ax.set_position((0.0, 0.0, 1.0, 1.0))
    top = height - 0.5
    branches = []
    for (about, questions), colour in zip(QUESTIONS.items(), colours, strict=True):
        ups = [top - number for number in range(len(questions))]
        top = ups[-1] - 1.0 - GAP
        middle = (ups[0] + ups[-1]) / 2.0
        branches.append((about, middle, colour))
        for (question, function), up in zip(questions, ups, strict=True):
            _link(ax, BRANCH, middle, QUESTION, up, line)
            _link(ax, QUESTION, up, FUNCTION, up, line)
            _box(ax, QUESTION, up, question, ink, line, fill)
            _box(ax, FUNCTION, up, f"umfi.{function}", fill, colour, colour, is_code=True)
    root = (branches[0][1] + branches[-1][1]) / 2.0
    for about, up, colour in branches:
        _link(ax, ROOT, root, BRANCH, up, line)
        _box(ax, BRANCH, up, about, colour, colour, fill)
    _box(ax, ROOT, root, "What do you\nwant to know?", ink, ink, fill)
    ax.set_xlim(-0.1, FUNCTION + WIDTHS[FUNCTION] + 0.1)
    ax.set_ylim(-0.1, height + 0.1)
    ax.set_axis_off()
    # Without a date, the same drawing is the same file.
    figure.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(figure)


def _box(
    ax: Axes,
    left: float,
    middle: float,
    text: str,
    ink: str,
    edge: str,
    fill: str,
    *,
    is_code: bool = False,
) -> None:
    width, height = WIDTHS[left], 0.74
    box = FancyBboxPatch(
        (left, middle - height / 2.0),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.12",
        facecolor=fill,
        edgecolor=edge,
        linewidth=1.3,
        zorder=2,
    )
    ax.add_patch(box)
    ax.text(
        left + width / 2.0,
        middle,
        text,
        color=ink,
        fontsize=9 if is_code else 10,
        fontfamily="monospace" if is_code else "sans-serif",
        horizontalalignment="center",
        verticalalignment="center",
        zorder=3,
    )


def _link(ax: Axes, left: float, start: float, right: float, end: float, colour: str) -> None:
    """Draw a line with two corners from one box to the next."""
    from_x = left + WIDTHS[left]
    middle = (from_x + right) / 2.0
    ax.plot(
        [from_x, middle, middle, right],
        [start, start, end, end],
        color=colour,
        linewidth=1.3,
        solid_joinstyle="round",
        zorder=1,
    )
