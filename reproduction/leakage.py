"""How well features are predicted from the others, before and after removal (figures 6 and 14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

import umfi
from reproduction.claims import Claim, claim_of_mean
from reproduction.session import Methods, Session

# As many trees as ranger's default, which the authors took here.
FOREST = umfi.ForestPower(n_trees=500)
DIFFERENCES_OF_LEAKAGE = """\
- Forests that measure leakage have 500 trees, as in the authors' script, whereas the text says
  100 for all experiments; each feature is measured five times (twice in a quick run) instead of
  once."""
# R² up to this is what umfi calls good removal.
GOOD = 0.05
BEFORE = "before"
COLOURS = ("black", "#D55E00", "#0072B2", "#56B4E9", "#E69F00", "#009E73")


def run_leakage(
    session: Session, X: pd.DataFrame, removers: Methods, n_repeats: int
) -> pd.DataFrame:
    """Return ``remover, repeat, feature, r2``, out of bag; "before" is no remover.

    Repeats have other seeds, of removal and of forests.
    """
    rows = []
    for name, settings in {BEFORE: None, **removers}.items():
        for feature in session.track(X.columns, name):
            for repeat in range(n_repeats):
                plain = {key: repr(value) for key, value in (settings or {}).items()}
                # The seeds follow from that of the session and the label.
                inputs = (session.seed, X, plain, FOREST)
                compute = partial(_predict, session, X, settings, name, feature, repeat)
                r2 = session.find_or_compute(compute, name, feature, repeat, inputs=inputs)
                rows.append((name, repeat, feature, r2[feature]))
    return pd.DataFrame(rows, columns=["remover", "repeat", "feature", "r2"])


def _predict(
    session: Session, X: pd.DataFrame, settings: Mapping[str, Any] | None, *label: Any
) -> dict[str, float]:
    """Return how well the others predict a feature; the label is remover, feature and repeat."""
    feature = label[1]
    others = X.drop(columns=feature)
    if settings is not None:
        seed = session.seed_of(*label)
        others = umfi.remove_dependence(X, feature, random_state=seed, **settings)
    r2 = umfi.predictive_power(
        others,
        X[feature],
        task="regression",
        power=FOREST,
        # This word names a stream of random numbers, and another would give other numbers.
        random_state=session.seed_of("told", *label),
        n_jobs=session.n_jobs,
    )
    return {feature: r2}


def claim_leakage(
    table: pd.DataFrame,
    remover: str,
    words: str,
    statistic: Callable[[pd.Series], float],
    **bounds: Any,
) -> Claim:
    """Return the claim on a statistic of R² by feature, with the interval of repeats."""
    own = table[table["remover"] == remover]
    samples = [statistic(part.set_index("feature")["r2"]) for _, part in own.groupby("repeat")]
    return claim_of_mean(f"{remover}: {words}", samples, **bounds)


def draw_leakage(table: pd.DataFrame) -> Figure:
    """Draw how well the others predict each feature, a line for each remover."""
    figure, ax = plt.subplots(figsize=(11, 4.6), layout="constrained")
    means = table.groupby(["remover", "feature"], sort=False)["r2"].mean()
    for number, remover in enumerate(dict.fromkeys(table["remover"])):
        own = means[remover]
        ax.plot(own.index, own, "o-", color=COLOURS[number], markersize=4, label=remover)
    ax.axhline(0.0, color="0.4", linewidth=0.8)
    ax.tick_params(axis="x", rotation=90, labelsize=7)
    ax.set_ylabel("out-of-bag R² of the feature from the others")
    ax.legend(frameon=False, ncols=6, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))
    ax.spines[["top", "right"]].set_visible(False)
    return figure
