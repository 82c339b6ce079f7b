"""The four simulations of section 4.1: shares of the total importance, over replications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import umfi
from umfi.experiments.claims import Claim, claim_of_rows
from umfi.experiments.workshop import Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "SIMULATIONS",
    "claim_blood_relation",
    "claim_correlation",
    "claim_interactions",
    "draw_shares",
    "run_simulations",
]

SIMULATIONS = (
    "nonlinear_interactions",
    "correlated_interactions",
    "correlation",
    "blood_relation",
)
FEATURES = ["x1", "x2", "x3", "x4"]
N_ROWS = 1000
# Points of a hundred: so near is "equal", so little is "nothing".
EQUAL_POINTS, NO_POINTS = 5.0, 3.0
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")


def run_simulations(
    workshop: Workshop, methods: Mapping[str, Mapping[str, Any]], n_replications: int
) -> pd.DataFrame:
    """Return importances and shares: ``simulation, replication, method, feature, ...``.

    Parameters
    ----------
    workshop : Workshop
    methods : dict
        From the name that is shown to ``method`` and its settings.
    n_replications : int
        Fresh tables of each simulation.
    """
    rows = []
    for number, simulation in enumerate(SIMULATIONS):
        title = simulation.replace("_", " ")
        n_parts = len(SIMULATIONS) - number
        for replication in workshop.track(range(n_replications), title, n_parts=n_parts):
            seed = workshop.seed_of(simulation, replication)
            X, y = umfi.datasets.simulate(simulation, n=N_ROWS, random_state=seed)
            for name, settings in methods.items():
                own = dict(settings)
                result = workshop.run(
                    str(own.pop("method")), X, y, name, simulation, replication, **own
                )
                importances = result.importances
                total = float(importances.sum())
                rows += [
                    (simulation, replication, name, feature, value, 100.0 * value / total)
                    for feature, value in importances.items()
                ]
    columns = ["simulation", "replication", "method", "feature", "importance", "share"]
    return pd.DataFrame(rows, columns=columns)


def _shares(table: pd.DataFrame, simulation: str, method: str) -> NDArray[np.float64]:
    """Return the shares of one method, shape (n_replications, 4)."""
    own = table[(table["simulation"] == simulation) & (table["method"] == method)]
    wide = own.pivot_table(index="replication", columns="feature", values="share")
    return wide[FEATURES].to_numpy()


def _gap(rows: NDArray[np.float64]) -> float:
    """Return how far the lesser of x1 and x2 lies above the greater of x3 and x4, on average."""
    means = rows.mean(axis=0)
    return float(means[:2].min() - means[2:].max())


def claim_interactions(
    table: pd.DataFrame, simulation: str, methods: list[str], paper: str = ""
) -> list[Claim]:
    """Return the claims that x1 and x2 are above x3 and x4."""
    return [
        claim_of_rows(
            f"{simulation.replace('_', ' ')}, {method}: x1 and x2 above x3 and x4 (points)",
            _shares(table, simulation, method),
            _gap,
            least=0.0,
            paper=paper,
        )
        for method in methods
    ]


def claim_correlation(table: pd.DataFrame, methods: list[str], paper: str = "") -> list[Claim]:
    """Return the claims that x1, x2 and x3 are equal and x4 has nothing."""

    def spread(rows: NDArray[np.float64]) -> float:
        means = rows.mean(axis=0)[:3]
        return float(means.max() - means.min())

    claims = []
    for method in methods:
        rows = _shares(table, "correlation", method)
        claims += [
            claim_of_rows(
                f"correlation, {method}: x1, x2 and x3 equal (largest difference in points)",
                rows,
                spread,
                most=EQUAL_POINTS,
                paper=paper,
            ),
            claim_of_rows(
                f"correlation, {method}: x4 near zero (points)",
                rows,
                lambda part: float(part[:, 3].mean()),
                most=NO_POINTS,
                paper="close to zero",
            ),
        ]
    return claims


def claim_blood_relation(table: pd.DataFrame, methods: list[str], paper: str = "") -> list[Claim]:
    """Return the claims that x1 and x2 have nothing and x4 has most."""
    claims = []
    for method in methods:
        rows = _shares(table, "blood_relation", method)
        claims += [
            claim_of_rows(
                f"blood relation, {method}: x1 and x2 near zero (points, both)",
                rows,
                lambda part: float(part[:, :2].mean(axis=0).sum()),
                most=2.0 * NO_POINTS,
                paper=paper,
            ),
            claim_of_rows(
                f"blood relation, {method}: x4 above x3 (points)",
                rows,
                lambda part: float((part[:, 3] - part[:, 2]).mean()),
                least=0.0,
                paper="x4 has most",
            ),
        ]
    return claims


def claim_statistic(
    table: pd.DataFrame,
    simulation: str,
    method: str,
    words: str,
    statistic: Callable[[NDArray[np.float64]], float],
    **bounds: Any,
) -> Claim:
    """Return any claim on the shares of one method."""
    statement = f"{simulation.replace('_', ' ')}, {method}: {words}"
    return claim_of_rows(statement, _shares(table, simulation, method), statistic, **bounds)


def draw_shares(table: pd.DataFrame) -> Figure:
    """Draw the shares of each feature as boxes, a panel a simulation."""
    import matplotlib.pyplot as plt

    methods = list(dict.fromkeys(table["method"]))
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained", sharex=True)
    width = 0.8 / len(methods)
    for ax, simulation in zip(axes.flat, SIMULATIONS, strict=True):
        for number, method in enumerate(methods):
            rows = _shares(table, simulation, method)
            places = np.arange(4) + width * (number - (len(methods) - 1) / 2)
            boxes = ax.boxplot(
                rows,
                positions=places,
                widths=0.85 * width,
                patch_artist=True,
                manage_ticks=False,
                flierprops={"markersize": 2},
                medianprops={"color": "black"},
            )
            for box in boxes["boxes"]:
                box.set_facecolor(COLOURS[number % len(COLOURS)])
            boxes["boxes"][0].set_label(method)
        ax.axhline(0.0, color="0.5", linewidth=0.8)
        ax.set_xticks(range(4), FEATURES)
        ax.set_title(simulation.replace("_", " "), loc="left")
        ax.set_ylabel("share of the total (%)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure
