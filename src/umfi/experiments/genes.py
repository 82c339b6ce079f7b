"""Repeated runs on the breast-cancer genes: medians, and which genes are given any importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import umfi
from umfi.experiments.claims import Claim, claim_of_mean, claim_of_rows
from umfi.experiments.workshop import Methods, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "KNOWN_GENES",
    "OTHER_METHODS",
    "claim_accuracy",
    "claim_order",
    "claim_rate",
    "draw_genes",
    "rates",
    "run_forests",
    "run_genes",
    "run_tests",
    "wide",
]

KNOWN_GENES = (
    "BCL11A", "EZH2", "IGF1R", "LFNG", "BRCA1", "SLC22A5", "CDK6", "BRCA2", "TEX14", "CCND1",
)  # fmt: skip
N_PATIENTS = 500
OTHER_METHODS: Methods = {
    "ablation": {"method": "ablation", "protocol": "paper"},
    "permutation": {"method": "permutation"},
    "conditional permutation": {"method": "conditional_permutation"},
}


def run_genes(
    workshop: Workshop,
    methods: Mapping[str, Mapping[str, Any]],
    n_iterations: Mapping[str, int],
    *,
    permuted: bool,
) -> pd.DataFrame:
    """Return importances: ``method, iteration, feature, importance``.

    Each iteration draws 500 patients and, where genes are permuted, permutes forty of them anew.

    Parameters
    ----------
    workshop : Workshop
    methods : dict
        From the name that is shown to ``method`` and its settings.
    n_iterations : dict
        By the same names.
    permuted : bool
        Whether the forty genes that are not known to matter are permuted.
    """
    rows = []
    for number, (name, settings) in enumerate(methods.items()):
        own = dict(settings)
        method = str(own.pop("method"))
        steps = range(n_iterations[name])
        for iteration in workshop.track(steps, name, n_parts=len(methods) - number):
            X, y = _draw_patients(workshop, iteration, permuted=permuted)
            importances = workshop.run(method, X, y, name, iteration, **own).importances
            rows += [(name, iteration, gene, value) for gene, value in importances.items()]
    return pd.DataFrame(rows, columns=["method", "iteration", "feature", "importance"])


def _draw_patients(
    workshop: Workshop, iteration: int, *, permuted: bool
) -> tuple[pd.DataFrame, pd.Series]:
    seed = workshop.seed_of("patients", iteration, permuted)
    X, y = umfi.datasets.load_brca(permuted=permuted, random_state=seed if permuted else None)
    rows = np.sort(np.random.default_rng(seed).choice(len(X), N_PATIENTS, replace=False))
    return X.iloc[rows], y.iloc[rows]


def run_tests(workshop: Workshop, n_tables: int) -> pd.DataFrame:
    """Return which genes a permutation test calls related: ``iteration, feature, related``."""
    rows = []
    for iteration in workshop.track(range(n_tables), "permutation test"):
        seed = workshop.seed_of("tested", iteration)
        X, y = umfi.datasets.load_brca(permuted=True, random_state=seed)
        result = workshop.run("ultra_marginal", X, y, "test", iteration, test="permutation")
        related = set(result.related())
        rows += [(iteration, gene, gene in related) for gene in result.importances.index]
    return pd.DataFrame(rows, columns=["iteration", "feature", "related"])


def run_forests(workshop: Workshop, *, permuted: bool, n_iterations: int = 10) -> pd.DataFrame:
    """Return the accuracies of forests on all genes and all patients: ``iteration, accuracy``."""
    rows = []
    for iteration in range(n_iterations):
        seed = workshop.seed_of("accuracy", iteration, permuted)
        X, y = umfi.datasets.load_brca(permuted=permuted, random_state=seed if permuted else None)
        rows.append((iteration, umfi.predictive_power(X, y, random_state=seed)))
    return pd.DataFrame(rows, columns=["iteration", "accuracy"])


def wide(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return a row an iteration and a column a gene."""
    own = table[table["method"] == method]
    order = list(dict.fromkeys(own["feature"]))
    return own.pivot_table(index="iteration", columns="feature", values="importance")[order]


def _found(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which genes have a median above zero."""
    return np.median(rows, axis=0) > 0.0


def rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row a method: ``method, iterations, SIQR, TPR, TNR, OA, zero``.

    The standardised interquartile range is the mean range over the mean median (section 4.2).
    """
    rows = []
    for method in dict.fromkeys(table["method"]):
        own = wide(table, method)
        is_known = own.columns.isin(KNOWN_GENES)
        values = own.to_numpy()
        is_found = _found(values)
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        rows.append(
            {
                "method": method,
                "iterations": len(own),
                "SIQR": (high - low).mean() / middle.mean(),
                "TPR": is_found[is_known].mean(),
                "TNR": (~is_found[~is_known]).mean(),
                "OA": (is_found == is_known).mean(),
                "zero": int((~is_found).sum()),
            }
        )
    return pd.DataFrame(rows)


def claim_rate(table: pd.DataFrame, method: str, rate: str, **bounds: Any) -> Claim:
    """Return the claim on a rate of :func:`rates`, with the interval of a bootstrap."""
    own = wide(table, method)
    is_known = own.columns.isin(KNOWN_GENES)

    def statistic(rows: NDArray[np.float64]) -> float:
        is_found = _found(rows)
        if rate == "SIQR":
            low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
            return float((high - low).mean() / middle.mean())
        if rate == "TPR":
            return float(is_found[is_known].mean())
        if rate == "TNR":
            return float((~is_found[~is_known]).mean())
        return float((~is_found).sum())

    return claim_of_rows(f"{method}: {rate}", own.to_numpy(), statistic, **bounds)


def claim_order(table: pd.DataFrame, methods: Sequence[str]) -> list[Claim]:
    """Return the claims that BCL11A and SLC22A5 come first, and TEX14 last of the ten."""
    claims = []
    for method in methods:
        own = wide(table, method)
        names = list(own.columns)
        first = [names.index("BCL11A"), names.index("SLC22A5")]
        others = [at for at in range(len(names)) if at not in first]
        last = names.index("TEX14")
        known = [names.index(name) for name in KNOWN_GENES if name != "TEX14"]
        claims += [
            claim_of_rows(
                f"{method}: BCL11A and SLC22A5 first (by this much in the median)",
                own.to_numpy(),
                _between(first, others),
                least=0.0,
                paper="first",
            ),
            claim_of_rows(
                f"{method}: TEX14 last of the ten (by this much in the median)",
                own.to_numpy(),
                _between(known, [last]),
                least=0.0,
                paper="last",
            ),
        ]
    return claims


def _between(above: Sequence[int], below: Sequence[int]) -> Any:
    """Return the statistic of how far the least of some columns lies above the most of others."""

    def statistic(rows: NDArray[np.float64]) -> float:
        medians = np.median(rows, axis=0)
        return float(medians[list(above)].min() - medians[list(below)].max())

    return statistic


def claim_accuracy(forests: pd.DataFrame, paper: float) -> Claim:
    """Return the claim on the accuracy of forests."""
    return claim_of_mean(
        "accuracy of forests on all genes",
        forests["accuracy"],
        least=paper - 0.02,
        most=paper + 0.02,
        paper=f"{paper:g}",
    )


def draw_genes(table: pd.DataFrame) -> Figure:
    """Draw medians with quartiles, a panel a method, the known genes in blue."""
    import matplotlib.pyplot as plt

    methods = list(dict.fromkeys(table["method"]))
    figure, axes = plt.subplots(
        len(methods), 1, figsize=(11, 2.6 * len(methods)), layout="constrained", squeeze=False
    )
    for ax, method in zip(axes[:, 0], methods, strict=True):
        own = wide(table, method)
        low, middle, high = own.quantile([0.25, 0.5, 0.75]).to_numpy()
        order = np.argsort(-middle, kind="stable")
        names = own.columns[order]
        colours = ["#0072B2" if name in KNOWN_GENES else "0.7" for name in names]
        errors = np.clip([middle - low, high - middle], 0.0, None)[:, order]
        ax.bar(range(len(order)), middle[order], color=colours, yerr=errors, ecolor="#D55E00")
        ax.set_xticks(range(len(order)), names, rotation=90, fontsize=7)
        ax.set_xlim(-0.6, len(order) - 0.4)
        ax.axhline(0.0, color="0.4", linewidth=0.8)
        ax.set_title(f"{method} ({len(own)} iterations)", loc="left", fontsize=10)
        ax.set_ylabel("median importance")
        ax.spines[["top", "right"]].set_visible(False)
    return figure
