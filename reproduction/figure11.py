"""Figure 11: the genes as they are, with marginal contribution and ultra-marginal importance."""

from __future__ import annotations

from matplotlib.figure import Figure

from reproduction.claims import Claim
from reproduction.gene_claims import (
    NOT_ABOVE_ZERO,
    claim_accuracy,
    claim_agreement,
    claim_lead,
    claim_order,
    claim_place,
    claim_rate,
    rates,
)
from reproduction.genes import (
    CONTRIBUTION,
    FINISHING_ORDER,
    MAIN_METHODS,
    PAPERS,
    PATIENTS,
    draw_genes,
    other_genes,
    run_forests,
    run_genes,
)
from reproduction.session import Session, Tables

TITLE = "Breast cancer, all genes as they are"
CLAIM = (
    "The order of the known genes is much the same for all methods; marginal contribution gives "
    "every gene some importance, ultra-marginal importance gives ten to fourteen none."
)
DIFFERENCES = f"""\
- {PATIENTS}
- Marginal contribution counts scores below the majority class as the majority class (0.53); the
  authors' floor is 0.5 whatever the classes.
- {FINISHING_ORDER}
"""
N_AT_ZERO = {"linear, paper": 14, "transport, paper": 10, CONTRIBUTION: 0}
SHOWN = ("rates",)


def measure(session: Session) -> Tables:
    """Return importances over iterations, and accuracies."""
    n_iterations = dict.fromkeys(MAIN_METHODS, session.choose(quick=20, full=100))
    n_iterations[CONTRIBUTION] = session.choose(quick=1, full=100)
    forests = run_forests(session, permuted=False)
    table = run_genes(session, MAIN_METHODS, n_iterations, permuted=False)
    return {"importances": table, "rates": rates(table), "forests": forests}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on importances and accuracies."""
    table = tables["importances"]
    claims = [
        claim_rate(
            table, method, NOT_ABOVE_ZERO, least=max(0, number - 5),
            most=number + 5 if number else 0, paper=str(number),
        )
        for method, number in N_AT_ZERO.items()
    ]  # fmt: skip
    claims += claim_order(table, PAPERS)
    others = other_genes(table)
    for method in PAPERS:
        claims += [
            claim_lead(table, method, "BCL11A first of all", ["BCL11A"], paper="first"),
            claim_place(
                table, method, ["CST9L"], others, "forty other genes",
                most=5.0, paper="among the first",
            ),
        ]  # fmt: skip
    claims += [
        claim_agreement(table, CONTRIBUTION, method, least=0.7, paper="fairly similar")
        for method in PAPERS
        if method != CONTRIBUTION
    ]
    claims.append(claim_accuracy(tables["forests"], 0.79))
    return claims


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
