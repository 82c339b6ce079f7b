"""Columns with many equal values must not give the protected feature away, nor be given away."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import umfi
from umfi.data.frames import read_columns
from umfi.removal.ties import linear_conditional_ranks, random_ranks

N_ROWS = 600
REMOVERS = {"linear": "linear", "transport": umfi.TransportRemover(rows_per_bin=60)}


def probability(x):
    return 1.0 / (1.0 + np.exp(-2.0 * x))


MAKE = {
    "independent boolean": lambda x, rng: rng.random(N_ROWS) < 0.5,
    "related boolean": lambda x, rng: rng.random(N_ROWS) < probability(x),
    "independent count": lambda x, rng: rng.poisson(1.0, N_ROWS),
    "related count": lambda x, rng: rng.poisson(np.exp(0.7 * x)),
    "independent zeros": lambda x, rng: np.maximum(rng.normal(size=N_ROWS), 0.0),
    "related zeros": lambda x, rng: np.maximum(x + rng.normal(size=N_ROWS), 0.0),
    "rounded": lambda x, rng: np.round(x + rng.normal(size=N_ROWS)),
}


def make_table(name, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N_ROWS)
    return pd.DataFrame({"x": x, "tied": np.asarray(MAKE[name](x, rng), dtype=float)})


@pytest.mark.parametrize("remover", REMOVERS)
@pytest.mark.parametrize("protected", ["x", "tied"])
@pytest.mark.parametrize("name", MAKE)
def test_nothing_leaks_in_either_direction(name, protected, remover):
    """Leakage is the out-of-bag R² of the protected feature from what is left; noise is below 0."""
    power = umfi.ForestPower(min_node_rows=30)
    leakages = []
    for seed in range(3):
        X = make_table(name, seed)
        S = umfi.remove_dependence(X, protected, remover=REMOVERS[remover], random_state=seed)
        leakages.append(
            umfi.predictive_power(S, X[protected], task="regression", power=power, random_state=0)
        )
    assert np.mean(leakages) < 0.02


@pytest.mark.parametrize("remover", REMOVERS)
@pytest.mark.parametrize("name", ["independent boolean", "independent count", "independent zeros"])
def test_an_unrelated_tied_column_does_not_lower_the_importance_of_another(name, remover):
    importances = {"tied": [], "normal": []}
    for seed in range(4):
        X = make_table(name, seed)
        y = X["x"] + 0.3 * np.random.default_rng(seed).normal(size=N_ROWS)
        for kind, table in (("tied", X), ("normal", X.assign(tied=np.roll(X["x"], 7)))):
            result = umfi.ultra_marginal(table, y, remover=REMOVERS[remover], random_state=seed)
            importances[kind].append(result.importances["x"])
    # The forest on two columns scores somewhat differently with each kind of noise beside x.
    assert np.mean(importances["tied"]) > np.mean(importances["normal"]) - 0.1


def test_an_unrelated_boolean_keeps_what_it_says():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=N_ROWS), "flag": rng.random(N_ROWS) < 0.3})
    for remover in REMOVERS.values():
        S = umfi.remove_dependence(X, "x", remover=remover, random_state=0)
        power = umfi.ForestPower(measure="accuracy")
        assert umfi.predictive_power(S, X["flag"], power=power, random_state=0) > 0.93


def test_conditional_ranks_are_uniform_given_the_protected_column():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=5000)
    flag = (rng.random(5000) < 0.2 + 0.6 * x).astype(float)
    ranks = linear_conditional_ranks(flag, x[np.newaxis], rng.random(5000))
    # Five Kolmogorov-Smirnov tests at 1 in 1,000.
    for low in np.arange(0.0, 1.0, 0.2):
        is_near = (x >= low) & (x < low + 0.2)
        assert stats.kstest(ranks[is_near], "uniform").pvalue > 0.001


@pytest.mark.parametrize("n_distinct", [2, 7, 20, 60, 400])
def test_conditional_ranks_without_dependence_are_plain_ranks(n_distinct):
    rng = np.random.default_rng(n_distinct)
    column = rng.integers(0, n_distinct, N_ROWS).astype(float)
    breaks = rng.random(N_ROWS)
    ranks = linear_conditional_ranks(column, np.full((1, N_ROWS), 2.0), breaks)
    expected = (random_ranks(column[:, None], breaks[:, None])[:, 0] - 0.5) / N_ROWS
    np.testing.assert_allclose(ranks, expected, atol=1e-12)


def test_random_ranks_follow_value_then_break():
    values = np.array([[2.0], [1.0], [2.0], [1.0]])
    breaks = np.array([[0.9], [0.2], [0.1], [0.3]])
    assert random_ranks(values, breaks)[:, 0].tolist() == [4.0, 1.0, 3.0, 2.0]


def test_heavy_ties_are_recognised():
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [
            rng.normal(size=200),
            rng.random(200) < 0.03,
            np.maximum(rng.normal(size=200), 1.2),
            rng.normal(size=200).round(3),
            np.ones(200),
        ]
    )
    assert read_columns(table).has_heavy_ties.tolist() == [False, True, True, False, True]


@pytest.mark.parametrize("unit", [1e-310, 1.0, 1.7e308])
def test_conditional_ranks_do_not_depend_on_the_unit_of_the_protected_column(unit):
    rng = np.random.default_rng(0)
    protected = rng.uniform(-1.0, 1.0, 500)
    column = (rng.random(500) < 0.5 + 0.3 * protected).astype(float)
    breaks = rng.random(500)
    expected = linear_conditional_ranks(column, protected[np.newaxis], breaks)
    changed = linear_conditional_ranks(column, protected[np.newaxis] * unit, breaks)
    np.testing.assert_allclose(changed, expected, atol=1e-9 if unit > 1e-300 else 1e-3)
