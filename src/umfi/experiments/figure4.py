"""Figure 4, and the last column of table 1: how long methods take as features are added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim, claim_of_number
from umfi.experiments.timing import draw_times, features_in, run_times
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Time against the number of features"
CLAIM = (
    "In an hour marginal contribution does 19 features, 130 with contexts of at most two, and "
    "ultra-marginal importance thousands."
)
DIFFERENCES = (
    "The paper took twelve threads of a laptop; how many were taken here is in the settings.",
    "What an hour allows is read off the curve, beyond the largest table from its last points.",
    "Linear removal takes about as long as transport here, because both are small beside forests.",
)

METHODS: Methods = {
    "marginal contribution": {"method": "marginal_contribution", "max_context": None},
    "marginal contribution, contexts of 2": {"method": "marginal_contribution", "max_context": 2},
    "linear": {"method": "ultra_marginal", "remover": "linear", "protocol": "paper"},
    "transport": {"method": "ultra_marginal", "remover": "transport", "protocol": "paper"},
}
PAPER = {
    "marginal contribution": 19,
    "marginal contribution, contexts of 2": 130,
    "linear": 4010,
    "transport": 3000,
}
HOUR = 3600.0


def measure(workshop: Workshop) -> Tables:
    """Return seconds by method and number of features."""
    wide = workshop.choose(
        quick=(5, 10, 20, 50, 100, 200), full=(5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    )
    n_features = {
        "marginal contribution": workshop.choose(quick=(5, 8, 10, 12), full=(5, 8, 10, 12, 14, 16)),
        "marginal contribution, contexts of 2": workshop.choose(
            quick=(5, 10, 20, 30), full=(5, 10, 20, 30, 50, 70)
        ),
        "linear": wide,
        "transport": wide,
    }
    limit = workshop.choose(quick=60.0, full=1200.0)
    return {"seconds": run_times(workshop, METHODS, n_features, n_repeats=1, limit=limit)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on seconds."""
    table = tables["seconds"]
    return [
        claim_of_number(
            f"{method}: features in an hour (measured up to {_largest(table, method):,})",
            features_in(table, method, HOUR),
            least=number,
            paper=f"{number:,} (12 threads)",
        )
        for method, number in PAPER.items()
    ]


def _largest(table: pd.DataFrame, method: str) -> int:
    return int(table[table["method"] == method]["n_features"].max())


def draw(tables: Tables) -> Figure:
    """Draw seconds against features."""
    return draw_times(tables["seconds"])
