"""Figure 6: what is left of each gene in the others after removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import umfi
from umfi.experiments.claims import Claim, claim_of_number
from umfi.experiments.leakage import draw_leakage, run_leakage
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Leakage, breast-cancer genes"
CLAIM = (
    "Most genes are told by the others with an R² above 0.2; transport removes all of it, linear "
    "regression does not."
)
DIFFERENCES = ("Sliced removal and the matched form of transport stand beside the paper's two.",)

REMOVERS: Methods = {
    "linear, paper": {"remover": "linear", "protocol": "paper"},
    "transport, paper": {"remover": "transport", "protocol": "paper"},
    "transport": {"remover": "transport"},
    "sliced": {"remover": "sliced"},
}
# A forest of a hundred trees finds so much in independent columns of this length, now and then.
AS_GOOD_AS_NOTHING = 0.05


def measure(workshop: Workshop) -> Tables:
    """Return leakage of each gene."""
    X, _ = umfi.datasets.load_brca()
    return {"leakage": run_leakage(workshop, X, REMOVERS)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on leakage."""
    table = tables["leakage"]
    before = table[table["remover"] == "linear, paper"]["before"]
    return [
        claim_of_number(
            "share of genes told with R² above 0.2 before", (before > 0.2).mean(), least=0.5,
            paper="most",
        ),
        _claim_left(table, "transport, paper", most=0.0),
        _claim_left(table, "linear, paper", least=1.0),
        _claim_left(table, "transport", most=0.0),
        _claim_left(table, "sliced", most=0.0),
    ]  # fmt: skip


def _claim_left(table: pd.DataFrame, remover: str, **bounds: float) -> Claim:
    own = table[table["remover"] == remover]["leakage"]
    return claim_of_number(
        f"{remover}: genes still told with R² above {AS_GOOD_AS_NOTHING:g}",
        (own > AS_GOOD_AS_NOTHING).sum(),
        paper={"transport, paper": "none", "linear, paper": "some"}.get(remover, ""),
        **bounds,
    )


def draw(tables: Tables) -> Figure:
    """Draw leakage before and after."""
    return draw_leakage(tables["leakage"])
