"""How one round of joint removal moves columns, compiled.

A round on one protected column is a hundred small steps. As calls from Python they would take
longer than what they do, and keep other threads waiting.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from umfi.jit import kernel
from umfi.removal.nodes import Nodes

__all__ = ["equalise_covariances", "limit_moves", "smooth_columns", "subtract_means"]

# A spread below this share of the mean one is not believed.
MIN_SPREAD = 0.1
TINY = 1e-300


@kernel
def smooth_columns(
    columns: NDArray[np.float64], line: NDArray[np.float64], nodes: Nodes
) -> NDArray[np.float64]:
    """Return columns whose mean and spread do not move along a protected one.

    Parameters
    ----------
    columns : ndarray, shape (n_columns, n_rows)
    line : ndarray, shape (n_rows,)
        Normal scores of the protected column, of length 1.
    nodes : Nodes
        Points along it.
    """
    moved = np.empty(columns.shape)
    n_columns, n_rows = columns.shape
    for column in range(n_columns):
        # A straight line first, which is all there is to it for Gaussian columns.
        residuals = columns[column] - np.dot(line, columns[column]) * line
        residuals -= _read(np.dot(nodes.means, residuals[nodes.rows]), nodes)
        squares = residuals**2
        spreads = np.sqrt(_read(np.dot(nodes.weights, squares[nodes.rows]), nodes))
        mean_spread = np.sqrt(squares.mean())
        # A bin of few rows has no spread of its own to speak of.
        least = max(MIN_SPREAD * mean_spread, TINY)
        for row in range(n_rows):
            moved[column, row] = residuals[row] * mean_spread / max(spreads[row], least)
    return moved


@kernel
def subtract_means(columns: NDArray[np.float64], nodes: Nodes) -> NDArray[np.float64]:
    """Return columns, shape (n_columns, n_rows), less their means along a protected one."""
    moved = np.empty(columns.shape)
    for column in range(columns.shape[0]):
        means = np.dot(nodes.means, columns[column][nodes.rows])
        moved[column] = columns[column] - _read(means, nodes)
    return moved


@kernel
def _read(at_nodes: NDArray[np.float64], nodes: Nodes) -> NDArray[np.float64]:
    """Return what holds at each row, between two nodes linearly."""
    n_rows = nodes.below.shape[0]
    found = np.empty(n_rows)
    for row in range(n_rows):
        below = nodes.below[row]
        above = min(below + 1, at_nodes.shape[0] - 1)
        share = nodes.share[row]
        found[row] = at_nodes[below] * (1.0 - share) + at_nodes[above] * share
    return found


@kernel
def equalise_covariances(
    columns: NDArray[np.float64], nodes: Nodes, ridge: float, is_chained: bool
) -> NDArray[np.float64]:
    """Return columns whose covariance is the same at every node, but for the ridge.

    Between covariances A and B the shortest map is A^(-1/2) (A^(1/2) B A^(1/2))^(1/2) A^(-1/2)
    (Olkin and Pukelsheim 1982); where B is the identity, as after whitening, it is A^(-1/2). Since
    rounds follow each other, (I + 3A)^(-1) (3I + A) is near enough: its value, slope and curvature
    at the identity are the same, and it is within 13 % for variances from 0.2 to 5. The chained map
    is triangular, from one Cholesky factor to the other.

    Parameters
    ----------
    columns : ndarray, shape (n_columns, n_rows)
        Of mean 0 at every node.
    nodes : Nodes
    ridge : float
        Variance up to which a direction is spared.
    is_chained : bool
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
    fitted = np.dot(whiten, columns[:, nodes.rows])
    n_nodes = nodes.weights.shape[0]
    maps = np.empty((n_nodes, n_columns, n_columns))
    for node in range(n_nodes):
        weights = nodes.weights[node]
        covariance = np.dot(fitted * weights, fitted.T) + spared
        # With few rows at a node the mean is trusted as much as the node itself.
        trust = 1.0 / (1.0 + n_columns * np.sum(weights**2))
        covariance = trust * covariance + (1.0 - trust) * unit
        if is_chained:
            back = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(covariance)))
        else:
            back = np.linalg.solve(unit + 3.0 * covariance, 3.0 * unit + covariance)
        maps[node] = np.dot(np.dot(factor, np.ascontiguousarray(back)), whiten)
    moved = np.empty((n_columns, n_rows))
    for node in range(n_nodes):
        rows = np.flatnonzero(nodes.below == node)
        if len(rows) == 0:
            continue
        points = np.ascontiguousarray(columns[:, rows])
        lower = np.dot(maps[node], points)
        upper = np.dot(maps[min(node + 1, n_nodes - 1)], points)
        share = nodes.share[rows]
        moved[:, rows] = lower * (1.0 - share) + upper * share
    return moved


@kernel
def limit_moves(
    columns: NDArray[np.float64], ranks: NDArray[np.float64], noise: float, caution: float
) -> NDArray[np.float64]:
    """Return ranks that have moved only as far as their moves stand out from chance.

    Of a column that is independent of the protected one, ranks in bins move away from ranks in the
    table by chance alone. Such moves remove nothing and cost what the column carries about other
    things. So the moves of each column shrink by the factor of James and Stein (1961): by how much
    of their mean square is not noise.

    Parameters
    ----------
    columns : ndarray, shape (n_columns, n_rows)
        Scores about as normal.
    ranks : ndarray, shape (n_columns, n_rows)
        Between 0 and 1, in bins of the protected column.
    noise : float
        Mean square of moves by chance.
    caution : float
        How many times that is taken for noise; 0 moves all the way.
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
        kept = max(0.0, 1.0 - caution * noise * n_rows / max(total, TINY))
        for row in range(n_rows):
            moved[column, row] += kept * (ranks[column, row] - moved[column, row])
    return moved
