"""How often 95 % intervals hold the importance they are for, and the importance of a large table.

``python benchmarks/intervals.py`` makes tables of each simulation with 200, 500 and 2,000 rows, as
regressions and with the response cut into three classes, and counts how often the interval of one
fit holds the mean importance over all tables of as many rows, which is what it is for, and the
importance in tables of 20,000 rows. Features whose importance in large tables is below 0.01 are
left out.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import umfi

N_ROWS, N_LARGE = (200, 500, 2_000), 20_000
RELATED = 0.01


def make_table(simulation: str, n_rows: int, seed: int, task: str) -> tuple[pd.DataFrame, object]:
    X, y = umfi.datasets.simulate(simulation, n=n_rows, random_state=seed)
    if task == "regression":
        return X, y
    # Fixed edges, so that every table has the same classes.
    edges = umfi.datasets.simulate(simulation, n=100_000, random_state=0)[1].quantile([0.3, 0.7])
    return X, np.array(["low", "middle", "high"])[np.digitize(y, edges)]


def run(simulation: str, n_rows: int, seed: int, task: str, remover: str) -> pd.DataFrame:
    X, y = make_table(simulation, n_rows, seed, task)
    result = umfi.ultra_marginal(X, y, remover=remover, random_state=seed, progress=False)
    return result.table[["feature", "importance", "low", "high"]]


def coverage(simulation: str, n_rows: int, n_tables: int, task: str, remover: str) -> pd.DataFrame:
    """Return a row for each feature and table: what the interval holds."""
    large = pd.concat([run(simulation, N_LARGE, seed, task, remover) for seed in range(3)])
    truth = large.groupby("feature")["importance"].mean()
    found = pd.concat(
        [run(simulation, n_rows, 10_000 + seed, task, remover) for seed in range(n_tables)]
    )
    found = found[found["feature"].map(truth) > RELATED]
    expected = {
        "of as many rows": found.groupby("feature")["importance"].transform("mean"),
        "of large tables": found["feature"].map(truth),
    }
    for name, value in expected.items():
        found[name] = (found["low"] <= value) & (value <= found["high"])
    spread = found.groupby("feature")["importance"].transform("std")
    return found.assign(
        simulation=simulation,
        rows=n_rows,
        task=task,
        remover=remover,
        width=(found["high"] - found["low"]) / (2.0 * 1.96 * spread),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_tables", type=int, nargs="?", default=60)
    parser.add_argument("--removers", nargs="+", default=["linear", "transport"])
    parser.add_argument("--rows", type=int, nargs="+", default=N_ROWS)
    chosen = parser.parse_args()
    shown = ["of as many rows", "of large tables", "width"]
    frames = []
    for remover in chosen.removers:
        for n_rows in chosen.rows:
            for task in ("regression", "classification"):
                for simulation in umfi.datasets.SIMULATIONS:
                    settings = (simulation, n_rows, chosen.n_tables, task, remover)
                    frames.append(coverage(*settings))
                    means = frames[-1].groupby("feature")[shown].mean().round(3)
                    print(settings, means.to_dict("index"), flush=True)
    found = pd.concat(frames)
    groups = found.groupby(["remover", "rows", "task"])
    print(groups[shown].mean().round(3).assign(cases=groups.size()).to_string())


if __name__ == "__main__":
    main()
