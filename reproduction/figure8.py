"""Figure 8: the simulations with other methods, and with extremely randomised trees."""

from __future__ import annotations

from functools import partial

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import umfi
from reproduction.claims import Claim
from reproduction.session import Methods, Session, Tables, ultra_marginal
from reproduction.simulations import (
    COLOURS,
    SCRIPT,
    SIMULATIONS,
    claim_shares,
    distance_of_pair,
    draw_shares,
    lead_of,
    lead_of_pair,
    run_simulations,
    share_of,
)

TITLE = "Simulations with ablation and permutation, and with extra-trees"
CLAIM = (
    "Ablation and the permutation methods see the interactions, but lose or split correlated "
    "features and give x2 of the blood relation importance; with extra-trees and bins of 30 rows "
    "marginal contribution and ultra-marginal importance say what they say with forests."
)
DIFFERENCES = """\
- What the paper says of the blood relation here (x2 important for conditional permutation, x1
  near zero for marginal contribution) fits its script, where x2 is noise that x3 is made of, and
  not its equations, which figure 1 fits; both are run. Where it compares extra-trees with the
  forests of figure 1, both are run on the same tables here.
- Conditional permutation follows permimp's cells, on our own forests with randomForest's mtry
  for regression, a third of the features, so one; the authors took randomForest.
- Ablation grows a forest on all features for each of them, the authors' one for all of them,
  whose noise is then in all importances.
- Permutation methods of a regression are measured in mean squared error, and are not clipped at
  zero as the authors do; shares have no unit.
"""

MCI = "marginal contribution, extra-trees"
FORESTS = ["ablation", "permutation", "conditional permutation"]
TREES = ["linear, extra-trees", "transport, extra-trees"]
METHODS: Methods = {
    "ablation": {"method": "ablation", "protocol": "paper"},
    "permutation": {"method": "permutation"},
    "conditional permutation": {
        "method": "conditional_permutation",
        "power": umfi.ForestPower(mtry=1),
    },
    MCI: {"method": "marginal_contribution", "max_context": None, "power": "extra-trees"},
    "linear, extra-trees": ultra_marginal("linear", power="extra-trees"),
    "transport, extra-trees": ultra_marginal(
        umfi.TransportRemover(rows_per_bin=30), power="extra-trees"
    ),
}
BLOOD_RELATIONS = ("blood_relation", SCRIPT)
# What figure 1 has, on the tables of which the paper compares extra-trees with forests.
ON_FORESTS: Methods = {
    "marginal contribution, forests": {"method": "marginal_contribution", "max_context": None},
    "linear, forests": ultra_marginal("linear"),
    "transport, forests": ultra_marginal("transport"),
}
# Points of a hundred: "much more", and "significantly more".
MUCH_MORE, MORE = 15.0, 5.0


def measure(session: Session) -> Tables:
    """Return shares of each feature over replications."""
    n_replications = session.choose(quick=8, full=100)
    simulations = [*SIMULATIONS, SCRIPT]
    more_methods = dict.fromkeys(BLOOD_RELATIONS, ON_FORESTS)
    shares = run_simulations(session, METHODS, n_replications, simulations, more_methods)
    return {"shares": shares}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on shares."""
    claim = partial(claim_shares, tables["shares"])
    lead = "x1 and x2 above x3 and x4 (points)"
    claims = [
        claim("nonlinear_interactions", method, "more than half to x1 and x2 (points)",
              share_of("x1", "x2"), least=50.0, is_strict=True, paper="more than half")
        for method in METHODS
    ]  # fmt: skip
    claims += [
        claim("correlated_interactions", method, lead, lead_of_pair, least=0.0, is_strict=True,
              paper="above")
        for method in [*FORESTS, *TREES]
    ]  # fmt: skip
    claims += [
        claim("correlated_interactions", "ablation",
              f"x1 and x2 have more than for {other} (points, each)",
              lambda rows: rows[..., :2].mean(axis=(-2, -1)), less=other, least=1.0, most=5.0,
              paper="about 3")
        for other in ("permutation", "conditional permutation")
    ]  # fmt: skip
    claims.append(
        claim("correlated_interactions", MCI, lead, lead_of_pair, least=-2.0, most=2.0,
              paper="seemingly insignificant")
    )  # fmt: skip
    claims += [
        claim("correlation", method, "x1 and x3 near zero (points, both)", share_of("x1", "x3"),
              most=10.0, paper="near zero")
        for method in ("ablation", "conditional permutation")
    ]  # fmt: skip
    claims += [
        claim("correlation", "conditional permutation",
              "x1 and x3 have less than for ablation (points, both)", share_of("x1", "x3"),
              less="ablation", most=0.0, is_strict=True, paper="ablation less drastic"),
        claim("correlation", "permutation",
              "x1 and x3 share what x2 has alone (their sum less x2, points)",
              lambda rows: (rows[..., 0] + rows[..., 2] - rows[..., 1]).mean(axis=-1),
              least=-10.0, most=10.0, paper="split"),
        claim("correlation", "permutation", "x1 and x3 have the same (difference, points)",
              lead_of("x1", "x3"), least=-5.0, most=5.0, paper="evenly"),
        claim("correlation", MCI, "x4 some, but less than 5 (points)", share_of("x4"),
              least=0.5, most=5.0, paper="below 5, not zero"),
        claim("correlation", "linear, extra-trees", "x1 above x2 (points)",
              lead_of("x1", "x2"), least=0.0, is_strict=True, paper="slightly above"),
        claim("correlation", "transport, extra-trees",
              "x1 and x2 equal (difference, points)", lead_of("x1", "x2"), least=-2.0, most=2.0,
              paper="almost identical"),
    ]  # fmt: skip
    for simulation in BLOOD_RELATIONS:
        claims += [
            claim(simulation, method, "x2 is given importance (points)", share_of("x2"),
                  least=5.0, paper="significant")
            for method in FORESTS
        ]  # fmt: skip
        claims += [
            claim(simulation, MCI, "x2 above zero (points)", share_of("x2"), least=1.0,
                  paper="positive"),
            claim(simulation, MCI, "x1 near zero (points)", share_of("x1"), least=-5.0, most=5.0,
                  paper="almost zero"),
            claim(simulation, MCI, "x3 and x4 have more than with forests (points, both)",
                  share_of("x3", "x4"), less="marginal contribution, forests", least=MORE,
                  paper="significantly more"),
        ]  # fmt: skip
        for method in TREES:
            claims += [
                claim(simulation, method, "x1 and x2 near zero (further one, points)",
                      distance_of_pair, limits=(0.0, 100.0), most=5.0, paper="near zero"),
                claim(simulation, method, "x3 has more than with forests (points)",
                      share_of("x3"), less=method.replace("extra-trees", "forests"),
                      least=MUCH_MORE, paper="much more"),
            ]  # fmt: skip
    return claims


def draw(tables: Tables) -> Figure:
    """Draw the shares: other methods above, extra-trees below, a column for each simulation.

    The blood relation has forests beside extra-trees.
    """
    simulations = [*SIMULATIONS, SCRIPT]
    figure, axes = plt.subplots(
        2, len(simulations), figsize=(16, 7.5), layout="constrained", sharex=True
    )
    for row, methods, colours in (
        (axes[0], FORESTS, COLOURS[3:]),
        (axes[1], [MCI, *TREES], COLOURS[:3]),
    ):
        for ax, simulation in zip(row, simulations, strict=True):
            has_both = MCI in methods and simulation in BLOOD_RELATIONS
            shown = [*methods, *ON_FORESTS] if has_both else methods
            draw_shares(tables["shares"], simulation, shown, ax, COLOURS if has_both else colours)
        row[0].set_ylabel("share of the total (%)")
        # Above the line at zero, which would strike a name through.
        row[0].legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 0.07))
    axes[1, -2].legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(0.0, 0.57))
    return figure
