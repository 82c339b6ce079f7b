"""Which statistic finds BRCA's weakest genes soonest: measures, trees, shared or fresh seeds.

For the ten true genes among forty permuted ones: how far a gene's score is above those of its
permuted copies, in standard deviations, the smallest and the median of the genes; by what the
forest's votes are scored with, the number of trees, and whether copies grow the same trees (one
seed) or others. BRCA is read from ``$UMFI_DATA``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from brca import REMOVERS
from numpy.typing import NDArray

import umfi
from umfi.columns import Columns
from umfi.forest import out_of_bag_totals
from umfi.frames import read_columns
from umfi.power import ForestPower
from umfi.power.forest import forest_response
from umfi.removal import find_remover
from umfi.target import Target, read_target
from umfi.tasks import run_tasks

MEASURES = ("accuracy", "vote share", "log-likelihood", "quadratic score")
N_BATCHES, N_COPIES = 4, 9


def score(columns: Columns, target: Target, n_trees: int, seed: int) -> list[float]:
    """Return the four measures of one forest's votes."""
    growth = ForestPower().growth(columns.n_columns, target)
    totals, n_votes = out_of_bag_totals(
        columns.ranks, forest_response(target), growth, 0, n_trees, np.uint64(seed)
    )
    truth = np.eye(len(target.classes))[target.labels]
    shares = totals / np.maximum(n_votes, 1)[:, np.newaxis]
    right = np.sum(shares * truth, axis=1)
    n_right = np.sum(totals * truth, axis=1)
    return [
        float(np.mean(totals.argmax(axis=1) == target.labels)),
        float(np.mean(right)),
        float(np.mean(np.log((n_right + 1.0) / (n_votes + len(target.classes))))),
        1.0 - float(np.mean(np.sum((shares - truth) ** 2, axis=1))),
    ]


def distances(
    columns: Columns, target: Target, gene: str, remover: str, n_trees: int, is_shared: bool
) -> NDArray[np.float64]:
    """Return for each measure how far the gene is above its copies, shape (4,)."""
    position = columns.index(gene)
    rng = np.random.default_rng([position, n_trees])
    own, others = columns.select([position]), columns.without(position)
    gaps, variances = [], []
    for _ in range(N_BATCHES):
        rows = [rng.permutation(columns.n_rows) for _ in range(N_COPIES)]
        candidates: Sequence[Columns] = [own, *(own.take_rows(order) for order in rows)]
        context = find_remover(remover).remove(others, candidates, protocol="matched", rng=rng)
        seeds = rng.integers(2**62, size=len(candidates))
        scores = np.array(
            [
                score(context.prepend(one), target, n_trees, int(seeds[0] if is_shared else seed))
                for one, seed in zip(candidates, seeds, strict=True)
            ]
        )
        gaps.append(scores[0] - scores[1:].mean(axis=0))
        variances.append(scores[1:].var(axis=0, ddof=1))
    return np.mean(gaps, axis=0) / np.sqrt(np.mean(variances, axis=0))


def main() -> None:
    X, y = umfi.datasets.load_brca(permuted=True, random_state=0)
    columns, target = read_columns(X), read_target(y)
    for remover in REMOVERS:
        for n_trees in (100, 300):
            for is_shared in (True, False):
                start = time.perf_counter()
                settings = (remover, n_trees, is_shared)
                found = run_tasks(
                    lambda name, now=settings: distances(columns, target, str(name[0]), *now),
                    [(gene,) for gene in umfi.datasets.ASSOCIATED_GENES],
                    progress=False,
                )
                seconds = time.perf_counter() - start
                by_gene = np.sort(np.array(list(found.values())), axis=0)
                text = "; ".join(
                    f"{name} {low:.1f}, {middle:.1f}"
                    for name, low, middle in zip(
                        MEASURES, by_gene[0], np.median(by_gene, axis=0), strict=True
                    )
                )
                seeds = "shared" if is_shared else "fresh"
                print(
                    f"{remover}, {n_trees} trees, {seeds} seeds, {seconds:.0f} s: {text}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
