"""Permutation importance of a forest (Breiman 2001), plain and conditional.

How much worse a tree predicts its out-of-bag rows when one feature's values are shuffled among
them: among all, or among those that are alike in associated features (Debeer and Strobl 2020, their
``permimp``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy import special

from umfi.data.target import Target
from umfi.errors import InputError
from umfi.execution import kernel_seed
from umfi.forest import (
    RankTable,
    RecordedTree,
    bin_by_cuts,
    chi_squared,
    drop_shuffled,
    grow_recorded_tree,
)
from umfi.importance.features import Feature
from umfi.importance.options import CommonOptions, with_options
from umfi.importance.result import ImportanceResult
from umfi.importance.specification import AnswersOf, ScorePair, Specification, Undone
from umfi.importance.study import Study
from umfi.power.forest import ForestPower, forest_response

__all__ = ["assemble_trees", "conditional_permutation", "permutation"]

TREES = "trees"
# Trees of a task: enough work to outweigh its start, few enough to keep all workers busy.
TREES_PER_TASK = 10


class TreeTask(NamedTuple):
    """A task: a block of trees of one repeat."""

    repeat: int
    first_tree: int


@with_options(CommonOptions)
def permutation(X: Any, y: Any, **options: Unpack[CommonOptions]) -> ImportanceResult:
    """Return how much worse the trees predict when one feature is shuffled.

    The mean over the trees of the decrease in out-of-bag accuracy (classification) or of the
    increase in out-of-bag mean squared error, in squared units of the response (regression).
    Scores are accuracy and negative mean squared error, means over the trees.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    {common_parameters}

    Returns
    -------
    ImportanceResult

    Notes
    -----
    ``power`` must be a forest: ``"forest"``, ``"extra-trees"`` or a ``ForestPower``. Copies of a
    feature divide its importance between them, because a tree uses one or the other.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.permutation(X, y, random_state=0).table["feature"][0]
    'x2'
    """
    return _shuffle_features(Study.prepare("permutation", X, y, {}, options), threshold=None)


@with_options(CommonOptions)
def conditional_permutation(
    X: Any, y: Any, *, threshold: float = 0.95, **options: Unpack[CommonOptions]
) -> ImportanceResult:
    """Return how much worse the trees predict when one feature is shuffled among similar rows.

    As :func:`permutation`, but values change places only inside the cells that the tree's own
    cuts on associated features make. Two features are associated in a tree when Pearson's test of
    independence between their bins, made by the tree's cuts and filled with its out-of-bag rows,
    has 1 - p above the threshold.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    threshold : float between 0 and 1
        0 conditions on every other feature of the tree, 1 on none.
    {common_parameters}

    Returns
    -------
    ImportanceResult

    Notes
    -----
    ``power`` must be a forest: ``"forest"``, ``"extra-trees"`` or a ``ForestPower``.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.conditional_permutation(X, y, random_state=0).table["feature"][0]
    'x2'
    """
    if not isinstance(threshold, int | float | np.number) or not 0.0 <= threshold <= 1.0:
        raise InputError(
            "is not valid: pass a number from 0 to 1.", argument="threshold", value=threshold
        )
    own = {"threshold": threshold}
    study = Study.prepare("conditional_permutation", X, y, own, options)
    return _shuffle_features(study, float(threshold))


def _shuffle_features(study: Study, threshold: float | None) -> ImportanceResult:
    """Return the mean over the trees of what shuffling each feature costs."""
    forest, method = study.power, study.method
    if not isinstance(forest, ForestPower):
        raise InputError(
            f"{method} needs a forest: choose the power 'forest', 'extra-trees' or "
            "umfi.ForestPower(...).",
            argument="power",
        )
    if forest.measure not in (None, "accuracy", "r2"):
        raise InputError(
            f"{method} scores tree by tree, in accuracy or mean squared error, so "
            f"measure={forest.measure!r} cannot be had: leave it out.",
            argument="power",
        )
    measures = {"regression": "mean squared error", "classification": "accuracy"}
    study = study.with_facts(
        settings={"measure": measures[study.target.task]}, extra={"n_trees": forest.n_trees}
    )
    tasks = [
        TreeTask(repeat, first_tree)
        for repeat in range(study.repeats)
        for first_tree in range(0, forest.n_trees, TREES_PER_TASK)
    ]
    with study:
        study.run(TREES, partial(score_trees, study, forest, threshold), tasks, is_one_due=True)
        return study.finish(assemble_trees)


def score_trees(
    study: Study, forest: ForestPower, threshold: float | None, task: TreeTask
) -> dict[str, Any]:
    """Return summed scores over a block of trees: unshuffled, then each feature shuffled."""
    columns, target = study.rows_of(task.repeat)
    last_tree = min(task.first_tree + TREES_PER_TASK, forest.n_trees)
    table, response = columns.ranks, forest_response(target)
    growth = forest.growth(columns.n_columns, target)
    seed = kernel_seed(study.streams.seed("forest", task.repeat))
    sums = np.zeros(1 + len(study.features))
    for tree in range(task.first_tree, last_tree):
        rng = study.streams.generator("shuffle", task.repeat, tree)
        grown = grow_recorded_tree(table, response, growth, seed, tree)
        sums += _score_tree(grown, target, threshold, study.features, rng)
    return {"sums": sums.tolist(), "n_trees": last_tree - task.first_tree}


def _score_tree(
    grown: tuple[RecordedTree, RankTable, int, NDArray[np.uint32], NDArray[np.float64]],
    target: Target,
    threshold: float | None,
    features: Sequence[Feature],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the out-of-bag score plain and with each feature shuffled, shape (1 + n_features,)."""
    recorded, own, n_nodes, rows, predictions = grown
    used = set(_used_features(recorded, n_nodes))
    # What the tree does not use cannot change its predictions.
    members = [[one for one in feature.positions if one in used] for feature in features]
    shuffled = [index for index, positions in enumerate(members) if positions]
    cells = None if threshold is None else _Cells.of_tree(recorded, n_nodes, own, rows, threshold)
    feature_of = np.full(own.positions.shape[0], -1)
    donors = np.empty((len(shuffled), len(rows)), dtype=np.uint32)
    for number, index in enumerate(shuffled):
        feature_of[members[index]] = number
        donors[number] = (
            rng.permutation(rows) if cells is None else cells.shuffle(members[index], rng)
        )
    changed = drop_shuffled(recorded, own, rows, predictions, feature_of, donors)
    predicted, truth = np.vstack([predictions, changed]), target.values[rows]
    if target.task == "classification":
        found = np.mean(predicted == truth, axis=1)
    else:
        found = -np.mean((target.unstandardise(predicted) - truth) ** 2, axis=1)
    scores = np.full(1 + len(features), found[0])
    scores[[1 + index for index in shuffled]] = found[1:]
    return scores


def _used_features(tree: RecordedTree, n_nodes: int) -> list[int]:
    """Return the features that the tree splits on, in ascending order."""
    features = tree.feature[:n_nodes]
    found: list[int] = np.flatnonzero(np.bincount(features[features >= 0])).tolist()
    return found


class _Cells(NamedTuple):
    """The cells of rows that a tree's own cuts on associated features make."""

    used: list[int]  # The features that the tree splits on.
    rows: NDArray[np.uint32]  # Out of its bag.
    bins: NDArray[np.int64]  # Shape (n_used, n_rows).
    is_associated: NDArray[np.bool_]  # Shape (n_used, n_used).

    @classmethod
    def of_tree(
        cls,
        tree: RecordedTree,
        n_nodes: int,
        table: RankTable,
        rows: NDArray[np.uint32],
        threshold: float,
    ) -> _Cells:
        """Return the cells of a tree; features are associated beyond the threshold."""
        used = _used_features(tree, n_nodes)
        node_features = tree.feature[:n_nodes]
        bins = np.empty((len(used), len(rows)), dtype=np.int64)
        n_bins = np.empty(len(used), dtype=np.int64)
        for position, feature in enumerate(used):
            cuts = np.unique(tree.cut[:n_nodes][node_features == feature])
            bins[position], n_bins[position] = bin_by_cuts(table.positions[feature], rows, cuts)
        freedom = np.outer(n_bins - 1, n_bins - 1)
        statistics = np.maximum(chi_squared(bins, n_bins), 0.0)
        # One bin alone is independent of everything: p = 1.
        p_values = np.where(freedom > 0, special.chdtrc(np.maximum(freedom, 1), statistics), 1.0)
        is_associated = 1.0 - p_values > threshold
        if threshold == 0.0:
            is_associated[:] = True
        np.fill_diagonal(is_associated, False)
        return cls(used, rows, bins, is_associated)

    def shuffle(self, members: Sequence[int], rng: np.random.Generator) -> NDArray[np.uint32]:
        """Return for each row the row whose values of these features it gets."""
        own = [self.used.index(member) for member in members]
        is_near: NDArray[np.bool_] = np.logical_or.reduce(self.is_associated[own])
        is_near[own] = False
        cells = _number_cells(self.bins[is_near], len(self.rows))
        order = rng.permutation(len(self.rows))
        donors = np.empty_like(self.rows)
        # Both sides list the rows cell by cell, one in a random order inside each cell.
        donors[np.argsort(cells, kind="stable")] = self.rows[
            order[np.argsort(cells[order], kind="stable")]
        ]
        return donors


def _number_cells(bins: NDArray[np.int64], n_rows: int) -> NDArray[np.intp]:
    """Return a number for each row; rows in the same bin of every feature have the same."""
    cells = np.zeros(n_rows, dtype=np.intp)
    for feature_bins in bins:
        # Renumbered at every step, so that the product stays below n_rows².
        pairs = cells * (feature_bins.max() + 1) + feature_bins
        cells = np.unique(pairs, return_inverse=True)[1]
    return cells


def assemble_trees(
    specification: Specification, answers_of: AnswersOf
) -> tuple[ImportanceResult, list[Undone]]:
    """Return the result, means over the trees, and what is undone."""
    sums: dict[int, Any] = {}
    n_trees: dict[int, int] = {}
    # In the order of the trees, so that it rounds the same.
    for name, answer in sorted(answers_of(TREES).items()):
        repeat = int(name[0])
        if repeat < specification.repeats:
            sums[repeat] = sums.get(repeat, 0.0) + np.array(answer["sums"])
            n_trees[repeat] = n_trees.get(repeat, 0) + int(answer["n_trees"])
    means = {repeat: total / n_trees[repeat] for repeat, total in sorted(sums.items())}
    result = specification.result(
        (feature, repeat, ScorePair.difference(float(scores[0]), float(scores[1 + feature])))
        for repeat, scores in means.items()
        for feature in range(len(specification.features))
    )
    n_least, n_asked = min(n_trees.values(), default=0), specification.extra["n_trees"]
    if n_least == n_asked:
        return result, []
    return result, [Undone(f"a repeat has {n_least} of {n_asked} trees")]
