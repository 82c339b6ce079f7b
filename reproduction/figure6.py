"""Figure 6: what the others predict of each gene after removal."""

from __future__ import annotations

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

import umfi
from reproduction.claims import Claim
from reproduction.genes import PATIENTS
from reproduction.leakage import (
    BEFORE,
    DIFFERENCES_OF_LEAKAGE,
    GOOD,
    claim_leakage,
    draw_leakage,
    run_leakage,
)
from reproduction.session import Methods, Session, Tables

TITLE = "Leakage, breast-cancer genes"
CLAIM = (
    "The others predict most genes with an R² above 0.2; transport removes all of it, linear "
    "regression does not."
)
DIFFERENCES = f"""\
- {PATIENTS}
- The authors show R² below zero as zero. Below what shuffled columns give (-0.02 to -0.08) it is
  no sign of independence, but of how removal is fitted to the rows it is measured on.
- Joint removal and the matched form of transport, beside the paper's two, are ours.
{DIFFERENCES_OF_LEAKAGE}
"""

REMOVERS: Methods = {
    "linear, paper": {"remover": "linear", "protocol": "paper"},
    "transport, paper": {"remover": "transport", "protocol": "paper"},
    "transport": {"remover": "transport"},
    "joint": {"remover": "joint"},
}


def measure(session: Session) -> Tables:
    """Return leakage of each gene."""
    X, _ = umfi.datasets.load_brca()
    n_repeats = session.choose(quick=2, full=5)
    return {"leakage": run_leakage(session, X, REMOVERS, n_repeats)}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on leakage."""
    table = tables["leakage"]
    claims = [
        claim_leakage(
            table, BEFORE, "fraction of genes predicted with R² above 0.2",
            lambda r2: float((r2 > 0.2).mean()), least=0.5, is_strict=True, paper="most",
        ),
        claim_leakage(
            table, BEFORE, "fraction of genes predicted with R² above 0.4",
            lambda r2: float((r2 > 0.4).mean()), least=0.2, paper="many",
        ),
    ]  # fmt: skip
    papers = {"transport, paper": "zero for all 50", "linear, paper": "does not remove all"}
    for remover in REMOVERS:
        threshold = 0.0 if remover in papers else GOOD
        bounds = {"least": 1.0} if remover == "linear, paper" else {"most": 0.0}
        claims.append(
            claim_leakage(
                table, remover, f"genes still predicted (R² above {threshold:g})",
                partial(_count_above, threshold), paper=papers.get(remover, ""), **bounds,
            )
        )  # fmt: skip
    return claims


def _count_above(threshold: float, r2: pd.Series) -> float:
    return float((r2 > threshold).sum())


def draw(tables: Tables) -> Figure:
    """Draw leakage before and after."""
    return draw_leakage(tables["leakage"])
