"""Figure 8: the simulations with other methods, and with extremely randomised trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import umfi
from umfi.experiments.claims import Claim
from umfi.experiments.simulations import (
    claim_blood_relation,
    claim_interactions,
    claim_statistic,
    draw_shares,
    run_simulations,
)
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Simulations with ablation and permutation, and with extra-trees"
CLAIM = (
    "Ablation and the permutation methods see the interactions, but lose or split correlated "
    "features and give x2 of the blood relation importance; with extra-trees and bins of 30 rows "
    "marginal contribution and ultra-marginal importance say what they say with forests."
)
DIFFERENCES = (
    "Conditional permutation follows permimp's cells, on our own forests.",
    "Permutation of a regression is measured in mean squared error; shares have no unit.",
)

FORESTS = ["ablation", "permutation", "conditional permutation"]
TREES = ["linear, extra-trees", "transport, extra-trees"]
METHODS: Methods = {
    "ablation": {"method": "ablation", "protocol": "paper"},
    "permutation": {"method": "permutation"},
    "conditional permutation": {"method": "conditional_permutation"},
    "marginal contribution, extra-trees": {
        "method": "marginal_contribution",
        "max_context": None,
        "power": "extra-trees",
    },
    **{
        f"{name}, extra-trees": {
            "method": "ultra_marginal",
            "remover": remover,
            "protocol": "paper",
            "power": "extra-trees",
        }
        for name, remover in (
            ("linear", "linear"),
            ("transport", umfi.TransportRemover(rows_per_bin=30)),
        )
    },
}


def measure(workshop: Workshop) -> Tables:
    """Return shares of each feature over replications."""
    return {"shares": run_simulations(workshop, METHODS, workshop.choose(quick=8, full=100))}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on shares."""
    table = tables["shares"]
    return [
        *claim_interactions(table, "nonlinear_interactions", list(METHODS), "x1, x2 above"),
        *claim_interactions(table, "correlated_interactions", [*FORESTS, *TREES], "x1, x2 above"),
        *(
            claim_statistic(
                table,
                "correlation",
                method,
                "x1 and x3 near zero (points, both)",
                lambda rows: float(rows[:, [0, 2]].mean(axis=0).sum()),
                most=20.0,
                paper="near zero",
            )
            for method in ("ablation", "conditional permutation")
        ),
        claim_statistic(
            table,
            "correlation",
            "permutation",
            "x1 and x3 share what x2 has alone (their sum less x2, points)",
            lambda rows: float((rows[:, 0] + rows[:, 2] - rows[:, 1]).mean()),
            least=-15.0,
            most=15.0,
            paper="split",
        ),
        *(
            claim_statistic(
                table,
                "blood_relation",
                method,
                "x2 is given importance (points)",
                lambda rows: float(rows[:, 1].mean()),
                least=5.0,
                paper="significant",
            )
            for method in FORESTS
        ),
        claim_statistic(
            table,
            "correlation",
            "marginal contribution, extra-trees",
            "x4 between zero and 5 points",
            lambda rows: float(rows[:, 3].mean()),
            least=0.0,
            most=5.0,
            paper="below 5 %, above 0",
        ),
        claim_statistic(
            table,
            "blood_relation",
            "marginal contribution, extra-trees",
            "x2 above zero (points)",
            lambda rows: float(rows[:, 1].mean()),
            least=1.0,
            paper="positive",
        ),
        *claim_blood_relation(table, TREES, "about zero")[::2],
    ]


def draw(tables: Tables) -> Figure:
    """Draw the shares."""
    return draw_shares(tables["shares"])
