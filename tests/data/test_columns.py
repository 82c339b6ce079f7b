from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import umfi
from umfi.data.columns import Kind
from umfi.data.frames import frame_like, read_columns
from umfi.forest import rank_columns

ROWS = 30
RNG = np.random.default_rng(1)
VALUES = {
    "a": RNG.normal(size=ROWS),
    "b": RNG.integers(0, 9, ROWS),
    "c": RNG.random(ROWS) > 0.5,
    "d": RNG.normal(size=ROWS).astype(np.float32),
}
FRAMES = {
    "pandas": pd.DataFrame(VALUES),
    "pandas nullable": pd.DataFrame(VALUES).convert_dtypes(),
    "pandas pyarrow": pd.DataFrame(VALUES).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(VALUES),
    "pyarrow": pa.table(VALUES),
    "numpy": np.column_stack([np.asarray(column, float) for column in VALUES.values()]),
    "lists": [list(row) for row in zip(*VALUES.values(), strict=True)],
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_kind_of_table_gives_the_same_columns(name):
    columns = read_columns(FRAMES[name])
    assert columns.names == (
        ("x1", "x2", "x3", "x4") if name in ("numpy", "lists") else ("a", "b", "c", "d")
    )
    expected = np.column_stack([np.asarray(column, float) for column in VALUES.values()])
    np.testing.assert_array_equal(columns.values, expected)
    assert columns.kinds == (Kind.CONTINUOUS, Kind.CONTINUOUS, Kind.BOOLEAN, Kind.CONTINUOUS)


@pytest.mark.parametrize("name", FRAMES)
def test_importances_do_not_depend_on_the_kind_of_table(name):
    y = VALUES["a"] + VALUES["b"]
    power = umfi.ForestPower(n_trees=5)
    result = umfi.ablation(FRAMES[name], y, power=power, random_state=0, protocol="paper")
    assert len(result.importances) == 4
    if name not in ("numpy", "lists"):
        expected = umfi.ablation(FRAMES["pandas"], y, power=power, random_state=0, protocol="paper")
        pd.testing.assert_series_equal(result.importances, expected.importances)


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "numpy"])
def test_removal_returns_a_table_like_the_one_it_was_given(name):
    table = FRAMES[name]
    feature = 1 if name == "numpy" else "b"
    S = umfi.remove_dependence(table, feature, remover="linear", random_state=0)
    assert type(S) is type(table)
    columns = read_columns(S)
    assert columns.names == (("x1", "x2", "x3") if name == "numpy" else ("a", "c", "d"))
    expected = umfi.remove_dependence(FRAMES["pandas"], "b", remover="linear", random_state=0)
    np.testing.assert_array_equal(columns.values, expected.to_numpy())


def test_frames_keep_row_index_and_column_labels():
    table = pd.DataFrame(np.eye(20), columns=range(20), index=pd.date_range("2020", periods=20))
    S = umfi.remove_dependence(table, "3", remover="linear")
    assert S.columns.tolist() == [label for label in range(20) if label != 3]
    assert S.index.equals(table.index)
    S.iloc[0, 0] = 99.0
    assert table.iloc[0, 0] == 1.0


def test_features_are_found_by_name_and_by_position():
    columns = read_columns(FRAMES["pandas"])
    assert columns.index("c") == columns.index(2) == columns.index(-2) == 2


def test_whole_numbers_are_labels_before_they_are_positions():
    table = pd.DataFrame(np.eye(20)[:, :3], columns=[2, 1, 0])
    assert umfi.remove_dependence(table, 0, remover="linear").columns.tolist() == [2, 1]
    assert read_columns(table, kinds={1: "boolean"}).kinds[1] is Kind.BOOLEAN


def test_a_column_may_have_any_name():
    table = FRAMES["pandas"].assign(column_names=range(ROWS), columns=0, index=1)
    assert read_columns(table).names[-3:] == ("column_names", "columns", "index")


def test_two_values_are_boolean_unless_told_otherwise():
    table = pd.DataFrame({"a": [3.0, 7.0] * 10, "b": [1] * 20, "c": range(20)})
    assert read_columns(table).kinds == (Kind.BOOLEAN, Kind.CONTINUOUS, Kind.CONTINUOUS)
    given = read_columns(table, kinds={"a": "continuous"})
    assert given.kinds[0] is Kind.CONTINUOUS


def test_constants_and_copies_are_recognised():
    table = pd.DataFrame(
        {"a": [0.0, 1.0] * 10, "b": 5, "c": [-0.0, 1.0] * 10, "d": [1.0, 0.0] * 10}
    )
    columns = read_columns(table)
    assert columns.is_constant().tolist() == [False, True, False, False]
    assert columns.first_copies().tolist() == [0, 1, 0, 3]
    assert columns.select([]).is_constant().tolist() == []


def test_ten_thousand_columns_are_read():
    wide = pd.DataFrame(np.zeros((20, 10_000))).rename(columns=str)
    assert read_columns(wide).n_columns == 10_000


def test_frame_like_never_hands_out_our_own_memory():
    table = np.arange(40.0).reshape(20, 2)
    columns = read_columns(table)
    frame_like(table, columns)[0, 0] = -1.0
    assert columns.values[0, 0] == 0.0


def assert_ranked_right(columns):
    for ours, expected in zip(columns.ranks, rank_columns(columns.values), strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.fixture
def ranked():
    """Columns with ties whose ranks and ties are known already."""
    columns = read_columns(np.random.default_rng(0).normal(size=(40, 6)).round(2))
    assert columns.ranks is columns.ranks
    assert not columns.has_heavy_ties.any()
    return columns


def test_ranks_are_handed_on(ranked):
    selected = ranked.select([4, 0, 3])
    assert_ranked_right(selected)
    assert_ranked_right(ranked.without(2).select([1, 0]))
    joined = selected.prepend(ranked.select([5]))
    assert_ranked_right(joined)
    assert_ranked_right(joined.without(0))
    assert_ranked_right(ranked.select([]))
    assert ranked.select(range(6)) is ranked


def test_changed_columns_are_ranked_again(ranked):
    values = ranked.values.copy()
    values[:, [1, 4]] *= -1.0
    is_changed = np.isin(np.arange(6), [1, 4])
    changed = ranked.with_changed(values, is_changed)
    assert_ranked_right(changed)
    assert_ranked_right(ranked.with_changed(-values))
    # The parts of a join are ranked where they stand in it.
    part = ranked.with_changed(values, is_changed)
    assert_ranked_right(part.prepend(ranked.select([0])))
    assert_ranked_right(part)


def test_a_copy_with_other_values_inherits_no_ranks(ranked):
    selected = ranked.select([0, 1])
    assert_ranked_right(replace(ranked, values=-ranked.values))
    assert_ranked_right(replace(selected, values=-selected.values))
    assert_ranked_right(ranked.take_rows(np.arange(5, 30)))


def test_only_changed_columns_are_ranked_again(ranked):
    ranked.ranks.n_levels[:] = 7  # A mark that ranking would not leave.
    values = ranked.values.copy()
    values[:, 2] += np.arange(40)
    context = ranked.with_changed(values, np.arange(6) == 2).without(0)
    together = context.prepend(ranked.select([0]))
    assert together.ranks.n_levels.tolist() == [7, 7, 0, 7, 7, 7]
    assert context.ranks.n_levels.tolist() == [7, 0, 7, 7, 7]
    ranked.ranks.n_levels[:] = together.ranks.n_levels[:] = 0
    assert_ranked_right(together)
    assert_ranked_right(context)


def test_ties_are_handed_on():
    table = np.column_stack([np.arange(40.0), np.arange(40) % 2])
    columns = read_columns(table)
    assert columns.has_heavy_ties.tolist() == [False, True]
    assert columns.select([1]).has_heavy_ties.tolist() == [True]
    assert columns.with_changed(table[:, ::-1]).has_heavy_ties.tolist() == [True, False]
