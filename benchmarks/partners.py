"""p-values of pairs that neither share nor interact; by hand, about ten minutes.

``python benchmarks/partners.py 30`` looks at 30 tables of each kind.
"""

from __future__ import annotations

import sys

import numpy as np

import umfi

N_ROWS = 300


def make_tables(seed: int) -> dict[str, tuple]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 4))
    additive = X[:, 0] + X[:, 1] ** 2 + np.abs(X[:, 2]) + rng.normal(size=N_ROWS)
    logistic = np.where(X[:, 0] + rng.logistic(size=N_ROWS) > 0, "a", "b")
    return {"additive regression": (X, additive), "two classes, one feature": (X, logistic)}


def main(n_tables: int) -> None:
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(100, 100 + n_tables):
        for kind, (X, y) in make_tables(seed).items():
            table = umfi.partners(X, y, ["x1", "x4"], random_state=seed).table
            for effect in ("sharing", "interaction"):
                found.setdefault((kind, effect), []).extend(table[f"{effect}_p_value"])
    for (kind, effect), p_values in found.items():
        shares = [float(np.mean(np.array(p_values) <= level)) for level in (0.05, 0.01)]
        print(
            f"{kind}, {effect}: {len(p_values)} p-values, {shares[0]:.3f} at most 0.05, "
            f"{shares[1]:.3f} at most 0.01"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
