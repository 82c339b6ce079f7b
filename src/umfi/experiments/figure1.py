"""Figure 1: four simulations, with marginal contribution and ultra-marginal importance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim
from umfi.experiments.simulations import (
    claim_blood_relation,
    claim_correlation,
    claim_interactions,
    claim_statistic,
    draw_shares,
    run_simulations,
)
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Simulations: interactions, correlation, blood relation"
CLAIM = (
    "Ultra-marginal importance sees interactions of correlated features, gives copies their full "
    "importance and unrelated features none, where marginal contribution does not."
)
DIFFERENCES = (
    "The authors' script for the blood-relation data overwrites x2; here the equations stand.",
    "The noise of x3 in the correlation data has variance 0.01.",
    "Marginal contribution takes all subsets; a score below that of no features counts as that.",
)

PAPER = ["linear, paper", "transport, paper"]
MATCHED = ["linear, matched", "transport, matched"]
METHODS: Methods = {
    "marginal contribution": {"method": "marginal_contribution", "max_context": None},
    **{
        f"{remover}, {protocol}": {
            "method": "ultra_marginal",
            "remover": remover,
            "protocol": protocol,
        }
        for protocol in ("paper", "matched")
        for remover in ("linear", "transport")
    },
}


def measure(workshop: Workshop) -> Tables:
    """Return shares of each feature over replications."""
    return {"shares": run_simulations(workshop, METHODS, workshop.choose(quick=8, full=100))}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on shares."""
    table = tables["shares"]
    ours = [*PAPER, *MATCHED]
    return [
        *claim_interactions(table, "nonlinear_interactions", list(METHODS), "x1, x2 above"),
        *claim_interactions(table, "correlated_interactions", ours, "x1, x2 clearly above"),
        claim_statistic(
            table,
            "correlated_interactions",
            "marginal contribution",
            "all features about the same (x1, x2 above x3, x4 by points)",
            lambda rows: float(rows[:, :2].mean() - rows[:, 2:].mean()),
            least=-3.0,
            most=3.0,
            paper="about the same",
        ),
        *claim_correlation(table, ours, "about equal"),
        claim_statistic(
            table,
            "correlation",
            "marginal contribution",
            "x4 above zero (points)",
            lambda rows: float(rows[:, 3].mean()),
            least=0.5,
            paper="above zero",
        ),
        *claim_blood_relation(table, ours, "about zero"),
        claim_statistic(
            table,
            "blood_relation",
            "marginal contribution",
            "more than half to x1 and x2 (points)",
            lambda rows: float(rows[:, :2].mean(axis=0).sum()),
            least=50.0,
            paper="more than half",
        ),
    ]


def draw(tables: Tables) -> Figure:
    """Draw the shares."""
    return draw_shares(tables["shares"])
