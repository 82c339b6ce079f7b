"""A protected column as the rounds of joint removal see it: bins, and points along it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from umfi.data.columns import Columns
from umfi.jit import kernel
from umfi.removal.protected import Cut, cut_block

__all__ = ["Nodes", "Place", "find_places"]

# Neighbours count by the normal curve. About so many rows lie within one standard deviation, if
# that is neither less nor more of the table than this.
ROWS_IN_REACH = 64
MIN_REACH, MAX_REACH = 0.02, 0.2
# The first round follows nothing but the slow movements.
SMOOTH_REACH = 0.2
# Means and covariances are estimated from about so many rows at most, and from so many of a bin.
MAX_FITTED_ROWS = 20_000
MAX_FITTED_OF_BIN = 1000
# Rows that stand this close together have no line through them.
NEGLIGIBLE = 1e-12


class Nodes(NamedTuple):
    """Points along a protected column at which distributions are estimated.

    Attributes
    ----------
    rows : ndarray of int, shape (n_fitted_rows,)
        The rows that they are estimated from; all, but for long tables.
    means : ndarray, shape (n_nodes, n_fitted_rows)
        Weights whose sum over rows is the mean at a node: locally linear, so that a slope does
        not bend it at the ends.
    weights : ndarray, shape (n_nodes, n_fitted_rows)
        Weights of neighbours that sum to 1.
    below : ndarray of int, shape (n_rows,)
        The node below each row; the row lies between this one and the next.
    share : ndarray, shape (n_rows,)
        How far it is on the way.
    """

    rows: NDArray[np.intp]
    means: NDArray[np.float64]
    weights: NDArray[np.float64]
    below: NDArray[np.intp]
    share: NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """A protected column as the rounds see it; what gentle rounds do not need is made when asked.

    Attributes
    ----------
    halves : Cut
        It cut in two, but for values with bins of their own.
    bins : Cut
    reach : float
        Of near points, in shares of the rows.
    """

    halves: Cut
    bins: Cut
    reach: float

    @cached_property
    def slow(self) -> Nodes:
        """Points along it, of a large reach."""
        return _find_nodes(self.bins, SMOOTH_REACH)

    @cached_property
    def near(self) -> Nodes:
        """Points along it, of a small reach."""
        return _find_nodes(self.bins, self.reach)

    @cached_property
    def line(self) -> NDArray[np.float64]:
        """Its normal scores, of length 1, shape (n_rows,); 0 where it has a bin of its own."""
        return _find_line(self.bins)


def find_places(block: Columns, others: Columns, rows_per_bin: int) -> list[Place]:
    """Return what the rounds see of each column of a protected block.

    Parameters
    ----------
    block : Columns
    others : Columns
        What is transformed.
    rows_per_bin : int

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> columns = read_columns(np.random.default_rng(0).normal(size=(200, 2)))
    >>> place, = find_places(columns.select([0]), columns.select([1]), 50)
    >>> len(place.halves.bins), len(place.bins.bins), len(place.slow.means)
    (2, 4, 5)
    """
    n_rows = block.n_rows
    reach = float(np.clip(ROWS_IN_REACH / n_rows, MIN_REACH, MAX_REACH))
    n_coarse = max(rows_per_bin, n_rows // 2)
    return [
        Place(bins.recut(n_coarse), bins, reach) for bins in cut_block(block, others, rows_per_bin)
    ]


def _find_line(cut: Cut) -> NDArray[np.float64]:
    line = np.zeros(len(cut.protected))
    if len(cut.rest) > 0:
        scores = special.ndtri(cut.standing)
        line[cut.rest] = scores - scores.mean()
    length = np.sqrt(line @ line)
    return line / length if length > 0.0 else line


def _find_nodes(cut: Cut, reach: float) -> Nodes:
    """Return a node for each bin of its own, and nodes along the others.

    Parameters
    ----------
    reach : float
        Standard deviation of the neighbours' weights, in shares of the rows.
    """
    n_rows = len(cut.protected)
    own, rest, standing = cut.bins[: cut.n_own], cut.rest, cut.standing
    n_along = max(2, round(1.0 / reach)) if len(rest) > 0 else 0
    below, share = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows)
    for node, rows in enumerate(own):
        below[rows] = node
    place = np.clip(standing * n_along - 0.5, 0.0, n_along - 1.0)
    below[rest] = len(own) + np.minimum(place.astype(np.intp), n_along - 2)
    share[rest] = len(own) + place - below[rest]
    # In the order of the column, so that one row of several stands for its neighbours.
    picked = _thin(np.argsort(standing, kind="stable"), MAX_FITTED_ROWS)
    fitted = [_thin(rows, MAX_FITTED_OF_BIN) for rows in own]
    rows = np.concatenate([*fitted, rest[picked]])
    means, weights = np.zeros((2, len(own) + n_along, len(rows)))
    start = 0
    for node, members in enumerate(fitted):
        means[node, start : start + len(members)] = 1.0 / len(members)
        start += len(members)
    weights[: len(own)] = means[: len(own)]
    if len(rest) > 0:
        knots = (np.arange(n_along) + 0.5) / n_along
        along = (means[len(own) :, start:], weights[len(own) :, start:])
        _weigh(standing[picked], knots, reach, *along)
    return Nodes(rows, means, weights, below, share)


def _thin(rows: NDArray[np.intp], n_most: int) -> NDArray[np.intp]:
    """Return about so many of the rows at most, evenly."""
    return rows[:: max(1, len(rows) // n_most)]


@kernel
def _weigh(
    standing: NDArray[np.float64],
    knots: NDArray[np.float64],
    reach: float,
    means: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Write the weights of rows in the locally linear mean at each node, and as neighbours.

    Parameters
    ----------
    standing : shape (n_rows,)
    knots : shape (n_nodes,)
    means, weights : shape (n_nodes, n_rows), written
    """
    n_rows = standing.shape[0]
    for node in range(knots.shape[0]):
        nearest = np.inf
        for row in range(n_rows):
            nearest = min(nearest, abs(standing[row] - knots[node]))
        total, first, second = 0.0, 0.0, 0.0
        for row in range(n_rows):
            distance = standing[row] - knots[node]
            # The nearest row weighs 1, so that a node far from all rows has a neighbour too.
            weight = np.exp(0.5 * (nearest**2 - distance**2) / reach**2)
            weights[node, row] = weight
            total += weight
            first += weight * distance
            second += weight * distance**2
        scale = total * second - first**2
        # Where all rows stand together there is no line through them.
        is_line = scale > NEGLIGIBLE * total * total
        for row in range(n_rows):
            weight = weights[node, row]
            weights[node, row] = weight / total
            distance = standing[row] - knots[node]
            line = weight * (second - first * distance) / scale if is_line else weight / total
            means[node, row] = line
