"""MCI against a plain search over subsets, with a power whose values are known."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import umfi

WORTH = {(): 0.0, (0,): 0.3, (1,): 0.0, (2,): 0.1, (0, 1): 0.9, (0, 2): 0.2, (1, 2): 0.1}
WORTH[0, 1, 2] = 0.95


class TablePower:
    """Looks the worth of a set up by the means of its columns; counts how often it is asked."""

    def __init__(self):
        self.asked = []

    def score(self, columns, target, seed):
        subset = tuple(round(mean / 10) for mean in columns.values.mean(axis=0))
        self.asked.append(subset)
        return WORTH[subset]


@pytest.fixture
def table():
    noise = np.random.default_rng(0).normal(0, 0.1, (30, 3))
    X = pd.DataFrame(noise + np.array([0, 10, 20]), columns=["a", "b", "c"])
    return X, np.arange(30.0)


def expected_importance(feature, max_context):
    others = [index for index in range(3) if index != feature]
    contexts = [c for size in range(max_context + 1) for c in combinations(others, size)]
    return max(WORTH[tuple(sorted((*c, feature)))] - WORTH[c] for c in contexts)


@pytest.mark.parametrize("max_context", [0, 1, 2, None, 7])
def test_importance_is_the_largest_gain_over_all_contexts(table, max_context):
    power = TablePower()
    result = umfi.marginal_contribution(*table, power=power, max_context=max_context, n_jobs=1)
    largest = 2 if max_context is None else min(max_context, 2)
    expected = [expected_importance(feature, largest) for feature in range(3)]
    np.testing.assert_allclose(result.importances, expected)
    # Each set is scored once.
    assert len(power.asked) == len(set(power.asked))
    assert len(power.asked) == sum(1 for subset in WORTH if len(subset) <= largest + 1)


def test_the_best_context_is_reported(table):
    result = umfi.marginal_contribution(*table, power=TablePower())
    assert result.scores["context"].tolist() == [["b"], ["a", "c"], []]


def negative_size(columns, y, rng):
    return -float(columns.shape[1])


def test_scores_below_that_of_nothing_count_as_nothing(table):
    result = umfi.marginal_contribution(*table, power=negative_size)
    assert (result.importances == 0.0).all()
    assert result.scores["score_with"].min() < 0.0


def test_powers_in_other_units_have_their_own_zero():
    def negative_error(columns, y, rng):
        if columns.shape[1] == 0:
            return -float(np.var(y))
        design = np.column_stack([np.ones(len(y)), columns])
        return -float(np.mean((y - design @ np.linalg.lstsq(design, y)[0]) ** 2))

    X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    result = umfi.marginal_contribution(X, y, power=negative_error)
    np.testing.assert_allclose(result.importances[["x1", "x2"]], 1.0, atol=0.3)
    assert result.importances["x4"] < 0.05
