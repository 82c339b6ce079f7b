"""Figure 4, and the last column of table 1: how long methods take as features are added."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reproduction.claims import Claim, Numbers, claim_of_number
from reproduction.session import Methods, Session, Tables, ultra_marginal
from reproduction.timing import Growth, draw_times, features_in, run_times

TITLE = "Time against the number of features"
CLAIM = (
    "In an hour marginal contribution does 19 features, 130 with contexts of at most two, and "
    "ultra-marginal importance thousands; transport takes longer than linear removal."
)
DIFFERENCES = """\
- The paper took twelve threads of a laptop with 571 rows, and added features until an hour was
  over. Here each method runs up to some number of features; what an hour allows is found by a
  law fitted to these times: 2^p for all subsets, the number of subsets for contexts of two, and
  p, p√p and p² for forests and removal of ultra-marginal importance. Its interval is what the
  law gives without any one number of features.
"""

SUBSETS, CONTEXTS = "marginal contribution", "marginal contribution, contexts of 2"
METHODS: Methods = {
    "linear": ultra_marginal("linear"),
    "transport": ultra_marginal("transport"),
    SUBSETS: {"method": "marginal_contribution", "max_context": None},
    CONTEXTS: {"method": "marginal_contribution", "max_context": 2},
}
PAPER = {SUBSETS: 19, CONTEXTS: 130, "linear": 4010, "transport": 3000}
HOUR = 3600.0


def _by_forests(n_features: Numbers) -> Numbers:
    return n_features[:, None] ** [1.0, 1.5, 2.0]


def _by_subsets(n_features: Numbers) -> Numbers:
    return 2.0 ** np.minimum(n_features, 1000.0)[:, None]


def _by_triples(n_features: Numbers) -> Numbers:
    p = n_features[:, None]
    return p + p * (p - 1) / 2 + p * (p - 1) * (p - 2) / 6


GROWTH: dict[str, Growth] = {
    "linear": _by_forests,
    "transport": _by_forests,
    SUBSETS: _by_subsets,
    CONTEXTS: _by_triples,
}


def measure(session: Session) -> Tables:
    """Return seconds by method and number of features."""
    wide = session.choose(
        quick=(5, 10, 20, 50, 100, 200), full=(5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    )
    n_features = {
        SUBSETS: session.choose(quick=(5, 8, 10, 12), full=(5, 8, 10, 12, 14, 16)),
        CONTEXTS: session.choose(quick=(5, 10, 20, 30), full=(5, 10, 20, 30, 50, 70)),
        "linear": wide,
        "transport": wide,
    }
    return {"seconds": run_times(session, METHODS, n_features, n_repeats=1)}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on seconds."""
    table = tables["seconds"]
    claims = [_claim_in_an_hour(table, method, number) for method, number in PAPER.items()]
    at_most = min(_largest(table, "linear"), _largest(table, "transport"))
    seconds = table[table["n_features"] == at_most].set_index("method")["seconds"]
    claims.append(
        claim_of_number(
            f"{at_most:,} features: time of transport over that of linear removal",
            seconds["transport"] / seconds["linear"],
            least=1.0,
            is_strict=True,
            paper="longer",
        )
    )
    return claims


def _claim_in_an_hour(table: pd.DataFrame, method: str, number: int) -> Claim:
    """Return the claim on features in an hour, with what the law gives without any one count."""
    value = features_in(table, method, HOUR, GROWTH[method])
    counts = table[table["method"] == method]["n_features"].unique()
    found = [value]
    if len(counts) == 1:
        found += [-np.inf, np.inf]
    else:
        found += [
            features_in(table[table["n_features"] != count], method, HOUR, GROWTH[method])
            for count in counts
        ]
    return Claim(
        f"{method}: features in an hour (measured up to {_largest(table, method):,})",
        value,
        min(found),
        max(found),
        least=number,
        paper=f"{number:,} (12 threads)",
    )


def _largest(table: pd.DataFrame, method: str) -> int:
    return int(table[table["method"] == method]["n_features"].max())


def draw(tables: Tables) -> Figure:
    """Draw seconds against features, with the laws that were fitted up to an hour."""
    table = tables["seconds"]
    figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
    draw_times(table, ax)
    for line, method in zip(ax.get_lines(), dict.fromkeys(table["method"]), strict=True):
        count = features_in(table, method, HOUR, GROWTH[method])
        last = _largest(table, method)
        seconds = table[(table["method"] == method) & (table["n_features"] == last)]["seconds"]
        ends = ([last, count], [seconds.mean(), HOUR])
        ax.plot(*ends, linestyle=":", color=line.get_color())
    ax.axhline(HOUR, color="0.4", linewidth=0.8)
    ax.text(5, HOUR * 1.1, "an hour", fontsize=8)
    return figure
