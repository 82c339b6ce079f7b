"""Repeated runs on the breast-cancer genes: medians, and which genes are given any importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import umfi
from umfi.experiments.claims import Claim, claim_of_mean, claim_of_rows
from umfi.experiments.iterations import run_iterations
from umfi.experiments.workshop import Methods, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CONTRIBUTION",
    "KNOWN_GENES",
    "KNOWN_SPREAD",
    "MAIN_METHODS",
    "NOT_ABOVE_ZERO",
    "OTHER_METHODS",
    "PAPERS",
    "SPREAD",
    "claim_accuracy",
    "claim_agreement",
    "claim_chance",
    "claim_lead",
    "claim_more_spread",
    "claim_order",
    "claim_place",
    "claim_rate",
    "draw_genes",
    "other_genes",
    "rates",
    "run_forests",
    "run_genes",
    "run_tests",
    "wide",
]

KNOWN_GENES = umfi.datasets.ASSOCIATED_GENES
N_PATIENTS = 500
# What the authors' scripts do otherwise, said of every figure that it bears on.
FINISHING_ORDER = (
    "The authors' script collects what its workers return in the order in which they finish, so "
    "that an importance may stand beside the wrong gene in some of its runs."
)
SHARED_FOREST = (
    "Ablation grows a forest on all genes for each of them; the authors' has one for all of them "
    "in a run, whose noise all importances of the run share."
)
NOT_ABOVE_ZERO = "genes not above zero"
SPREAD, KNOWN_SPREAD = "SIQR", "SIQR of the known genes"
RATES = (SPREAD, KNOWN_SPREAD, "TPR", "TNR", "OA", NOT_ABOVE_ZERO)
CONTRIBUTION = "marginal contribution"
# As the authors measure classes.
ACCURACY = umfi.ForestPower(measure="accuracy")
_MATCHED = {"method": "ultra_marginal", "protocol": "matched", "power": ACCURACY}
MAIN_METHODS: Methods = {
    "linear, paper": {"method": "ultra_marginal", "remover": "linear", "protocol": "paper"},
    "transport, paper": {"method": "ultra_marginal", "remover": "transport", "protocol": "paper"},
    "linear, matched": {**_MATCHED, "remover": "linear"},
    "transport, matched": {**_MATCHED, "remover": "transport"},
    CONTRIBUTION: {"method": "marginal_contribution", "max_context": 2, "power": ACCURACY},
}
# Of these the paper speaks.
PAPERS = ("linear, paper", "transport, paper", CONTRIBUTION)
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

    Each iteration draws 500 patients; forty genes are permuted once for all, as by the authors.

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
    X, y = load_genes(workshop, permuted=permuted)
    return run_iterations(
        workshop, X, y, methods, n_iterations, rows_name="patients", n_rows=N_PATIENTS
    )


def load_genes(
    workshop: Workshop, *, permuted: bool, number: int = 0
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the genes, and with ``permuted`` one of many permutations of forty of them."""
    if not permuted:
        return umfi.datasets.load_brca()
    seed = workshop.seed_of("permutation of genes", number)
    return umfi.datasets.load_brca(permuted=True, random_state=seed)


def run_tests(workshop: Workshop, n_tables: int) -> pd.DataFrame:
    """Return which genes a permutation test calls related: ``iteration, feature, related``.

    Each table has all patients and a permutation of its own.
    """
    rows = []
    for iteration in workshop.track(range(n_tables), "permutation test", n_parts=4):
        X, y = load_genes(workshop, permuted=True, number=iteration)
        related = workshop.run(
            "ultra_marginal",
            X,
            y,
            "test",
            iteration,
            read=_is_related,
            protocol="matched",
            test="permutation",
        )
        rows += [(iteration, gene, value > 0.0) for gene, value in related.items()]
    return pd.DataFrame(rows, columns=["iteration", "feature", "related"])


def _is_related(result: umfi.ImportanceResult) -> dict[str, float]:
    related = set(result.related())
    return {gene: float(gene in related) for gene in result.importances.index}


def run_forests(workshop: Workshop, *, permuted: bool, n_iterations: int = 10) -> pd.DataFrame:
    """Return the accuracies of forests on all genes and all patients: ``iteration, accuracy``."""
    X, y = load_genes(workshop, permuted=permuted)
    rows = []
    for iteration in range(n_iterations):
        seed = workshop.seed_of("accuracy", iteration, permuted)
        accuracy = umfi.predictive_power(X, y, power=ACCURACY, random_state=seed)
        rows.append((iteration, accuracy))
    return pd.DataFrame(rows, columns=["iteration", "accuracy"])


def wide(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return a row an iteration and a column a gene."""
    own = table[table["method"] == method]
    order = list(dict.fromkeys(own["feature"]))
    return own.pivot_table(index="iteration", columns="feature", values="importance")[order]


def other_genes(table: pd.DataFrame) -> list[str]:
    """Return the forty genes that are not known to matter."""
    return [str(gene) for gene in dict.fromkeys(table["feature"]) if gene not in KNOWN_GENES]


def _rate(rows: NDArray[np.float64], is_known: NDArray[np.bool_], rate: str) -> float:
    """Return a rate of importances, shape (n_iterations, n_genes).

    A gene is found if its median is above zero. The standardised interquartile range is the mean
    range over the mean median (section 4.2).
    """
    if rate in (SPREAD, KNOWN_SPREAD):
        chosen = rows if rate == SPREAD else rows[:, is_known]
        low, middle, high = np.quantile(chosen, [0.25, 0.5, 0.75], axis=0)
        return float((high - low).mean() / middle.mean())
    is_found = np.median(rows, axis=0) > 0.0
    if rate == "TPR":
        return float(is_found[is_known].mean())
    if rate == "TNR":
        return float((~is_found[~is_known]).mean())
    if rate == "OA":
        return float((is_found == is_known).mean())
    if rate == NOT_ABOVE_ZERO:
        return float((~is_found).sum())
    raise ValueError(rate)


def rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row a method: how many iterations, and the rates."""
    rows = []
    for method in dict.fromkeys(table["method"]):
        own = wide(table, method)
        is_known = own.columns.isin(KNOWN_GENES)
        found = {rate: _rate(own.to_numpy(), is_known, rate) for rate in RATES}
        rows.append({"method": method, "iterations": len(own), **found})
    return pd.DataFrame(rows)


def claim_rate(table: pd.DataFrame, method: str, rate: str, **bounds: Any) -> Claim:
    """Return the claim on a rate, with the interval of a bootstrap over iterations.

    How many medians are above zero depends on the number of iterations, so these rates have
    the interval of as many other ones.
    """
    own = wide(table, method)
    is_known = own.columns.isin(KNOWN_GENES)
    limits = (0.0, np.inf) if rate in (SPREAD, KNOWN_SPREAD, NOT_ABOVE_ZERO) else (0.0, 1.0)
    return claim_of_rows(
        f"{method}: {rate}",
        own.to_numpy(),
        lambda rows: _rate(rows, is_known, rate),
        limits=limits,
        is_of_so_many_runs=rate not in (SPREAD, KNOWN_SPREAD),
        **bounds,
    )


def claim_chance(table: pd.DataFrame, method: str) -> Claim:
    """Return our claim that permuted genes are above zero in less than half of the runs.

    The median of a gene of which this is true is zero in the end. The mean over genes needs far
    fewer runs than medians, but says nothing of any one of them.
    """
    own = wide(table, method)
    is_known = own.columns.isin(KNOWN_GENES)
    return claim_of_rows(
        f"{method}: share of runs in which a permuted gene is above zero, mean over genes",
        own.to_numpy()[:, ~is_known],
        lambda rows: float((rows > 0.0).mean()),
        limits=(0.0, 1.0),
        most=0.5,
        is_strict=True,
    )


def claim_more_spread(table: pd.DataFrame, method: str, other: str, **bounds: Any) -> Claim:
    """Return the claim on how many times the SIQR of one method is that of another."""
    both, is_known = _common(table, method, other)

    def ratio(rows: NDArray[np.float64]) -> float:
        first, second = (_rate(part, is_known, SPREAD) for part in np.hsplit(rows, 2))
        return first / second

    return claim_of_rows(
        f"{method}: its SIQR is so many times that of {other}",
        both,
        ratio,
        limits=(0.0, np.inf),
        **bounds,
    )


def _common(
    table: pd.DataFrame, one: str, other: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the iterations that two methods share, side by side, and which genes are known."""
    first, second = wide(table, one), wide(table, other)
    shared = first.index.intersection(second.index)
    both = np.hstack([first.loc[shared], second.loc[shared, first.columns]])
    return both, np.asarray(first.columns.isin(KNOWN_GENES))


def claim_lead(
    table: pd.DataFrame,
    method: str,
    words: str,
    above: Sequence[str],
    below: Sequence[str] | None = None,
    **bounds: Any,
) -> Claim:
    """Return the claim that the median of each of some genes is above that of each of others.

    The pair that decides is found on all runs, and its difference has the interval.

    Parameters
    ----------
    table : DataFrame
        Of :func:`run_genes`.
    method, words : str
    above, below : sequence of str
        Names of genes; without ``below`` all others.
    **bounds
        Of :class:`Claim`.
    """
    own = wide(table, method)
    medians = own.median()
    lower = [str(gene) for gene in own if gene not in above] if below is None else list(below)
    last, first = medians[list(above)].idxmin(), medians[lower].idxmax()
    return claim_of_rows(
        f"{method}: {words} ({last} less {first}, medians)",
        own[[last, first]].to_numpy(),
        lambda rows: float(np.subtract(*np.median(rows, axis=0))),
        **({"least": 0.0, "is_strict": True} | bounds),
    )


def claim_order(table: pd.DataFrame, methods: Sequence[str]) -> list[Claim]:
    """Return the claims that BCL11A and SLC22A5 come first, and TEX14 last of the ten."""
    known = [gene for gene in KNOWN_GENES if gene != "TEX14"]
    first = ("BCL11A", "SLC22A5")
    claims = []
    for method in methods:
        claims += [
            claim_lead(table, method, "BCL11A and SLC22A5 first", first, paper="first"),
            claim_lead(table, method, "TEX14 last of the ten", known, ["TEX14"], paper="last"),
        ]
    return claims


def claim_agreement(table: pd.DataFrame, one: str, other: str, **bounds: Any) -> Claim:
    """Return the claim that two methods put the ten known genes in a similar order."""
    from scipy.stats import rankdata

    both, is_known = _common(table, one, other)

    def agreement(rows: NDArray[np.float64]) -> float:
        """Return the rank correlation of the medians."""
        medians = [np.median(part[:, is_known], axis=0) for part in np.hsplit(rows, 2)]
        return float(np.corrcoef(rankdata(medians, axis=1))[0, 1])

    return claim_of_rows(
        f"order of the ten genes, {one} and {other} (rank correlation)",
        both,
        agreement,
        limits=(-1.0, 1.0),
        is_of_so_many_runs=True,
        **bounds,
    )


def claim_place(
    table: pd.DataFrame,
    method: str,
    genes: Sequence[str],
    among: Sequence[str],
    words: str,
    **bounds: Any,
) -> Claim:
    """Return the claim on the place of a gene's median among others, 1 for the largest.

    Parameters
    ----------
    table : DataFrame
        Of :func:`run_genes`.
    method : str
    genes : sequence of str
        Of several the mean place.
    among : sequence of str
        Whose places are counted, these genes with them.
    words : str
        What these are called.
    **bounds
        Of :class:`Claim`.
    """
    chosen = np.array([gene in genes for gene in among])

    def place(rows: NDArray[np.float64]) -> float:
        medians = np.median(rows, axis=0)
        return float((medians > medians[chosen, None]).sum(axis=1).mean() + 1.0)

    kind = "place" if len(genes) == 1 else "mean place"
    return claim_of_rows(
        f"{method}: {kind} of {', '.join(genes)} among the {words}",
        wide(table, method)[list(among)].to_numpy(),
        place,
        limits=(1.0, float(len(among))),
        is_of_so_many_runs=True,
        **bounds,
    )


def claim_accuracy(forests: pd.DataFrame, paper: float) -> Claim:
    """Return the claim on the accuracy of forests."""
    return claim_of_mean(
        "accuracy of forests on all genes",
        forests["accuracy"],
        least=paper - 0.02,
        most=paper + 0.02,
        paper=f"{paper:g}",
    )


def draw_genes(table: pd.DataFrame, *, is_one_scale: bool = False) -> Figure:
    """Draw medians with quartiles, a panel a method, the known genes in blue."""
    import matplotlib.pyplot as plt

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
        places = np.arange(len(order))
        errors = np.clip([middle - low, high - middle], 0.0, None)[:, order]
        for chosen, colour, label in (
            (is_known, "#0072B2", "known to be associated"),
            (~is_known, "0.7", "others"),
        ):
            ax.bar(
                places[chosen], middle[order][chosen], color=colour, yerr=errors[:, chosen],
                ecolor="#D55E00", label=label,
            )  # fmt: skip
        ax.set_xticks(places, names, rotation=90, fontsize=7)
        ax.set_xlim(-0.6, len(order) - 0.4)
        ax.axhline(0.0, color="0.4", linewidth=0.8)
        ax.set_title(f"{method} ({len(own)} iterations)", loc="left", fontsize=10)
        ax.set_ylabel("median importance")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure
