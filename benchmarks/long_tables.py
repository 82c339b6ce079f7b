"""What bins and subsampled trees cost in accuracy and save in time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from cases import Case
from report import Section

import umfi
from umfi.data.frames import read_columns
from umfi.data.target import read_target
from umfi.execution import Streams
from umfi.forest import Growth, out_of_bag_totals, rank_columns
from umfi.power.forest import forest_response

N_SEEDS = 8


def bins() -> Section:
    """Return R² of forests whose columns have fewer and fewer bins."""
    case = Case(4000, 30)
    X, y = case.make()
    target = read_target(y, task="regression")
    response = forest_response(target)
    lines = ["| bins | out-of-bag R² (standard error) | ms a forest |", "|---|---|---|"]
    found = {}
    for n_bins in (4096, 1024, 256, 64):
        table = rank_columns(X, max_positions=n_bins)
        scores, times = [], []
        for seed in range(N_SEEDS):
            start = time.perf_counter()
            tally = out_of_bag_totals(
                table, response, Growth(case.mtry, 5, False), 0, 100, np.uint64(seed)
            )
            times.append(time.perf_counter() - start)
            error = response.values - tally.totals[:, 0] / np.maximum(tally.n_votes, 1)
            scores.append(1.0 - np.mean(error**2) / np.var(response.values))
        name = "exact" if n_bins >= case.n_rows else f"{n_bins:,}"
        found[name] = {"scores": scores, "seconds": times}
        spread = np.std(scores, ddof=1) / np.sqrt(N_SEEDS)
        median = 1e3 * np.median(times)
        lines.append(f"| {name} | {np.mean(scores):.4f} ({spread:.4f}) | {median:.0f} |")
    return Section(f"Bins: {case.name}", lines, found)


def subsamples() -> Section:
    """Return R² and time of forests whose trees grow on fewer and fewer rows."""
    case = Case(200_000, 20, n_trees=50, n_threads=2)
    X, y = case.make()
    columns, target = read_columns(X), read_target(y, task="regression")
    lines = ["| rows a tree | out-of-bag R² | s a forest, ranking left out |", "|---|---|---|"]
    found = {}
    warm_up = umfi.ForestPower(n_trees=1, rows_per_tree=1000)
    warm_up.score(columns, target, Streams(0).seed("bench"))
    for rows_per_tree in (200_000, 100_000, 50_000, 20_000, 5_000):
        power = umfi.ForestPower(n_trees=case.n_trees, rows_per_tree=rows_per_tree)
        start = time.perf_counter()
        score = power.score(columns, target, Streams(1).seed("bench"), n_jobs=case.n_threads)
        seconds = time.perf_counter() - start
        found[rows_per_tree] = {"score": score, "seconds": seconds}
        lines.append(f"| {rows_per_tree:,} | {score:.4f} | {seconds:.1f} |")
    return Section(f"Subsampled trees: {case.name}", lines, {str(k): v for k, v in found.items()})


def sections() -> Iterator[Section]:
    """Yield both studies."""
    yield bins()
    yield subsamples()
