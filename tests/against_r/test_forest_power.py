"""Out-of-bag scores against ranger 0.14.1 over 50 seeds, with 100 trees."""

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import umfi

DATA = Path(__file__).parent / "data"
RESPONSES = {"interaction_1000x4": "y", "four_classes_600x12": "class"}
N_SEEDS = 50
N_TREES = 100

SETTINGS = list(pd.read_csv(DATA / "ranger_power.csv").itertuples(index=False))
INDEPENDENT = pd.read_csv(DATA / "ranger_power_independent.csv").set_index(
    ["data", "splitrule", "mtry"]
)


@cache
def our_scores(data, splitrule, mtry):
    table = pd.read_csv(DATA / f"{data}.csv")
    X, y = table.drop(columns=RESPONSES[data]), table[RESPONSES[data]]
    power = umfi.ForestPower(
        n_trees=N_TREES,
        mtry=mtry,
        split="random" if splitrule == "extratrees" else "best",
        measure="accuracy" if RESPONSES[data] == "class" else "r2",
    )
    return np.array(
        [umfi.predictive_power(X, y, power=power, random_state=seed) for seed in range(N_SEEDS)]
    )


def shared_tree_factor():
    """Return by how much sharing trees raises the variance of the mean over ranger's forests.

    ranger seeds tree i of a forest with (i + 1) * seed, so the forests with seeds 1 to 50 have
    5,000 trees but only 1,866 different ones. The mean over forests is a weighted mean over trees,
    and its variance grows with the sum of the squared weights.
    """
    trees = Counter((tree + 1) * seed for tree in range(N_TREES) for seed in range(1, N_SEEDS + 1))
    return sum(count**2 for count in trees.values()) / (N_TREES * N_SEEDS)


def setting_id(setting):
    return "-".join(map(str, setting[:3]))


@pytest.mark.parametrize("setting", SETTINGS, ids=setting_id)
def test_mean_score_is_within_three_standard_errors_of_ranger(setting):
    scores = our_scores(*setting[:3])
    variance = shared_tree_factor() * setting.sd**2 + np.var(scores, ddof=1)
    assert setting.n == N_SEEDS
    assert abs(np.mean(scores) - setting.mean) <= 3.0 * np.sqrt(variance / N_SEEDS)


@pytest.mark.parametrize("setting", SETTINGS, ids=setting_id)
def test_mean_score_is_within_three_standard_errors_of_independent_ranger_forests(setting):
    """The same against 400 forests of ranger that have no trees in common (ranger_power.R)."""
    scores = our_scores(*setting[:3])
    ranger = INDEPENDENT.loc[setting[:3]]
    variance = ranger["sd"] ** 2 / ranger["n"] + np.var(scores, ddof=1) / N_SEEDS
    assert abs(np.mean(scores) - ranger["mean"]) <= 3.0 * np.sqrt(variance)
    # The ratio of variances of 50 and 400 normal values is in this range in 999 of 1,000 cases.
    assert 0.45 < np.var(scores, ddof=1) / ranger["sd"] ** 2 < 1.90
