"""A protected column as the rounds of joint removal see it: bins, and grid points along it.

Moments of the other columns are estimated at the grid points and interpolated linearly between
them. The compiled functions each do what would be a hundred small calls from Python, which would
take longer than the arithmetic and keep other threads waiting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from umfi.data.columns import Columns
from umfi.jit import kernel
from umfi.removal.protected import Binning, bin_protected

__all__ = [
    "Grid",
    "ProtectedColumn",
    "equalise_covariances",
    "protected_columns",
    "shrink_moves",
    "smooth_columns",
    "subtract_means",
]

# Neighbours are weighted by the normal curve. About so many rows lie within one standard deviation,
# the bandwidth, if that is neither less nor more of the table than this.
ROWS_IN_BANDWIDTH = 64
MIN_BANDWIDTH, MAX_BANDWIDTH = 0.02, 0.2
# The first round follows nothing but the slow movements.
WIDE_BANDWIDTH = 0.2
# Means and covariances are estimated from about so many rows at most, and from so many of a bin.
MAX_FITTED_ROWS = 20_000
MAX_FITTED_OF_BIN = 1000
# Rows whose positions are this close have no line through them.
NEGLIGIBLE = 1e-12
# A spread below this fraction of the mean one is not believed.
MIN_SPREAD = 0.1
TINY = 1e-300


class Grid(NamedTuple):
    """Points along a protected column at which distributions are estimated.

    They are estimated from some rows; all, but for long tables. The sum over rows by the weights of
    means is the mean at a point: locally linear, so that a slope does not bend it at the ends. The
    weights of neighbours sum to 1. Each row lies a fraction of the way between the point below it
    and the next.
    """

    rows: NDArray[np.intp]  # (n_fitted_rows,)
    means: NDArray[np.float64]  # (n_points, n_fitted_rows)
    weights: NDArray[np.float64]  # (n_points, n_fitted_rows)
    below: NDArray[np.intp]  # (n_rows,)
    fraction: NDArray[np.float64]  # (n_rows,)


@dataclass(frozen=True)
class ProtectedColumn:
    """A protected column; what gentle rounds do not need is computed when it is asked for."""

    halves: Binning  # In two bins, but for values with bins of their own.
    bins: Binning
    bandwidth: float  # Of the narrow grid, as a fraction of the rows.

    @cached_property
    def wide_grid(self) -> Grid:
        """Grid points that average over many rows."""
        return _make_grid(self.bins, WIDE_BANDWIDTH)

    @cached_property
    def narrow_grid(self) -> Grid:
        """Grid points that average over few rows."""
        return _make_grid(self.bins, self.bandwidth)

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Its normal scores, of length 1, shape (n_rows,); 0 where it has a bin of its own."""
        scores = np.zeros(len(self.bins.protected))
        if len(self.bins.rest) > 0:
            ordered = special.ndtri(self.bins.positions)
            scores[self.bins.rest] = ordered - ordered.mean()
        length = np.sqrt(scores @ scores)
        return scores / length if length > 0.0 else scores


def protected_columns(block: Columns, others: Columns, rows_per_bin: int) -> list[ProtectedColumn]:
    """Return the columns of a protected block in bins of about so many rows.

    Rare levels of categories are joined by likeness in the other columns.
    """
    n_rows = block.n_rows
    bandwidth = float(np.clip(ROWS_IN_BANDWIDTH / n_rows, MIN_BANDWIDTH, MAX_BANDWIDTH))
    rows_per_half = max(rows_per_bin, n_rows // 2)
    return [
        ProtectedColumn(bins.with_bins_of(rows_per_half), bins, bandwidth)
        for bins in bin_protected(block, others, rows_per_bin)
    ]


def _make_grid(binning: Binning, bandwidth: float) -> Grid:
    """Return a point for each bin of its own, and points along the other rows."""
    n_rows = len(binning.protected)
    own, rest, positions = binning.bins[: binning.n_own], binning.rest, binning.positions
    n_along = max(2, round(1.0 / bandwidth)) if len(rest) > 0 else 0
    below, fraction = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows)
    for point, rows in enumerate(own):
        below[rows] = point
    along = np.clip(positions * n_along - 0.5, 0.0, n_along - 1.0)
    below[rest] = len(own) + np.minimum(along.astype(np.intp), n_along - 2)
    fraction[rest] = len(own) + along - below[rest]
    # In the order of the column, so that one row of several stands for its neighbours.
    picked = _thin(np.argsort(positions, kind="stable"), MAX_FITTED_ROWS)
    fitted = [_thin(rows, MAX_FITTED_OF_BIN) for rows in own]
    rows = np.concatenate([*fitted, rest[picked]])
    means, weights = np.zeros((2, len(own) + n_along, len(rows)))
    start = 0
    for point, members in enumerate(fitted):
        means[point, start : start + len(members)] = 1.0 / len(members)
        start += len(members)
    weights[: len(own)] = means[: len(own)]
    if len(rest) > 0:
        points = (np.arange(n_along) + 0.5) / n_along
        to_write = means[len(own) :, start:], weights[len(own) :, start:]
        _write_weights(positions[picked], points, bandwidth, *to_write)
    return Grid(rows, means, weights, below, fraction)


def _thin(rows: NDArray[np.intp], n_most: int) -> NDArray[np.intp]:
    """Return about so many of the rows at most, evenly."""
    return rows[:: max(1, len(rows) // n_most)]


@kernel
def _write_weights(
    positions: NDArray[np.float64],
    points: NDArray[np.float64],
    bandwidth: float,
    means: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Write the weights of rows in the locally linear mean at each point, and as neighbours."""
    n_rows = positions.shape[0]
    for point in range(points.shape[0]):
        nearest = np.inf
        for row in range(n_rows):
            nearest = min(nearest, abs(positions[row] - points[point]))
        total, first, second = 0.0, 0.0, 0.0
        for row in range(n_rows):
            distance = positions[row] - points[point]
            # The nearest row weighs 1, so that a point far from all rows has a neighbour too.
            weight = np.exp(0.5 * (nearest**2 - distance**2) / bandwidth**2)
            weights[point, row] = weight
            total += weight
            first += weight * distance
            second += weight * distance**2
        scale = total * second - first**2
        is_line = scale > NEGLIGIBLE * total * total
        for row in range(n_rows):
            weight = weights[point, row]
            weights[point, row] = weight / total
            distance = positions[row] - points[point]
            line = weight * (second - first * distance) / scale if is_line else weight / total
            means[point, row] = line


@kernel
def smooth_columns(
    columns: NDArray[np.float64], scores: NDArray[np.float64], grid: Grid
) -> NDArray[np.float64]:
    """Return columns, shape (n_columns, n_rows), of equal mean and spread along a protected one.

    The scores are the normal scores of the protected column, of length 1.
    """
    moved = np.empty(columns.shape)
    n_columns, n_rows = columns.shape
    for column in range(n_columns):
        # A straight line first, which is all there is to it for Gaussian columns.
        residuals = columns[column] - np.dot(scores, columns[column]) * scores
        residuals -= _interpolate(np.dot(grid.means, residuals[grid.rows]), grid)
        squares = residuals**2
        spreads = np.sqrt(_interpolate(np.dot(grid.weights, squares[grid.rows]), grid))
        mean_spread = np.sqrt(squares.mean())
        # A bin of few rows has no spread of its own to speak of.
        least = max(MIN_SPREAD * mean_spread, TINY)
        for row in range(n_rows):
            moved[column, row] = residuals[row] * mean_spread / max(spreads[row], least)
    return moved


@kernel
def subtract_means(columns: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    """Return columns, shape (n_columns, n_rows), less their means along a protected one."""
    moved = np.empty(columns.shape)
    for column in range(columns.shape[0]):
        means = np.dot(grid.means, columns[column][grid.rows])
        moved[column] = columns[column] - _interpolate(means, grid)
    return moved


@kernel
def _interpolate(at_points: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    """Return what holds at each row, between two grid points linearly."""
    n_rows = grid.below.shape[0]
    found = np.empty(n_rows)
    for row in range(n_rows):
        below = grid.below[row]
        above = min(below + 1, at_points.shape[0] - 1)
        fraction = grid.fraction[row]
        found[row] = at_points[below] * (1.0 - fraction) + at_points[above] * fraction
    return found


@kernel
def equalise_covariances(
    columns: NDArray[np.float64], grid: Grid, ridge: float, is_chained: bool
) -> NDArray[np.float64]:
    """Return columns whose covariance is the same at every grid point, but for the ridge.

    Between covariances A and B the shortest map is A^(-1/2) (A^(1/2) B A^(1/2))^(1/2) A^(-1/2)
    (Olkin and Pukelsheim 1982); where B is the identity, as after whitening, it is A^(-1/2). Since
    rounds follow each other, (I + 3A)^(-1) (3I + A) is near enough: its value, slope and curvature
    at the identity are the same, and it is within 13 % for variances from 0.2 to 5. The chained map
    is triangular, from one Cholesky factor to the other.

    Columns, shape (n_columns, n_rows), have mean 0 at every grid point; the ridge is the variance
    up to which a direction is spared.
    """
    n_columns, n_rows = columns.shape
    unit = np.eye(n_columns)
    common = np.dot(columns, columns.T) / n_rows + ridge * unit
    if is_chained:
        factor = np.linalg.cholesky(common)
        whiten = np.ascontiguousarray(np.linalg.inv(factor))
    else:
        variances, axes = np.linalg.eigh(common)
        spreads = np.sqrt(np.maximum(variances, ridge))
        factor = np.dot(axes * spreads, axes.T)
        whiten = np.dot(axes / spreads, axes.T)
    spared = ridge * np.dot(whiten, whiten.T)
    fitted = np.dot(whiten, columns[:, grid.rows])
    n_points = grid.weights.shape[0]
    maps = np.empty((n_points, n_columns, n_columns))
    for point in range(n_points):
        weights = grid.weights[point]
        covariance = np.dot(fitted * weights, fitted.T) + spared
        # With few rows at a point the mean is trusted as much as the point itself.
        trust = 1.0 / (1.0 + n_columns * np.sum(weights**2))
        covariance = trust * covariance + (1.0 - trust) * unit
        if is_chained:
            back = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(covariance)))
        else:
            back = np.linalg.solve(unit + 3.0 * covariance, 3.0 * unit + covariance)
        maps[point] = np.dot(np.dot(factor, np.ascontiguousarray(back)), whiten)
    moved = np.empty((n_columns, n_rows))
    for point in range(n_points):
        rows = np.flatnonzero(grid.below == point)
        if len(rows) == 0:
            continue
        chosen = np.ascontiguousarray(columns[:, rows])
        lower = np.dot(maps[point], chosen)
        upper = np.dot(maps[min(point + 1, n_points - 1)], chosen)
        fraction = grid.fraction[rows]
        moved[:, rows] = lower * (1.0 - fraction) + upper * fraction
    return moved


@kernel
def shrink_moves(
    columns: NDArray[np.float64], ranks: NDArray[np.float64], noise: float, caution: float
) -> NDArray[np.float64]:
    """Return ranks that have moved only as far as their moves stand out from chance.

    Of a column that is independent of the protected one, ranks in bins move away from ranks in the
    table by chance alone. Such moves remove nothing and cost what the column carries about other
    things. So the moves of each column shrink by the factor of James and Stein (1961): by how much
    of their mean square is not noise.

    Columns are about normal, and ranks, between 0 and 1, are those in bins; both have shape
    (n_columns, n_rows). So many times the noise, the mean square of moves by chance, is taken for
    noise as caution says; 0 moves all the way.
    """
    n_columns, n_rows = columns.shape
    moved = np.empty(columns.shape)
    for column in range(n_columns):
        values = columns[column]
        spread = np.std(values)
        if spread == 0.0:
            moved[column] = ranks[column]
            continue
        mean, total = np.mean(values), 0.0
        for row in range(n_rows):
            before = 0.5 * math.erfc((mean - values[row]) / (spread * math.sqrt(2.0)))
            moved[column, row] = before
            total += (ranks[column, row] - before) ** 2
        factor = max(0.0, 1.0 - caution * noise * n_rows / max(total, TINY))
        for row in range(n_rows):
            moved[column, row] += factor * (ranks[column, row] - moved[column, row])
    return moved
