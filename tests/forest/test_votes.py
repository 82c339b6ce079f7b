"""The forest equals its naive twin to the bit on the same draws."""

import numba
import numpy as np
import pytest

from tests.naive import forest as naive
from umfi.forest import (
    Growth,
    Response,
    no_donors,
    out_of_bag_totals,
    rank_columns,
    subsampled_totals,
)
from umfi.forest.few_columns import fits_few_columns

SEED = 20230425
ALL = np.ones(2000, dtype=bool)
IS_SLOW = numba.config.DISABLE_JIT


def make_columns(kind, n_rows, n_columns):
    rng = np.random.default_rng([n_rows, n_columns])
    values = rng.normal(size=(n_rows, n_columns))
    if kind == "ties":
        values = np.round(values)
    elif kind == "boolean":
        values = (values > 0.5).astype(float)
    elif kind == "mixed":
        values[:, 0] = 7.0
        values[:, 1] = values[:, 2]
        values[:, 3] = np.round(values[:, 3], 1)
    return values


def make_response(values, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    signal = values[:, 0] + values[:, -1] ** 2 + rng.normal(size=len(values))
    if n_classes == 0:
        return signal - signal.mean(), None
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return np.zeros(len(values)), np.digitize(signal, edges)


@pytest.mark.parametrize("is_random", [False, True], ids=["best", "random"])
@pytest.mark.parametrize("n_classes", [0, 2, 5])
@pytest.mark.parametrize("kind", ["continuous", "ties", "boolean", "mixed"])
@pytest.mark.parametrize("mtry", [1, 2, 5])
def test_totals_equal_the_twin_to_the_bit(kind, n_classes, is_random, mtry):
    values = make_columns(kind, n_rows=70, n_columns=5)
    response, labels = make_response(values, n_classes)
    min_node_rows = 5 if n_classes == 0 else 1

    totals, n_votes = out_of_bag_totals(
        rank_columns(values),
        Response(
            response,
            np.zeros(70, np.int32) if labels is None else labels.astype(np.int32),
            n_classes,
        ),
        Growth(mtry, min_node_rows, is_random),
        0,
        4,
        np.uint64(SEED),
    )

    expected, expected_votes = naive.forest_totals(
        values.T.tolist(),
        response.tolist(),
        None if labels is None else labels.tolist(),
        n_classes,
        mtry,
        min_node_rows,
        is_random,
        4,
        SEED,
    )
    assert n_votes.tolist() == expected_votes
    assert totals.tolist() == expected


@pytest.mark.parametrize("is_random", [False, True], ids=["best", "random"])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("max_positions", [4096, 30], ids=["ranks", "bins"])
@pytest.mark.parametrize("rows_per_tree", [None, 60], ids=["all rows", "subsampled"])
def test_trees_put_levels_in_the_twins_order(rows_per_tree, max_positions, n_classes, is_random):
    rng = np.random.default_rng(3)
    levels = rng.integers(0, 12, 150).astype(float)
    rare = rng.choice([0.0, 1.0, 2.0, 3.0], size=150, p=[0.5, 0.47, 0.02, 0.01])
    values = np.column_stack([rng.integers(0, 20, 150), levels, rare])
    signal = values[:, 0] + 9.0 * np.isin(levels, [1, 5, 6, 10]) + rng.integers(0, 3, 150)
    labels = None
    if n_classes > 0:
        edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
        labels, signal = np.digitize(signal, edges), np.zeros(150)
    table = rank_columns(values, max_positions=max_positions)
    table.n_levels[:] = [0, 12, 4]
    response = Response(
        signal, np.zeros(150, np.int32) if labels is None else labels.astype(np.int32), n_classes
    )
    growth = Growth(2, 3, is_random, rows_per_tree or 150)

    if rows_per_tree is None:
        tally = out_of_bag_totals(table, response, growth, 0, 5, np.uint64(SEED))
    else:
        by_row = np.ascontiguousarray(table.positions.T)
        tally, _ = subsampled_totals(
            table, by_row, response, growth, no_donors(3, 150), ALL[:150], 0, 5, np.uint64(SEED)
        )

    expected, expected_votes = naive.forest_totals(
        values.T.tolist(),
        signal.tolist(),
        None if labels is None else labels.tolist(),
        n_classes,
        2,
        3,
        is_random,
        5,
        SEED,
        prune=rows_per_tree is None,
        rows_per_tree=rows_per_tree,
        n_levels=[0, 12, 4],
    )
    assert tally.n_votes.tolist() == expected_votes
    assert tally.totals.tolist() == expected


@pytest.mark.parametrize("is_random", [False, True], ids=["best", "random"])
@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("rows_per_tree", [None, 50], ids=["all rows", "subsampled"])
def test_bins_and_subsampled_trees_equal_the_twin(rows_per_tree, n_classes, is_random):
    values = make_columns("mixed", n_rows=200, n_columns=5)
    response, labels = make_response(values, n_classes)
    response = (64 * response).round()  # Whole numbers, so that sums do not round.
    table = rank_columns(values, max_positions=70)
    growth = Growth(2, 3, is_random, rows_per_tree or 200)
    kernel_response = Response(
        response, np.zeros(200, np.int32) if labels is None else labels.astype(np.int32), n_classes
    )

    if rows_per_tree is None:
        tally = out_of_bag_totals(table, kernel_response, growth, 0, 4, np.uint64(SEED))
    else:
        by_row = np.ascontiguousarray(table.positions.T)
        tally, _ = subsampled_totals(
            table,
            by_row,
            kernel_response,
            growth,
            no_donors(5, 200),
            ALL[:200],
            0,
            4,
            np.uint64(SEED),
        )

    middles = np.take_along_axis(table.sorted_values, table.positions.astype(int), axis=1)
    expected, expected_votes = naive.forest_totals(
        middles.tolist(),
        response.tolist(),
        None if labels is None else labels.tolist(),
        n_classes,
        2,
        3,
        is_random,
        4,
        SEED,
        prune=rows_per_tree is None,
        rows_per_tree=rows_per_tree,
    )
    assert tally.n_votes.tolist() == expected_votes
    assert tally.totals.tolist() == expected


def test_rows_have_as_many_votes_when_trees_are_subsampled():
    values = make_columns("continuous", n_rows=2000, n_columns=2)
    table = rank_columns(values)
    response = Response(values[:, 0].copy(), np.zeros(2000, np.int32), 0)
    whole = out_of_bag_totals(table, response, Growth(1, 5, False), 0, 20, np.uint64(1))
    by_row = np.ascontiguousarray(table.positions.T)
    growth = Growth(1, 5, False, 300)
    part, _ = subsampled_totals(
        table, by_row, response, growth, no_donors(2, 2000), ALL, 0, 20, np.uint64(1)
    )
    np.testing.assert_array_equal(part.n_votes, whole.n_votes)
    assert part.n_votes.mean() / 20 == pytest.approx(np.exp(-1), abs=0.01)


def test_blocks_of_trees_add_up_to_the_forest():
    values = make_columns("continuous", n_rows=60, n_columns=5)
    _, labels = make_response(values, 3)
    table = rank_columns(values)
    response = Response(np.zeros(60), labels.astype(np.int32), 3)
    growth = Growth(2, 1, False)
    whole, whole_votes = out_of_bag_totals(table, response, growth, 0, 7, np.uint64(1))
    first, first_votes = out_of_bag_totals(table, response, growth, 0, 3, np.uint64(1))
    rest, rest_votes = out_of_bag_totals(table, response, growth, 3, 4, np.uint64(1))
    np.testing.assert_array_equal(whole, first + rest)
    np.testing.assert_array_equal(whole_votes, first_votes + rest_votes)


@pytest.mark.parametrize("is_random", [False, True], ids=["best", "random"])
@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_neighbouring_floats_are_cut_between(n_classes, is_random):
    low = 1.0
    high = np.nextafter(low, 2.0)
    values = np.where(np.arange(40) % 2 == 0, low, high)[:, np.newaxis]
    labels = (values[:, 0] == high).astype(np.int32)
    totals, n_votes = out_of_bag_totals(
        rank_columns(values),
        Response(np.where(labels, 1.0, -1.0), labels, n_classes),
        Growth(1, 1, is_random),
        0,
        40,
        np.uint64(1),
    )
    if n_classes == 0:
        np.testing.assert_array_equal(totals[:, 0] / n_votes, np.where(labels, 1.0, -1.0))
    else:
        np.testing.assert_array_equal(totals[np.arange(40), labels], n_votes)


def test_constant_columns_give_one_leaf_that_predicts_the_bootstrap_mean():
    response = np.arange(30.0) - 14.5
    totals, n_votes = out_of_bag_totals(
        rank_columns(np.ones((30, 3))),
        Response(response, np.zeros(30, np.int32), 0),
        Growth(3, 5, False),
        0,
        1,
        np.uint64(3),
    )
    assert len(set(totals[n_votes == 1, 0])) == 1


@pytest.mark.parametrize("n_columns", [1, 2, 3, 8])
@pytest.mark.parametrize("kind", ["continuous", "ties", "boolean"])
@pytest.mark.parametrize("min_node_rows", [1, 7])
def test_rows_that_stay_sorted_give_the_trees_of_rows_that_do_not(n_columns, kind, min_node_rows):
    # A fifth class without rows has no lane in the word that counts classes.
    n_rows = 30 if IS_SLOW else 700
    values = make_columns(kind, n_rows, n_columns)
    _, labels = make_response(values, 4)
    table, growth = rank_columns(values), Growth(max(1, n_columns // 2), min_node_rows, False)
    tallies = [
        out_of_bag_totals(
            table,
            Response(np.zeros(n_rows), labels.astype(np.int32), n_classes),
            growth,
            0,
            20,
            np.uint64(SEED),
        )
        for n_classes in (4, 5)
    ]
    assert tallies[0].n_votes.tolist() == tallies[1].n_votes.tolist()
    assert tallies[0].totals.tolist() == tallies[1].totals[:, :4].tolist()
    assert fits_few_columns(table, Response(labels, labels, 4), growth)
    assert not fits_few_columns(table, Response(labels, labels, 5), growth)
