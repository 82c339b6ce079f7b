"""Figure 13: how long all methods take on 5 to 50 genes."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reproduction.claims import Claim, Numbers, claim_of_mean
from reproduction.genes import SHARED_FOREST
from reproduction.session import Methods, Session, Tables, ultra_marginal
from reproduction.timing import draw_times, run_times

TITLE = "Time of all methods, 5 to 50 genes"
CLAIM = (
    "Permutation is fastest, then ablation, ultra-marginal importance, conditional permutation and "
    "marginal contribution."
)
DIFFERENCES = f"""\
- The paper took a laptop, twelve threads for ultra-marginal importance and its own script for
  the others; here all methods run on the same forests and on as many threads as there are cores.
- {SHARED_FOREST}
- 572 rows, the text says 571.
"""

# In the order of the paper, with its seconds for 50 features.
PAPER = {
    "permutation": 0.05,
    "ablation": 1.8,
    "linear": 3.0,
    "transport": 3.0,
    "conditional permutation": 30.0,
    "marginal contribution, contexts of 2": 205.0,
}
METHODS: Methods = {
    "permutation": {"method": "permutation"},
    "ablation": {"method": "ablation", "protocol": "paper"},
    "linear": ultra_marginal("linear"),
    "transport": ultra_marginal("transport"),
    "conditional permutation": {"method": "conditional_permutation"},
    "marginal contribution, contexts of 2": {"method": "marginal_contribution", "max_context": 2},
}
ORDER = ("permutation", "ablation", "transport", "conditional permutation",
         "marginal contribution, contexts of 2")  # fmt: skip


def measure(session: Session) -> Tables:
    """Return seconds by method and number of genes."""
    # The most first, because the claims are on them, and time may be short.
    counts = session.choose(quick=(50, 20, 10, 5), full=tuple(range(50, 0, -5)))
    n_repeats = session.choose(quick=1, full=10)
    n_features = dict.fromkeys(METHODS, counts)
    return {"seconds": run_times(session, METHODS, n_features, n_repeats=n_repeats)}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on the order of methods, and on seconds for the most genes."""
    table = tables["seconds"]
    n_most = int(table["n_features"].max())
    most = {method: _seconds(table, method, n_most) for method in METHODS}
    claims = [
        claim_of_mean(
            f"{slower} takes longer than {faster} (logarithm of the ratio, {n_most} features)",
            np.log(most[slower]) - np.log(most[faster]),
            least=0.0,
            is_strict=True,
            paper="longer",
        )
        for faster, slower in pairwise(ORDER)
    ]
    claims += [
        claim_of_mean(
            f"{method}: seconds for {n_most} features", most[method], most=seconds,
            paper=f"{seconds:g}, on its machine",
        )
        for method, seconds in PAPER.items()
    ]  # fmt: skip
    return claims


def _seconds(table: pd.DataFrame, method: str, n_features: int) -> Numbers:
    """Return what a method took, shape (n_repeats,)."""
    own = table[(table["method"] == method) & (table["n_features"] == n_features)]
    return own.sort_values("repeat")["seconds"].to_numpy()


def draw(tables: Tables) -> Figure:
    """Draw seconds against genes."""
    figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
    draw_times(tables["seconds"], ax)
    return figure
