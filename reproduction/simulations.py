"""The four simulations of section 4.1: shares of the total importance, over replications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import umfi
from reproduction.claims import Claim, Numbers, claim_of_rows
from reproduction.session import Methods, Session

SIMULATIONS = ("nonlinear_interactions", "correlated_interactions", "correlation", "blood_relation")
# The blood relation as the authors' script has it, where x2 is noise that x3 is made of.
SCRIPT = "blood_relation_script"
FEATURES = ["x1", "x2", "x3", "x4"]
N_ROWS = 1000
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")

# From shares, shape (..., n_replications, 4), to numbers in points of a hundred, shape (...).
Statistic = Callable[[Numbers], Any]


def run_simulations(
    session: Session,
    methods: Methods,
    n_replications: int,
    simulations: Sequence[str] = SIMULATIONS,
    more_methods: Mapping[str, Methods] | None = None,
) -> pd.DataFrame:
    """Return importances and shares: ``simulation, replication, method, feature, ...``.

    There are fresh tables in each replication; ``more_methods`` are for one simulation alone.
    """
    rows = []
    for number, simulation in enumerate(simulations):
        title = simulation.replace("_", " ")
        own_methods = {**methods, **(more_methods or {}).get(simulation, {})}
        n_parts = len(simulations) - number
        for replication in session.track(range(n_replications), title, n_parts=n_parts):
            X, y = _simulate(simulation, session.seed_of(simulation, replication))
            for name, settings in own_methods.items():
                importances = session.run(X, y, settings, name, simulation, replication)
                total = float(np.sum(list(importances.values())))
                rows += [
                    (simulation, replication, name, feature, value, 100.0 * value / total)
                    for feature, value in importances.items()
                ]
    columns = ["simulation", "replication", "method", "feature", "importance", "share"]
    return pd.DataFrame(rows, columns=columns)


def _simulate(simulation: str, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    if simulation != SCRIPT:
        return umfi.datasets.simulate(simulation, n=N_ROWS, random_state=seed)
    rng = np.random.default_rng(seed)
    x1, source = rng.normal(size=(2, N_ROWS))
    x2 = rng.uniform(-1.0, 1.0, N_ROWS)
    y = source + rng.uniform(-0.5, 0.5, N_ROWS)
    x4 = y + rng.exponential(size=N_ROWS)
    X = pd.DataFrame({"x1": x1, "x2": x2, "x3": x2 + source, "x4": x4})
    return X, pd.Series(y, name="y")


def _shares(table: pd.DataFrame, simulation: str, method: str) -> Numbers:
    """Return the shares of the total importance of one method, shape (n_replications, 4)."""
    own = table[(table["simulation"] == simulation) & (table["method"] == method)]
    wide = own.pivot_table(index="replication", columns="feature", values="share")
    return wide[FEATURES].to_numpy()


def share_of(*features: str) -> Statistic:
    """Return the statistic of what features have together, on average."""
    positions = [FEATURES.index(feature) for feature in features]
    return lambda rows: rows[..., positions].mean(axis=-2).sum(axis=-1)


def lead_of(feature: str, other: str) -> Statistic:
    """Return the statistic of how far one feature lies above another, on average."""
    return lambda rows: share_of(feature)(rows) - share_of(other)(rows)


def lead_of_pair(rows: Numbers) -> Any:
    """Return how far the smaller mean of x1 and x2 lies above the larger one of x3 and x4."""
    means = rows.mean(axis=-2)
    return means[..., :2].min(axis=-1) - means[..., 2:4].max(axis=-1)


def distance_of_pair(rows: Numbers) -> Any:
    """Return how far the mean of x1 or x2, whichever is further, lies from zero."""
    return np.abs(rows[..., :2].mean(axis=-2)).max(axis=-1)


def claim_shares(
    table: pd.DataFrame,
    simulation: str,
    method: str,
    words: str,
    statistic: Statistic,
    *,
    less: str | None = None,
    **bounds: Any,
) -> Claim:
    """Return a claim on the shares of one method, in points of a hundred.

    With ``less``, another method, it is on the difference to that one on the same tables.
    """
    statement = f"{simulation.replace('_', ' ')}, {method}: {words}"
    rows = _shares(table, simulation, method)
    if less is None:
        return claim_of_rows(statement, rows, statistic, **bounds)
    both = np.hstack([rows, _shares(table, simulation, less)])
    return claim_of_rows(
        statement, both, lambda rows: statistic(rows[..., :4]) - statistic(rows[..., 4:]), **bounds
    )


def claim_spread(
    table: pd.DataFrame, simulation: str, methods: Sequence[str], **bounds: Any
) -> Claim:
    """Return the claim on how many times the spread of one method is that of another, at most."""

    def ratio(rows: Numbers) -> Any:
        deviations = rows.std(axis=-2)
        spreads = deviations.reshape(*deviations.shape[:-1], len(methods), 4).mean(axis=-1)
        return spreads.max(axis=-1) / spreads.min(axis=-1)

    return claim_of_rows(
        f"{simulation.replace('_', ' ')}: spread of the method that varies most over that which "
        "varies least",
        np.hstack([_shares(table, simulation, method) for method in methods]),
        ratio,
        limits=(1.0, np.inf),
        **bounds,
    )


def draw_shares(
    table: pd.DataFrame, simulation: str, methods: Sequence[str], ax: Axes, colours: Sequence[str]
) -> None:
    """Draw the shares of each feature as boxes, a colour for each method."""
    width = 0.8 / len(methods)
    for number, method in enumerate(methods):
        boxes = ax.boxplot(
            _shares(table, simulation, method),
            positions=np.arange(4) + width * (number - (len(methods) - 1) / 2),
            widths=0.85 * width,
            patch_artist=True,
            manage_ticks=False,
            flierprops={"markersize": 2},
            medianprops={"color": "black"},
        )
        for box in boxes["boxes"]:
            box.set_facecolor(colours[number])
        boxes["boxes"][0].set_label(method)
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    ax.set_xticks(range(4), FEATURES)
    ax.set_title(simulation.replace("_", " "), loc="left", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
