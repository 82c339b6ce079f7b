"""Conditional permutation importance of a forest (Debeer and Strobl 2020, their ``permimp``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from umfi.errors import InputError
from umfi.forest import RankTable, RecordedTree, bin_by_cuts, chi_squared
from umfi.importance.features import Groups
from umfi.importance.options import with_common_parameters
from umfi.importance.permutation import Shuffle, permutation_result, used_features
from umfi.importance.result import ImportanceResult
from umfi.importance.study import Problem

__all__ = ["conditional_permutation"]


@with_common_parameters
def conditional_permutation(
    X: Any,
    y: Any,
    *,
    threshold: float = 0.95,
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
    {groups_parameter}
    {common_parameters}

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
        raise InputError(f"threshold={threshold!r} is not valid: pass a number from 0 to 1.")
    problem = Problem.check(
        "conditional_permutation",
        X,
        y,
        threshold=threshold,
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

    def shuffle_in_cells(
        tree: RecordedTree, n_nodes: int, table: RankTable, rows: NDArray[np.uint32]
    ) -> Shuffle:
        return _shuffle_in_cells(tree, n_nodes, table, rows, float(threshold))

    return permutation_result(problem, shuffle_in_cells)


def _shuffle_in_cells(
    tree: RecordedTree,
    n_nodes: int,
    table: RankTable,
    rows: NDArray[np.uint32],
    threshold: float,
) -> Shuffle:
    used = used_features(tree, n_nodes)
    node_features = tree.feature[:n_nodes]
    bins = np.empty((len(used), len(rows)), dtype=np.int64)
    n_bins = np.empty(len(used), dtype=np.int64)
    for place, feature in enumerate(used):
        cuts = np.unique(tree.cut[:n_nodes][node_features == feature])
        bins[place], n_bins[place] = bin_by_cuts(table.positions[feature], rows, cuts)
    freedom = np.outer(n_bins - 1, n_bins - 1)
    statistics = np.maximum(chi_squared(bins, n_bins), 0.0)
    # One bin alone is independent of everything: p = 1.
    p_values = np.where(freedom > 0, special.chdtrc(np.maximum(freedom, 1), statistics), 1.0)
    is_associated = 1.0 - p_values > threshold
    if threshold == 0.0:
        is_associated[:] = True
    np.fill_diagonal(is_associated, False)

    def shuffle(members: Sequence[int], rng: np.random.Generator) -> NDArray[np.uint32]:
        places = [used.index(member) for member in members]
        is_near: NDArray[np.bool_] = np.logical_or.reduce(is_associated[places])
        is_near[places] = False
        cells = _cells(bins[is_near], len(rows))
        order = rng.permutation(len(rows))
        donors = np.empty_like(rows)
        # Both sides list the rows cell by cell, one in a random order inside each cell.
        donors[np.argsort(cells, kind="stable")] = rows[
            order[np.argsort(cells[order], kind="stable")]
        ]
        return donors

    return shuffle


def _cells(bins: NDArray[np.int64], n_rows: int) -> NDArray[np.intp]:
    """Return a number for each row; rows in the same bin of every feature share it."""
    cells = np.zeros(n_rows, dtype=np.intp)
    for feature_bins in bins:
        # Renumbered at every step, so that the product stays below n_rows².
        pairs = cells * (feature_bins.max() + 1) + feature_bins
        cells = np.unique(pairs, return_inverse=True)[1]
    return cells
