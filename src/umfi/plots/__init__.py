"""Results as pictures; only here is Matplotlib known.

>>> import umfi
>>> X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
>>> ax = umfi.plots.plot_redundancy(X)
"""

from umfi.plots.bars import plot_comparison, plot_importances, plot_parts
from umfi.plots.formats import draw_svg, save_picture
from umfi.plots.pairs import plot_partners, plot_redundancy
from umfi.plots.runs import plot_leakage, plot_stability

__all__ = [
    "draw_svg",
    "plot_comparison",
    "plot_importances",
    "plot_leakage",
    "plot_partners",
    "plot_parts",
    "plot_redundancy",
    "plot_stability",
    "save_picture",
]
