"""Columns as ranks: all that a tree needs to know about a feature.

A split never needs a value, only the order of the rows and, for the position of a cut between two
values, the sorted values themselves. A long table has bins of neighbouring ranks: a tree
that tries every cut between thousands of bins is all but as good as one that tries every cut, and
what is kept for each bin while a node is searched stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.jit import kernel, read_only

__all__ = [
    "MAX_POSITIONS",
    "RankTable",
    "freeze_table",
    "new_rank_table",
    "order_rows",
    "part_of_table",
    "put_ranks",
    "rank_columns",
    "read_only_table",
    "take_ranks",
]

# One word can say which of 64 words hold bits, see scans.py. Fewer bins cost accuracy: with 256
# the out-of-bag R² of a noisy table falls by 0.01, see benchmarks/long_tables.py.
MAX_POSITIONS = 4096
# Columns ranked at a time, so that their keys stay in the cache.
KEYS_AT_A_TIME = 2**16
# Among rows whose keys agree so far, a few are put in order by insertion.
MAX_INSERTED_ROWS = 32


class RankTable(NamedTuple):
    """The ranks of every column.

    Attributes
    ----------
    positions : ndarray of uint16, shape (n_columns, n_rows)
        Where each row stands when the column is sorted; equal values stand in row order. With
        more than ``MAX_POSITIONS`` rows it is a bin of about equally many rows, and equal values
        are in one bin.
    sorted_values : ndarray of float64, shape (n_columns, n_positions)
        Each column in ascending order; the middle of each bin, and infinity behind the last one.
    has_ties : ndarray of bool, shape (n_columns,)
        Whether rows at different positions have equal values; without, no values need to be
        compared.
    n_levels : ndarray of uint16, shape (n_columns,)
        For a column of categories, whose values are 0, 1, ..., how many there are; 0 for others.
    has_bins : bool
        Whether several rows may have one position.
    """

    positions: NDArray[np.uint16]
    sorted_values: NDArray[np.float64]
    has_ties: NDArray[np.bool_]
    n_levels: NDArray[np.uint16]
    has_bins: bool


def new_rank_table(n_rows: int, n_columns: int, max_positions: int = MAX_POSITIONS) -> RankTable:
    """Return a table of this shape whose ranks have still to be written."""
    n_positions = min(n_rows, max_positions)
    return RankTable(
        np.empty((n_columns, n_rows), dtype=np.uint16),
        np.empty((n_columns, n_positions)),
        np.zeros(n_columns, dtype=np.bool_),
        np.zeros(n_columns, dtype=np.uint16),
        n_positions < n_rows,
    )


def rank_columns(
    values: NDArray[np.float64], max_positions: int = MAX_POSITIONS, out: RankTable | None = None
) -> RankTable:
    """Return the ranks of every column of a table of shape (n_rows, n_columns), or write them.

    From more rows than ``max_positions`` on there are bins.
    """
    columns = read_only(np.ascontiguousarray(values.T))
    n_columns, n_rows = columns.shape
    table = new_rank_table(n_rows, n_columns, max_positions) if out is None else out
    for first, stop, order in _ordered_parts(columns):
        _write_ranks(columns[first:stop], order, part_of_table(table, first, stop))
    return table


def order_rows(
    columns: NDArray[np.float64], starts: NDArray[np.intp] | None = None
) -> NDArray[np.int32]:
    """Return the rows of columns, (n_columns, n_rows), in ascending order, equal ones in row order.

    With starts, shape (n_parts + 1,), of each part of the rows and the end of the last, rows are
    put in order only inside a part.
    """
    whole = np.empty(columns.shape, dtype=np.int32)
    for first, stop, order in _ordered_parts(read_only(columns), starts):
        whole[first:stop] = order
    return whole


def _ordered_parts(
    columns: NDArray[np.float64], starts: NDArray[np.intp] | None = None
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """Yield the first column, the one behind the last and their order, a few columns at a time."""
    n_columns, n_rows = columns.shape
    starts = np.array([0, n_rows]) if starts is None else starts
    n_at_a_time = max(1, KEYS_AT_A_TIME // max(1, n_rows))
    keys = np.empty((min(n_at_a_time, n_columns), n_rows), dtype=np.uint64)
    order = np.empty(keys.shape, dtype=np.int32)
    for first in range(0, n_columns, n_at_a_time):
        stop = min(first + n_at_a_time, n_columns)
        _write_keys(columns[first:stop], starts, keys)
        keys[: stop - first].sort(axis=1)  # NumPy's sort of whole numbers is vectorised.
        for column in np.flatnonzero(_write_order(columns[first:stop], starts, keys, order)):
            part_of_row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            order[column] = np.lexsort((columns[first + column], part_of_row))
        yield first, stop, order[: stop - first]


def part_of_table(table: RankTable, start: int, stop: int) -> RankTable:
    """Return a view of neighbouring columns."""
    which = slice(start, stop)
    return RankTable(
        table.positions[which],
        table.sorted_values[which],
        table.has_ties[which],
        table.n_levels[which],
        table.has_bins,
    )


def read_only_table(table: RankTable) -> RankTable:
    """Return a view of a table that cannot be written to."""
    return RankTable(
        read_only(table.positions),
        read_only(table.sorted_values),
        read_only(table.has_ties),
        read_only(table.n_levels),
        table.has_bins,
    )


# The same inside of kernels.
freeze_table = kernel(read_only_table)


def take_ranks(table: RankTable, columns: NDArray[np.intp]) -> RankTable:
    """Return a copy of the ranks of these columns."""
    return RankTable(
        table.positions[columns],
        table.sorted_values[columns],
        table.has_ties[columns],
        table.n_levels[columns],
        table.has_bins,
    )


def put_ranks(
    source: RankTable, out: RankTable, columns: NDArray[np.intp] | slice = slice(None)
) -> None:
    """Write ranks into these columns of another table, all of them by default."""
    out.positions[columns] = source.positions
    out.sorted_values[columns] = source.sorted_values
    out.has_ties[columns] = source.has_ties
    out.n_levels[columns] = source.n_levels


@kernel
def _count_bits(n_numbers: int) -> np.uint64:
    """Return how many bits distinguish so many numbers."""
    n_bits = np.uint64(0)
    while (np.uint64(1) << n_bits) < np.uint64(n_numbers):
        n_bits += np.uint64(1)
    return n_bits


@kernel
def _count_key_bits(starts: NDArray[np.intp]) -> tuple[np.uint64, np.uint64]:
    """Return how many bits of a key are for the part, and for the row inside it."""
    n_parts = starts.shape[0] - 1
    largest = 1
    for part in range(n_parts):
        largest = max(largest, starts[part + 1] - starts[part])
    return _count_bits(n_parts), _count_bits(largest)


@kernel
def _write_keys(
    columns: NDArray[np.float64], starts: NDArray[np.intp], keys: NDArray[np.uint64]
) -> None:
    """Write for each value a number that sorts by part, then like the value, then by row.

    Numbers from zero up sort like their bits. The sign bit is free and the lowest bits give way
    to the part and the row, so values that are all but equal may get keys in the order of rows.
    """
    n_columns = columns.shape[0]
    n_part_bits, n_row_bits = _count_key_bits(starts)
    n_bits = n_part_bits + n_row_bits
    above = np.empty(columns.shape[1])
    bits = above.view(np.uint64)
    for column in range(n_columns):
        for part in range(starts.shape[0] - 1):
            start, stop = starts[part], starts[part + 1]
            # Shifted twice, because a shift by all 64 bits is not defined.
            leading = (np.uint64(part) << (np.uint64(63) - n_part_bits)) << np.uint64(1)
            smallest = columns[column, start:stop].min()
            for row in range(start, stop):
                # Plus zero, because the bits of minus zero are those of a large number.
                above[row] = (columns[column, row] - smallest) + 0.0
            for row in range(start, stop):
                value = ((bits[row] << np.uint64(1)) >> n_bits) << n_row_bits
                keys[column, row] = leading | value | np.uint64(row - start)


@kernel
def _order_equal_keys(column: NDArray[np.float64], order: NDArray[np.int32]) -> bool:
    """Put rows whose keys agree but for the row into the order of their values, then of rows.

    Returns whether it was done: many rows of different values are left as they are.
    """
    if order.shape[0] > MAX_INSERTED_ROWS:
        for slot in range(1, order.shape[0]):
            if column[order[slot]] != column[order[0]]:
                return False
        return True
    for first in range(1, order.shape[0]):
        row = order[first]
        slot = first
        while slot > 0 and column[order[slot - 1]] > column[row]:
            order[slot] = order[slot - 1]
            slot -= 1
        order[slot] = row
    return True


@kernel
def _write_order(
    columns: NDArray[np.float64],
    starts: NDArray[np.intp],
    keys: NDArray[np.uint64],
    order: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Write the rows in ascending order of each column; return which columns it failed for."""
    n_columns, n_rows = columns.shape
    _, n_bits = _count_key_bits(starts)
    row_mask = (np.uint64(1) << n_bits) - np.uint64(1)
    has_failed = np.zeros(n_columns, dtype=np.bool_)
    for column in range(n_columns):
        for part in range(starts.shape[0] - 1):
            for slot in range(starts[part], starts[part + 1]):
                order[column, slot] = starts[part] + np.intp(keys[column, slot] & row_mask)
        start = 0
        for slot in range(1, n_rows + 1):
            if slot == n_rows or keys[column, slot] >> n_bits != keys[column, start] >> n_bits:
                if slot - start > 1 and not _order_equal_keys(
                    columns[column], order[column, start:slot]
                ):
                    has_failed[column] = True
                start = slot
    return has_failed


@kernel
def _write_ranks(columns: NDArray[np.float64], order: NDArray[np.int32], table: RankTable) -> None:
    """Write ranks from the rows in ascending order of each column."""
    n_columns, n_rows = columns.shape
    for column in range(n_columns):
        values, rows = columns[column], order[column]
        positions, sorted_values = table.positions[column], table.sorted_values[column]
        if table.has_bins:
            _write_bins(values, rows, positions, sorted_values)
            continue
        table.has_ties[column] = False
        for slot in range(n_rows):
            row = rows[slot]
            positions[row] = slot
            sorted_values[slot] = values[row]
            if slot > 0 and values[row] == sorted_values[slot - 1]:
                table.has_ties[column] = True


@kernel
def _stop_of_value(column: NDArray[np.float64], order: NDArray[np.int32], start: int) -> int:
    """Return the slot behind the last row with the same value as the row in this slot."""
    stop = start + 1
    while stop < order.shape[0] and column[order[stop]] == column[order[start]]:
        stop += 1
    return stop


@kernel
def _write_bins(
    column: NDArray[np.float64],
    order: NDArray[np.int32],
    positions: NDArray[np.uint16],
    middles: NDArray[np.float64],
) -> None:
    """Write the bin of each row, from the rows in ascending order of the column.

    If there are more distinct values than bins, a value that fills a bin has one of its own, so
    that a column of mostly zeros keeps its other values apart, and another one belongs to the bin
    in which the middle of its rows falls among the rest.
    """
    n_rows = order.shape[0]
    n_bins = middles.shape[0]
    n_distinct = 0
    n_heavy = 0
    n_light_rows = 0
    start = 0
    while start < n_rows:
        stop = _stop_of_value(column, order, start)
        n_distinct += 1
        if (stop - start) * n_bins >= n_rows:
            n_heavy += 1
        else:
            n_light_rows += stop - start
        start = stop
    # A heavy value may cut a bin of the others in two.
    n_light_bins = n_bins - 2 * n_heavy
    middles[:] = np.inf
    position = -1
    label = -1
    bottom = 0.0
    n_light_before = 0
    start = 0
    while start < n_rows:
        stop = _stop_of_value(column, order, start)
        value = column[order[start]]
        if n_distinct <= n_bins:
            new_label = label + 1
        elif n_light_bins < 1:
            new_label = (start + stop) * n_bins // (2 * n_rows)
        elif (stop - start) * n_bins >= n_rows:
            new_label = -2 - start
        else:
            n_light_after = n_light_before + stop - start
            new_label = (n_light_before + n_light_after) * n_light_bins // (2 * n_light_rows)
            n_light_before = n_light_after
        if new_label != label:
            label = new_label
            position += 1
            bottom = value
        middles[position] = 0.5 * bottom + 0.5 * value
        for slot in range(start, stop):
            positions[order[slot]] = position
        start = stop
