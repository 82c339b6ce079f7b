"""Figure 14: what is left of each attribute of catchments in the others after removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import umfi
from umfi.experiments.claims import Claim, claim_of_number
from umfi.experiments.leakage import draw_leakage, run_leakage
from umfi.experiments.workshop import Methods, Tables, Workshop

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
    "Sliced and chained removal stand beside the paper's two, which claims nothing of them.",
)

BINS_OF_30 = umfi.TransportRemover(rows_per_bin=30)
REMOVERS: Methods = {
    "linear, paper": {"remover": "linear", "protocol": "paper"},
    "transport, paper": {"remover": BINS_OF_30, "protocol": "paper"},
    "sliced": {"remover": "sliced"},
    "chained": {"remover": "chained"},
}


def measure(workshop: Workshop) -> Tables:
    """Return leakage of each attribute."""
    X, _ = umfi.datasets.load_camels()
    return {"leakage": run_leakage(workshop, X, REMOVERS)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on leakage."""
    table = tables["leakage"]
    before = table[table["remover"] == "linear, paper"].set_index("feature")["before"]
    worst = table.groupby("remover", sort=False)["leakage"].max()
    return [
        claim_of_number(
            f"smallest R² before ({before.idxmin()})", before.min(), least=0.65, paper="0.65"
        ),
        claim_of_number(
            "linear, paper: largest R² after", worst["linear, paper"], least=0.05, paper="leaks"
        ),
        claim_of_number(
            "transport, paper: largest R² after", worst["transport, paper"], least=0.05,
            paper="leaks",
        ),
        claim_of_number("sliced: largest R² after (ours)", worst["sliced"], most=0.15),
        claim_of_number("chained: largest R² after (ours)", worst["chained"], most=0.15),
    ]  # fmt: skip


def draw(tables: Tables) -> Figure:
    """Draw leakage before and after."""
    return draw_leakage(tables["leakage"])
