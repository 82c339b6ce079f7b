"""What removers leave of a feature, and what they keep of everything else.

``python benchmarks/removal.py camels`` (or ``brca``) removes each feature by each remover and lets
judges that no remover knows look for it: a random forest and gradient boosting of scikit-learn,
cross-validated. Retention is the out-of-bag score of extremely randomised trees on what is left
together with the feature, as a share of that of all features. ``ranking`` prints the importances
of CAMELS with each remover, ``diagnose`` what the library itself says of them, with the picture
``docs/leakage.png``, and ``cost`` the time of removal and of whole runs at BRCA's shape, taking
turns. Both tables are read from ``$UMFI_DATA``; ``--removers`` names others.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import KFold, cross_val_predict

import umfi
from umfi.frames import read_columns
from umfi.removal import find_remover

HERE = Path(__file__).parent
REMOVERS = ["linear", "transport", "sliced", "chained", "auto"]
N_RETENTION_FORESTS = 5


def cross_validated(judge: object, S: np.ndarray, x: np.ndarray) -> float:
    """Return R² of predictions of rows that were left out."""
    folds = KFold(5, shuffle=True, random_state=1)
    errors = x - cross_val_predict(judge, S, x, cv=folds)
    return float(1.0 - np.mean(errors**2) / np.var(x))


def judge(name: str, removers: list[str]) -> pd.DataFrame:
    X, y = umfi.datasets.load_camels() if name == "camels" else umfi.datasets.load_brca()
    judges = {
        "forest": RandomForestRegressor(100, max_features=1 / 3, random_state=0),
        "boosting": GradientBoostingRegressor(subsample=0.5, max_features=1 / 3, random_state=0),
    }

    def retained(table: pd.DataFrame) -> float:
        power = umfi.ForestPower(n_trees=200, split="random")
        scores = [
            umfi.predictive_power(table, y, power=power, random_state=seed)
            for seed in range(N_RETENTION_FORESTS)
        ]
        return float(np.mean(scores))

    whole = retained(X)
    rows = []
    for remover in removers:
        for feature in X:
            S = umfi.remove_dependence(X, feature, remover=remover, random_state=0)
            S = S.loc[:, S.std() > 0.0]
            found = {
                of: cross_validated(one, S.to_numpy(), X[feature].to_numpy())
                for of, one in judges.items()
            }
            kept = retained(S.assign(**{feature: X[feature]}))
            rows.append({"remover": remover, "feature": feature, **found, "kept": kept})
        of_remover = pd.DataFrame([row for row in rows if row["remover"] == remover])
        print(
            f"{name}, {remover}: forest mean {of_remover['forest'].mean():.3f} "
            f"max {of_remover['forest'].max():.3f}, "
            f"boosting mean {of_remover['boosting'].mean():.3f} "
            f"max {of_remover['boosting'].max():.3f}, "
            f"score kept {of_remover['kept'].mean():.4f} of {whole:.4f}, "
            f"retention {of_remover['kept'].mean() / whole:.3f}",
            flush=True,
        )
    return pd.DataFrame(rows)


def rank_camels(removers: list[str]) -> pd.DataFrame:
    X, y = umfi.datasets.load_camels()
    found = {
        remover: umfi.ultra_marginal(
            X, y, remover=remover, power="extra-trees", repeats=10, random_state=0, progress=False
        ).importances
        for remover in removers
    }
    return pd.DataFrame(found).sort_values(removers[-1], ascending=False).round(3)


def diagnose_camels(removers: list[str]) -> umfi.Diagnosis:
    import matplotlib

    matplotlib.use("Agg")
    found = umfi.diagnose(
        *umfi.datasets.load_camels(), remover=removers, random_state=0, progress=False
    )
    found.plot().figure.savefig(HERE.parent / "docs" / "leakage.png", dpi=110)
    return found


def measure_cost(n_rounds: int = 7) -> None:
    X, y = umfi.datasets.load_brca()
    columns = read_columns(X)
    _ = columns.ranks, columns.has_heavy_ties  # Known to all removers alike.
    seconds: dict[str, list[float]] = {}
    for _ in range(n_rounds):
        for name in ("transport", "sliced"):
            remover = find_remover(name)
            start = time.thread_time()
            for position in range(0, columns.n_columns, 5):
                remover.remove(
                    columns.without(position),
                    [columns.select([position])],
                    protocol="matched",
                    rng=np.random.default_rng(position),
                )
            seconds.setdefault(f"removal, {name}", []).append(time.thread_time() - start)
            start = time.perf_counter()
            umfi.ultra_marginal(X, y, remover=name, random_state=0, n_jobs=1, progress=False)
            seconds.setdefault(f"whole run, {name}", []).append(time.perf_counter() - start)
    for what, n_features in (("removal", 10), ("whole run", 50)):
        gentle, joint = (np.array(seconds[f"{what}, {of}"]) for of in ("transport", "sliced"))
        ratio = np.quantile(joint / gentle, [0.25, 0.5, 0.75])
        print(
            f"{what}: transport {1e3 * np.median(gentle) / n_features:.1f} ms a feature, sliced "
            f"{1e3 * np.median(joint) / n_features:.1f}; ratio {ratio[1]:.2f} ({ratio[0]:.2f} to "
            f"{ratio[2]:.2f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["camels", "brca", "ranking", "diagnose", "cost"])
    parser.add_argument("--removers", nargs="+", default=REMOVERS)
    chosen = parser.parse_args()
    if chosen.what == "cost":
        measure_cost()
    elif chosen.what == "diagnose":
        print(diagnose_camels(chosen.removers))
    elif chosen.what == "ranking":
        print(rank_camels(chosen.removers).to_string())
    else:
        print(judge(chosen.what, chosen.removers).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
