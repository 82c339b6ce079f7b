"""Forests on long tables, whose trees grow on fewer rows than the table has.

A tree's rows are copied together first, so that growing it costs what it would cost on a short
table. The rows out of bag that are scored, which may be many more, are then dropped down the
finished tree one by one from a copy of the ranks in which the ranks of a row lie side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.forest.categories import arrange_levels, has_levels, new_arranged, new_slots
from umfi.forest.model import (
    Growth,
    RecordedTree,
    Response,
    Scratch,
    new_recorded_tree,
    new_scratch,
)
from umfi.forest.random import start_stream
from umfi.forest.ranks import RankTable, freeze_table, read_only_table
from umfi.forest.tree import draw_bootstrap, grow_tree, put_in_bag
from umfi.forest.votes import (
    Donors,
    Tally,
    add_changes,
    add_votes,
    new_changes,
    new_tally,
    position_of,
)
from umfi.jit import kernel, read_only, tree_kernel

__all__ = ["subsampled_totals"]


@tree_kernel
def _gather_rows(
    by_row: NDArray[np.uint16],
    response: Response,
    is_scored: NDArray[np.bool_],
    counts: NDArray[np.int32],
    positions: NDArray[np.uint16],
    gathered: Response,
    scratch: Scratch,
    out_of_bag: NDArray[np.uint32],
) -> tuple[int, int]:
    """Copy the rows in the bag together; return how many there are, and how many are scored."""
    n_columns = by_row.shape[1]
    n_in_bag = 0
    n_out_of_bag = 0
    for row in range(counts.shape[0]):
        count = counts[row]
        if count == 0 and is_scored[row]:
            out_of_bag[n_out_of_bag] = row
            n_out_of_bag += 1
        elif count > 0:
            for column in range(n_columns):
                positions[column, n_in_bag] = by_row[row, column]
            gathered.values[n_in_bag] = response.values[row]
            gathered.labels[n_in_bag] = response.labels[row]
            scratch.weights[n_in_bag] = count
            put_in_bag(scratch, n_in_bag, count, response.values[row], response.labels[row])
            scratch.in_bag[n_in_bag] = n_in_bag
            n_in_bag += 1
    for column in range(n_columns):
        scratch.features[column] = column
    return n_in_bag, n_out_of_bag


@tree_kernel
def _predict(
    recorded: RecordedTree,
    by_row: NDArray[np.uint16],
    rows: NDArray[np.uint32],
    table: RankTable,
    slots: NDArray[np.uint16],
    predictions: NDArray[np.float64],
) -> None:
    """Write the tree's prediction of each of the rows."""
    is_arranged = has_levels(table)
    for local in range(rows.shape[0]):
        row = rows[local]
        node = np.uint32(0)
        feature = recorded.feature[node]
        while feature >= 0:
            position = position_of(by_row, row, np.uint32(feature), table, slots, is_arranged)
            # The children are neighbours; added instead of branched upon, which is hard to predict.
            is_right = position > recorded.cut[node]
            node = np.uint32(recorded.left[node] + is_right)
            feature = recorded.feature[node]
        predictions[row] = recorded.prediction[node]


def subsampled_totals(
    table: RankTable,
    by_row: NDArray[np.uint16],
    response: Response,
    growth: Growth,
    donors: Donors,
    is_scored: NDArray[np.bool_],
    first_tree: int,
    n_trees: int,
    seed: np.uint64,
) -> tuple[Tally, NDArray[np.float64]]:
    """Return what some of the forest's trees predict, and how that changes without candidates.

    See ``averaged_totals``.

    Parameters
    ----------
    by_row : the table's positions, a row's side by side, shape (n_rows, n_columns)
    is_scored : shape (n_rows,); other rows are learnt from, and get no votes
    """
    frozen = read_only_table(table)
    return _grow_forest(
        frozen, read_only(by_row), response, growth, donors, is_scored, first_tree, n_trees, seed
    )


@kernel
def _grow_forest(
    table: RankTable,
    by_row: NDArray[np.uint16],
    response: Response,
    growth: Growth,
    donors: Donors,
    is_scored: NDArray[np.bool_],
    first_tree: int,
    n_trees: int,
    seed: np.uint64,
) -> tuple[Tally, NDArray[np.float64]]:
    """Return the tally of a block of trees, and its changes without each candidate."""
    n_rows, n_columns = by_row.shape
    n_gathered = growth.rows_per_tree
    scratch = new_scratch(table, n_gathered, response.n_classes)
    counts = np.empty(n_rows, dtype=np.int32)
    out_of_bag = np.empty(n_rows, dtype=np.uint32)
    positions = np.empty((n_columns, n_gathered), dtype=np.uint16)
    gathered = Response(
        np.empty(n_gathered), np.empty(n_gathered, dtype=np.int32), response.n_classes
    )
    arranged, slots = new_arranged(table), new_slots(table)
    arranged = RankTable(
        positions, arranged.sorted_values, arranged.has_ties, arranged.n_levels, table.has_bins
    )
    own = freeze_table(arranged)
    if not has_levels(table):
        own = RankTable(
            own.positions, table.sorted_values, table.has_ties, table.n_levels, table.has_bins
        )
    recorded = new_recorded_tree(2 * n_gathered)
    changes = new_changes(donors, n_rows, response.n_classes)
    last_row = np.empty(donors.order.shape[0], dtype=np.int64)
    predictions = np.empty(n_rows)
    tally = new_tally(n_rows, response.n_classes)
    for tree in range(first_tree, first_tree + n_trees):
        start_stream(scratch.stream, seed, tree)
        draw_bootstrap(counts, growth.rows_per_tree, scratch.stream)
        n_in_bag, n_out_of_bag = _gather_rows(
            by_row, response, is_scored, counts, positions, gathered, scratch, out_of_bag
        )
        if has_levels(table):
            rows = scratch.in_bag[:n_in_bag]
            arrange_levels(table, positions, n_in_bag, arranged, rows, gathered, scratch, slots)
        grow_tree(
            own,
            gathered,
            growth,
            scratch,
            n_in_bag,
            0,
            predictions,
            recorded,
            True,
            True,
            donors.candidate_of,
        )
        _predict(recorded, by_row, out_of_bag[:n_out_of_bag], table, slots, predictions)
        unseen = out_of_bag[:n_out_of_bag]
        add_votes(tally, unseen, predictions, response.n_classes)
        if donors.order.shape[0] > 0:
            add_changes(
                recorded,
                by_row,
                table,
                slots,
                has_levels(table),
                donors,
                unseen,
                predictions,
                scratch.stream,
                last_row,
                response.n_classes,
                changes,
            )
    return tally, changes
