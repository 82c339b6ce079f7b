"""Columns that are known by their ranks alone: the same forests, a part of the memory."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.data.frames import read_columns
from umfi.data.ranked import RankedColumns, rank_in_blocks
from umfi.importance import contexts

POWER = umfi.ForestPower(n_trees=5)


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
    X, y = table(n_rows, 10)
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
    monkeypatch.setattr(contexts.UnrelatedContexts, "_needs_ranks_only", lambda *_: False)
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


def test_ranks_values_and_names_are_those_of_the_columns():
    ranked, whole, protected = make()
    assert isinstance(ranked, RankedColumns)
    assert (ranked.names, ranked.n_rows, ranked.n_columns) == (whole.names, 100, 19)
    np.testing.assert_array_equal(ranked.values, whole.values)
    assert not ranked.is_constant().any()
    assert_same_ranks(ranked, whole)
    assert_same_ranks(ranked.prepend(protected), whole.prepend(protected))
    assert_same_ranks(ranked.select([3, 1]), whole.select([3, 1]))
    order = np.random.default_rng(1).permutation(100)
    for rows in (order, order[:50]):
        assert_same_ranks(ranked.take_rows(rows), whole.take_rows(rows))
        np.testing.assert_array_equal(ranked.take_rows(rows).values, whole.take_rows(rows).values)


def test_other_numbers_of_columns_can_be_put_in_front_too():
    ranked, whole, protected = make(n_front=2)
    joined = ranked.prepend(protected)
    assert_same_ranks(joined, whole.prepend(protected))
    assert_same_ranks(joined.prepend(protected), whole.prepend(protected).prepend(protected))


def test_columns_that_others_took_the_place_of_are_not_read_by_mistake():
    ranked, _, protected = make()
    first = ranked.prepend(protected)
    second = ranked.prepend(protected.take_rows(np.arange(100)[::-1]))
    second.ranks  # noqa: B018
    with pytest.raises(RuntimeError, match="put in front since"):
        first.ranks  # noqa: B018
    assert first.values.shape == (100, 20)


def test_columns_of_levels_are_kept_as_values(monkeypatch):
    monkeypatch.setattr(contexts, "rank_in_blocks", None)
    X, y = table(100, 10)
    X[:, 3] = X[:, 3] > 0
    umfi.ultra_marginal(X, y, power=POWER, random_state=0)
    umfi.ultra_marginal(table(100, 10)[0], y, power="linear", random_state=0)
