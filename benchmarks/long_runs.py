"""Runs that take minutes: a wide table, a long one, and very wide ones with the linear power.

``python benchmarks/long_runs.py wide``, ``long``, ``linear`` or ``linear-50000``: all features, two
threads, with ``--test`` with p-values; prints seconds and peak memory. ``--rows`` takes fewer rows.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from cases import Case
from runs import N_THREADS, correlated_table

import umfi

SHAPES = {
    "wide": (572, 4000),
    "long": (1_000_000, 20),
    "linear": (572, 20_000),
    "linear-50000": (572, 50_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=list(SHAPES))
    parser.add_argument("--remover", default="linear")
    parser.add_argument("--test", action="store_const", const="permutation")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--workers", type=int, default=N_THREADS)
    chosen = parser.parse_args()
    n_rows, n_columns = SHAPES[chosen.which]
    shape = (chosen.rows or n_rows, n_columns)
    is_linear = chosen.which.startswith("linear")
    X, y = correlated_table(*shape) if chosen.which == "wide" else Case(*shape).make()
    umfi.ultra_marginal(X[:100, :5], y[:100], test=chosen.test, random_state=0)  # Compile.
    start = time.perf_counter()
    result = umfi.ultra_marginal(
        X,
        y,
        remover=chosen.remover,
        test=chosen.test,
        power="linear" if is_linear else "forest",
        random_state=1,
        n_jobs=chosen.workers,
        progress=False,
    )
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    n_largest = min(10, shape[1])
    print(
        f"{shape[0]:,} × {shape[1]:,}, {chosen.remover}, test {chosen.test}: {seconds:,.0f} s, "
        f"peak {peak:.2f} GB; "
        f"mean importance {np.mean(result.importances):.4f}"
    )
    print(result.table.head(n_largest).to_string(index=False))


if __name__ == "__main__":
    main()
