import numpy as np
import pytest
from scipy import stats

from tests.naive.forest import Tree
from umfi.forest import (
    Growth,
    Response,
    bin_by_cuts,
    chi_squared,
    drop_shuffled,
    grow_recorded_tree,
    rank_columns,
)


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("rows_per_tree", [80, 30])
@pytest.mark.parametrize("n_levels", [[0, 0, 0], [0, 6, 0]], ids=["numbers", "levels"])
def test_recorded_tree_equals_the_twin_and_predicts_changed_rows_like_it(
    n_levels, n_classes, rows_per_tree
):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 3)).round(1)
    signal = values.sum(axis=1) + rng.normal(size=80)
    if n_levels[1] > 0:
        values[:, 1] = rng.permutation(6)[np.digitize(values[:, 1], [-1, -0.3, 0, 0.5, 1])]
    labels = np.digitize(signal, [-1, 1]) if n_classes else None
    response = np.zeros(80) if n_classes else signal
    table = rank_columns(values)
    table.n_levels[:] = n_levels
    tree, own, n_nodes, rows, predictions = grow_recorded_tree(
        table,
        Response(
            response,
            np.zeros(80, np.int32) if labels is None else labels.astype(np.int32),
            n_classes,
        ),
        Growth(2, 3, False, rows_per_tree),
        np.uint64(11),
        4,
    )
    twin = Tree(
        values.T.tolist(),
        response.tolist(),
        None if labels is None else labels.tolist(),
        n_classes,
        2,
        3,
        False,
        11,
        4,
        prune=False,
        rows_per_tree=rows_per_tree,
        n_levels=n_levels if any(n_levels) else None,
    )

    assert rows.tolist() == twin.out_of_bag
    assert predictions.tolist() == [twin.predictions[row] for row in twin.out_of_bag]
    assert n_nodes <= 2 * (80 - len(rows)) - 1
    seen = np.array(twin.columns).T  # With levels in the tree's own order.
    # Each column alone, then two as one feature beside a column that stays as it is.
    for feature_of in ([0, 1, 2], [0, 0, -1]):
        donors = np.array([rng.permutation(rows) for _ in range(max(feature_of) + 1)])
        dropped = drop_shuffled(tree, own, rows, predictions, np.array(feature_of), donors)
        for feature, own_donors in enumerate(donors):
            is_taken = np.array(feature_of) == feature
            changed = np.where(is_taken, seen[own_donors], seen[rows])
            assert dropped[feature].tolist() == [twin.predict(row.tolist()) for row in changed]


def test_bins_equal_digitize_with_empty_bins_left_out():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 1))
    positions = rank_columns(values).positions[0]
    rows = np.sort(rng.choice(60, 12, replace=False)).astype(np.int32)
    cuts = np.array([3, 4, 5, 20, 40], dtype=np.int32)

    bins, n_bins = bin_by_cuts(positions, rows, cuts)

    raw = np.digitize(positions[rows], cuts, right=True)
    assert bins.tolist() == np.unique(raw, return_inverse=True)[1].tolist()
    assert n_bins == len(set(raw))


def test_chi_squared_equals_scipy():
    rng = np.random.default_rng(2)
    bins = np.stack([rng.integers(0, size, 90) for size in (2, 3, 5, 1)])
    bins[2] = (bins[1] + rng.integers(0, 2, 90)) % 5
    bins = np.stack([np.unique(row, return_inverse=True)[1] for row in bins])
    n_bins = bins.max(axis=1) + 1
    statistics = chi_squared(bins, n_bins)
    for first in range(4):
        for second in range(4):
            if first == second:
                assert statistics[first, second] == 0.0
                continue
            table = np.zeros((n_bins[first], n_bins[second]))
            np.add.at(table, (bins[first], bins[second]), 1)
            expected = stats.chi2_contingency(table, correction=False).statistic
            np.testing.assert_allclose(statistics[first, second], expected, atol=1e-10)
