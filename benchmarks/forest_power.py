"""Measure the time of one out-of-bag score, beside scikit-learn's forest, on one thread.

Rounds in which both take turns; the ratio is the median over rounds, with its quartiles.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import umfi

N_ROUNDS = 9
N_TREES = 100
# Rows, columns, classes (0 is regression).
SHAPES = ((572, 50, 4), (1000, 4, 0), (5000, 20, 0))


def make_table(n_rows: int, n_columns: int, n_classes: int) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng([n_rows, n_columns])
    X = rng.normal(size=(n_rows, n_columns))
    signal = X[:, :4].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n_rows)
    if n_classes == 0:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.digitize(signal, edges).astype(str)


def scikit_learn_score(X: NDArray, y: NDArray, n_classes: int, seed: int) -> float:
    settings = {
        "n_estimators": N_TREES,
        "max_features": int(np.sqrt(X.shape[1])),
        "oob_score": True,
        "random_state": seed,
        "n_jobs": 1,
    }
    if n_classes:
        return float(RandomForestClassifier(**settings).fit(X, y).oob_score_)
    return float(RandomForestRegressor(min_samples_split=6, **settings).fit(X, y).oob_score_)


def seconds(call: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    score = call()
    return time.perf_counter() - start, score


def main() -> None:
    print(f"out-of-bag score, {N_TREES} trees, one thread, milliseconds (median of {N_ROUNDS})")
    print(f"{'shape':>16} {'umfi':>8} {'sklearn':>8}  ratio [quartiles]   scores")
    power = umfi.ForestPower(n_trees=N_TREES)
    for n_rows, n_columns, n_classes in SHAPES:
        X, y = make_table(n_rows, n_columns, n_classes)
        umfi.predictive_power(X, y, power=umfi.ForestPower(n_trees=1))
        rounds = []
        for seed in range(N_ROUNDS):
            ours = seconds(
                lambda X=X, y=y, seed=seed: umfi.predictive_power(
                    X, y, power=power, random_state=seed
                )
            )
            theirs = seconds(
                lambda X=X, y=y, seed=seed, k=n_classes: scikit_learn_score(X, y, k, seed)
            )
            rounds.append((*ours, *theirs))
        our_time, our_score, their_time, their_score = np.array(rounds).T
        low, ratio, high = np.quantile(their_time / our_time, [0.25, 0.5, 0.75])
        shape = f"{n_rows} x {n_columns}" + (f", {n_classes}" if n_classes else "")
        print(
            f"{shape:>16} {1e3 * np.median(our_time):8.1f} {1e3 * np.median(their_time):8.1f}  "
            f"{ratio:5.1f} [{low:.1f}, {high:.1f}]  {our_score.mean():.3f} {their_score.mean():.3f}"
        )


if __name__ == "__main__":
    main()
