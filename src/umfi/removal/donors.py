"""Donors of a feature's values where other columns still carry information about it.

Averaging a fit over a feature asks it about rows in which the feature takes the values of donors.
Any row is a donor if the other columns are independent of the feature. Otherwise such rows do not
exist, and what a fit says of them overstates the feature. Then donors are rows whose value a forest
predicts to be about the same: their values are draws from the distribution of the feature given the
other columns (predictive mean matching; Little 1988). What is left is what the feature adds to
these columns as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import spatial, special

from umfi.data.columns import Columns, Kind
from umfi.data.target import Target
from umfi.power.linear import LinearPower
from umfi.removal.leakage import MAX_LEAKAGE, FeaturePrediction, predict_feature

__all__ = ["Donors", "find_donors"]

# Donors of a row, of which each tree takes some; fewer in long tables, for their memory.
N_DONORS, N_DONORS_OF_LONG_TABLES, LONG_TABLE = 64, 16, 20_000
# Predictions of a row's donors spread by so much of what a prediction leaves open.
SPREAD = 0.1
MIN_NEIGHBOURS = 16
# Trees on what a line leaves must find this much.
LEAST_R2 = 0.02


class Donors(NamedTuple):
    """Rows, in the order of a feature, that lend each row their values of it; None for any rows.

    With the leakage, the out-of-bag R² with which the other columns predict the feature's rank.
    """

    leakage: float
    rows: NDArray[np.intp] | None  # (n_rows, n_donors)


def find_donors(context: Columns, feature: Columns, seed: np.random.SeedSequence) -> Donors:
    """Return which rows lend each row their values of a feature, given the other columns."""
    if context.n_columns == 0 or context.is_constant().all():
        return Donors(0.0, None)
    ranked = feature.to_ranks()  # A monotone change of the feature must not change its donors.
    predictions = [
        predict_feature(context, ranked, position, seed)
        for position in np.flatnonzero(~feature.is_constant()).tolist()
    ]
    leakage = max((one.r2 for one in predictions), default=0.0)
    if leakage <= MAX_LEAKAGE:
        return Donors(leakage, None)
    sharper = [
        _predict_scores(context, one, seed) if one.values.shape[1] == 1 else one
        for one in predictions
    ]
    leakage = max(leakage, *(one.r2 for one in sharper))
    n_rows = context.n_rows
    points = np.concatenate([one.values for one in sharper], axis=1)
    sizes = points.std(axis=0)
    points = (points - points.mean(axis=0)) / np.where(sizes > 0.0, sizes, 1.0)
    fraction = SPREAD * np.sqrt(max(1.0 - leakage, 0.0) / leakage)
    n_near = int(np.clip(fraction * n_rows, MIN_NEIGHBOURS, n_rows - 1))
    n_donors = N_DONORS if n_rows <= LONG_TABLE else N_DONORS_OF_LONG_TABLES
    rows = _find_neighbours(points, n_near, n_donors)
    # Along the feature, so that a few of them at even distances stand for all.
    along = np.argsort(feature.values[:, 0][rows], axis=1, kind="stable")
    return Donors(leakage, np.take_along_axis(rows, along, axis=1))


def _predict_scores(
    context: Columns, found: FeaturePrediction, seed: np.random.SeedSequence
) -> FeaturePrediction:
    """Return a sharper prediction of a column of numbers: a line, and trees on what it leaves.

    Trees alone follow a line in steps, so that what they leave open is too much.
    """
    n_rows = context.n_rows
    scores = special.ndtri(np.clip(found.truth, 0.5 / n_rows, 1.0 - 0.5 / n_rows))
    line = LinearPower().predict(context, Target("regression", scores), seed).values
    rest = Columns((scores - line)[:, np.newaxis], ("rest",), (Kind.CONTINUOUS,))
    of_rest = predict_feature(context, rest, 0, seed)
    values = line[:, np.newaxis]
    if of_rest.r2 > LEAST_R2:  # Or it would only add noise.
        values = values + of_rest.values
    r2 = 1.0 - float(np.mean((scores - values[:, 0]) ** 2) / np.var(scores))
    return FeaturePrediction(values, r2, found.truth)


def _find_neighbours(points: NDArray[np.float64], n_near: int, n_donors: int) -> NDArray[np.intp]:
    """Return donors evenly from the nearest rows of each row, without itself."""
    n_rows, n_directions = points.shape
    numbers = np.arange(n_donors)
    if n_directions > 1:
        n_near = min(n_near, n_donors)
        nearest = spatial.cKDTree(points).query(points, k=n_near + 1)[1][:, 1:]
        return np.asarray(nearest[:, numbers % n_near], dtype=np.intp)
    order = np.argsort(points[:, 0], kind="stable")
    ranks = np.empty(n_rows, dtype=np.intp)
    ranks[order] = np.arange(n_rows)
    start = np.clip(ranks - n_near // 2, 0, n_rows - 1 - n_near)
    chosen = start[:, np.newaxis] + numbers * n_near // n_donors
    chosen += chosen >= ranks[:, np.newaxis]
    return order[chosen]
