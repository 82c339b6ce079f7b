"""Leakage: how well a context still predicts the feature that was removed from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.data.target import Target
from umfi.power.forest import ForestPower
from umfi.power.measures import score_predictions

__all__ = [
    "MAX_LEAKAGE",
    "Leakage",
    "find_leakage",
    "leakage_limit",
    "measure_leakages",
    "predict_feature",
    "predict_levels",
]

# Enough to see a twentieth. Leaves of many rows, because single rows have nothing to say; of fewer
# in short tables, which have no more.
N_TREES = 50
# Where several columns are compared: fewer trees cost all of them alike.
N_COMPARED_TREES = 30
# Beyond a thousand columns more tries per node cost much and find no more.
MAX_MTRY = 32
ROWS_PER_TREE = 20_000
MIN_NODE_ROWS = 20
ROWS_PER_LEAF_ROW = 10
LEAST_NODE_ROWS = 5
# What discrete columns carry only together shows in few rows, and only where the right columns are
# tried at one node.
LEVEL_NODE_ROWS, LEVEL_MTRY_PART = 10, 1 / 3
# Beyond this, what S still carries about a feature makes p-values too small (docs/inference.md); in
# short tables chance alone goes further.
MAX_LEAKAGE = 0.05
LEAKAGE_ERRORS = 2.5


class FeaturePrediction(NamedTuple):
    """What a context predicts of a column without the row itself."""

    values: NDArray[np.float64]  # (n_rows, 1), or probabilities of levels, (n_rows, n_levels).
    r2: float
    truth: NDArray[np.float64]  # The column itself.


class Leakage(NamedTuple):
    """How well a context predicts a feature, and permuted copies of it: R².

    It is about the feature's distance from its median, not about its values, where ``is_distance``.
    """

    own: float
    of_copies: tuple[float, ...]
    is_distance: bool

    @property
    def excess(self) -> float:
        """How much better the feature is predicted than its copies."""
        return self.own - float(np.mean(self.of_copies))


def measure_leakages(
    context: Columns, feature: Columns, copies: Sequence[Columns], seed: np.random.SeedSequence
) -> list[Leakage]:
    """Return how much better the context predicts the feature than permuted copies of it.

    Measured by out-of-bag R² of the feature, and of its distance from its median, which its
    square predicts for example; for booleans and categories by R² of the indicators. The copies,
    which removal treated like the feature, are the measure of nothing: a column that was fitted to
    be independent of another in these very rows predicts it worse than its mean does out of bag (R²
    of -0.5 has been seen), which would hide what leaks.
    """
    if context.n_columns == 0:
        return []
    power = _forest(context, n_trees=N_COMPARED_TREES)
    found = []
    for position in np.flatnonzero(~feature.is_constant()).tolist():
        targets = zip(*(_targets(columns, position) for columns in (feature, *copies)), strict=True)
        for number, compared in enumerate(targets):
            own, *of_copies = (power.score(context, target, seed) for target in compared)
            found.append(Leakage(own, tuple(of_copies), number > 0))
    return found


def leakage_limit(leakages: Sequence[Leakage]) -> float:
    """Return what leakage is more than harms, and more than chance shows in copies."""
    variances = [np.var(one.of_copies, ddof=1) for one in leakages if len(one.of_copies) > 1]
    if not variances:
        return MAX_LEAKAGE
    n_copies = len(leakages[0].of_copies)
    error = np.sqrt(float(np.mean(variances)) * (1.0 + 1.0 / n_copies))
    return max(MAX_LEAKAGE, float(LEAKAGE_ERRORS * error))


def find_leakage(
    context: Columns,
    feature: Columns,
    seed: np.random.SeedSequence,
    *,
    enough: float = np.inf,
    split: Literal["best", "random"] = "random",
    n_trees: int = N_TREES,
    is_spread_asked: bool = True,
) -> float:
    """Return how well the context predicts the feature in these very rows: out-of-bag R².

    What extremely randomised trees find of its values, or of their distances from the median if
    that is more; of booleans and categories the indicators. At most zero where they find nothing.
    Random cuts and large leaves find the faint traces that removal leaves in these very rows, where
    the best cut is mostly chance: where they find an R² of 0, forests and boosting have been seen
    to find -0.1 and -0.4.

    Nothing more is looked for once more than ``enough`` is found, nor distances from the median
    unless the spread is asked for.
    """
    if context.n_columns == 0:
        return 0.0
    forest = _forest(context, split, n_trees)
    most = -np.inf
    for position in np.flatnonzero(~feature.is_constant()).tolist():
        for target in _targets(feature, position)[: 2 if is_spread_asked else 1]:
            most = max(most, forest.score(context, target, seed))
            if most > enough:
                return most
    return most if np.isfinite(most) else 0.0


def predict_feature(
    context: Columns, feature: Columns, position: int, seed: np.random.SeedSequence
) -> FeaturePrediction:
    """Return what extremely randomised trees predict of a column of a feature, out of bag."""
    target = _targets(feature, position)[0]
    forest = _forest(context, n_trees=N_COMPARED_TREES)
    predictions = forest.predict(context, target, seed, is_every_row_scored=True)
    values = predictions.values.reshape(context.n_rows, -1)
    values = np.where(predictions.is_given()[:, np.newaxis], values, np.nanmean(values, axis=0))
    r2 = score_predictions("r2", predictions, target)
    return FeaturePrediction(values, r2, feature.values[:, position])


def predict_levels(
    context: Columns, levels: NDArray[np.intp], seed: np.random.SeedSequence
) -> NDArray[np.float64]:
    """Return the probability of each level for each row, out of bag, shape (n_rows, n_levels).

    By a forest with smaller leaves than elsewhere. Levels are numbers from 0 without gaps.
    """
    rates = np.bincount(levels) / len(levels)
    target = Target("classification", levels.astype(np.float64), tuple(map(str, range(len(rates)))))
    forest = _forest(context, "best")
    mtry = max(forest.mtry or 1, int(min(LEVEL_MTRY_PART * context.n_columns, MAX_MTRY)))
    forest = replace(forest, mtry=mtry, min_node_rows=LEVEL_NODE_ROWS)
    predictions = forest.predict(context, target, seed, is_every_row_scored=True)
    return np.where(predictions.is_given()[:, np.newaxis], predictions.values, rates)


def _forest(
    context: Columns, split: Literal["best", "random"] = "random", n_trees: int = N_TREES
) -> ForestPower:
    """Return a forest for tables like the context."""
    n_fewest = context.n_rows // ROWS_PER_LEAF_ROW
    return ForestPower(
        n_trees=n_trees,
        mtry=min(MAX_MTRY, max(1, int(np.sqrt(context.n_columns)))),
        min_node_rows=int(np.clip(n_fewest, LEAST_NODE_ROWS, MIN_NODE_ROWS)),
        split=split,
        rows_per_tree=ROWS_PER_TREE,
    )


def _targets(columns: Columns, position: int) -> list[Target]:
    """Return what is to be predicted of a column: its values, and how far from the middle."""
    values = columns.values[:, position]
    if columns.kinds[position] in (Kind.BOOLEAN, Kind.CATEGORICAL):
        levels, codes = np.unique(values, return_inverse=True)
        names = tuple(str(level) for level in levels)
        return [Target("classification", codes.astype(np.float64), names)]
    distances = np.abs(values - np.median(values))
    return [Target("regression", values), Target("regression", distances)]
