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
        subset = tuple(round(mean / 10) for mean in columns.values.mean(axis=0))  # noqa: PD011
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


def test_scores_below_chance_count_as_chance(table):
    result = umfi.marginal_contribution(*table, power=lambda columns, y, rng: -1.0)
    assert (result.importances == 0.0).all()
