"""Figure 15: which attributes of catchments are related to streamflow."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import umfi
from reproduction.claims import Claim, Numbers, claim_of_mean, claim_of_medians
from reproduction.session import Methods, Session, Tables, run_iterations, ultra_marginal

TITLE = "Streamflow of catchments"
CLAIM = (
    "Mean precipitation and aridity come first for all methods, and bedrock permeability and soil "
    "porosity among the last, although removal is not complete."
)
DIFFERENCES = """\
- Each iteration draws 500 of the 643 catchments, as the authors' script does.
- The matched protocol is ours.
"""

BINS_OF_30 = umfi.TransportRemover(rows_per_bin=30)
CONTRIBUTION = "marginal contribution"
METHODS: Methods = {
    **{
        f"{name}, {protocol}": ultra_marginal(remover, protocol, power="extra-trees")
        for protocol in ("paper", "matched")
        for name, remover in (("linear", "linear"), ("transport", BINS_OF_30))
    },
    CONTRIBUTION: {"power": "extra-trees", "method": "marginal_contribution", "max_context": 2},
}
N_CATCHMENTS = 500
FIRST, LAST = ("p_mean", "aridity"), ("geol_permeability", "soil_porosity")


def measure(session: Session) -> Tables:
    """Return importances over iterations, and the power of all attributes."""
    X, y = umfi.datasets.load_camels()
    n_iterations = dict.fromkeys(METHODS, session.choose(quick=10, full=100))
    n_iterations[CONTRIBUTION] = session.choose(quick=2, full=100)
    table = run_iterations(
        session, X, y, METHODS, n_iterations, rows_name="catchments", n_rows=N_CATCHMENTS
    )
    powers = [
        umfi.predictive_power(X, y, power="extra-trees", random_state=session.seed_of(number))
        for number in range(10)
    ]
    return {"importances": table, "powers": pd.DataFrame({"power": powers})}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on importances and power."""
    table, powers = tables["importances"], tables["powers"]["power"]
    claims = [claim_of_mean("R² of extra-trees", powers, least=0.89, most=0.93, paper="0.91")]
    for name in METHODS:
        own_rows = table[table["method"] == name]
        wide = own_rows.pivot_table(index="iteration", columns="feature", values="importance")
        medians = wide.median()
        second = medians[list(FIRST)].idxmin()
        third = medians.drop(list(FIRST)).idxmax()
        paper = "" if name.endswith("matched") else "first"
        claims += [
            claim_of_medians(
                f"{name}: mean precipitation and aridity first ({second} less {third}, medians)",
                wide[[second, third]].to_numpy(),
                lambda pair: pair[..., 0] - pair[..., 1],
                least=0.0,
                is_strict=True,
                paper=paper,
            ),
            claim_of_medians(
                f"{name}: better place of permeability and soil porosity, of 29",
                wide[[*LAST, *wide.columns.drop(list(LAST))]].to_numpy(),
                _place_of_first_two,
                limits=(1.0, 29.0),
                is_of_so_many_runs=True,
                least=20.0,
                paper=paper and "among the last",
            ),
        ]
    return claims


def _place_of_first_two(medians: Numbers) -> Any:
    """Return the better place of the first two columns; ties take the last one."""
    is_not_below = medians[..., None, :] >= medians[..., :2, None]
    return is_not_below.sum(axis=-1).min(axis=-1)


def draw(tables: Tables) -> Figure:
    """Draw medians with quartiles, a panel for each method."""
    table = tables["importances"]
    methods = list(dict.fromkeys(table["method"]))
    figure, axes = plt.subplots(
        1, len(methods), figsize=(3.2 * len(methods) + 1, 7), layout="constrained"
    )
    for ax, method in zip(np.atleast_1d(axes), methods, strict=True):
        own = table[table["method"] == method]
        quartiles = own.groupby("feature")["importance"].agg(
            **{str(q): lambda values, q=q: values.quantile(q) for q in (0.25, 0.5, 0.75)}
        )
        quartiles = quartiles.rename(columns=float).sort_values(0.5)
        errors = np.clip(
            [quartiles[0.5] - quartiles[0.25], quartiles[0.75] - quartiles[0.5]], 0.0, None
        )
        ax.barh(quartiles.index, quartiles[0.5], xerr=errors, color="#0072B2", ecolor="#D55E00")
        ax.tick_params(axis="y", labelsize=7)
        ax.set_title(method, loc="left", fontsize=10)
        ax.set_xlabel("median importance (R²)")
        ax.spines[["top", "right"]].set_visible(False)
    return figure
