"""Which of BRCA's genes are found, how fast, and how much importances vary.

``python benchmarks/brca.py decisions`` tests ten tables in which forty of the fifty genes are
permuted; ``sequential`` compares a test that stops early with one that does not; ``spread`` is
the paper's robustness figure (table 1): the standardised interquartile range over 200 runs on 500
rows each; ``speed`` puts whole runs with p-values beside those that refit. BRCA is read from
``$UMFI_DATA``.
"""

from __future__ import annotations

import argparse
import time

import pandas as pd

import umfi

REMOVERS = ("linear", "transport")
TRUE_GENES = set(umfi.datasets.ASSOCIATED_GENES)


def decide(seed: int, remover: str) -> pd.DataFrame:
    """Return the tests of a table whose forty other genes are permuted; print what was found."""
    X, y = umfi.datasets.load_brca(permuted=True, random_state=seed)
    start = time.perf_counter()
    result = umfi.ultra_marginal(
        X, y, remover=remover, test="permutation", random_state=seed, progress=False
    )
    seconds = time.perf_counter() - start
    found = set(result.related())
    is_true = result.tests["feature"].isin(TRUE_GENES)
    spent = result.tests["n_permutations"][~is_true].mean()
    print(
        f"brca {seed}, {remover}: {len(found & TRUE_GENES)} of 10 true, {len(found - TRUE_GENES)} "
        f"of 40 others; {spent:.1f} permutations an unrelated gene; {seconds:.0f} s",
        flush=True,
    )
    return result.tests


def decisions(n_tables: int = 10) -> None:
    """Print what is found at a false discovery rate of 5 %."""
    for remover in (*REMOVERS, "joint"):
        for seed in range(n_tables):
            decide(seed, remover)


def sequential(n_tables: int = 2) -> None:
    """Print permutations spent and decisions, with and without stopping early."""
    for remover in REMOVERS:
        for seed in range(n_tables):
            X, y = umfi.datasets.load_brca(permuted=True, random_state=seed)
            related = {}
            for test in ("permutation", "full-permutation"):
                result = umfi.ultra_marginal(
                    X, y, remover=remover, test=test, random_state=seed, progress=False
                )
                is_unrelated = ~result.tests["feature"].isin(TRUE_GENES)
                spent = result.tests["n_permutations"][is_unrelated].mean()
                related[test] = set(result.related())
                print(
                    remover, seed, test, f"{spent:.1f} permutations an unrelated gene", flush=True
                )
            print("decided differently:", set.symmetric_difference(*related.values()) or "none")


def standardised_range(importances: pd.DataFrame) -> float:
    """Return the mean interquartile range of the genes over the mean of their medians."""
    low, middle, high = (importances.quantile(q) for q in (0.25, 0.5, 0.75))
    return float((high - low).mean() / middle.mean())


def spread(n_runs: int = 200, n_trees: int = 100) -> None:
    """Print the standardised interquartile range by protocol and measure."""
    X, y = umfi.datasets.load_brca(permuted=True, random_state=0)
    for remover in REMOVERS:
        for protocol, measure in (
            ("paper", "accuracy"),
            ("matched", "accuracy"),
            ("matched", "brier"),
            ("one-fit", "accuracy"),
            ("one-fit", "brier"),
            ("one-fit", "r2"),
        ):
            result = umfi.ultra_marginal(
                X,
                y,
                remover=remover,
                protocol=protocol,
                power=umfi.ForestPower(n_trees=n_trees, measure=measure),
                repeats=n_runs,
                subsample=500,
                random_state=0,
                progress=False,
            )
            runs = result.scores.pivot_table("importance", index="repeat", columns="feature")
            clipped = standardised_range(runs.clip(lower=0.0))
            true = runs[sorted(TRUE_GENES)]
            others = runs.drop(columns=sorted(TRUE_GENES))
            print(
                f"{remover}, {protocol}, {measure}, {n_trees} trees, {n_runs} runs: "
                f"{standardised_range(runs):.1%}, clipped at 0 as in the paper {clipped:.1%}; "
                f"unrelated genes {others.to_numpy().mean():.4f} ± {others.to_numpy().std():.4f}, "
                f"true ones {true.to_numpy().mean():.4f}",
                flush=True,
            )


def speed(n_tables: int = 3) -> None:
    """Print the seconds of a whole run with p-values, by protocol, in turns."""
    for remover in (*REMOVERS, "joint"):
        seconds: dict[str, list[float]] = {"one-fit": [], "matched": []}
        for seed in range(n_tables):
            X, y = umfi.datasets.load_brca(permuted=True, random_state=seed)
            for protocol, found in seconds.items():
                start = time.perf_counter()
                umfi.ultra_marginal(
                    X,
                    y,
                    remover=remover,
                    protocol=protocol,
                    test="permutation",
                    random_state=seed,
                    progress=False,
                )
                found.append(time.perf_counter() - start)
        one_fit, matched = (min(found) for found in seconds.values())
        print(
            f"{remover}: one fit {one_fit:.1f} s, matched {matched:.1f} s, "
            f"{matched / one_fit:.1f} times",
            flush=True,
        )


PARTS = {"decisions": decisions, "sequential": sequential, "spread": spread, "speed": speed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("numbers", type=int, nargs="*", help="how many tables or runs, and trees")
    chosen = parser.parse_args()
    PARTS[chosen.part](*chosen.numbers)


if __name__ == "__main__":
    main()
