"""Figure 14: what is left of each attribute of catchments in the others after removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import umfi
from reproduction.claims import Claim
from reproduction.leakage import (
    BEFORE,
    DIFFERENCES_OF_LEAKAGE,
    GOOD,
    claim_told,
    draw_leakage,
    run_leakage,
)
from reproduction.session import Methods, Session, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Leakage, attributes of catchments"
CLAIM = (
    "Each attribute is told by the others with an R² of 0.65 or more, and neither linear "
    "regression nor transport removes all of it."
)
DIFFERENCES = (
    "There are 29 attributes; the caption counts to 30.",
    "The authors show R² below zero as zero.",
    (
        "Matched transport, joint and chained removal, beside the paper's two, are ours. The "
        "two joint removers stop as soon as extremely randomised trees find nothing, or after "
        "twelve rounds (joint) and eight (chained)."
    ),
    *DIFFERENCES_OF_LEAKAGE,
)

BINS_OF_30 = umfi.TransportRemover(rows_per_bin=30)
REMOVERS: Methods = {
    "linear, paper": {"remover": "linear", "protocol": "paper"},
    "transport, paper": {"remover": BINS_OF_30, "protocol": "paper"},
    "transport": {"remover": BINS_OF_30},
    "chained": {"remover": "chained"},
    "joint": {"remover": "joint"},
}

JOINT = ("chained", "joint")


def measure(session: Session) -> Tables:
    """Return leakage of each attribute."""
    X, _ = umfi.datasets.load_camels()
    n_repeats = session.choose(quick=2, full=5)
    return {"leakage": run_leakage(session, X, REMOVERS, n_repeats)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on leakage."""
    table = tables["leakage"]
    claims = [
        claim_told(table, BEFORE, "smallest R²", lambda told: float(told.min()), least=0.65,
                   paper="0.65 or more"),
    ]  # fmt: skip
    for remover in REMOVERS:
        bounds: dict[str, Any] = {"most": GOOD} if remover in JOINT else {"least": GOOD}
        if remover.endswith("paper"):
            bounds["paper"] = "leaks"
        claims.append(
            claim_told(table, remover, "largest R² after", lambda told: float(told.max()), **bounds)
        )
    return claims


def draw(tables: Tables) -> Figure:
    """Draw leakage before and after."""
    return draw_leakage(tables["leakage"])
