"""Categories: every tree puts the levels of a column in an order of its own.

Levels have no order, and there are far too many ways of dividing them in two. Ordered by the mean
response of a tree's own rows, the best division is one of the cuts between two neighbours (Fisher
1958); rows out of the bag have no say in the order, so that the tree is tested on them honestly.
For classes, a tree draws a number for each class and orders levels by the mean of these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.forest.model import Response, Scratch
from umfi.forest.random import draw_uniform
from umfi.forest.ranks import RankTable, freeze_table
from umfi.jit import kernel

__all__ = ["arrange_levels", "has_levels", "new_arranged", "new_slots", "table_of_tree"]


@kernel
def has_levels(table: RankTable) -> bool:
    """Return whether any column is one of categories."""
    return bool(table.n_levels.any())


@kernel
def new_arranged(table: RankTable) -> RankTable:
    """Return a table that a tree may write its order of categories to; empty if there are none."""
    if not has_levels(table):
        return RankTable(
            np.empty((0, 0), dtype=np.uint16),
            np.empty((0, 0)),
            np.empty(0, dtype=np.bool_),
            np.empty(0, dtype=np.uint16),
            table.has_bins,
        )
    return RankTable(
        table.positions.copy(),
        table.sorted_values.copy(),
        table.has_ties.copy(),
        table.n_levels.copy(),
        table.has_bins,
    )


@kernel
def table_of_tree(table: RankTable, arranged: RankTable) -> RankTable:
    """Return the table that trees grow on: the arranged one, if there are categories."""
    return freeze_table(arranged) if has_levels(table) else table


@kernel
def new_slots(table: RankTable) -> NDArray[np.uint16]:
    """Return room for the first position of each level, shape (n_columns, most levels)."""
    n_columns = table.n_levels.shape[0] if has_levels(table) else 0
    n_most = np.int64(table.n_levels.max()) if n_columns > 0 else 0
    return np.zeros((n_columns, n_most), dtype=np.uint16)


@kernel
def _order_levels(
    levels: NDArray[np.int64],
    rows: NDArray[np.uint32],
    marks: NDArray[np.float64],
    n_levels: np.int64,
) -> NDArray[np.int64]:
    """Return the levels by the mean mark of these rows; those without a row stand in the middle.

    Of each row there are its level, and its weight and weight times mark, shape (n_rows, 2).
    """
    weights = np.zeros(n_levels)
    sums = np.zeros(n_levels)
    weight = 0.0
    total = 0.0
    for local in range(rows.shape[0]):
        row = rows[local]
        weights[levels[row]] += marks[row, 0]
        sums[levels[row]] += marks[row, 1]
        weight += marks[row, 0]
        total += marks[row, 1]
    means = np.empty(n_levels)
    for level in range(n_levels):
        means[level] = sums[level] / weights[level] if weights[level] > 0.0 else total / weight
    return np.argsort(means, kind="mergesort")


@kernel
def arrange_levels(
    source: RankTable,
    positions: NDArray[np.uint16],
    n_rows: int,
    arranged: RankTable,
    rows: NDArray[np.uint32],
    response: Response,
    scratch: Scratch,
    slots: NDArray[np.uint16],
) -> None:
    """Write the positions of categories in an order of the tree's own.

    Parameters
    ----------
    source : the table as it was ranked
    positions : where each row stands in it, shape (n_columns, n_rows)
        Those of the source, or of rows copied together from it.
    n_rows : how many of the rows there are
    arranged : what is written
    rows : the rows in the bag
    scratch : after the tree's draw of rows; its stream gives each class a number
    slots : the first position of each level, written, shape (n_columns, most levels)
    """
    marks = scratch.moments
    if response.n_classes > 0:
        numbers = np.empty(response.n_classes)
        for label in range(response.n_classes):
            numbers[label] = draw_uniform(scratch.stream)
        marks = np.zeros((n_rows, 2))
        for local in range(rows.shape[0]):
            row = rows[local]
            marks[row, 0] = scratch.weights[row]
            marks[row, 1] = scratch.weights[row] * numbers[response.labels[row]]
    levels = np.empty(n_rows, dtype=np.int64)
    for column in range(source.n_levels.shape[0]):
        n_levels = np.int64(source.n_levels[column])
        if n_levels == 0:
            continue
        for row in range(n_rows):
            levels[row] = np.int64(source.sorted_values[column, positions[column, row]])
        order = _order_levels(levels, rows, marks, n_levels)
        counts = np.zeros(n_levels, dtype=np.int64)
        for row in range(n_rows):
            counts[levels[row]] += 1
        sorted_values = arranged.sorted_values[column]
        sorted_values[:] = np.inf
        start = 0
        for number in range(n_levels):
            level = order[number]
            n_slots = 1 if source.has_bins else counts[level]
            slots[column, level] = min(start, sorted_values.shape[0] - 1)
            for slot in range(start, start + n_slots):
                sorted_values[slot] = number
            start += n_slots
        counts[:] = 0
        for row in range(n_rows):
            level = levels[row]
            arranged.positions[column, row] = slots[column, level] + counts[level]
            if not source.has_bins:
                counts[level] += 1
        arranged.has_ties[column] = not source.has_bins
