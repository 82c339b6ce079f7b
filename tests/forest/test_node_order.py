import numpy as np
import pytest

from umfi.forest.bits import lowest_bit
from umfi.forest.model import new_scratch
from umfi.forest.node_order import is_small, mark_classes, mark_responses, sort_rows
from umfi.forest.ranks import permute_column, rank_columns


@pytest.fixture(params=[(100, 1), (100, 10), (100, 40), (64, 64), (65, 65), (3000, 60)])
def node(request):
    """A column with ties, some rows in ascending order, and scratch memory."""
    n_rows, n_node_rows = request.param
    rng = np.random.default_rng(n_rows + n_node_rows)
    column = rng.integers(0, n_rows // 2, n_rows).astype(float)
    rows = np.sort(rng.choice(n_rows, n_node_rows, replace=False)).astype(np.int32)
    scratch = new_scratch(n_rows, 1, 2)
    scratch.weights[:] = rng.integers(1, 4, n_rows)
    scratch.sums[:] = rng.normal(size=n_rows)
    scratch.draws[:] = rng.integers(0, 2**40, n_rows)
    return column, rows, rank_columns(column[:, np.newaxis]).positions[0], scratch


def test_sorting_follows_value_then_row(node):
    column, rows, positions, scratch = node
    sort_rows(positions, rows, scratch.ordered_position, scratch.ordered_row)
    expected = sorted(rows.tolist(), key=lambda row: (column[row], row))
    assert scratch.ordered_row[: len(rows)].tolist() == expected
    assert scratch.ordered_position[: len(rows)].tolist() == positions[expected].tolist()


def marked(bitmap):
    return [
        64 * index + bit
        for index, word in enumerate(bitmap)
        for bit in range(64)
        if int(word) >> bit & 1
    ]


def test_marks_stand_at_the_ranks_with_what_is_known_of_the_rows(node):
    _, rows, positions, scratch = node
    expected = sorted(positions[rows].tolist())
    row_at = {int(positions[row]): row for row in rows}
    mark_responses(positions, rows, scratch)
    assert marked(scratch.bitmap) == expected
    for position in expected:
        assert scratch.draws_at[position] == scratch.weights[row_at[position]]
        assert scratch.sums_at[position] == scratch.sums[row_at[position]]
    mark_classes(positions, rows, scratch)
    assert marked(scratch.bitmap) == expected
    for position in expected:
        assert scratch.draws_at[position] == scratch.draws[row_at[position]]


def test_small_nodes_are_those_where_sorting_costs_less_than_reading():
    assert is_small(4, 9)
    assert not is_small(5, 9)
    assert is_small(39, 782)
    assert not is_small(40, 782)


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 63])
def test_lowest_bit_is_found_below_others(bit):
    word = (1 << bit) | (1 << 63)
    assert lowest_bit(np.uint64(word)) == bit


def test_equal_values_are_ranked_in_row_order():
    table = rank_columns(np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]]))
    assert table.positions.tolist() == [[2, 0, 3, 1], [0, 1, 2, 3]]
    assert table.sorted_values.tolist() == [[1.0, 1.0, 2.0, 2.0], [0.0] * 4]
    assert table.has_ties.tolist() == [True, True]


@pytest.mark.parametrize("n_rows", [30, 2000])
def test_ranks_equal_a_stable_sort(n_rows):
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=n_rows), rng.normal(size=n_rows).round(1)])
    table = rank_columns(values)
    order = np.argsort(values, axis=0, kind="stable")
    for column in range(2):
        assert np.argsort(table.positions[column]).tolist() == order[:, column].tolist()
        np.testing.assert_array_equal(table.sorted_values[column], np.sort(values[:, column]))
    assert table.has_ties.tolist() == [False, True]


def test_permuting_ranks_equals_ranking_permuted_values():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 3))
    permutation = rng.permutation(50)
    permuted = permute_column(rank_columns(values), 1, permutation)
    values[:, 1] = values[permutation, 1]
    for ours, expected in zip(permuted, rank_columns(values), strict=True):
        np.testing.assert_array_equal(ours, expected)
