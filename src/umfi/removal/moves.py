"""How one round of joint removal moves columns, compiled.

A round on one protected column is a hundred small steps. As calls from Python they would take
longer than what they do, and keep other threads waiting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.jit import kernel
from umfi.removal.nodes import Nodes

__all__ = ["equalise_covariances", "smooth_columns", "subtract_means"]

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
    (Olkin and Pukelsheim 1982); where B is the identity, as after whitening, it is A^(-1/2). The
    chained map is triangular, from one Cholesky factor to the other.

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
            variances, axes = np.linalg.eigh(covariance)
            back = np.dot(axes / np.sqrt(variances), axes.T)
        # Transposed, so that the sums below run along what lies side by side in memory.
        maps[node] = np.dot(np.dot(factor, back), whiten).T
    moved = np.empty((n_columns, n_rows))
    point = np.empty(n_columns)
    for row in range(n_rows):
        below = nodes.below[row]
        above = min(below + 1, n_nodes - 1)
        share = nodes.share[row]
        point[:] = 0.0
        for column in range(n_columns):
            value = columns[column, row]
            lower, upper = maps[below, column], maps[above, column]
            for other in range(n_columns):
                step = lower[other] * (1.0 - share) + upper[other] * share
                point[other] += value * step
        for column in range(n_columns):
            moved[column, row] = point[column]
    return moved
