import numpy as np
import pytest

from umfi.forest.ranks import rank_columns
from umfi.forest.scans import lowest_bit


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 63])
def test_lowest_bit_is_found_below_others(bit):
    word = (1 << bit) | (1 << 63)
    assert lowest_bit(np.uint64(word)) == bit


def test_equal_values_are_ranked_in_row_order():
    table = rank_columns(np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]]))
    assert table.positions.tolist() == [[2, 0, 3, 1], [0, 1, 2, 3]]
    assert table.sorted_values.tolist() == [[1.0, 1.0, 2.0, 2.0], [0.0] * 4]
    assert table.has_ties.tolist() == [True, True]


def hard_columns(n_rows):
    rng = np.random.default_rng(n_rows)
    normal = rng.normal(size=n_rows)
    return {
        "normal": normal,
        "ties": normal.round(1),
        "offset": 1e9 + 1e-3 * normal,
        "cluster far from the smallest value": np.where(normal > 1, 0.0, 1e12 + 1e-3 * normal),
        "tiny": 1e-310 * normal,
        "wider than a float can resolve": np.where(normal > 0, 1e308, -1e308) * rng.random(n_rows),
        "zeros of both signs": np.where(normal > 0, 0.0, -0.0),
        "neighbouring floats": np.where(normal > 0, 1.0, np.nextafter(1.0, 2.0)),
    }


@pytest.mark.parametrize("n_rows", [2, 30, 2000])
@pytest.mark.parametrize("kind", list(hard_columns(2)))
def test_ranks_equal_a_stable_sort(kind, n_rows):
    column = hard_columns(n_rows)[kind]
    table = rank_columns(column[:, np.newaxis])
    order = np.argsort(column, kind="stable")
    assert np.argsort(table.positions[0]).tolist() == order.tolist()
    np.testing.assert_array_equal(table.sorted_values[0], np.sort(column))
    assert table.has_ties[0] == (len(np.unique(column)) < n_rows)
    assert not table.has_bins


def test_many_columns_are_ranked_like_each_alone():
    values = np.random.default_rng(0).normal(size=(1000, 150))
    table = rank_columns(values)
    for column in (0, 64, 65, 149):
        alone = rank_columns(values[:, [column]])
        assert table.positions[column].tolist() == alone.positions[0].tolist()


def test_bins_hold_about_equally_many_rows_and_follow_the_values():
    values = np.random.default_rng(0).normal(size=(1000, 1))
    table = rank_columns(values, max_positions=64)
    assert table.has_bins
    counts = np.bincount(table.positions[0])
    assert len(counts) == 64
    assert set(counts) <= {15, 16}
    order = np.argsort(values[:, 0])
    assert (np.diff(table.positions[0, order].astype(int)) >= 0).all()
    middles = table.sorted_values[0]
    assert (np.diff(middles) > 0).all()
    for position in (0, 31, 63):
        inside = values[table.positions[0] == position, 0]
        assert middles[position] == pytest.approx((inside.min() + inside.max()) / 2)


def test_equal_values_share_a_bin_and_few_values_have_a_bin_each():
    rng = np.random.default_rng(0)
    heavy = np.where(rng.random(1000) < 0.7, 3.0, rng.normal(size=1000))
    few = rng.integers(0, 5, 1000).astype(float)
    table = rank_columns(np.column_stack([heavy, few]), max_positions=64)
    assert len(set(table.positions[0, heavy == 3.0])) == 1
    assert table.positions[1].tolist() == few.tolist()
    assert table.sorted_values[1, :6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, np.inf]
    assert not table.has_ties.any()


@pytest.mark.parametrize("proportion", [0.03, 0.3, 0.9])
def test_a_column_of_mostly_zeros_keeps_its_other_values_apart(proportion):
    rng = np.random.default_rng(0)
    column = np.where(rng.random(2000) < proportion, rng.normal(size=2000), 0.0)
    table = rank_columns(column[:, np.newaxis], max_positions=64)
    n_distinct = len(np.unique(column))
    n_bins = table.positions[0].max() + 1
    assert min(n_distinct, 60) <= n_bins <= 64
    assert len(set(table.positions[0, column == 0.0])) == 1
    zero_bin = table.positions[0, column == 0.0][0]
    assert set(column[table.positions[0] == zero_bin]) == {0.0}
    order = np.argsort(column)
    assert (np.diff(table.positions[0, order].astype(int)) >= 0).all()


def test_many_heavy_values_have_bins():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(2000) < 0.9, rng.integers(0, 40, 2000), rng.normal(size=2000))
    table = rank_columns(column[:, np.newaxis], max_positions=64)
    assert 40 <= table.positions[0].max() < 64
