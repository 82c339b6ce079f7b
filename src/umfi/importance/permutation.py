"""Permutation importance of a forest (Breiman 2001).

How much worse a tree predicts its out-of-bag rows when one feature's values are shuffled among
them. How they are shuffled is left open, for the conditional variant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.target import Target
from umfi.errors import InputError
from umfi.execution import TaskName, kernel_seed
from umfi.forest import (
    Growth,
    RankTable,
    RecordedTree,
    Response,
    drop_shuffled,
    grow_recorded_tree,
)
from umfi.importance.assembly import TREES
from umfi.importance.features import Feature, Groups
from umfi.importance.options import with_common_parameters
from umfi.importance.result import ImportanceResult
from umfi.importance.study import Problem
from umfi.power.forest import ForestPower, forest_response

__all__ = ["Shuffle", "permutation", "permutation_result", "used_features"]

# Trees of a task: enough work to outweigh its start, few enough to keep all workers busy.
TREES_PER_TASK = 10

# From the tree's cuts, the table and its out-of-bag rows to a shuffler: columns -> donor rows.
Shuffle = Callable[[Sequence[int], np.random.Generator], NDArray[np.uint32]]
MakeShuffle = Callable[[RecordedTree, int, RankTable, NDArray[np.uint32]], Shuffle]


@with_common_parameters
def permutation(
    X: Any,
    y: Any,
    *,
    groups: Groups | None = None,
    task: str = "auto",
    power: Any = "forest",
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    repeats: int = 1,
    subsample: int | float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool | None = None,
    checkpoint: Any = None,
    time_limit: float | str | None = None,
) -> ImportanceResult:
    """Return how much worse the trees predict when one feature is shuffled.

    The mean over the trees of the decrease in out-of-bag accuracy (classification) or of the
    increase in out-of-bag mean squared error, in squared units of the response (regression).
    Scores are accuracy and negative mean squared error, means over the trees.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    {groups_parameter}
    {common_parameters}

    Notes
    -----
    ``power`` must be a forest: ``"forest"``, ``"extra-trees"`` or a ``ForestPower``. Copies of a
    feature share its importance, because a tree uses one or the other.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.permutation(X, y, random_state=0).table["feature"][0]
    'x2'
    """
    problem = Problem.check(
        "permutation",
        X,
        y,
        groups=groups,
        task=task,
        power=power,
        kinds=kinds,
        missing=missing,
        repeats=repeats,
        subsample=subsample,
        random_state=random_state,
        n_jobs=n_jobs,
        executor=executor,
        progress=progress,
        checkpoint=checkpoint,
        time_limit=time_limit,
    )
    return permutation_result(problem, _shuffle_all)


def permutation_result(problem: Problem, make_shuffle: MakeShuffle) -> ImportanceResult:
    """Return the mean over the trees of what shuffling each feature costs."""
    forest = problem.power
    if not isinstance(forest, ForestPower):
        raise InputError(
            f"{problem.settings['method']} needs a forest: pass power='forest', 'extra-trees' or "
            "umfi.ForestPower(...)."
        )
    if forest.measure not in (None, "accuracy", "r2"):
        raise InputError(
            f"{problem.settings['method']} scores tree by tree, in accuracy or mean squared error, "
            f"so measure={forest.measure!r} cannot be had: leave it out."
        )

    def work(name: TaskName) -> dict[str, Any]:
        """Return summed scores over a block of trees: unshuffled, then each feature shuffled."""
        repeat, first_tree = int(name[0]), int(name[1])
        columns, target = problem.rows_of(repeat)
        last_tree = min(first_tree + TREES_PER_TASK, forest.n_trees)
        table, response = columns.ranks, forest_response(target)
        growth = forest.growth(columns.n_columns, target)
        seed = kernel_seed(problem.streams.seed("forest", repeat))
        sums = np.zeros(1 + len(problem.features))
        for tree in range(first_tree, last_tree):
            rng = problem.streams.generator("shuffle", repeat, tree)
            sums += _tree_scores(
                table,
                response,
                growth,
                seed,
                tree,
                target,
                make_shuffle,
                problem.features,
                rng,
            )
        return {"sums": sums.tolist(), "n_trees": last_tree - first_tree}

    measures = {"regression": "mean squared error", "classification": "accuracy"}
    problem.settings["measure"] = measures[problem.target.task]
    problem.outline.extra["n_trees"] = forest.n_trees
    method = problem.outline.method
    blocks = range(0, forest.n_trees, TREES_PER_TASK)
    with problem:
        problem.run(
            TREES,
            work,
            [(repeat, block) for repeat in range(problem.repeats) for block in blocks],
            label_of=lambda name: f"{method}, repeat {name[0]}, tree {name[1]}",
            is_one_due=True,
        )
        return problem.assemble()


def _tree_scores(
    table: RankTable,
    response: Response,
    growth: Growth,
    seed: np.uint64,
    tree: int,
    target: Target,
    make_shuffle: MakeShuffle,
    features: Sequence[Feature],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the out-of-bag score plain and with each feature shuffled, shape (1 + n_features,)."""
    recorded, own, n_nodes, rows, predictions = grow_recorded_tree(
        table, response, growth, seed, tree
    )
    shuffle = make_shuffle(recorded, n_nodes, own, rows)
    used = set(used_features(recorded, n_nodes))
    # What the tree does not use cannot change its predictions.
    members = [[place for place in feature.positions if place in used] for feature in features]
    shuffled = [index for index, places in enumerate(members) if places]
    feature_of = np.full(table.positions.shape[0], -1)
    donors = np.empty((len(shuffled), len(rows)), dtype=np.uint32)
    for number, index in enumerate(shuffled):
        feature_of[members[index]] = number
        donors[number] = shuffle(members[index], rng)
    changed = drop_shuffled(recorded, own, rows, predictions, feature_of, donors)
    answers, truth = np.vstack([predictions, changed]), target.values[rows]
    if target.task == "classification":
        found = np.mean(answers == truth, axis=1)
    else:
        found = -np.mean((target.unstandardise(answers) - truth) ** 2, axis=1)
    scores = np.full(1 + len(features), found[0])
    scores[[1 + index for index in shuffled]] = found[1:]
    return scores


def used_features(tree: RecordedTree, n_nodes: int) -> list[int]:
    """Return the features that the tree is cut on, in ascending order."""
    features = tree.feature[:n_nodes]
    found: list[int] = np.flatnonzero(np.bincount(features[features >= 0])).tolist()
    return found


def _shuffle_all(
    tree: RecordedTree, n_nodes: int, table: RankTable, rows: NDArray[np.uint32]
) -> Shuffle:
    def shuffle(members: Sequence[int], rng: np.random.Generator) -> NDArray[np.uint32]:
        return rng.permutation(rows)

    return shuffle
