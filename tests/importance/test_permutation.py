"""Permutation importances against a twin that grows the same trees in plain Python."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance

import umfi
from tests.naive.forest import Tree
from umfi.execution import Streams, kernel_seed

N_TREES = 12


@pytest.fixture(scope="module")
def table():
    X, y = umfi.datasets.simulate("correlation", n=120, random_state=2)
    return X.round(1), y


def naive_importances(X, y, permute):
    """Return Breiman's importance of each feature; ``permute`` reorders out-of-bag rows."""
    columns = X.T.to_numpy().tolist()
    deviation = (y - y.mean()).abs().max()
    response = ((y.to_numpy() - y.mean()) / deviation).tolist()
    streams = Streams(9)
    seed = int(kernel_seed(streams.seed("forest", 0)))
    mtry = int(np.sqrt(X.shape[1]))
    increase = np.zeros(X.shape[1])
    for number in range(N_TREES):
        tree = Tree(columns, response, None, 0, mtry, 5, False, seed, number, prune=False)
        rng = streams.generator("shuffle", 0, number)
        rows = np.array(tree.out_of_bag, dtype=np.int32)
        values, truth = X.to_numpy()[rows], np.array(response)[rows]
        before = np.mean((truth - [tree.predict(row) for row in values]) ** 2)
        cuts = {}
        collect_cuts(tree.root, cuts)
        for feature in sorted(cuts):
            changed = values.copy()
            changed[:, feature] = X.to_numpy()[permute(rng, rows, values, feature, cuts), feature]
            after = np.mean((truth - [tree.predict(row) for row in changed]) ** 2)
            increase[feature] += after - before
    return increase / N_TREES * deviation**2


def collect_cuts(node, cuts):
    if isinstance(node, tuple):
        cuts.setdefault(node[0], set()).add(node[1])
        collect_cuts(node[2], cuts)
        collect_cuts(node[3], cuts)


def test_permutation_equals_the_twin(table):
    X, y = table
    result = umfi.permutation(X, y, power=umfi.ForestPower(n_trees=N_TREES), random_state=9)
    expected = naive_importances(X, y, lambda rng, rows, *_: rng.permutation(rows))
    np.testing.assert_allclose(result.importances, expected, rtol=1e-10)


def shuffle_in_cells(rng, rows, values, feature, cuts, threshold=0.95):
    """Shuffle inside the cells of associated features, drawing as the method does."""
    from scipy.stats import chi2_contingency

    def bins(index):
        return np.searchsorted(sorted(cuts[index]), values[:, index], side="left")

    cells = [()] * len(rows)
    for other in sorted(cuts):
        if other == feature:
            continue
        counts = pd.crosstab(bins(feature), bins(other))
        is_single = 1 in counts.shape
        p_value = 1.0 if is_single else chi2_contingency(counts, correction=False).pvalue
        if 1.0 - p_value <= threshold and threshold > 0.0:
            continue
        cells = [(*cell, number) for cell, number in zip(cells, bins(other), strict=True)]
    order = rng.permutation(len(rows))
    donors = rows.copy()
    for cell in set(cells):
        members = [place for place, other in enumerate(cells) if other == cell]
        donors[members] = rows[[place for place in order if cells[place] == cell]]
    return donors


@pytest.mark.parametrize("threshold", [0.95, 0.5, 0.0])
def test_conditional_permutation_equals_the_twin(table, threshold):
    X, y = table
    power = umfi.ForestPower(n_trees=N_TREES)
    result = umfi.conditional_permutation(X, y, power=power, random_state=9, threshold=threshold)
    expected = naive_importances(X, y, partial(shuffle_in_cells, threshold=threshold))
    np.testing.assert_allclose(result.importances, expected, rtol=1e-10, atol=1e-15)


def test_without_associated_features_it_is_plain_permutation(table):
    power = umfi.ForestPower(n_trees=N_TREES)
    plain = umfi.permutation(*table, power=power, random_state=9)
    conditional = umfi.conditional_permutation(*table, power=power, threshold=1.0, random_state=9)
    pd.testing.assert_frame_equal(plain.scores, conditional.scores, check_exact=True)


def test_a_copy_takes_all_conditional_importance():
    X, y = umfi.datasets.simulate("correlation", n=500, random_state=0)
    plain = umfi.permutation(X, y, random_state=0).importances
    conditional = umfi.conditional_permutation(X, y, random_state=0).importances
    assert plain["x1"] > 0.3
    assert abs(conditional["x1"]) < 0.05
    assert conditional["x2"] > 0.5


def test_regression_agrees_with_scikit_learn_on_fresh_rows():
    X, y = umfi.datasets.simulate("nonlinear_interactions", n=600, random_state=0)
    fresh_X, fresh_y = umfi.datasets.simulate("nonlinear_interactions", n=600, random_state=1)
    forest = RandomForestRegressor(300, max_features=2, min_samples_split=6, random_state=0)
    theirs = permutation_importance(
        forest.fit(X, y), fresh_X, fresh_y, scoring="neg_mean_squared_error", random_state=0
    ).importances_mean
    ours = umfi.permutation(X, y, power=umfi.ForestPower(n_trees=300), random_state=0).importances
    # Ours is a mean over single trees, theirs of the whole forest: the shares agree.
    np.testing.assert_allclose(ours / ours.sum(), theirs / theirs.sum(), atol=0.05)


def test_classification_counts_lost_accuracy():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["signal", "noise"])
    y = np.where(X["signal"] > 0, "yes", "no")
    power = umfi.ForestPower(mtry=2)
    result = umfi.permutation(X, y, power=power, random_state=0)
    # Shuffled, the sign is right half of the time.
    assert result.importances["signal"] == pytest.approx(0.5, abs=0.03)
    assert result.importances["noise"] == pytest.approx(0.0, abs=0.02)
    assert result.scores["score_with"][0] > 0.97
