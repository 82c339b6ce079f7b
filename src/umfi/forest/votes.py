"""A forest that is only scored: trees are grown, vote on their out-of-bag rows, and are gone.

To predict without knowing a candidate (some of the columns), a tree is kept for a moment and asked
about every row out of its bag once more for each candidate on the row's path, with the candidate's
values taken from donors: other rows that stand at even distances along the candidate. The mean over
donors is what the tree predicts without knowing the candidate, if the other columns are independent
of it. The noise of growing the tree is in both predictions, so it cancels in their difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.forest.categories import (
    arrange_levels,
    has_levels,
    new_arranged,
    new_slots,
    table_of_tree,
)
from umfi.forest.few_columns import fits_few_columns, grow_sorted_tree, new_sorted_rows, sort_rows
from umfi.forest.model import Growth, RecordedTree, Response, new_recorded_tree, new_scratch
from umfi.forest.random import draw_below
from umfi.forest.ranks import RankTable, read_only_table
from umfi.forest.tree import grow_tree, start_tree
from umfi.jit import inlined_kernel, kernel, tree_kernel

__all__ = [
    "Donors",
    "Tally",
    "add_changes",
    "add_votes",
    "averaged_totals",
    "new_changes",
    "new_tally",
    "no_donors",
    "out_of_bag_totals",
    "position_of",
]


class Tally(NamedTuple):
    """What trees predicted of the rows they had not seen.

    Totals, shape (n_rows, n_classes or 1), are votes for each class, or the sum of the predictions;
    votes are counted over the trees that a row was out of bag for.
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


class Donors(NamedTuple):
    """Which columns are averaged over together, and whose values stand in for a row's own.

    Attributes
    ----------
    candidate_of : ndarray of int64, shape (n_columns,)
        The candidate that a column belongs to, -1 for none.
    order : ndarray of uint32, shape (n_candidates, n_rows)
        The rows in the order of each candidate; a row's donors stand at even distances in it.
    n_each : int
        Donors of a row in each tree.
    given : ndarray of uint32, shape (n_rows, n_donors) or (0, 0)
        If there are any, a row's donors for every candidate, instead of all rows.
    """

    candidate_of: NDArray[np.int64]
    order: NDArray[np.uint32]
    n_each: int
    given: NDArray[np.uint32]


def no_donors(n_columns: int, n_rows: int) -> Donors:
    """Return what averages over nothing."""
    no_candidate = np.full(n_columns, -1, dtype=np.int64)
    no_rows = np.empty((0, 0), dtype=np.uint32)
    return Donors(no_candidate, np.empty((0, n_rows), dtype=np.uint32), 1, no_rows)


@kernel
def new_changes(donors: Donors, n_rows: int, n_classes: int) -> NDArray[np.float64]:
    """Return room for the changes of predictions, shape (n_candidates, n_rows, n_outputs)."""
    return np.zeros((donors.order.shape[0], n_rows, max(1, n_classes)))


@inlined_kernel
def position_of(
    by_row: NDArray[np.uint16],
    row: np.uint32,
    feature: np.uint32,
    table: RankTable,
    slots: NDArray[np.uint16],
    is_arranged: bool,
) -> np.uint16:
    """Return the position of a row in a column, in the tree's own order of levels if it has one."""
    position = by_row[row, feature]
    if is_arranged and table.n_levels[feature] > 0:
        position = slots[feature, np.uint32(table.sorted_values[feature, position])]
    return position


@tree_kernel
def add_changes(
    recorded: RecordedTree,
    by_row: NDArray[np.uint16],
    table: RankTable,
    slots: NDArray[np.uint16],
    is_arranged: bool,
    donors: Donors,
    rows: NDArray[np.uint32],
    predictions: NDArray[np.float64],
    stream: NDArray[np.uint64],
    last_row: NDArray[np.int64],
    n_classes: int,
    changes: NDArray[np.float64],
) -> None:
    """Add by how much the tree's predictions change when each candidate is averaged out.

    Only candidates that a row's path has a cut on change anything, a few per row.

    Parameters
    ----------
    by_row : positions of each row, shape (n_rows, n_columns)
    slots, is_arranged : the tree's own order of levels, where ``by_row`` does not follow it
    rows : out of the tree's bag
    predictions : of these rows, shape (n_rows,)
    last_row : scratch memory, shape (n_candidates,)
    changes : written, shape (n_candidates, n_rows, n_outputs)
    """
    is_given = donors.given.shape[0] > 0
    n_donors = donors.given.shape[1] if is_given else donors.order.shape[1]
    weight = 1.0 / donors.n_each
    last_row[:] = -1
    for local in range(rows.shape[0]):
        row = rows[local]
        first = np.int64(-1)
        node = np.uint32(0)
        feature = recorded.feature[node]
        while feature >= 0:
            candidate = donors.candidate_of[np.uint32(feature)]
            if candidate >= 0 and last_row[candidate] != local:
                last_row[candidate] = local
                if first < 0:  # The same start for all candidates of a row: all are treated alike.
                    first = draw_below(stream, n_donors)
                for number in range(donors.n_each):
                    slot = first + number * n_donors // donors.n_each
                    slot = slot - n_donors if slot >= n_donors else slot
                    if is_given:
                        donor = donors.given[row, slot]
                    else:
                        donor = donors.order[candidate, slot]
                    below = node
                    cut_on = feature
                    while cut_on >= 0:
                        is_taken = donors.candidate_of[np.uint32(cut_on)] == candidate
                        position = position_of(
                            by_row,
                            donor if is_taken else row,
                            np.uint32(cut_on),
                            table,
                            slots,
                            is_arranged,
                        )
                        below = np.uint32(recorded.left[below] + (position > recorded.cut[below]))
                        cut_on = recorded.feature[below]
                    other = recorded.prediction[below]
                    if n_classes == 0:
                        changes[candidate, row, 0] += weight * (other - predictions[row])
                    else:
                        changes[candidate, row, np.int64(other)] += weight
                        changes[candidate, row, np.int64(predictions[row])] -= weight
            position = position_of(by_row, row, np.uint32(feature), table, slots, is_arranged)
            node = np.uint32(recorded.left[node] + (position > recorded.cut[node]))
            feature = recorded.feature[node]


def out_of_bag_totals(
    table: RankTable,
    response: Response,
    growth: Growth,
    first_tree: int,
    n_trees: int,
    seed: np.uint64,
) -> Tally:
    """Return what a block of the forest's trees predicts of the rows they have not seen.

    A tree depends on the seed and its number alone, so blocks can be grown in any order.
    """
    donors = no_donors(*table.positions.shape)
    return _grow_forest(
        read_only_table(table), response, growth, donors, first_tree, n_trees, seed
    )[0]


def averaged_totals(
    table: RankTable,
    response: Response,
    growth: Growth,
    donors: Donors,
    n_trees: int,
    seed: np.uint64,
) -> tuple[Tally, NDArray[np.float64]]:
    """Return what the trees of a forest predict, and how that changes without each candidate.

    Added to the totals, the changes, shape (n_candidates, n_rows, n_outputs), are the totals with a
    candidate averaged out.
    """
    return _grow_forest(read_only_table(table), response, growth, donors, 0, n_trees, seed)


@kernel
def _grow_forest(
    table: RankTable,
    response: Response,
    growth: Growth,
    donors: Donors,
    first_tree: int,
    n_trees: int,
    seed: np.uint64,
) -> tuple[Tally, NDArray[np.float64]]:
    """Return the tally of a block of trees, and its changes without each candidate."""
    n_rows = response.values.shape[0]
    scratch = new_scratch(table, n_rows, response.n_classes)
    has_candidates = donors.order.shape[0] > 0
    recorded = new_recorded_tree(2 * n_rows if has_candidates else 1)
    predictions = np.empty(n_rows)
    tally = new_tally(n_rows, response.n_classes)
    changes = new_changes(donors, n_rows, response.n_classes)
    last_row = np.empty(donors.order.shape[0], dtype=np.int64)
    arranged, slots = new_arranged(table), new_slots(table)
    own = table_of_tree(table, arranged)
    is_sorted = fits_few_columns(table, response, growth) and not has_candidates
    sorted_rows = new_sorted_rows(table.positions.shape[0] if is_sorted else 0, n_rows)
    if is_sorted:
        sort_rows(own, sorted_rows)
    for tree in range(first_tree, first_tree + n_trees):
        n_in_bag, n_out_of_bag = start_tree(scratch, response, growth, seed, tree)
        if has_levels(table):
            rows = scratch.in_bag[:n_in_bag]
            arrange_levels(table, table.positions, n_rows, arranged, rows, response, scratch, slots)
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
                recorded,
                has_candidates,
                False,
                donors.candidate_of,
            )
        unseen = scratch.out_of_bag[:n_out_of_bag]
        if has_candidates:
            # In ascending order, not in that of the leaves: what is drawn depends on the row alone.
            n_found = 0
            for row in range(n_rows):
                if scratch.weights[row] == 0:
                    unseen[n_found] = row
                    n_found += 1
            add_changes(
                recorded,
                own.positions.T,
                own,
                slots,
                False,
                donors,
                unseen,
                predictions,
                scratch.stream,
                last_row,
                response.n_classes,
                changes,
            )
        add_votes(tally, unseen, predictions, response.n_classes)
    return tally, changes
