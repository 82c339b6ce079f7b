"""Repeated runs on the breast-cancer genes, and how they are drawn."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import umfi
from reproduction.session import Methods, Session, run_iterations, ultra_marginal

KNOWN_GENES = umfi.datasets.ASSOCIATED_GENES
N_PATIENTS = 500
# What the authors' scripts do otherwise, noted at every figure that it bears on.
PATIENTS = "The file has 572 patients, the text says 571."
FINISHING_ORDER = (
    "The authors' script collects what its workers return in the order in which they finish, so "
    "that an importance may stand beside the wrong gene in some of its runs."
)
SHARED_FOREST = (
    "Ablation grows a forest on all genes for each of them; the authors' has one for all of them "
    "in a run, whose noise is then in all importances of the run."
)
OWN_CELLS = (
    "Conditional permutation follows permimp's cells, on our own forests; the authors took "
    "randomForest."
)
CONTRIBUTION = "marginal contribution"
# As the authors measure classes.
ACCURACY = umfi.ForestPower(measure="accuracy")
REMOVERS = ("linear", "transport")
PAPER_REMOVERS: Methods = {f"{remover}, paper": ultra_marginal(remover) for remover in REMOVERS}
MAIN_METHODS: Methods = {
    **PAPER_REMOVERS,
    **{
        f"{remover}, matched": ultra_marginal(remover, "matched", power=ACCURACY)
        for remover in REMOVERS
    },
    CONTRIBUTION: {"method": "marginal_contribution", "max_context": 2, "power": ACCURACY},
}
# The paper discusses these.
PAPERS = (*PAPER_REMOVERS, CONTRIBUTION)
OTHER_METHODS: Methods = {
    "ablation": {"method": "ablation", "protocol": "paper"},
    "permutation": {"method": "permutation"},
    "conditional permutation": {"method": "conditional_permutation"},
}


def run_genes(
    session: Session, methods: Methods, n_iterations: Mapping[str, int], *, permuted: bool
) -> pd.DataFrame:
    """Return importances: ``method, iteration, feature, importance``.

    Each iteration draws 500 patients; forty genes are permuted once for all, as by the authors.
    """
    X, y = _load_genes(session, permuted=permuted)
    return run_iterations(
        session, X, y, methods, n_iterations, rows_name="patients", n_rows=N_PATIENTS
    )


def _load_genes(
    session: Session, *, permuted: bool, number: int = 0
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the genes, and with ``permuted`` one of many permutations of forty of them."""
    if not permuted:
        return umfi.datasets.load_brca()
    seed = session.seed_of("permutation of genes", number)
    return umfi.datasets.load_brca(permuted=True, random_state=seed)


def run_tests(session: Session, n_tables: int) -> pd.DataFrame:
    """Return which genes a permutation test calls related: ``iteration, feature, related``.

    Each table has all patients and a permutation of its own.
    """
    settings = {"method": "ultra_marginal", "protocol": "matched", "test": "permutation"}
    rows = []
    for iteration in session.track(range(n_tables), "permutation test", n_parts=4):
        X, y = _load_genes(session, permuted=True, number=iteration)
        related = session.run(X, y, settings, "test", iteration, read=_is_related)
        rows += [(iteration, gene, value > 0.0) for gene, value in related.items()]
    return pd.DataFrame(rows, columns=["iteration", "feature", "related"])


def _is_related(result: umfi.ImportanceResult) -> dict[str, float]:
    related = set(result.related())
    return {gene: float(gene in related) for gene in result.importances.index}


def run_forests(session: Session, *, permuted: bool, n_iterations: int = 10) -> pd.DataFrame:
    """Return the accuracies of forests on all genes and all patients: ``iteration, accuracy``."""
    X, y = _load_genes(session, permuted=permuted)
    rows = []
    for iteration in range(n_iterations):
        seed = session.seed_of("accuracy", iteration, permuted)
        accuracy = umfi.predictive_power(X, y, power=ACCURACY, random_state=seed)
        rows.append((iteration, accuracy))
    return pd.DataFrame(rows, columns=["iteration", "accuracy"])


def wide(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return importances with a row per iteration and a column per gene."""
    own = table[table["method"] == method]
    order = list(dict.fromkeys(own["feature"]))
    return own.pivot_table(index="iteration", columns="feature", values="importance")[order]


def other_genes(table: pd.DataFrame) -> list[str]:
    """Return the forty genes that are not known to matter."""
    return [str(gene) for gene in dict.fromkeys(table["feature"]) if gene not in KNOWN_GENES]


def draw_genes(table: pd.DataFrame, *, is_one_scale: bool = False) -> Figure:
    """Draw medians with quartiles, a panel per method, the known genes in blue."""
    methods = list(dict.fromkeys(table["method"]))
    figure, axes = plt.subplots(
        len(methods), 1, figsize=(11, 2.6 * len(methods)), layout="constrained", squeeze=False,
        sharey=is_one_scale,
    )  # fmt: skip
    for ax, method in zip(axes[:, 0], methods, strict=True):
        own = wide(table, method)
        low, middle, high = own.quantile([0.25, 0.5, 0.75]).to_numpy()
        order = np.argsort(-middle, kind="stable")
        names = own.columns[order]
        is_known = names.isin(KNOWN_GENES)
        positions = np.arange(len(order))
        errors = np.clip([middle - low, high - middle], 0.0, None)[:, order]
        for chosen, colour, label in (
            (is_known, "#0072B2", "known to be associated"),
            (~is_known, "0.7", "others"),
        ):
            ax.bar(
                positions[chosen], middle[order][chosen], color=colour, yerr=errors[:, chosen],
                ecolor="#D55E00", label=label,
            )  # fmt: skip
        ax.set_xticks(positions, names, rotation=90, fontsize=7)
        ax.set_xlim(-0.6, len(order) - 0.4)
        ax.axhline(0.0, color="0.4", linewidth=0.8)
        ax.set_title(f"{method} ({len(own)} iterations)", loc="left", fontsize=10)
        ax.set_ylabel("median importance")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure
