"""What removers leave of a feature, and what they keep of everything else.

``python benchmarks/removal.py camels`` (or ``brca``) removes each feature by each remover and lets
examiners that no remover knows look for it: a random forest and gradient boosting of scikit-learn,
cross-validated. Retention is the out-of-bag score of extremely randomised trees on what is left
together with the feature, as a proportion of that of all features. ``networks`` does so for samples
of published Bayesian networks of discrete variables (``pip install --no-deps pgmpy``), beside
permuted copies, and counts the features that a test flags. ``ranking`` prints the importances of
CAMELS with each remover, ``diagnose`` what the library itself says of them, with the picture
``benchmarks/leakage.png``, and ``cost`` the time of removal and of whole runs at BRCA's shape,
taking turns. Both tables are read from ``$UMFI_DATA``; ``--removers`` names others.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from networks import load_network
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

import umfi
from umfi.data.frames import read_columns
from umfi.removal import find_remover

HERE = Path(__file__).parent
REMOVERS = ["linear", "transport", "joint", "chained"]
N_RETENTION_FORESTS = 5
# Judges look at so many features of a network at least.
N_JUDGED = 9
# Copies that each examiner looks for as well.
N_JUDGED_COPIES = 3
NETWORKS = {
    "alarm": ("HR", "TPR", "INTUBATION"),
    "insurance": ("Accident",),
    "hepar2": ("carcinoma",),
    "win95pts": ("PrtMem",),
    "hailfinder": ("R5Fcst",),
}


def cross_validated(examiner: object, S: np.ndarray, x: np.ndarray) -> float:
    """Return R² of predictions of rows that were left out."""
    folds = KFold(5, shuffle=True, random_state=1)
    errors = x - cross_val_predict(examiner, S, x, cv=folds)
    return float(1.0 - np.mean(errors**2) / np.var(x))


def examine(name: str, removers: list[str]) -> pd.DataFrame:
    X, y = umfi.datasets.load_camels() if name == "camels" else umfi.datasets.load_brca()
    examiners = {
        "forest": RandomForestRegressor(100, max_features=1 / 3, random_state=0),
        "extra-trees": ExtraTreesRegressor(
            100, max_features=1 / 3, min_samples_leaf=5, random_state=0
        ),
        "boosting": GradientBoostingRegressor(subsample=0.5, max_features=1 / 3, random_state=0),
    }
    rng = np.random.default_rng(0)

    def retained(table: pd.DataFrame) -> float:
        measure = None if name == "camels" else "accuracy"
        power = umfi.ForestPower(n_trees=200, split="random", measure=measure)
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
                for of, one in examiners.items()
            }
            copies = [rng.permutation(X[feature].to_numpy()) for _ in range(N_JUDGED_COPIES)]
            of_copies = [
                np.mean([cross_validated(one, S.to_numpy(), copy) for copy in copies])
                for one in examiners.values()
            ]
            worst = max(found.values())
            excess = max(np.subtract(list(found.values()), of_copies))
            kept = retained(S.assign(**{feature: X[feature]}))
            rows.append(
                {"remover": remover, "feature": feature, **found}
                | {"worst": worst, "excess": excess, "kept": kept}
            )
        of_remover = pd.DataFrame([row for row in rows if row["remover"] == remover])
        print(
            f"{name}, {remover}: forest mean {of_remover['forest'].mean():.3f} "
            f"max {of_remover['forest'].max():.3f}, "
            f"boosting mean {of_remover['boosting'].mean():.3f} "
            f"max {of_remover['boosting'].max():.3f}, worst of three examiners "
            f"max {of_remover['worst'].max():.3f}, excess over copies "
            f"mean {of_remover['excess'].mean():.3f} max {of_remover['excess'].max():.3f}, "
            f"score kept {of_remover['kept'].mean():.4f} of {whole:.4f}, "
            f"retention {of_remover['kept'].mean() / whole:.3f}",
            flush=True,
        )
    return pd.DataFrame(rows)


def class_r2(examiner: object, S: np.ndarray, codes: np.ndarray) -> float:
    """Return R² of the class indicators of rows that were left out."""
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    probabilities = cross_val_predict(examiner, S, codes, cv=folds, method="predict_proba")
    truth = np.eye(probabilities.shape[1])[codes]
    return float(
        1.0 - np.sum((truth - probabilities) ** 2) / np.sum((truth - truth.mean(axis=0)) ** 2)
    )


def examine_networks(removers: list[str], n_rows: int = 1000) -> None:
    """Print flags of a test, and what examiners find beyond permuted copies."""
    examiners = {
        "forest": RandomForestClassifier(100, random_state=0),
        "extra-trees": ExtraTreesClassifier(100, min_samples_leaf=5, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    }
    for name, targets in NETWORKS.items():
        for target in targets:
            X = load_network(name).sample(n_rows, seed=0)
            y = X.pop(target)
            X = X.loc[:, [len(set(X[name])) > 1 for name in X]]
            for remover in removers:
                result = umfi.ultra_marginal(
                    X, y, remover=remover, test="permutation", random_state=0, progress=False
                )
                rng = np.random.default_rng(0)
                rows = []
                for feature in list(X)[:: max(1, X.shape[1] // N_JUDGED)]:
                    codes = np.unique(X[feature], return_inverse=True)[1]
                    if np.bincount(codes).min() < 10:
                        continue
                    S = umfi.remove_dependence(X, feature, remover=remover, random_state=0)
                    numbers = np.stack([pd.factorize(S[name], sort=True)[0] for name in S], axis=1)
                    copies = [rng.permutation(codes) for _ in range(N_JUDGED_COPIES)]
                    rows.append(
                        {
                            of: class_r2(one, numbers, codes)
                            - np.mean([class_r2(one, numbers, copy) for copy in copies])
                            for of, one in examiners.items()
                        }
                    )
                excess = pd.DataFrame(rows)
                means = ", ".join(f"{of} {mean:.3f}" for of, mean in excess.mean().items())
                print(
                    f"{name} {target}, {remover}: {result.tests['leaks'].sum()} of {X.shape[1]} "
                    f"flagged, leakage mean {result.tests['leakage'].mean():.3f} max "
                    f"{result.tests['leakage'].max():.3f}; mean excess over copies: {means}, all "
                    f"{excess.to_numpy().mean():.3f}, largest {excess.to_numpy().max():.3f}; found "
                    f"{len(result.related())}",
                    flush=True,
                )


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
    found.plot().figure.savefig(HERE / "leakage.png", dpi=110)
    return found


def measure_cost(n_rounds: int = 7) -> None:
    X, y = umfi.datasets.load_brca()
    columns = read_columns(X)
    _ = columns.ranks, columns.has_heavy_ties  # Known to all removers alike.
    seconds: dict[str, list[float]] = {}
    for _ in range(n_rounds):
        for name in ("transport", "joint"):
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
        gentle, joint = (np.array(seconds[f"{what}, {of}"]) for of in ("transport", "joint"))
        ratio = np.quantile(joint / gentle, [0.25, 0.5, 0.75])
        print(
            f"{what}: transport {1e3 * np.median(gentle) / n_features:.1f} ms per feature, joint "
            f"{1e3 * np.median(joint) / n_features:.1f}; ratio {ratio[1]:.2f} ({ratio[0]:.2f} to "
            f"{ratio[2]:.2f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", choices=["camels", "brca", "networks", "ranking", "diagnose", "cost"]
    )
    parser.add_argument("--removers", nargs="+", default=REMOVERS)
    chosen = parser.parse_args()
    if chosen.what == "cost":
        measure_cost()
    elif chosen.what == "networks":
        examine_networks(chosen.removers)
    elif chosen.what == "diagnose":
        print(diagnose_camels(chosen.removers))
    elif chosen.what == "ranking":
        print(rank_camels(chosen.removers).to_string())
    else:
        print(examine(chosen.what, chosen.removers).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
