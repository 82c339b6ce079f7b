"""The paper's axioms (section 2.2) and findings (section 4.1) on simulated data."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import umfi

N_SIMULATIONS = 12
REMOVERS = ("linear", "transport")
# Fewer simulations of those that take longer; the findings are clear in each.
ALL_REMOVERS = {"linear": 12, "transport": 12, "joint": 6, "chained": 6}


CHANGES = {
    "none": lambda X: X,
    "add a sum": lambda X: X.assign(x5=X["x1"] + X["x2"]),
    "add other units": lambda X: X.assign(x5=3.0 - 2.54 * X["x1"]),
    "drop x2": lambda X: X.drop(columns="x2"),
    "drop x4": lambda X: X.drop(columns="x4"),
    "reorder": lambda X: X[["x3", "x1", "x4", "x2"]],
}


@cache
def simulated_importances(simulation, remover, change="none", units="score", n=N_SIMULATIONS):
    """Return importances over simulations, a row each, after a change to the table."""
    rows = []
    for seed in range(n):
        X, y = umfi.datasets.simulate(simulation, random_state=seed)
        result = umfi.ultra_marginal(CHANGES[change](X), y, remover=remover, random_state=seed)
        if units == "nats":
            scores = result.scores.set_index("feature")[["score_with", "score_without"]]
            information = -0.5 * np.log1p(-scores)
            rows.append(information["score_with"] - information["score_without"])
        else:
            rows.append(result.importances)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("remover", ALL_REMOVERS)
@pytest.mark.parametrize("copied", ["x1", "x4"])
def test_copied_feature_gets_the_same_importance_and_changes_no_other(remover, copied):
    X, y = umfi.datasets.simulate("nonlinear_interactions", n=300, random_state=3)
    alone = umfi.ultra_marginal(X, y, remover=remover, random_state=3).importances
    copies = X.assign(first=X[copied], second=X[copied])
    together = umfi.ultra_marginal(copies, y, remover=remover, random_state=3).importances
    # Equal to the bit: a copy is recognised, not estimated.
    assert together["first"] == together["second"] == together[copied]
    pd.testing.assert_series_equal(together[X.columns], alone, check_exact=True)


@pytest.mark.parametrize("remover", ALL_REMOVERS)
def test_copy_in_other_units_leaves_no_trace_in_what_is_left(remover):
    X, y = umfi.datasets.simulate("nonlinear_interactions", n=300, random_state=3)
    alone = umfi.ultra_marginal(X, y, remover=remover, random_state=3).importances
    fahrenheit = X.assign(other_units=32.0 + 1.8e6 * X["x1"])
    together = umfi.ultra_marginal(fahrenheit, y, remover=remover, random_state=3).importances
    assert together["x1"] == alone["x1"]


@pytest.mark.parametrize("remover", REMOVERS)
@pytest.mark.parametrize("redundant", ["add a sum", "add other units"])
def test_redundant_feature_leaves_the_others_unchanged_within_noise(remover, redundant):
    base = simulated_importances("nonlinear_interactions", remover)
    changed = simulated_importances("nonlinear_interactions", remover, redundant)
    difference = (changed[base.columns] - base).mean()
    # Noise: the spread of one importance from table to table, 0.02 to 0.03 here.
    assert (difference.abs() < base.std()).all()
    assert (difference.abs() < 0.01).all()


@pytest.mark.parametrize("remover", REMOVERS)
@pytest.mark.parametrize("simulation", ["nonlinear_interactions", "correlated_interactions"])
@pytest.mark.parametrize("dropped", ["drop x2", "drop x4"])
def test_eliminating_a_feature_raises_no_other(remover, simulation, dropped):
    """The axiom is about information (Theorem 3.1), so R² is turned into nats (section A.3)."""
    base = simulated_importances(simulation, remover, units="nats")
    fewer = simulated_importances(simulation, remover, dropped, units="nats")
    rise = fewer - base[fewer.columns]
    error = rise.std() / np.sqrt(N_SIMULATIONS)
    assert (rise.mean() <= 3.0 * error).all()


@pytest.mark.parametrize("remover", REMOVERS)
@pytest.mark.parametrize("simulation", ["nonlinear_interactions", "correlated_interactions"])
@pytest.mark.parametrize("dropped", ["drop x2", "drop x4"])
def test_eliminating_a_feature_raises_r_squared_by_little(remover, simulation, dropped):
    """R² is not linear in information, so in its units the axiom holds only nearly.

    Rises of 0.01 to 0.035 are seen, beside importances of 0.2 to 0.4 that differ by 0.01 to 0.04
    from table to table.
    """
    base = simulated_importances(simulation, remover)
    fewer = simulated_importances(simulation, remover, dropped)
    assert ((fewer - base[fewer.columns]).mean() < 0.05).all()


@pytest.mark.parametrize("remover", ALL_REMOVERS)
@pytest.mark.parametrize("simulation", ["nonlinear_interactions", "correlated_interactions"])
def test_interacting_features_stand_out(simulation, remover):
    importances = simulated_importances(simulation, remover, n=ALL_REMOVERS[remover]).mean()
    assert importances[["x1", "x2"]].min() > 1.05 * importances[["x3", "x4"]].max()
    assert importances.min() > 0.1


@pytest.mark.parametrize("remover", ALL_REMOVERS)
def test_correlated_features_keep_their_importance_and_the_unrelated_one_has_none(remover):
    importances = simulated_importances("correlation", remover, n=ALL_REMOVERS[remover]).mean()
    np.testing.assert_allclose(importances[["x1", "x2", "x3"]], importances["x2"], rtol=0.1)
    assert abs(importances["x4"]) < 0.01 * importances.sum()


@pytest.mark.parametrize("remover", ALL_REMOVERS)
def test_features_behind_a_collider_have_no_importance(remover):
    importances = simulated_importances("blood_relation", remover, n=ALL_REMOVERS[remover]).mean()
    shares = importances / importances.sum()
    assert (shares[["x1", "x2"]].abs() < 0.02).all()
    assert shares["x4"] > shares["x3"] > 0.1


def test_column_order_leaves_each_feature_its_distribution():
    base = simulated_importances("nonlinear_interactions", "linear", n=30)
    moved = simulated_importances("nonlinear_interactions", "linear", "reorder", n=30)
    assert list(moved.columns) == ["x3", "x1", "x4", "x2"]
    difference = moved[base.columns] - base
    assert (difference.mean().abs() <= 3.5 * difference.std() / np.sqrt(30)).all()
    np.testing.assert_allclose(moved[base.columns].std(), base.std(), rtol=0.5)
