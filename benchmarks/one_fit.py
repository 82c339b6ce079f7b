"""The choices behind one fit: donors, copies, trees, the statistic of the test and its tail.

``python benchmarks/one_fit.py importance`` puts importances of one fit with no, one, two and three
copies beside those of refitting, on subsamples of BRCA and on the simulations: mean and standard
deviation of unrelated and related features. ``test`` puts statistics, donors, copies and trees
beside each other on weak signals: how often a feature is found at 0.05, 0.01 and 0.001, and the
milliseconds of a feature. ``tail`` counts how often p-values of unrelated columns of every kind
fall below these levels, by the power that gains are taken to. BRCA is read from ``$UMFI_DATA``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import umfi
from umfi import inference
from umfi.data.columns import Columns
from umfi.data.frames import read_columns
from umfi.data.reading import read_table
from umfi.data.target import Target, read_target
from umfi.inference.sequential import SETTLED_P_VALUE
from umfi.power import Averages, ForestPower, predicting
from umfi.power.measures import score_rows
from umfi.removal import find_remover

LEVELS = (0.05, 0.01, 0.001, 0.0001)
GAIN_POWERS = (1.0, 0.7, 0.5)
N_COPIES = 199
# Candidates of a table that stand for the feature, one after the other.
N_STANDING = 6
WEAK = ("blood_relation", "correlated_interactions", "nonlinear_interactions")


def average(
    columns: Columns,
    target: Target,
    feature: int,
    remover: str,
    n_copies: int,
    seed: tuple[int, ...],
    *,
    power: ForestPower | None = None,
    n_donors: int = 8,
    is_test: bool = False,
) -> Averages:
    """Return one fit on S, a feature and copies of it."""
    rng = np.random.default_rng([*seed, feature])
    own = columns.select([feature])
    copies = [own.take_rows(rng.permutation(columns.n_rows)) for _ in range(n_copies)]
    context = find_remover(remover).remove(
        columns.without(feature), [own, *copies], protocol="one-fit", rng=rng
    )
    context = context.select(np.flatnonzero(~context.is_constant()))
    predicting.N_DONORS = predicting.N_TEST_DONORS = n_donors
    return (power or ForestPower()).average_out(
        context, [own, *copies], target, np.random.SeedSequence(seed), is_test=is_test
    )


def importance(found: Averages, target: Target, measure: str) -> float:
    """Return what the feature adds, beside its copies if it has any."""
    without, *of_copies = (
        score_rows(measure, found.without(place), target).score
        for place in range(len(found.changes))
    )
    score_with = np.mean(of_copies) if of_copies else score_rows(measure, found.known, target).score
    return float(score_with - without)


def statistics(found: Averages, target: Target) -> dict[str, NDArray[np.float64]]:
    """Return what a test could compare, for each candidate."""
    truth = (
        np.eye(len(target.classes))[target.labels]
        if target.classes
        else target.standardise(target.values)[:, np.newaxis]
    )
    unit = 1.0 if target.classes else target.largest_deviation
    rows = np.flatnonzero(found.known.is_given())
    known = found.known.values.reshape(target.n_rows, -1)[rows]
    known = known if target.classes else target.standardise(known)
    changes = found.changes.reshape(len(found.changes), target.n_rows, -1)[:, rows] / unit
    left = truth[rows] - known - changes
    gain = -np.mean(np.sum(changes * left, axis=2), axis=1)
    powers = {f"gain to the power of {power}": draw_in(gain, power) for power in GAIN_POWERS}
    size = np.mean(np.sum(changes**2, axis=2), axis=1)
    return {
        "loss": 2.0 * gain - size,
        **powers,
        "correlation": np.divide(gain, np.sqrt(size), out=np.zeros_like(gain), where=size > 0),
    }


def draw_in(gains: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    return np.sign(gains) * np.abs(gains) ** power


def sequential_p_value(batches: Sequence[NDArray[np.float64]]) -> float:
    """Return the p-value of a feature, whose statistic comes first in the first batch.

    Batch after batch, until it is decided.
    """
    own, nulls = float(batches[0][0]), []
    for batch in batches:
        nulls.append(batch[1:])
        if inference.is_settled(own, nulls, SETTLED_P_VALUE):
            break
    return inference.permutation_test(own, nulls).p_value


def compare_importances(n_tables: int) -> None:
    X, y = umfi.datasets.load_brca(permuted=True, random_state=11)
    genes = [list(X).index(gene) for gene in umfi.datasets.ASSOCIATED_GENES]
    others = [place for place in range(X.shape[1]) if place not in genes]
    for remover, n_copies in product(("linear", "transport"), (0, 1, 2, 3)):
        rows = []
        for seed in range(n_tables):
            chosen = np.sort(np.random.default_rng(seed).choice(len(X), 500, replace=False))
            columns, target, _ = read_table(X.iloc[chosen], y.iloc[chosen])
            rows.append(
                [
                    importance(
                        average(columns, target, gene, remover, n_copies, (seed,)), target, "brier"
                    )
                    for gene in range(columns.n_columns)
                ]
            )
        found = np.array(rows)
        print(
            f"BRCA, {remover}, {n_copies} copies: unrelated {found[:, others].mean():.4f} ± "
            f"{found[:, others].std():.4f}, related {found[:, genes].mean():.4f} (quadratic score)",
            flush=True,
        )
    for simulation, remover, n_copies in product(
        umfi.datasets.SIMULATIONS, ("linear", "transport"), (0, 1, 2, 3)
    ):
        rows = []
        for seed in range(n_tables):
            X, y = umfi.datasets.simulate(simulation, n=1000, random_state=70 + seed)
            columns, target, _ = read_table(X, y)
            rows.append(
                [
                    importance(
                        average(columns, target, place, remover, n_copies, (seed,)), target, "r2"
                    )
                    for place in range(4)
                ]
            )
        means, spreads = np.mean(rows, axis=0).round(4), np.std(rows, axis=0).round(4)
        print(f"{simulation}, {remover}, {n_copies} copies: {means} ± {spreads}", flush=True)


def weak_signals(n_tables: int) -> Iterator[tuple[str, Columns, Target, int]]:
    """Yield tables of 200 rows whose feature x3 is hard to find."""
    for simulation, seed in product(WEAK, range(n_tables)):
        X, y = umfi.datasets.simulate(simulation, n=200, random_state=333 + seed)
        y = y + 1.5 * y.std() * np.random.default_rng(seed).normal(size=200)
        columns, target, _ = read_table(X, y)
        yield simulation, columns, target, 2


def compare_tests(n_tables: int) -> None:
    standard = {"n_copies": 12, "n_donors": 4, "power": ForestPower()}
    for changed in (
        {},
        {"n_donors": 1},
        {"n_donors": 16},
        {"n_copies": 9},
        {"power": ForestPower(n_trees=300)},
        {"power": ForestPower(mtry=7)},
        {"power": ForestPower(min_node_rows=20)},
    ):
        settings = standard | changed
        rows, start = [], time.perf_counter()
        for number, (simulation, columns, target, place) in enumerate(weak_signals(n_tables)):
            batches = [
                statistics(
                    average(
                        columns,
                        target,
                        place,
                        "linear",
                        seed=(number, batch),
                        is_test=True,
                        **settings,
                    ),
                    target,
                )
                for batch in range(N_COPIES // settings["n_copies"])
            ]
            for name in batches[0]:
                p_value = sequential_p_value([batch[name] for batch in batches])
                rows.append((simulation, name, *(p_value <= level for level in LEVELS)))
        seconds = (time.perf_counter() - start) / (n_tables * len(WEAK))
        table = pd.DataFrame(rows, columns=["simulation", "statistic", *LEVELS])
        print(f"{changed or 'as it is'}, {1e3 * seconds:.0f} ms per feature with all its batches")
        print(table.groupby(["simulation", "statistic"]).mean().round(2).to_string(), flush=True)


def unrelated_column(kind: str, n_rows: int, rng: np.random.Generator) -> pd.Series:
    return {
        "continuous": lambda: pd.Series(rng.normal(size=n_rows)),
        "ties": lambda: pd.Series(np.round(1.5 * rng.normal(size=n_rows))),
        "boolean": lambda: pd.Series(rng.random(n_rows) < 0.3),
        "rare": lambda: pd.Series(rng.random(n_rows) < 0.08),
        "5 levels": lambda: pd.Series(rng.integers(0, 5, n_rows)).map("level {}".format),
        "50 levels": lambda: pd.Series(rng.integers(0, 50, n_rows)).map("level {}".format),
    }[kind]()


def count_tails(n_tables: int) -> None:
    kinds = ("continuous", "ties", "boolean", "rare", "5 levels", "50 levels")
    rows = []
    for kind, n_rows, n_classes, n_others in product(kinds, (100, 300, 1000), (0, 2, 4), (3, 30)):
        for seed in range(n_tables):
            rng = np.random.default_rng([seed, n_rows, n_classes, n_others])
            others = rng.normal(size=(n_rows, n_others))
            signal = others[:, 0] + others[:, 1] * others[:, 2] + rng.normal(size=n_rows)
            if n_classes:
                edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
                target = read_target(np.array(list("abcd"))[np.digitize(signal, edges)])
            else:
                target = read_target(signal)
            own = read_columns(pd.DataFrame({"own": unrelated_column(kind, n_rows, rng)}))
            n_candidates = int(np.clip(n_rows // 15, 4, 20))
            batches = []
            for batch in range(N_COPIES // (n_candidates - 1)):
                copies = [own.take_rows(rng.permutation(n_rows)) for _ in range(n_candidates)]
                found = ForestPower().average_out(
                    read_columns(others),
                    copies,
                    target,
                    np.random.SeedSequence([seed, batch]),
                    is_test=True,
                )
                batches.append(statistics(found, target))
            # All are exchangeable, so that each can stand for the feature.
            for place, name in product(range(min(n_candidates, N_STANDING)), batches[0]):
                first, *later = (batch[name] for batch in batches)
                first = np.r_[first[place], np.delete(first, place)]
                p_value = sequential_p_value([first, *later])
                rows.append((name, kind, n_rows, n_classes, *(p_value <= at for at in LEVELS)))
        print(kind, n_rows, n_classes, n_others, "done", flush=True)
    table = pd.DataFrame(rows, columns=["statistic", "kind", "rows", "classes", *LEVELS])
    for by in ("kind", "rows", "classes"):
        print(table.groupby(["statistic", by])[list(LEVELS)].mean().round(4).to_string())
    groups = table.groupby("statistic")[list(LEVELS)]
    print(groups.mean().round(5).assign(p_values=groups.size()).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["importance", "test", "tail"])
    parser.add_argument("n_tables", type=int, nargs="?", default=12)
    chosen = parser.parse_args()
    {"importance": compare_importances, "test": compare_tests, "tail": count_tails}[chosen.what](
        chosen.n_tables
    )


if __name__ == "__main__":
    main()
