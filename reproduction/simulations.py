"""The four simulations of section 4.1: shares of the total importance, over replications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import umfi
from reproduction.claims import Claim, claim_of_rows
from reproduction.session import Session

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "COLOURS",
    "SCRIPT",
    "SIMULATIONS",
    "Statistic",
    "claim_shares",
    "claim_spread",
    "draw_shares",
    "lead_of",
    "lead_of_pair",
    "run_simulations",
    "share_of",
]

SIMULATIONS = (
    "nonlinear_interactions",
    "correlated_interactions",
    "correlation",
    "blood_relation",
)
# The blood relation as the authors' script has it, where x2 is noise that x3 is made of.
SCRIPT = "blood_relation_script"
FEATURES = ["x1", "x2", "x3", "x4"]
N_ROWS = 1000
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")

# From shares, shape (n_replications, 4), to a number in points of a hundred.
Statistic = Callable[[NDArray[np.float64]], float]


def run_simulations(
    session: Session,
    methods: Mapping[str, Mapping[str, Any]],
    n_replications: int,
    simulations: Sequence[str] = SIMULATIONS,
    more_methods: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
) -> pd.DataFrame:
    """Return importances and shares: ``simulation, replication, method, feature, ...``.

    Parameters
    ----------
    session : Session
    methods : dict
        From the name that is shown to ``method`` and its settings.
    n_replications : int
        Fresh tables of each simulation.
    simulations : sequence of str
    more_methods : dict, optional
        From a simulation to methods that it alone has.
    """
    rows = []
    for number, simulation in enumerate(simulations):
        title = simulation.replace("_", " ")
        n_parts = len(simulations) - number
        for replication in session.track(range(n_replications), title, n_parts=n_parts):
            seed = session.seed_of(simulation, replication)
            X, y = _simulate(simulation, seed)
            for name, settings in {**methods, **(more_methods or {}).get(simulation, {})}.items():
                own = dict(settings)
                importances = session.run(
                    str(own.pop("method")), X, y, name, simulation, replication, **own
                )
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


def _shares(table: pd.DataFrame, simulation: str, method: str) -> NDArray[np.float64]:
    """Return the shares of one method, shape (n_replications, 4)."""
    own = table[(table["simulation"] == simulation) & (table["method"] == method)]
    wide = own.pivot_table(index="replication", columns="feature", values="share")
    return wide[FEATURES].to_numpy()


def share_of(*features: str) -> Statistic:
    """Return the statistic of what features have together, on average."""
    places = [FEATURES.index(feature) for feature in features]
    return lambda rows: float(rows[:, places].mean(axis=0).sum())


def lead_of_pair(rows: NDArray[np.float64]) -> float:
    """Return how far the smaller mean of x1 and x2 lies above the larger one of x3 and x4."""
    means = rows.mean(axis=0)
    return float(means[:2].min() - means[2:4].max())


def lead_of(feature: str, other: str) -> Statistic:
    """Return the statistic of how far one feature lies above another, on average."""
    return lambda rows: share_of(feature)(rows) - share_of(other)(rows)


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

    Parameters
    ----------
    table : DataFrame
        Of :func:`run_simulations`.
    simulation, method, words : str
    statistic : callable
    less : str, optional
        Another method: the claim is on the difference to it, on the same tables.
    **bounds
        Of :class:`~reproduction.claims.Claim`.
    """
    statement = f"{simulation.replace('_', ' ')}, {method}: {words}"
    rows = _shares(table, simulation, method)
    if less is None:
        return claim_of_rows(statement, rows, statistic, **bounds)
    both = np.hstack([rows, _shares(table, simulation, less)])
    return claim_of_rows(
        statement, both, lambda part: statistic(part[:, :4]) - statistic(part[:, 4:]), **bounds
    )


def claim_spread(
    table: pd.DataFrame, simulation: str, methods: Sequence[str], **bounds: Any
) -> Claim:
    """Return the claim on how many times the spread of one method is that of another, at most.

    Parameters
    ----------
    table : DataFrame
        Of :func:`run_simulations`.
    simulation : str
    methods : sequence of str
    **bounds
        Of :class:`~reproduction.claims.Claim`.
    """

    def ratio(rows: NDArray[np.float64]) -> float:
        spreads = rows.std(axis=0).reshape(len(methods), 4).mean(axis=1)
        return float(spreads.max() / spreads.min())

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
    """Draw the shares of each feature as boxes, a colour a method."""
    width = 0.8 / len(methods)
    for number, method in enumerate(methods):
        places = np.arange(4) + width * (number - (len(methods) - 1) / 2)
        boxes = ax.boxplot(
            _shares(table, simulation, method),
            positions=places,
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
