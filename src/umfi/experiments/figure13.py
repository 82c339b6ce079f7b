"""Figure 13: how long all methods take on 5 to 50 genes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim, claim_of_mean
from umfi.experiments.timing import draw_times, run_times
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Time of all methods, 5 to 50 genes"
CLAIM = (
    "Permutation is fastest, then ablation, ultra-marginal importance, conditional permutation and "
    "marginal contribution."
)
DIFFERENCES = (
    "The paper took twelve threads of a laptop; how many were taken here is in the settings.",
    "All methods run on the same forests here; the paper's conditional permutation had its own.",
)

METHODS: Methods = {
    "permutation": {"method": "permutation"},
    "ablation": {"method": "ablation", "protocol": "paper"},
    "linear": {"method": "ultra_marginal", "remover": "linear", "protocol": "paper"},
    "transport": {"method": "ultra_marginal", "remover": "transport", "protocol": "paper"},
    "conditional permutation": {"method": "conditional_permutation"},
    "marginal contribution, contexts of 2": {"method": "marginal_contribution", "max_context": 2},
}
# Seconds for 50 features, as the paper prints them.
PAPER = {
    "permutation": 0.05,
    "ablation": 1.8,
    "linear": 3.0,
    "transport": 3.0,
    "conditional permutation": 30.0,
    "marginal contribution, contexts of 2": 205.0,
}


def measure(workshop: Workshop) -> Tables:
    """Return seconds by method and number of genes."""
    counts = workshop.choose(quick=(5, 10, 20, 50), full=tuple(range(5, 55, 5)))
    n_features = dict.fromkeys(METHODS, counts)
    n_repeats = workshop.choose(quick=1, full=10)
    table = run_times(workshop, METHODS, n_features, n_repeats=n_repeats, limit=600.0)
    return {"seconds": table}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on seconds for the most genes."""
    table = tables["seconds"]
    n_most = table["n_features"].max()
    most = table[table["n_features"] == n_most]
    return [
        claim_of_mean(
            f"{method}: seconds for {n_most} features",
            most[most["method"] == method]["seconds"],
            most=seconds,
            paper=f"{seconds:g} (12 threads)",
        )
        for method, seconds in PAPER.items()
    ]


def draw(tables: Tables) -> Figure:
    """Draw seconds against genes."""
    return draw_times(tables["seconds"])
