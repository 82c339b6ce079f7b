"""Figure 11: the genes as they are, with marginal contribution and ultra-marginal importance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim
from umfi.experiments.genes import (
    claim_accuracy,
    claim_order,
    claim_rate,
    draw_genes,
    rates,
    run_forests,
    run_genes,
)
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Breast cancer, all genes as they are"
CLAIM = (
    "The order of the known genes is much the same for all methods; marginal contribution gives "
    "every gene some importance, ultra-marginal importance gives ten to fourteen none."
)
DIFFERENCES = ("The file has 572 patients, the text says 571.",)

CONTRIBUTION = "marginal contribution"
METHODS: Methods = {
    "linear, paper": {"method": "ultra_marginal", "remover": "linear", "protocol": "paper"},
    "transport, paper": {"method": "ultra_marginal", "remover": "transport", "protocol": "paper"},
    "linear, matched": {"method": "ultra_marginal", "remover": "linear"},
    "transport, matched": {"method": "ultra_marginal", "remover": "transport"},
    CONTRIBUTION: {"method": "marginal_contribution", "max_context": 2},
}


def measure(workshop: Workshop) -> Tables:
    """Return importances over iterations, and accuracies."""
    n_iterations = dict.fromkeys(METHODS, workshop.choose(quick=20, full=100))
    n_iterations[CONTRIBUTION] = workshop.choose(quick=1, full=100)
    forests = run_forests(workshop, permuted=False)
    table = run_genes(workshop, METHODS, n_iterations, permuted=False)
    return {"importances": table, "rates": rates(table), "forests": forests}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on importances and accuracies."""
    table = tables["importances"]
    return [
        claim_rate(table, CONTRIBUTION, "genes at zero", most=0.0, paper="0"),
        claim_rate(table, "linear, paper", "genes at zero", least=9, most=19, paper="14"),
        claim_rate(table, "transport, paper", "genes at zero", least=5, most=15, paper="10"),
        *claim_order(table, [CONTRIBUTION, "linear, paper", "transport, paper"]),
        claim_accuracy(tables["forests"], 0.79),
    ]


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
