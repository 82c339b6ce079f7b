"""Joint removal in rounds: what all other columns together tell about the protected ones.

Columns that are each independent of the protected one can still tell it together, for example by
how strongly they are correlated where it is large. The rounds here work on normal scores, and each
makes the columns tell less:

smooth
    Mean and spread of each column stop moving with the protected one.
rank
    Each column gives way to its conditional rank, which is pairwise transport: in the two halves of
    the protected column, then in bins of it.
mix
    The covariance of all columns, which moves with the protected one, is brought to its mean: the
    shortest way between Gaussian distributions, on the scale of whitened columns and in all
    directions at once. Directions with little variance are spared in the first rounds (a ridge),
    because to move them costs most.

Forests are asked after each round, and removal stops as soon as they find nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from umfi.columns import Columns
from umfi.errors import InputError, check_count
from umfi.forest import order_rows
from umfi.power import find_leakage
from umfi.removal.protected import Cut, cut_block
from umfi.removal.steps import middle_ranks, random_ranks, stack_steps
from umfi.removal.transport import rank_in_bins

__all__ = [
    "Place",
    "Round",
    "check_rounds",
    "mix",
    "rank",
    "rank_in_halves",
    "remove_in_rounds",
    "smooth",
]

# Neighbours count by the normal curve. About so many rows lie within one standard deviation, if
# that is neither less nor more of the table than this.
ROWS_IN_REACH = 64
MIN_REACH, MAX_REACH = 0.02, 0.2
# The first round follows nothing but the slow movements.
SMOOTH_REACH = 0.2
# Means and covariances are estimated from about so many rows at most, and from so many of a bin.
MAX_FITTED_ROWS = 20_000
MAX_FITTED_OF_BIN = 1000
# Covariances are followed in so many leading directions at most.
MAX_DIRECTIONS = 100
# Scores this close to those of a protected column are the same order.
SAME_ORDER = 1.0 - 1e-9
# A spread below this share of the mean one is not believed.
MIN_SPREAD = 0.1
NEGLIGIBLE, TINY = 1e-12, 1e-300


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

    def find_means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of values, shape (n_rows, any), around each row."""
        return self.read(self.means @ values[self.rows])

    def read(self, at_nodes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what holds at each row, between two nodes linearly; (n_nodes, any) in."""
        share = self.share[:, np.newaxis]
        above = np.minimum(self.below + 1, len(at_nodes) - 1)
        return at_nodes[self.below] * (1.0 - share) + at_nodes[above] * share


class Place(NamedTuple):
    """A protected column as the rounds see it.

    Attributes
    ----------
    halves : Cut
        It cut in two, but for values with bins of their own.
    bins : Cut
    slow, near : Nodes
        Points along it, of a large and of a small reach.
    line : ndarray, shape (n_rows,)
        Its normal scores, of length 1; 0 where it has a bin of its own.
    """

    halves: Cut
    bins: Cut
    slow: Nodes
    near: Nodes
    line: NDArray[np.float64]


# From scores, shape (n_rows, n_columns), and a protected column to new scores.
Round = Callable[[NDArray[np.float64], Place, np.random.Generator], NDArray[np.float64]]


def check_rounds(tolerance: float, max_rounds: int) -> None:
    """Raise if no removal can stop by these."""
    check_count("max_rounds", max_rounds)
    is_number = isinstance(tolerance, int | float | np.number) and not isinstance(tolerance, bool)
    if not is_number or not -1.0 < tolerance < 1.0:
        raise InputError(
            f"tolerance={tolerance!r} is not valid: pass an R², such as 0.0 for no leakage at all."
        )


def remove_in_rounds(
    columns: Columns,
    protected: Sequence[Columns],
    rounds: Iterable[Round],
    *,
    rows_per_bin: int,
    tolerance: float,
    rng: np.random.Generator,
) -> Columns:
    """Return normal scores after as few rounds as leave no more leakage than tolerated.

    Parameters
    ----------
    columns : Columns
        What is transformed.
    protected : sequence of Columns
        A feature or group, then copies of it; a round goes from one to the next.
    rounds : iterable of callables
    rows_per_bin : int
        Of the bins that ranks are taken in.
    tolerance : float
        Out-of-bag R² of the feature, as extremely randomised trees find it. Its copies are not
        asked about: they have nothing to leave.
    """
    if columns.n_columns == 0:
        return columns
    scores = _normal_scores(columns, protected, rng)
    places = [_find_places(block, columns, rows_per_bin) for block in protected]
    is_left = ~_is_in_same_order(scores, protected)
    scores[:, ~is_left] = 0.0
    seed = np.random.SeedSequence(int(rng.integers(2**63)))
    unrelated = columns.with_changed(scores.copy())
    if not is_left.any():
        return unrelated
    for apply in rounds:
        moved = scores[:, is_left]
        # In random order, so that the feature does not stand before its copies in every round.
        for block in rng.permutation(len(places)):
            for place in places[block]:
                moved = apply(moved, place, rng)
        scores[:, is_left] = moved
        unrelated = columns.with_changed(scores.copy())
        told = unrelated.select(np.flatnonzero(is_left))
        if find_leakage(told, protected[0], seed, enough=tolerance) <= tolerance:
            break
    return unrelated


def _normal_scores(
    columns: Columns, protected: Sequence[Columns], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return each column on the scale of a normal distribution, equal levels in random order.

    A constant column is zero.
    """
    scores = _score_in_order(columns.values)
    stepped = np.flatnonzero(columns.is_stepped)
    if len(stepped) > 0:
        values = stack_steps(columns, stepped, protected)
        ranks = random_ranks(values, rng.random(values.shape))
        scores[:, stepped] = special.ndtri((ranks - 0.5) / columns.n_rows)
    scores[:, columns.is_constant()] = 0.0
    return scores


def _score_in_order(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return normal scores of columns, shape (n_rows, n_columns); equal values in row order."""
    n_rows = len(values)
    scale = special.ndtri((np.arange(n_rows) + 0.5) / n_rows)
    scores = np.empty(values.shape)
    np.put_along_axis(scores, order_rows(values.T).T, scale[:, np.newaxis], axis=0)
    return scores


def _is_in_same_order(
    scores: NDArray[np.float64], protected: Sequence[Columns]
) -> NDArray[np.bool_]:
    """Return a mask, shape (n_columns,): columns that are a protected one in other units."""
    n_rows = len(scores)
    spread = np.sqrt((scores**2).mean(axis=0))
    is_same = spread == 0.0
    for block in protected:
        own = _score_in_order(block.values[:, ~block.is_stepped])
        own /= np.sqrt((own**2).mean(axis=0))
        correlations = np.abs(own.T @ scores) / n_rows
        is_same |= np.any(correlations > SAME_ORDER * spread, axis=0)
    return is_same


def _find_places(block: Columns, others: Columns, rows_per_bin: int) -> list[Place]:
    n_rows = block.n_rows
    reach = float(np.clip(ROWS_IN_REACH / n_rows, MIN_REACH, MAX_REACH))
    n_coarse = max(rows_per_bin, n_rows // 2)
    return [
        Place(
            halves,
            bins,
            _find_nodes(bins, SMOOTH_REACH),
            _find_nodes(bins, reach),
            _find_line(bins),
        )
        for halves, bins in zip(
            cut_block(block, others, n_coarse),
            cut_block(block, others, rows_per_bin),
            strict=True,
        )
    ]


def _find_line(cut: Cut) -> NDArray[np.float64]:
    line = np.zeros(len(cut.protected))
    if cut.n_own < len(cut.bins):
        rest = np.concatenate(cut.bins[cut.n_own :])
        scores = special.ndtri(middle_ranks(cut.protected[rest]))
        line[rest] = scores - scores.mean()
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
    own, others = cut.bins[: cut.n_own], cut.bins[cut.n_own :]
    rest = np.sort(np.concatenate(others)) if others else np.zeros(0, dtype=np.intp)
    standing = middle_ranks(cut.protected[rest])
    n_along = max(2, round(1.0 / reach)) if others else 0
    below, share = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows)
    for node, rows in enumerate(own):
        below[rows] = node
    along = np.clip(standing * n_along - 0.5, 0.0, n_along - 1.0)
    below[rest] = len(own) + np.minimum(along.astype(np.intp), n_along - 2)
    share[rest] = len(own) + along - below[rest]
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
    if others:
        knots = (np.arange(n_along) + 0.5) / n_along
        means[len(own) :, start:], weights[len(own) :, start:] = _weigh(
            standing[picked] - knots[:, np.newaxis], reach
        )
    return Nodes(rows, means, weights, below, share)


def _thin(rows: NDArray[np.intp], n_most: int) -> NDArray[np.intp]:
    """Return about so many of the rows at most, evenly."""
    return rows[:: max(1, len(rows) // n_most)]


def _weigh(
    distances: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of rows in the locally linear mean at each node, and as neighbours.

    Parameters
    ----------
    distances : ndarray, shape (n_nodes, n_rows)
    """
    # The nearest row weighs 1, so that a node far from all rows has a neighbour too.
    squares = (distances / reach) ** 2
    weights = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True)))
    total = weights.sum(axis=1, keepdims=True)
    first = (weights * distances).sum(axis=1, keepdims=True)
    second = (weights * distances**2).sum(axis=1, keepdims=True)
    scale = total * second - first**2
    # Where all rows stand together there is no line through them.
    is_line = scale > NEGLIGIBLE * total * total
    line = weights * (second - first * distances) / np.where(is_line, scale, 1.0)
    weights /= total
    return np.where(is_line, line, weights), weights


def smooth(
    scores: NDArray[np.float64], place: Place, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return scores whose mean and spread do not move with the protected column."""
    nodes = place.slow
    # A straight line first, which is all there is to it for Gaussian columns.
    residuals = scores - np.outer(place.line, place.line @ scores)
    residuals = residuals - nodes.find_means(residuals)
    spreads = np.sqrt(nodes.read(nodes.weights @ residuals[nodes.rows] ** 2))
    mean_spread = np.sqrt((residuals**2).mean(axis=0))
    # A bin of few rows has no spread of its own to speak of.
    return residuals * mean_spread / np.maximum(spreads, np.maximum(MIN_SPREAD * mean_spread, TINY))


def rank_in_halves(
    scores: NDArray[np.float64], place: Place, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return normal scores of the ranks in each half of the protected column."""
    return _rank(scores, place.halves, rng)


def rank(
    scores: NDArray[np.float64], place: Place, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return normal scores of the ranks in each bin of the protected column."""
    return _rank(scores, place.bins, rng)


def _rank(scores: NDArray[np.float64], cut: Cut, rng: np.random.Generator) -> NDArray[np.float64]:
    ranks, _ = rank_in_bins(np.ascontiguousarray(scores.T), cut, rng)
    edge = 0.5 / len(scores)
    return np.ascontiguousarray(special.ndtri(np.clip(ranks, edge, 1.0 - edge)).T)


def mix(ridge: float, *, is_chained: bool = False, is_reversed: bool = False) -> Round:
    """Return the round that brings the covariance at each node to its mean, and ranks after it.

    Parameters
    ----------
    ridge : float
        Variance, in units of a score's, up to which a direction is spared.
    is_chained : bool
        Whether each column is moved given those before it, instead of all in all directions.
    is_reversed : bool
        Whether the chain starts with the last column.
    """

    def apply(
        scores: NDArray[np.float64], place: Place, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        order = slice(None, None, -1 if is_reversed else 1)
        moved = _equalise(scores[:, order], place.near, ridge, is_chained)[:, order]
        return rank(moved, place, rng)

    return apply


def _equalise(
    scores: NDArray[np.float64], nodes: Nodes, ridge: float, is_chained: bool
) -> NDArray[np.float64]:
    """Return scores whose mean and covariance are the same at every node, but for the ridge.

    Between covariances A and B the shortest map is A^(-1/2) (A^(1/2) B A^(1/2))^(1/2) A^(-1/2)
    (Olkin and Pukelsheim 1982); where B is the identity, as after whitening, it is A^(-1/2). The
    chained map is triangular, from one Cholesky factor to the other. Of many columns it is the
    leading principal axes that are moved.
    """
    n_rows, n_columns = scores.shape
    residuals = scores - nodes.find_means(scores)
    leading, spared = residuals, np.zeros((n_rows, n_columns))
    axes = None
    if n_columns > MAX_DIRECTIONS:
        axes = _leading_axes(residuals)
        leading = residuals @ axes
        spared = residuals - leading @ axes.T
    n_directions = leading.shape[1]
    unit = ridge * np.eye(n_directions)
    common = leading.T @ leading / n_rows + unit
    if is_chained:
        factor = linalg.cholesky(common, lower=True)
        whitened = linalg.solve_triangular(factor, leading.T, lower=True).T
        half = linalg.solve_triangular(factor, unit, lower=True)
        unit = linalg.solve_triangular(factor, half.T, lower=True)
    else:
        sizes, vectors = linalg.eigh(common)
        sizes = np.sqrt(np.maximum(sizes, ridge))
        factor = (vectors * sizes) @ vectors.T
        whitened = leading @ ((vectors / sizes) @ vectors.T)
        unit = ridge * ((vectors / sizes**2) @ vectors.T)
    moved = np.zeros((n_rows, n_directions))
    fitted = whitened[nodes.rows]
    for node, weights in enumerate(nodes.weights):
        is_below, is_above = nodes.below == node, nodes.below + 1 == node
        part = np.where(is_below, 1.0 - nodes.share, np.where(is_above, nodes.share, 0.0))
        rows = np.flatnonzero(part)
        if len(rows) == 0:
            continue
        covariance = (fitted * weights[:, np.newaxis]).T @ fitted + unit
        # With few rows at a node the mean is trusted as much as the node itself.
        trust = 1.0 / (1.0 + n_directions * np.sum(weights**2))
        covariance = trust * covariance + (1.0 - trust) * np.eye(n_directions)
        if is_chained:
            own = linalg.cholesky(covariance, lower=True)
            there = linalg.solve_triangular(own, whitened[rows].T, lower=True).T
        else:
            sizes, vectors = linalg.eigh(covariance)
            there = whitened[rows] @ ((vectors / np.sqrt(sizes)) @ vectors.T)
        moved[rows] += part[rows, np.newaxis] * there
    moved = moved @ factor.T
    return moved if axes is None else spared + moved @ axes.T


def _leading_axes(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the leading principal axes of many columns, shape (n_columns, MAX_DIRECTIONS)."""
    n_rows, n_columns = residuals.shape
    if n_columns <= n_rows:
        return linalg.eigh(residuals.T @ residuals)[1][:, ::-1][:, :MAX_DIRECTIONS]
    # From the smaller of the two matrices of products.
    sizes, vectors = linalg.eigh(residuals @ residuals.T)
    leading = vectors[:, ::-1][:, :MAX_DIRECTIONS]
    sizes = np.sqrt(np.maximum(sizes[::-1][:MAX_DIRECTIONS], NEGLIGIBLE * sizes[-1]))
    return residuals.T @ leading / sizes
