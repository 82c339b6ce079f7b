"""Predictions averaged over candidates equal the naive twin's to the bit, and what they must be."""

import numpy as np
import pytest

from tests.naive import forest as naive
from umfi.forest import (
    Donors,
    Growth,
    Response,
    averaged_totals,
    no_donors,
    out_of_bag_totals,
    rank_columns,
    subsampled_totals,
)

SEED = 20210
N_ROWS = 90


def make_table(kind):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(N_ROWS, 5))
    if kind == "ties":
        values = np.round(2.0 * values)
    n_levels = [0] * 5
    if kind == "levels":
        values[:, 1] = rng.integers(0, 6, N_ROWS)
        n_levels[1] = 6
    table = rank_columns(values, max_positions=30 if kind == "bins" else 4096)
    table.n_levels[:] = n_levels
    if kind == "bins":  # What trees see are the middles of bins.
        values = np.take_along_axis(table.sorted_values, table.positions.astype(int), axis=1).T
    return values, n_levels, table


def make_response(values, n_classes):
    signal = values[:, 0] + values[:, 1] * values[:, 2] + np.sin(np.arange(N_ROWS))
    if n_classes == 0:
        signal = (64 * (signal - signal.mean())).round()  # Whole, so that sums do not round.
        return signal, None, Response(signal, np.zeros(N_ROWS, np.int32), 0)
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    labels = np.digitize(signal, edges)
    return signal, labels, Response(np.zeros(N_ROWS), labels.astype(np.int32), n_classes)


def make_donors(table, candidate_of, n_each, n_given=0):
    firsts = [candidate_of.index(one) for one in range(max(candidate_of) + 1)]
    order = np.argsort(table.positions[firsts], axis=1, kind="stable").astype(np.uint32)
    given = np.random.default_rng(6).integers(0, N_ROWS, (N_ROWS, n_given)).astype(np.uint32)
    return Donors(np.array(candidate_of), order, n_each, given if n_given else given[:0])


@pytest.mark.parametrize("is_random", [False, True], ids=["best", "random"])
@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("kind", ["continuous", "ties", "levels", "bins"])
@pytest.mark.parametrize(
    ("rows_per_tree", "n_scored"),
    [(None, N_ROWS), (40, N_ROWS), (40, 25)],
    ids=["all rows", "subsampled", "few rows scored"],
)
@pytest.mark.parametrize(
    ("candidate_of", "n_given"),
    [([0, 1, -1, -1, 2], 0), ([0, 0, 1, -1, -1], 0), ([0, 1, -1, -1, 2], 7)],
    ids=["three candidates", "a pair", "given donors"],
)
def test_changes_equal_the_twins_to_the_bit(
    candidate_of, n_given, rows_per_tree, n_scored, kind, n_classes, is_random
):
    values, n_levels, table = make_table(kind)
    signal, labels, response = make_response(values, n_classes)
    donors = make_donors(table, candidate_of, 3, n_given)
    growth = Growth(2, 4, is_random, rows_per_tree or N_ROWS)
    is_scored = np.random.default_rng(3).permutation(N_ROWS) < n_scored

    if rows_per_tree is None:
        tally, changes = averaged_totals(table, response, growth, donors, 4, np.uint64(SEED))
    else:
        by_row = np.ascontiguousarray(table.positions.T)
        tally, changes = subsampled_totals(
            table, by_row, response, growth, donors, is_scored, 0, 4, np.uint64(SEED)
        )

    settings = {
        "mtry": 2,
        "min_node_rows": 4,
        "is_random": is_random,
        "seed": SEED,
        "rows_per_tree": rows_per_tree,
        "n_levels": n_levels if any(n_levels) else None,
        "candidate_of": candidate_of,
        "prune": rows_per_tree is None,
        "is_scored": is_scored,
    }
    arguments = (
        values.T.tolist(),
        signal.tolist(),
        None if labels is None else labels.tolist(),
        n_classes,
    )
    orders = donors.order.tolist()
    given = donors.given.tolist()
    expected = naive.averaged_changes(*arguments, orders, 3, given, n_trees=4, **settings)
    assert changes.tolist() == expected
    totals, n_votes = naive.forest_totals(*arguments, n_trees=4, **settings)
    assert tally.n_votes.tolist() == n_votes
    assert tally.totals.tolist() == totals


@pytest.mark.parametrize("n_classes", [0, 3])
def test_all_rows_as_donors_give_the_mean_over_the_column(n_classes):
    values, _, table = make_table("continuous")
    _, _, response = make_response(values, n_classes)
    growth = Growth(2, 4, False)
    donors = make_donors(table, [0, -1, -1, -1, -1], N_ROWS)
    tally, changes = averaged_totals(table, response, growth, donors, 5, np.uint64(SEED))
    # With every row as a donor the start does not matter, so any other draw gives the same mean.
    turned = donors._replace(order=np.roll(donors.order, 17, axis=1))
    _, same = averaged_totals(table, response, growth, turned, 5, np.uint64(SEED))
    np.testing.assert_allclose(changes, same, atol=1e-9)
    if n_classes:  # Votes are moved, none is lost.
        np.testing.assert_allclose(changes.sum(axis=2), 0.0, atol=1e-9)
        assert (tally.totals + changes[0]).min() > -1e-9


def test_a_candidate_that_no_tree_is_cut_on_changes_nothing():
    values, _, _ = make_table("continuous")
    values[:, 3] = 1.0
    table = rank_columns(values)
    _, _, response = make_response(values, 0)
    donors = make_donors(table, [-1, -1, -1, 0, -1], 4)
    _, changes = averaged_totals(table, response, Growth(2, 4, False), donors, 5, np.uint64(SEED))
    assert not changes.any()


def test_without_candidates_the_forest_is_the_one_that_is_only_scored():
    values, _, table = make_table("continuous")
    _, _, response = make_response(values, 0)
    growth = Growth(2, 4, False)
    nothing = no_donors(5, N_ROWS)
    tally, changes = averaged_totals(table, response, growth, nothing, 5, np.uint64(SEED))
    plain = out_of_bag_totals(table, response, growth, 0, 5, np.uint64(SEED))
    assert tally.totals.tolist() == plain.totals.tolist()
    assert changes.shape == (0, N_ROWS, 1)
