"""Trees that are kept for a moment, so that changed rows can be dropped down them again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.forest.categories import (
    arrange_levels,
    has_levels,
    new_arranged,
    new_slots,
    table_of_tree,
)
from umfi.forest.model import Growth, RecordedTree, Response, new_recorded_tree, new_scratch
from umfi.forest.ranks import RankTable, read_only_table
from umfi.forest.tree import grow_tree, start_tree
from umfi.jit import inlined_kernel, kernel

__all__ = ["bin_by_cuts", "chi_squared", "drop_shuffled", "grow_recorded_tree"]


def grow_recorded_tree(
    table: RankTable, response: Response, growth: Growth, seed: np.uint64, tree: int
) -> tuple[RecordedTree, RankTable, int, NDArray[np.uint32], NDArray[np.float64]]:
    """Return one whole tree of a forest, its table, number of nodes, unseen rows and predictions.

    The bootstrap is that of the forest with the same seed. The table is the one that the tree's
    cuts are about, with categories in the tree's own order.
    """
    return _grow_recorded_tree(read_only_table(table), response, growth, seed, tree)


@kernel
def _grow_recorded_tree(
    table: RankTable, response: Response, growth: Growth, seed: np.uint64, tree: int
) -> tuple[RecordedTree, RankTable, int, NDArray[np.uint32], NDArray[np.float64]]:
    n_rows = response.values.shape[0]
    scratch = new_scratch(table, n_rows, response.n_classes)
    predictions = np.empty(n_rows)
    n_in_bag, n_out_of_bag = start_tree(scratch, response, growth, seed, tree)
    arranged, slots = new_arranged(table), new_slots(table)
    own = table_of_tree(table, arranged)
    if has_levels(table):
        rows = scratch.in_bag[:n_in_bag]
        arrange_levels(table, table.positions, n_rows, arranged, rows, response, scratch, slots)
    recorded = new_recorded_tree(2 * n_in_bag)
    n_nodes = grow_tree(
        own,
        response,
        growth,
        scratch,
        n_in_bag,
        n_out_of_bag,
        predictions,
        recorded,
        True,
        True,
        np.full(table.positions.shape[0], -1, dtype=np.int64),
    )
    unseen = np.sort(scratch.out_of_bag[:n_out_of_bag])
    return recorded, own, n_nodes, unseen, predictions[unseen]


@inlined_kernel
def _next_node(recorded: RecordedTree, table: RankTable, node: int, row: int) -> int:
    """Return the child that a row goes to."""
    is_left = table.positions[recorded.feature[node], row] <= recorded.cut[node]
    return recorded.left[node] if is_left else recorded.right[node]


@inlined_kernel
def _drop_from(
    node: int,
    recorded: RecordedTree,
    table: RankTable,
    row: int,
    feature_of: NDArray[np.int64],
    feature: int,
    donor: int,
) -> float:
    """Return the prediction of a row that takes a feature from a donor, from a node on."""
    while recorded.feature[node] >= 0:
        is_taken = feature_of[recorded.feature[node]] == feature
        node = _next_node(recorded, table, node, donor if is_taken else row)
    return recorded.prediction[node]


@kernel
def drop_shuffled(
    recorded: RecordedTree,
    table: RankTable,
    rows: NDArray[np.uint32],
    predictions: NDArray[np.float64],
    feature_of: NDArray[np.int64],
    donors: NDArray[np.uint32],
) -> NDArray[np.float64]:
    """Return the tree's predictions, (n_features, n_rows), with each feature taken from donors.

    A row whose path has no cut on a feature keeps its prediction, so only the others are dropped
    again: a few features per row, however many the tree has.

    Parameters
    ----------
    predictions : of the rows as they are, shape (n_rows,)
    feature_of : the feature that a column belongs to, -1 for none, shape (n_columns,)
    donors : for each feature the row that each row takes it from, shape (n_features, n_rows)
    """
    n_features, n_rows = donors.shape
    shuffled = np.empty((n_features, n_rows))
    last_row = np.full(n_features, -1, dtype=np.int64)
    for feature in range(n_features):
        shuffled[feature] = predictions
    for local in range(n_rows):
        node = 0
        while recorded.feature[node] >= 0:
            feature = feature_of[recorded.feature[node]]
            if feature >= 0 and last_row[feature] != local:
                last_row[feature] = local
                shuffled[feature, local] = _drop_from(
                    node, recorded, table, rows[local], feature_of, feature, donors[feature, local]
                )
            node = _next_node(recorded, table, node, rows[local])
    return shuffled


@kernel
def bin_by_cuts(
    positions: NDArray[np.uint16], rows: NDArray[np.uint32], cuts: NDArray[np.int32]
) -> tuple[NDArray[np.int64], int]:
    """Return the bin of each row between sorted cuts of a column, empty bins left out."""
    bins = np.searchsorted(cuts, positions[rows], side="left")
    number = np.full(cuts.shape[0] + 1, -1, dtype=np.int64)
    number[bins] = 0
    n_bins = 0
    for index in range(number.shape[0]):
        if number[index] == 0:
            number[index] = n_bins
            n_bins += 1
    return number[bins], n_bins


@kernel
def chi_squared(bins: NDArray[np.int64], n_bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return Pearson's statistic of independence for each pair of features, zero on the diagonal.

    Bins, shape (n_features, n_rows), are numbers without gaps, of each feature so many.
    """
    n_features, n_rows = bins.shape
    statistics = np.zeros((n_features, n_features))
    for first in range(n_features):
        by_bin = np.argsort(bins[first], kind="mergesort")
        for second in range(first + 1, n_features):
            column_counts = np.zeros(n_bins[second], dtype=np.int64)
            for row in range(n_rows):
                column_counts[bins[second, row]] += 1
            cell_counts = np.zeros(n_bins[second], dtype=np.int64)
            # sum (O - E)² / E  =  n (sum O² / (row total * column total) - 1), over filled cells.
            total = 0.0
            start = 0
            while start < n_rows:
                stop = start
                here = bins[first, by_bin[start]]
                while stop < n_rows and bins[first, by_bin[stop]] == here:
                    cell_counts[bins[second, by_bin[stop]]] += 1
                    stop += 1
                for slot in range(start, stop):
                    column = bins[second, by_bin[slot]]
                    count = cell_counts[column]
                    if count > 0:
                        total += count * count / ((stop - start) * column_counts[column])
                        cell_counts[column] = 0
                start = stop
            statistics[first, second] = n_rows * (total - 1.0)
            statistics[second, first] = statistics[first, second]
    return statistics
