"""A forest that is only scored: trees are grown, vote on their out-of-bag rows, and are gone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.few_columns import (
    fits_few_columns,
    grow_sorted_tree,
    new_sorted_rows,
    sort_rows,
)
from umfi.forest.levels import arrange_levels, has_levels, new_slots, own_table
from umfi.forest.model import Growth, Response, new_recorded_tree, new_scratch
from umfi.forest.ranks import RankTable
from umfi.forest.tree import grow_tree, start_tree
from umfi.jit import kernel, tree_kernel

__all__ = ["Tally", "add_votes", "new_tally", "out_of_bag_totals"]


class Tally(NamedTuple):
    """What trees said about the rows they had not seen.

    Attributes
    ----------
    totals : ndarray of float64, shape (n_rows, n_classes), or (n_rows, 1) for regression
        Votes for each class, or the sum of the predictions.
    n_votes : ndarray of int64, shape (n_rows,)
        The number of trees the row was out of bag for.
    """

    totals: NDArray[np.float64]
    n_votes: NDArray[np.int64]


@kernel
def new_tally(n_rows: int, n_classes: int) -> Tally:
    """Return a tally without votes."""
    return Tally(np.zeros((n_rows, max(1, n_classes))), np.zeros(n_rows, dtype=np.int64))


@tree_kernel
def add_votes(
    tally: Tally, rows: NDArray[np.uint32], predictions: NDArray[np.float64], n_classes: int
) -> None:
    """Add a tree's predictions of its out-of-bag rows."""
    for local in range(rows.shape[0]):
        row = rows[local]
        tally.n_votes[row] += 1
        if n_classes == 0:
            tally.totals[row, 0] += predictions[row]
        else:
            tally.totals[row, np.int64(predictions[row])] += 1.0


@kernel
def out_of_bag_totals(
    table: RankTable,
    response: Response,
    growth: Growth,
    first_tree: int,
    n_trees: int,
    seed: np.uint64,
) -> Tally:
    """Return what a block of the forest's trees said about the rows they had not seen.

    A tree depends on the seed and its number alone, so blocks can be grown in any order.
    """
    n_rows = response.values.shape[0]
    scratch = new_scratch(table, n_rows, response.n_classes)
    not_recorded = new_recorded_tree(1)
    no_candidates = np.empty(0, dtype=np.int64)
    predictions = np.empty(n_rows)
    tally = new_tally(n_rows, response.n_classes)
    own, slots = own_table(table), new_slots(table)
    is_sorted = fits_few_columns(table, response, growth)
    sorted_rows = new_sorted_rows(table.positions.shape[0] if is_sorted else 0, n_rows)
    if is_sorted:
        sort_rows(own, sorted_rows)
    for tree in range(first_tree, first_tree + n_trees):
        n_in_bag, n_out_of_bag = start_tree(scratch, response, growth, seed, tree)
        if has_levels(table):
            rows = scratch.in_bag[:n_in_bag]
            arrange_levels(table, table.positions, n_rows, own, rows, response, scratch, slots)
            if is_sorted:
                sort_rows(own, sorted_rows)
        counts = (n_in_bag, n_out_of_bag)
        if is_sorted:
            grow_sorted_tree(own, response, growth, scratch, *counts, predictions, sorted_rows)
        else:
            grow_tree(
                own,
                response,
                growth,
                scratch,
                *counts,
                predictions,
                not_recorded,
                False,
                False,
                no_candidates,
            )
        add_votes(tally, scratch.out_of_bag[:n_out_of_bag], predictions, response.n_classes)
    return tally
