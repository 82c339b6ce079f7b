"""How often 95 % intervals hold the importance of a large table.

``python benchmarks/intervals.py`` makes 200 tables of each simulation, 500 rows each, runs 50
subsamples of half the rows, and counts how often the interval holds the importance in tables of
40,000 rows.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import umfi

SIMULATIONS = (
    "nonlinear_interactions",
    "correlated_interactions",
    "correlation",
    "blood_relation",
)
N_ROWS, N_REPEATS, N_LARGE = 500, 50, 40_000


def large_sample_importances(simulation: str, remover: str) -> pd.Series:
    tables = [umfi.datasets.simulate(simulation, n=N_LARGE, random_state=seed) for seed in range(3)]
    found = [
        umfi.ultra_marginal(X, y, remover=remover, random_state=seed, progress=False).importances
        for seed, (X, y) in enumerate(tables)
    ]
    return pd.concat(found, axis=1).mean(axis=1)


def coverage(simulation: str, remover: str, n_tables: int) -> pd.DataFrame:
    truth = large_sample_importances(simulation, remover)
    rows = []
    for seed in range(n_tables):
        X, y = umfi.datasets.simulate(simulation, n=N_ROWS, random_state=10_000 + seed)
        result = umfi.ultra_marginal(
            X,
            y,
            remover=remover,
            repeats=N_REPEATS,
            subsample=0.5,
            random_state=seed,
            progress=False,
        )
        intervals = result.intervals().set_index("feature")
        is_held = (intervals["low"] <= truth) & (truth <= intervals["high"])
        rows.append(pd.DataFrame({"held": is_held, "width": intervals["high"] - intervals["low"]}))
    found = pd.concat(rows).groupby(level=0).mean()
    return found.assign(truth=truth, simulation=simulation, remover=remover)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_tables", type=int, nargs="?", default=200)
    parser.add_argument("removers", nargs="*", default=["linear", "transport"])
    chosen = parser.parse_args()
    frames = []
    for remover in chosen.removers:
        for simulation in SIMULATIONS:
            frames.append(coverage(simulation, remover, chosen.n_tables))
            print(frames[-1].round(3).to_string(), flush=True)
        mine = pd.concat(frames)
        mine = mine[mine["remover"] == remover]
        related = np.abs(mine["truth"]) > 0.01
        held = {"all": mine["held"], "related": mine["held"][related]}
        print(remover, {name: round(found.mean(), 3) for name, found in held.items()}, flush=True)


if __name__ == "__main__":
    main()
