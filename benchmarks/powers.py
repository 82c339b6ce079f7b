"""What each power sees and what it costs: known information, axioms, time, the simulations.

By hand, about twenty minutes: ``python benchmarks/powers.py`` for all parts, or the name of one:
``information``, ``axioms``, ``cost``, ``simulations``. Prints tables in Markdown, and
``information`` draws ``docs/powers.png``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from scipy import integrate, stats

import umfi
from umfi.data.reading import read_table
from umfi.power import POWERS, find_power

mpl.use("Agg")

N_ROWS = 1000
N_TABLES = 5
# These score on a scale of their own; all others are asked for information in nats.
OWN_SCALE = ("foci", "qmd")


def print_table(table: pd.DataFrame) -> None:
    """Print a table as Markdown."""
    cells = [list(map(str, table.columns))] + [
        [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.itertuples(index=False)
    ]
    for number, row in enumerate(cells):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("|" + "---|" * len(row))
    print(flush=True)


def make_power(name: str, task: str):
    """Return a power that measures information where it can."""
    power = find_power(name, task)
    return replace(power, measure="information") if hasattr(power, "measure") else power


def score(name: str, X: pd.DataFrame, y, seed: int) -> float:
    columns, target, _ = read_table(X, y)
    power = make_power(name, target.task)
    try:
        return power.score(columns, target, np.random.SeedSequence(seed))
    except umfi.InputError:  # QMD has no room for many columns.
        return np.nan


# --- systems whose information is known ------------------------------------------------------


def gaussian(n_columns: int, n_informative: int, explained: float):
    def make(rng, n):
        X = rng.normal(size=(n, n_columns))
        signal = X[:, :n_informative].sum(axis=1) / np.sqrt(n_informative)
        noise = np.sqrt(1.0 / explained - 1.0)
        return X, signal + noise * rng.normal(size=n)

    return make, -0.5 * np.log(1.0 - explained)


def wave():
    """Y = sin(3 x) + noise, x uniform: information by quadrature."""
    noise = 0.5

    def density(y):
        grid = np.linspace(-1.0, 1.0, 2001)
        return np.trapezoid(stats.norm.pdf(y, np.sin(3.0 * grid), noise), grid) / 2.0

    entropy = integrate.quad(lambda y: -density(y) * np.log(density(y)), -3.5, 3.5, limit=200)[0]
    truth = entropy - 0.5 * np.log(2.0 * np.pi * np.e * noise**2)

    def make(rng, n):
        x = rng.uniform(-1.0, 1.0, n)
        return x[:, np.newaxis], np.sin(3.0 * x) + noise * rng.normal(size=n)

    return make, truth


def product():
    """Y = x1 x2 + noise: nothing alone. Information by quadrature over x1 x2."""
    noise = 0.5
    sample = np.random.default_rng(0).normal(size=(2, 4000)).prod(axis=0)
    grid = np.linspace(-9.0, 9.0, 3601)
    density = stats.norm.pdf(grid[:, np.newaxis], sample, noise).mean(axis=1)
    entropy = -np.trapezoid(density * np.log(np.maximum(density, 1e-300)), grid)

    def make(rng, n):
        X = rng.normal(size=(n, 2))
        return X, X.prod(axis=1) + noise * rng.normal(size=n)

    return make, entropy - 0.5 * np.log(2.0 * np.pi * np.e * noise**2)


def xor(flips: float):
    def make(rng, n):
        coins = rng.integers(0, 2, (n, 2))
        is_flipped = rng.random(n) < flips
        return coins, (coins[:, 0] != coins[:, 1]) ^ is_flipped

    entropy = -sum(p * np.log(p) for p in (flips, 1.0 - flips) if p > 0)
    return make, np.log(2.0) - entropy


def mixture(distance: float):
    """Two classes with a normal distribution each."""

    def make(rng, n):
        labels = rng.integers(0, 2, n)
        return (rng.normal(size=n) + distance * labels)[:, np.newaxis], labels.astype(bool)

    def integrand(x):
        both = [stats.norm.pdf(x), stats.norm.pdf(x, distance)]
        mean = np.mean(both)
        return sum(0.5 * p * np.log(p / mean) for p in both if p > 0)

    return make, integrate.quad(integrand, -8.0, 8.0 + distance)[0]


def levels():
    """Return a column of four levels and three classes."""
    joint = np.array([[5, 1, 1], [1, 5, 1], [1, 1, 5], [2, 2, 2]]) / 27.0
    truth = float(np.sum(joint * np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))))

    def make(rng, n):
        cells = rng.choice(12, n, p=joint.ravel())
        return pd.DataFrame({"soil": np.array(list("abcd"))[cells // 3]}), cells % 3

    return make, truth


SYSTEMS: dict[str, tuple[Callable, float]] = {
    "Gaussian, 1 column, R² 0.1": gaussian(1, 1, 0.1),
    "Gaussian, 1 column, R² 0.5": gaussian(1, 1, 0.5),
    "Gaussian, 1 column, R² 0.9": gaussian(1, 1, 0.9),
    "Gaussian, 3 columns, R² 0.5": gaussian(3, 3, 0.5),
    "Gaussian, 2 of 10 columns, R² 0.5": gaussian(10, 2, 0.5),
    "Gaussian, 10 columns, R² 0.5": gaussian(10, 10, 0.5),
    "sine of 1 column, noise": wave(),
    "product of 2 columns, noise": product(),
    "XOR of 2 coins": xor(0.0),
    "XOR of 2 coins, a tenth flipped": xor(0.1),
    "two classes, distance 1": mixture(1.0),
    "two classes, distance 3": mixture(3.0),
    "4 levels, 3 classes": levels(),
}


def make_table(system: str, seed: int, n: int = N_ROWS):
    X, y = SYSTEMS[system][0](np.random.default_rng(seed), n)
    return pd.DataFrame(X), y


def study_information() -> pd.DataFrame:
    rows = []
    for system, (_, truth) in SYSTEMS.items():
        row = {"system": system, "nats": truth}
        for name in POWERS:
            row[name] = np.mean(
                [score(name, *make_table(system, seed), seed) for seed in range(N_TABLES)]
            )
        rows.append(row)
    table = pd.DataFrame(rows).set_index("system")
    print_table(table.reset_index())
    summary = pd.DataFrame(
        {
            "mean distance from the truth, nats": {
                name: (table[name] - table["nats"]).abs().mean()
                for name in POWERS
                if name not in OWN_SCALE
            },
            "rank correlation with the truth": {
                name: table["nats"].corr(table[name], method="spearman") for name in POWERS
            },
        }
    )
    print_table(summary.rename_axis("power").reset_index())
    draw_information(table)
    return table


def draw_information(table: pd.DataFrame) -> None:
    import matplotlib.pyplot as plt

    colours = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "0.6")
    figure, ax = plt.subplots(figsize=(8.0, 4.6), layout="constrained")
    order = table["nats"].argsort()
    places = np.arange(len(table))
    ax.plot(
        table["nats"].to_numpy()[order], places, "|", color="black", markersize=16, label="truth"
    )
    for number, name in enumerate(name for name in POWERS if name not in OWN_SCALE):
        shift = (number - 2.5) * 0.1
        ax.plot(
            table[name].to_numpy()[order],
            places + shift,
            "o",
            color=colours[number],
            markersize=4.5,
            label=name,
        )
    ax.set_yticks(places, table.index[order], fontsize=8)
    ax.set_xlabel(f"information in nats, {N_ROWS} rows, mean of {N_TABLES} tables")
    ax.grid(axis="x", color="0.9")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(Path(__file__).parents[1] / "docs" / "powers.png", dpi=110)


def study_axioms() -> None:
    """Adding columns: noise, a copy, a combination; and supermodularity under independence."""
    rows = []
    for name in POWERS:
        changes: dict[str, list[float]] = {}
        for seed in range(N_TABLES):
            rng = np.random.default_rng(seed)
            base = rng.normal(size=(N_ROWS, 4))
            y = base[:, 0] + base[:, 1] + base[:, 2] + rng.normal(size=N_ROWS)
            X = pd.DataFrame(base[:, :2], columns=["a", "b"])
            added = {
                "informative column": base[:, 2],
                "noise column": base[:, 3],
                "copy": X["a"],
                "sum of both": X["a"] + X["b"],
            }
            before = score(name, X, y, seed)
            for what, column in added.items():
                after = score(name, X.assign(added=column), y, seed)
                changes.setdefault(what, []).append(after - before)
            for what, response in (
                ("supermodularity, additive", y),
                ("supermodularity, product", base[:, 0] * base[:, 1] + base[:, 2]),
            ):
                frame = pd.DataFrame(base[:, :3], columns=["x1", "x2", "s"])
                of = {
                    columns: score(name, frame[list(columns)], response, seed)
                    for columns in (("s", "x1", "x2"), ("s", "x2"), ("s", "x1"), ("s",))
                }
                gain = of["s", "x1", "x2"] - of["s", "x2"] - of["s", "x1"] + of["s",]
                changes.setdefault(what, []).append(gain)
        rows.append({"power": name} | {what: np.mean(found) for what, found in changes.items()})
    print_table(pd.DataFrame(rows))


def study_cost() -> None:
    """Seconds for one score, and how they grow."""
    rows = []
    for name in POWERS:
        row = {"power": name}
        for n, p in ((500, 10), (2000, 10), (8000, 10), (500, 50), (500, 200)):
            rng = np.random.default_rng(0)
            X = rng.normal(size=(n, p))
            y = X[:, :3].sum(axis=1) + rng.normal(size=n)
            columns, target, _ = read_table(X, y)
            power = find_power(name, "regression")
            try:
                power.score(columns, target, np.random.SeedSequence(0))  # Compiles, fills caches.
                times = []
                for seed in range(3):
                    start = time.perf_counter()
                    power.score(columns, target, np.random.SeedSequence(seed))
                    times.append(time.perf_counter() - start)
                row[f"{n} × {p}"] = f"{1e3 * min(times):.0f}"
            except umfi.InputError:
                row[f"{n} × {p}"] = "no room"
        rows.append(row)
    print("Milliseconds for one score on one core:\n")
    print_table(pd.DataFrame(rows))


FINDINGS: dict[str, Callable[[pd.Series], bool]] = {
    "nonlinear_interactions": lambda i: min(i["x1"], i["x2"]) > max(i["x3"], i["x4"]),
    "correlated_interactions": lambda i: min(i["x1"], i["x2"]) > max(i["x3"], i["x4"]),
    "correlation": lambda i: abs(i["x4"]) < 0.1 * min(i["x1"], i["x2"], i["x3"]),
    "blood_relation": lambda i: (
        max(abs(i["x1"]), abs(i["x2"])) < 0.25 * min(i["x3"], i["x4"]) and i["x4"] > i["x3"]
    ),
}


def study_simulations() -> None:
    """How often ultra-marginal importance with each power shows what the paper found."""
    rows = []
    for name in POWERS:
        row: dict[str, object] = {"power": name}
        for simulation, holds in FINDINGS.items():
            found = []
            for seed in range(N_TABLES):
                X, y = umfi.datasets.simulate(simulation, n=N_ROWS, random_state=seed)
                result = umfi.ultra_marginal(X, y, power=name, random_state=seed)
                found.append(holds(result.importances))
            row[simulation] = f"{sum(found)} of {N_TABLES}"
        rows.append(row)
    print_table(pd.DataFrame(rows))


PARTS = {
    "information": study_information,
    "axioms": study_axioms,
    "cost": study_cost,
    "simulations": study_simulations,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        start = time.perf_counter()
        print(f"## {part}\n", flush=True)
        PARTS[part]()
        print(f"({part}: {time.perf_counter() - start:.0f} s)\n", flush=True)
