"""Are p-values of unrelated features what they say? Counts, and a picture.

``python benchmarks/calibration.py`` tests tables in which some features are unrelated to the
response, with both removers, and writes every p-value to ``benchmarks/p_values.csv``, the
proportions at or below 0.05 and 0.01 to the screen, and the picture to
``benchmarks/calibration.png``.
``--tables 0.1`` runs a tenth of it, ``--only mixed --removers joint chained`` one kind of
table with other removers. BRCA is read from ``$UMFI_DATA``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from brca import REMOVERS, TRUE_GENES, decide

import umfi
from umfi.removal import MAX_LEAKAGE

HERE = Path(__file__).parent
# Name, rows, number of tables.
TABLES = [
    ("noise", 100, 60),
    ("noise", 300, 60),
    ("noise", 1000, 20),
    ("two classes", 100, 60),
    ("two classes", 300, 40),
    ("four classes", 300, 60),
    ("four classes", 1000, 20),
    ("correlation", 300, 100),
    ("blood_relation", 300, 100),
    ("correlation", 1000, 40),
    ("blood_relation", 1000, 40),
    ("brca", 572, 10),
    ("kinds", 100, 60),
    ("kinds", 300, 60),
    ("mixed", 400, 40),
]
N_CLASSES = {"noise": 0, "two classes": 2, "four classes": 4}
UNRELATED = {
    "correlation": ["x4"],
    "blood_relation": ["x1", "x2"],
    "mixed": ["soil", "rain", "grade", "flag", "site"],
}
LEVELS = (0.05, 0.01, 0.001)


def make_table(name: str, n_rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return columns, response and the unrelated features."""
    if name in N_CLASSES:
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(n_rows, 8)), columns=list("abcdefgh"))
        y = X["a"] + X["b"] * X["c"] + rng.normal(size=n_rows)
        if N_CLASSES[name]:
            y = pd.qcut(y, N_CLASSES[name], labels=list("wxyz")[: N_CLASSES[name]])
        return X, y, list("defgh")
    if name == "kinds":
        return *make_kinds(n_rows, np.random.default_rng(seed)), list(KINDS)
    if name == "mixed":
        return *make_mixed_table(n_rows, np.random.default_rng(seed)), UNRELATED[name]
    X, y = umfi.datasets.simulate(name, n=n_rows, random_state=seed)
    return X, y, UNRELATED[name]


KINDS = ("ties", "boolean", "rare", "five", "fifty")


def make_kinds(n_rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
    """Return unrelated columns with ties and levels beside related ones."""
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    y = X["a"] + X["b"] * X["c"] + rng.normal(size=n_rows)
    X["ties"] = np.round(1.5 * rng.normal(size=n_rows))
    X["boolean"] = rng.random(n_rows) < 0.3
    X["rare"] = rng.random(n_rows) < 0.1
    X["five"] = rng.choice(list("pqrst"), n_rows)
    X["fifty"] = [f"level {number}" for number in rng.integers(0, 50, n_rows)]
    return X, y


def make_mixed_table(n_rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
    """Return columns of every kind: five unrelated to the response, and colliders of most of them.

    A hidden cause acts on the response and on each collider, so the unrelated ones, which act on
    the colliders too, help to predict the response once these are known.
    """
    cause = rng.normal(size=n_rows)
    soil = rng.choice(4, n_rows, p=[0.4, 0.3, 0.2, 0.1])
    rain = np.maximum(rng.normal(size=n_rows), 0.0)
    grade = rng.integers(0, 5, n_rows)
    flag = rng.random(n_rows) < 0.3
    X = pd.DataFrame(
        {
            "soil": np.array(["clay", "sand", "silt", "peat"])[soil],
            "rain": rain,
            "grade": pd.Categorical.from_codes(grade, list("ABCDE"), ordered=True),
            "flag": flag,
            "site": [f"site {number}" for number in rng.integers(0, 50, n_rows)],
            "moisture": np.array([2.0, -1.0, 0.0, 1.0])[soil] + cause,
            "runoff": 2.0 * rain + cause,
            "quality": np.round(grade - 2.0 + 2.0 * flag + cause),
            "gauge": cause + rng.exponential(size=n_rows),
        }
    )
    return X, pd.Series(cause + rng.uniform(-0.5, 0.5, n_rows))


def p_values(name: str, n_rows: int, n_tables: int, remover: str) -> Iterator[pd.DataFrame]:
    for seed in range(n_tables):
        if name == "brca":
            tests = decide(seed, remover)
            tests = tests[~tests["feature"].isin(TRUE_GENES)]
        else:
            X, y, unrelated = make_table(name, n_rows, 1000 + seed)
            result = umfi.ultra_marginal(
                X, y, remover=remover, test="permutation", random_state=seed, progress=False
            )
            tests = result.tests[result.tests["feature"].isin(unrelated)]
        yield tests.assign(table=name, n_rows=n_rows, seed=seed, remover=remover)


def is_trusted(found: pd.DataFrame) -> pd.Series:
    """Return where removal does not leak: flagged neither in this table nor on average.

    Leakage of one table is a noisy figure; that of a simulated feature is known better from all.
    """
    case = found["feature"].where(found["table"].isin(UNRELATED), "any")
    mean = found.groupby(["remover", "table", "n_rows", case])["leakage"].transform("mean")
    return ~found["leaks"] & (mean <= MAX_LEAKAGE)


def proportions(found: pd.DataFrame) -> pd.DataFrame:
    """Return the proportion of p-values at or below each level, by remover and table."""
    trusted = found[is_trusted(found)]
    together = trusted.assign(table="all together", n_rows=0)
    groups = pd.concat([trusted, together]).groupby(["remover", "table", "n_rows"], sort=False)
    columns = {
        f"p <= {level}": groups["p_value"].agg(lambda p, at=level: (p <= at).mean())
        for level in LEVELS
    }
    return pd.DataFrame({"p-values": groups.size(), **columns}).round(4).reset_index()


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw the proportion of p-values at or below every level, which should be the level."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for axis, top in zip(axes, (1.0, 0.1), strict=True):
        for remover, style in zip(found["remover"].unique(), ("-", "--", ":"), strict=False):
            mine = found[(found["remover"] == remover) & is_trusted(found)]
            levels = np.sort(mine["p_value"].to_numpy())
            reached = np.arange(1, len(levels) + 1) / len(levels)
            label = f"{remover}, {len(levels):,} p-values"
            axis.step(levels, reached, style, where="post", label=label)
        axis.plot([0, top], [0, top], color="grey", linewidth=0.8, label="as it should be")
        axis.set(
            xlim=(0, top),
            ylim=(0, top),
            xlabel="level",
            ylabel="proportion of p-values at or below",
        )
    axes[0].legend(frameon=False)
    figure.suptitle("P-values of unrelated features")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=float, default=1.0, help="fraction of the tables to run")
    parser.add_argument("--only", default="", help="run tables of this name alone")
    parser.add_argument("--removers", nargs="+", default=[*REMOVERS, "joint"])
    chosen = parser.parse_args()
    frames = []
    for remover in chosen.removers:
        for name, n_rows, n_tables in TABLES:
            if chosen.only in name:
                n_run = max(1, round(n_tables * chosen.tables))
                frames.extend(p_values(name, n_rows, n_run, remover))
                print(f"{remover}, {name}, {n_rows} rows: done", flush=True)
    found = pd.concat(frames, ignore_index=True)
    print(proportions(found).to_string(index=False))
    print("Not counted, because removal leaks:")
    leaking = found[~is_trusted(found)].groupby(["remover", "table", "n_rows", "feature"])
    p_values_there = leaking["p_value"]
    counts = {
        f"p <= {level}": p_values_there.agg(lambda p, at=level: (p <= at).mean())
        for level in LEVELS
    }
    print(pd.DataFrame({"p-values": leaking.size(), **counts}).round(3).to_string())
    if not chosen.only and chosen.tables >= 1.0:
        found.to_csv(HERE / "p_values.csv", index=False)
        draw(found, HERE / "calibration.png")


if __name__ == "__main__":
    main()
