"""Figure 9: the permuted genes over thousands of iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim
from umfi.experiments.genes import claim_rate, draw_genes, rates, run_genes
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Breast cancer, permuted genes, 5,000 iterations"
CLAIM = "With enough iterations both removers tell all fifty genes right."
DIFFERENCES = ("The file has 572 patients, the text says 571.",)

METHODS: Methods = {
    "linear, paper": {"method": "ultra_marginal", "remover": "linear", "protocol": "paper"},
    "transport, paper": {"method": "ultra_marginal", "remover": "transport", "protocol": "paper"},
}


def measure(workshop: Workshop) -> Tables:
    """Return importances over iterations, and how many genes are told right."""
    n_iterations = dict.fromkeys(METHODS, workshop.choose(quick=40, full=5000))
    table = run_genes(workshop, METHODS, n_iterations, permuted=True)
    return {"importances": table, "rates": rates(table)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on importances."""
    table = tables["importances"]
    return [
        claim_rate(table, method, rate, least=1.0, paper="1")
        for method in METHODS
        for rate in ("TPR", "TNR")
    ]


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
