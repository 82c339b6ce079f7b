"""Pictures in files and on pages."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_svg", "save_picture"]

# Stands for the colour of the page's own text until the page is shown.
INK = "#010203"
STYLE = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    # Text stays text: it can be searched, and the reader's fonts know all letters.
    "svg.fonttype": "none",
    "svg.hashsalt": "umfi",
    "font.family": "sans-serif",
}


def save_picture(draw: Callable[[], Axes], path: Path) -> Path:
    """Write what a function draws as a picture, and return its path.

    Letters that Matplotlib's font lacks are boxes there; reports have them.
    """
    _draw(draw, path, dpi=150)
    return path


def draw_svg(draw: Callable[[], Axes]) -> str:
    """Return what a function draws as an SVG element in the colours of the page.

    The same input gives the same text.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> result = umfi.bivariate(X, y, random_state=0)
    >>> draw_svg(result.plot)[:4]
    '<svg'
    """
    target = io.StringIO()
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        _draw(draw, target, format="svg", transparent=True, metadata={"Date": None})
    text = target.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Names that repeat from picture to picture; those that are referred to are other ones.
    text = re.sub(r' id="[A-Za-z]+[0-9a-z]*(\.[a-z]+)?_\d+"', "", text)
    for size in ("width", "height"):
        text = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", text, count=1)
    # In tags alone: a feature may have that name.
    return re.sub(r"<[^>]*>", lambda tag: tag[0].replace(INK, "currentColor"), text)


def _draw(draw: Callable[[], Axes], target: Path | io.StringIO, **form: Any) -> None:
    """Save what a function draws; browsers have the letters that Matplotlib's own font lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = draw().get_figure(root=True)
        assert figure is not None
        figure.savefig(target, bbox_inches="tight", **form)
        plt.close(figure)
