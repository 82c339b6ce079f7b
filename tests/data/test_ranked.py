"""Columns of which only the ranks are stored: the same forests, less memory."""

import pickle
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.data.frames import read_columns
from umfi.data.ranked import RankedColumns, rank_in_blocks
from umfi.forest.ranks import MAX_POSITIONS

# The package has a function of the same name.
contexts = import_module("umfi.importance.ultra_marginal")
POWER = umfi.ForestPower(n_trees=2)


def table(n_rows, n_columns=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1:] += X[:, :1]
    X[:, 5], X[:, 7] = X[:, 4], 2.0 * X[:, 6]
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows)


@pytest.mark.parametrize(
    ("method", "n_rows"), [("ultra_marginal", 150), ("ultra_marginal", 4_200), ("decompose", 150)]
)
@pytest.mark.parametrize("remover", ["linear", "transport"])
def test_importances_are_those_of_whole_values_to_the_bit(n_rows, remover, method, monkeypatch):
    X, y = table(n_rows, 8)
    arguments = {
        "remover": remover,
        "power": POWER,
        "random_state": 3,
        "subsample": 0.7,
        "test": "permutation",
        "max_permutations": 6,
    }
    made = []
    real = contexts.rank_in_blocks
    monkeypatch.setattr("umfi.data.ranked.VALUES_PER_BLOCK", 1)
    monkeypatch.setattr("umfi.data.ranked.MIN_COLUMNS_PER_BLOCK", 3)
    monkeypatch.setattr(contexts, "rank_in_blocks", lambda *a, **k: made.append(1) or real(*a, **k))
    ranked = getattr(umfi, method)(X, y, **arguments)
    assert made
    monkeypatch.setattr(contexts, "_is_continuous", lambda columns: False)
    whole = getattr(umfi, method)(X, y, **arguments)
    for name in ("scores", "tests", "part_scores", "part_tests"):
        one, other = getattr(ranked, name), getattr(whole, name)
        assert (one is None) == (other is None)
        if one is not None:
            pd.testing.assert_frame_equal(one, other, check_exact=True)


def make(n_front=1):
    columns = read_columns(table(100)[0])
    remover = umfi.LinearRemover()
    protected = columns.select([0])

    def transform(others):
        rng = np.random.default_rng(0)
        return remover.remove(others, [protected], protocol="matched", rng=rng)

    positions = np.arange(1, 20)
    ranked = rank_in_blocks(columns, positions, transform, n_front=n_front)
    return ranked, transform(columns.select(positions)), protected


def assert_same_ranks(first, second):
    for one, other in zip(first.ranks, second.ranks, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_same_columns(first, second):
    assert (first.names, first.kinds, first.missing) == (
        second.names,
        second.kinds,
        second.missing,
    )
    assert (first.n_rows, first.n_columns) == (second.n_rows, second.n_columns)
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.n_levels, second.n_levels)
    np.testing.assert_array_equal(first.has_heavy_ties, second.has_heavy_ties)
    np.testing.assert_array_equal(first.is_stepped, second.is_stepped)
    np.testing.assert_array_equal(first.is_constant(), second.is_constant())
    np.testing.assert_array_equal(first.first_copies(), second.first_copies())
    np.testing.assert_array_equal(first.to_numbers(), second.to_numbers())
    assert_same_ranks(first, second)


ORDER = np.random.default_rng(1).permutation(100)
PROMISES = {
    "themselves": lambda columns, other: columns,
    "columns put in front": lambda columns, other: columns.prepend(other),
    "columns put in front twice": lambda columns, other: columns.prepend(other).prepend(other),
    "columns put behind others": lambda columns, other: other.prepend(columns),
    "a selection": lambda columns, other: columns.select([3, 1]),
    "a selection beside others": lambda columns, other: columns.prepend(other).select([0, 2]),
    "all but one": lambda columns, other: columns.without(4),
    "rows in another order": lambda columns, other: columns.take_rows(ORDER),
    "some rows": lambda columns, other: columns.take_rows(ORDER[:50]),
    "rows beside others": lambda columns, other: columns.prepend(other).take_rows(ORDER),
    "others beside rows": lambda columns, other: columns.take_rows(ORDER).prepend(
        other.take_rows(ORDER)
    ),
    "changed values": lambda columns, other: columns.with_changed(
        np.where(np.arange(19) == 2, -1.0, 1.0) * columns.values, np.arange(19) == 2
    ),
    "ranks as values": lambda columns, other: columns.to_ranks(),
    "a copy in another process": lambda columns, other: pickle.loads(pickle.dumps(columns)),
}


@pytest.mark.parametrize("n_front", [1, 2])
@pytest.mark.parametrize("name", PROMISES)
def test_ranked_columns_do_whatever_columns_do(name, n_front):
    ranked, whole, protected = make(n_front)
    assert isinstance(ranked, RankedColumns)
    assert_same_columns(PROMISES[name](ranked, protected), PROMISES[name](whole, protected))


def test_a_constant_column_in_front_is_found():
    ranked, whole, protected = make()
    constant = protected.with_changed(np.zeros((100, 1)))
    assert_same_columns(ranked.prepend(constant), whole.prepend(constant))
    assert ranked.prepend(constant).is_constant().tolist() == [True] + [False] * 19


def test_a_constant_column_of_a_long_table_is_found():
    n_rows = 2 * MAX_POSITIONS
    values = np.random.default_rng(0).normal(size=(n_rows, 3))
    values[:, 0], values[:, 2] = 1.0, values[:, 2] > 0
    columns = read_columns(values)
    ranked = rank_in_blocks(columns, np.array([1]), lambda others: others, n_front=1)
    joined = ranked.prepend(columns.select([0]))
    assert joined.is_constant().tolist() == [True, False]
    assert ranked.prepend(columns.select([2])).is_constant().tolist() == [False, False]


def test_columns_whose_place_in_the_table_others_took_keep_their_ranks():
    ranked, whole, protected = make()
    first = ranked.prepend(protected)
    other = protected.take_rows(np.arange(100)[::-1])
    second = ranked.prepend(other)
    assert_same_columns(second, whole.prepend(other))
    assert_same_columns(first, whole.prepend(protected))
    assert_same_columns(second, whole.prepend(other))


@pytest.mark.parametrize("case", ["continuous", "discrete", "no forest"])
def test_only_continuous_columns_of_forests_are_stored_as_ranks(case, monkeypatch):
    X, y = table(100, 8)
    if case == "discrete":
        X[:, 3] = X[:, 3] > 0
    power = "linear" if case == "no forest" else umfi.ForestPower(n_trees=1)
    made = []
    real = contexts.rank_in_blocks
    monkeypatch.setattr(contexts, "rank_in_blocks", lambda *a, **k: made.append(1) or real(*a, **k))
    umfi.ultra_marginal(X, y, remover="linear", power=power, random_state=0)
    assert bool(made) == (case == "continuous")
