"""Figure 10: the permuted genes with ablation and the permutation methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim
from umfi.experiments.genes import OTHER_METHODS, claim_rate, draw_genes, rates, run_genes
from umfi.experiments.workshop import Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Breast cancer, permuted genes, other methods"
CLAIM = (
    "Ablation finds eight of the ten genes and nothing else, permutation all ten with a true "
    "negative rate of 0.725, conditional permutation all ten among permuted ones."
)
DIFFERENCES = (
    "The file has 572 patients, the text says 571.",
    "Conditional permutation follows permimp's cells, on our own forests.",
)


def measure(workshop: Workshop) -> Tables:
    """Return importances over iterations, and how many genes are told right."""
    n_iterations = dict.fromkeys(OTHER_METHODS, workshop.choose(quick=20, full=200))
    n_iterations["conditional permutation"] = workshop.choose(quick=5, full=200)
    table = run_genes(workshop, OTHER_METHODS, n_iterations, permuted=True)
    return {"importances": table, "rates": rates(table)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on importances."""
    table = tables["importances"]
    return [
        claim_rate(table, "ablation", "TPR", least=0.7, most=0.9, paper="8 of 10"),
        claim_rate(table, "ablation", "TNR", least=1.0, paper="1"),
        claim_rate(table, "permutation", "TPR", least=1.0, paper="1"),
        claim_rate(table, "permutation", "TNR", least=0.6, most=0.85, paper="0.725"),
        claim_rate(table, "conditional permutation", "TPR", least=1.0, paper="1"),
    ]


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
