"""Importances against the authors' R package over 40 simulations of 1,000 rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import umfi

SCORES = pd.read_csv(Path(__file__).parent / "data" / "scores.csv")
N_SIMULATIONS = 40

METHODS = {
    "marginal_contribution all-subsets forest": lambda X, y, seed: umfi.marginal_contribution(
        X, y, max_context=None, random_state=seed
    ),
}
for remover in ("linear", "transport"):
    for power in ("forest", "extra-trees"):
        r_name = {"linear": "linear", "transport": "transport150"}[remover]
        METHODS[f"ultra_marginal {r_name} {power}"] = (
            lambda X, y, seed, remover=remover, power=power: umfi.ultra_marginal(
                X, y, remover=remover, power=power, protocol="paper", random_state=seed
            )
        )


def test_every_method_of_the_reference_is_checked():
    assert set(METHODS) == set(SCORES["method"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("simulation", SCORES["simulation"].unique())
def test_mean_importances_are_within_four_standard_errors_of_r(simulation, method):
    importances = pd.DataFrame(
        [
            METHODS[method](
                *umfi.datasets.simulate(simulation, random_state=seed), seed
            ).importances
            for seed in range(N_SIMULATIONS)
        ]
    )
    is_meant = (SCORES["simulation"] == simulation) & (SCORES["method"] == method)
    expected = SCORES[is_meant].set_index("feature")
    shares = 100.0 * importances.div(importances.sum(axis=1), axis=0)
    for ours, name in ((importances, "importance"), (shares, "share")):
        error = np.sqrt((ours.var() + expected[f"{name}_sd"] ** 2) / N_SIMULATIONS)
        difference = ours.mean() - expected[f"{name}_mean"]
        assert (difference.abs() <= 4.0 * error).all(), difference / error
