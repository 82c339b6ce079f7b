"""Rounds of joint removal on normal scores, for columns of many values.

Columns that are each independent of the protected one can still carry information about it
together, for example by how strongly they are correlated where it is large. The rounds here work
on normal scores, and each leaves less information:

smooth and rank
    Mean and spread of each column stop moving with the protected one. Then each column gives way to
    its conditional rank in bins of the protected one, as far as its moves stand out from chance.
rank
    Each column gives way to its conditional rank altogether, which is pairwise transport: in the
    two halves of the protected column, then in bins of it.
mix
    The covariance of all columns, which moves with the protected one, is brought to its mean: about
    the shortest way between Gaussian distributions, on the scale of whitened columns and in all
    directions at once. Directions with little variance are spared in the first rounds (a ridge),
    because to move them costs most. Ranks follow.

Forests look for the protected column after each round, and removal stops as soon as they find
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from umfi.data.columns import Columns
from umfi.errors import InputError, check_count
from umfi.forest import order_rows
from umfi.removal.grid import (
    Grid,
    ProtectedColumn,
    equalise_covariances,
    protected_columns,
    shrink_moves,
    smooth_columns,
    subtract_means,
)
from umfi.removal.leakage import find_leakage
from umfi.removal.protected import Binning
from umfi.removal.ties import ordered_values, random_ranks
from umfi.removal.transport import interpolate_quantiles, rank_in_bins

__all__ = [
    "RemovesInRounds",
    "Round",
    "mix",
    "rank",
    "rank_in_halves",
    "remove_in_rounds",
    "smooth_and_rank",
]

ROWS_PER_BIN = 100

# So much more than of a copy may be found of a feature.
MAX_EXCESS = 0.03
# Trees that look; more where there is no copy to compare with.
N_TREES, N_TREES_WITHOUT_COPY = 30, 60
# The first conditional ranks take so many times their noise for noise.
CAUTION = 1.5
# Ranks in bins of m rows of n vary around those in the table by (1 / m - 1 / n) / 6 in the mean; a
# slope inside a bin adds half as much.
NOISE_OF_BIN, NOISE_OF_SLOPE = 1 / 6, 1 / 12
# Covariances are followed in so many leading directions at most.
MAX_DIRECTIONS = 100
# Scores this close to those of a protected column are the same order.
SAME_ORDER = 1.0 - 1e-9
NEGLIGIBLE = 1e-12

# From scores, shape (n_columns, n_rows), and a protected column to new scores.
Round = Callable[[NDArray[np.float64], ProtectedColumn, np.random.Generator], NDArray[np.float64]]


@dataclass(frozen=True)
class RemovesInRounds:
    """A remover that goes on until leakage is at most the tolerance, or for so many rounds."""

    tolerance: float = 0.0
    max_rounds: int = 12

    def __post_init__(self) -> None:
        """Refuse what cannot stop."""
        check_count("max_rounds", self.max_rounds)
        is_number = isinstance(self.tolerance, int | float | np.number)
        if not is_number or isinstance(self.tolerance, bool) or not -1.0 < self.tolerance < 1.0:
            raise InputError(
                f"tolerance={self.tolerance!r} is not valid: pass an R², such as 0.0 for no "
                "leakage at all."
            )


def remove_in_rounds(
    columns: Columns,
    protected: Sequence[Columns],
    rounds: Iterable[Round],
    tolerance: float,
    rng: np.random.Generator,
) -> Columns:
    """Return normal scores of the columns after as few rounds as leave no more leakage.

    A round goes from one protected block to the next. Forests must find of the feature, the first
    block, no more than is tolerated, and hardly more than of a copy, if there is one: removal is
    fitted to these very rows, so that forests find less than nothing of what was removed.

    The protected blocks are a feature or group, then its permuted copies.
    """
    scores = _normal_scores(columns, protected, rng)
    blocks = [protected_columns(block, columns, ROWS_PER_BIN) for block in protected]
    is_left = ~_is_in_same_order(scores, protected)
    scores[~is_left] = 0.0
    seed = np.random.SeedSequence(int(rng.integers(2**63)))
    unrelated = columns.with_changed(scores.T.copy(order="F"))
    if not is_left.any():
        return unrelated
    n_trees = N_TREES if len(protected) > 1 else N_TREES_WITHOUT_COPY
    for apply in rounds:
        moved = scores[is_left]
        # In random order, so that the feature does not stand before its copies every time.
        for number in rng.permutation(len(blocks)):
            for column in blocks[number]:
                moved = apply(moved, column, rng)
        scores[is_left] = moved
        unrelated = columns.with_changed(scores.T.copy(order="F"))
        left = unrelated.select(np.flatnonzero(is_left))
        leakage = find_leakage(left, protected[0], seed, enough=tolerance, n_trees=n_trees)
        if leakage > tolerance:
            continue
        if len(protected) == 1:
            break
        of_copy = find_leakage(left, protected[1], seed, n_trees=n_trees, is_spread_asked=False)
        if leakage <= of_copy + MAX_EXCESS:
            break
    return unrelated


def _normal_scores(
    columns: Columns, protected: Sequence[Columns], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return columns, shape (n_columns, n_rows), on the scale of a normal distribution.

    Equal values stand in random order; a constant column is zero.
    """
    scores = _score_in_order(columns.values.T)
    tied = np.flatnonzero(columns.is_stepped)
    if len(tied) > 0:
        values = ordered_values(columns, tied, protected)
        ranks = random_ranks(values, rng.random(values.shape))
        scores[tied] = special.ndtri((ranks.T - 0.5) / columns.n_rows)
    scores[columns.is_constant()] = 0.0
    return scores


def _normal_scale(n_rows: int) -> NDArray[np.float64]:
    """Return the normal scores of so many ranks."""
    return np.asarray(special.ndtri((np.arange(n_rows) + 0.5) / n_rows))


def _score_in_order(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return normal scores of columns, shape (n_columns, n_rows); equal values in row order."""
    scores = np.empty(values.shape)
    np.put_along_axis(scores, order_rows(values), _normal_scale(values.shape[1]), axis=1)
    return scores


def _is_in_same_order(
    scores: NDArray[np.float64], protected: Sequence[Columns]
) -> NDArray[np.bool_]:
    """Return a mask, shape (n_columns,): columns that are a protected one in other units."""
    spread = np.sqrt((scores**2).mean(axis=1))
    of_protected = [block.values[:, ~block.is_stepped].T for block in protected]
    own = _score_in_order(np.concatenate(of_protected))
    correlations = np.abs(scores @ own.T) / np.sqrt((own**2).sum(axis=1) * scores.shape[1])
    return (spread == 0.0) | np.any(correlations > SAME_ORDER * spread[:, np.newaxis], axis=1)


def smooth_and_rank(
    scores: NDArray[np.float64], column: ProtectedColumn, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return cautious ranks of what is left after mean and spread, as normal scores."""
    smoothed = smooth_columns(scores, column.scores, column.wide_grid)
    return _rank(smoothed, column.bins, CAUTION, rng)


def rank_in_halves(
    scores: NDArray[np.float64], column: ProtectedColumn, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return normal scores of the ranks in each half of the protected column."""
    return _rank(scores, column.halves, 0.0, rng)


def rank(
    scores: NDArray[np.float64], column: ProtectedColumn, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return normal scores of the ranks in each bin of the protected column."""
    return _rank(scores, column.bins, 0.0, rng)


def _rank(
    scores: NDArray[np.float64], binning: Binning, caution: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    ranks, _ = rank_in_bins(scores, binning, rng)
    if caution > 0.0:
        n_bins, n_rows = len(binning.bins), scores.shape[1]
        noise = NOISE_OF_BIN * (n_bins - 1) + NOISE_OF_SLOPE * (n_bins - binning.n_own)
        ranks = shrink_moves(scores, ranks, noise / n_rows, caution)
    moved = np.empty(scores.shape)
    interpolate_quantiles(ranks, _normal_scale(scores.shape[1])[np.newaxis], moved)
    return moved


def mix(ridge: float, *, is_chained: bool = False, is_reversed: bool = False) -> Round:
    """Return the round that brings the covariance at all grid points to its mean, then ranks.

    The ridge is the variance, in units of a score's, up to which a direction is spared. Chained,
    each column is moved given those before it, or reversed those behind it, instead of all in all
    directions.
    """

    def apply(
        scores: NDArray[np.float64], column: ProtectedColumn, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        order = slice(None, None, -1 if is_reversed else 1)
        ordered = np.ascontiguousarray(scores[order])
        equalised = _equalise(ordered, column.narrow_grid, ridge, is_chained)
        return rank(equalised[order], column, rng)

    return apply


def _equalise(
    scores: NDArray[np.float64], grid: Grid, ridge: float, is_chained: bool
) -> NDArray[np.float64]:
    """Return scores whose mean and covariance are the same at every grid point, but for the ridge.

    Of many columns it is the leading principal axes that are moved.
    """
    residuals = subtract_means(scores, grid)
    if len(scores) <= MAX_DIRECTIONS:
        return equalise_covariances(residuals, grid, ridge, is_chained)
    axes = _leading_axes(residuals)
    leading = axes.T @ residuals
    moved = equalise_covariances(leading, grid, ridge, is_chained)
    return residuals + axes @ (moved - leading)


def _leading_axes(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the leading principal axes of many columns, shape (n_columns, MAX_DIRECTIONS)."""
    n_columns, n_rows = residuals.shape
    if n_columns <= n_rows:
        return linalg.eigh(residuals @ residuals.T)[1][:, ::-1][:, :MAX_DIRECTIONS]
    # From the smaller of the two matrices of products.
    sizes, vectors = linalg.eigh(residuals.T @ residuals)
    leading = vectors[:, ::-1][:, :MAX_DIRECTIONS]
    sizes = np.sqrt(np.maximum(sizes[::-1][:MAX_DIRECTIONS], NEGLIGIBLE * sizes[-1]))
    return residuals @ leading / sizes
