"""Tables that cannot be written to, as a worker that maps them has them, cost no compilation."""

import numpy as np
import pytest
from numba import config

from umfi.forest import (
    Donors,
    Growth,
    Response,
    averaged_totals,
    grow_recorded_tree,
    out_of_bag_totals,
    rank_columns,
    recorded,
    subsampled,
    subsampled_totals,
    votes,
)
from umfi.forest.ranks import read_only_table

N_ROWS, SEED = 60, np.uint64(3)


@pytest.mark.parametrize("n_levels", [0, 4], ids=["numbers", "levels"])
def test_read_only_tables_give_the_same_trees_by_the_same_kernels(n_levels):
    rng = np.random.default_rng(1)
    values = np.asfortranarray(rng.normal(size=(N_ROWS, 3)))
    values[:, 1] = rng.integers(0, 4, N_ROWS)
    frozen_values = values.copy(order="F")
    frozen_values.flags.writeable = False
    table, same = rank_columns(values), rank_columns(frozen_values)
    for one in (table, same):
        one.n_levels[1] = n_levels
    frozen = read_only_table(same)
    labels = (values[:, 0] > 0.0).astype(np.int32)
    response, growth = Response(np.zeros(N_ROWS), labels, 2), Growth(2, 1, False)
    order = np.argsort(table.positions[:1], axis=1).astype(np.uint32)
    donors = Donors(np.array([0, -1, -1]), order, 2, np.empty((0, 0), dtype=np.uint32))
    is_scored = np.ones(N_ROWS, dtype=bool)

    def grow(ranks):
        by_row = np.ascontiguousarray(ranks.positions.T)
        by_row.flags.writeable = ranks.positions.flags.writeable
        short = growth._replace(rows_per_tree=40)
        return (
            out_of_bag_totals(ranks, response, growth, 0, 3, SEED).totals,
            averaged_totals(ranks, response, growth, donors, 3, SEED)[1],
            subsampled_totals(ranks, by_row, response, short, donors, is_scored, 0, 3, SEED)[1],
            grow_recorded_tree(ranks, response, growth, SEED, 0)[4],
        )

    def count_compiled():
        kernels = (votes._grow_forest, subsampled._grow_forest, recorded._grow_recorded_tree)
        return 0 if config.DISABLE_JIT else sum(len(kernel.signatures) for kernel in kernels)

    expected, n_compiled = grow(table), count_compiled()
    found = grow(frozen)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert count_compiled() == n_compiled
