import numpy as np
import pytest

from umfi.forest.bits import lowest_bit
from umfi.forest.node_order import order_node
from umfi.forest.ranks import rank_columns


@pytest.mark.parametrize(
    ("n_rows", "n_node_rows"),
    [(100, 1), (100, 10), (100, 11), (64, 64), (65, 65), (5000, 20), (5000, 60), (5000, 5000)],
    ids=lambda number: str(number),
)
def test_order_equals_sorting_by_value_then_row(n_rows, n_node_rows):
    rng = np.random.default_rng(n_rows + n_node_rows)
    column = rng.integers(0, n_rows // 2, n_rows).astype(float)
    positions = rank_columns(column[:, np.newaxis]).positions[0]
    rows = np.sort(rng.choice(n_rows, n_node_rows, replace=False)).astype(np.int32)
    ordered_local = np.full(n_rows, -1, dtype=np.int32)
    ordered_position = np.full(n_rows, -1, dtype=np.int32)
    bitmap = np.zeros((n_rows + 63) // 64, dtype=np.uint64)

    order_node(
        positions,
        rows,
        ordered_local,
        ordered_position,
        bitmap,
        np.empty(n_rows, dtype=np.int32),
    )

    expected = sorted(range(n_node_rows), key=lambda local: (column[rows[local]], rows[local]))
    assert ordered_local[:n_node_rows].tolist() == expected
    assert ordered_position[:n_node_rows].tolist() == [positions[rows[k]] for k in expected]
    assert not bitmap.any()


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 63])
def test_lowest_bit_is_found_below_others(bit):
    word = (1 << bit) | (1 << 63)
    assert lowest_bit(np.uint64(word)) == bit


def test_equal_values_are_ranked_in_row_order():
    table = rank_columns(np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]]))
    assert table.positions.tolist() == [[2, 0, 3, 1], [0, 1, 2, 3]]
    assert table.sorted_values.tolist() == [[1.0, 1.0, 2.0, 2.0], [0.0] * 4]
