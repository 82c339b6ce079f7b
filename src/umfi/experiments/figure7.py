"""Figure 7: how much removal changes the other genes, by the maximal information coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import umfi
from umfi.experiments.claims import Claim, claim_of_number
from umfi.experiments.workshop import Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Distortion of the genes by removal"
CLAIM = (
    "Linear removal leaves most genes nearly as they were, with a least coefficient of 0.42; "
    "transport leaves mostly 0.6 to 0.9, with a least of 0.37."
)
DIFFERENCES = (
    "The coefficient is MIC_e (Reshef et al. 2016); the paper does not say which estimate it took.",
    "The least are over all pairs of the first fifteen genes, which the figure shows.",
)

N_SHOWN = 15
PAPER = {"linear": 0.42, "transport": 0.37}


def measure(workshop: Workshop) -> Tables:
    """Return the coefficient of each gene before and after removal of each other."""
    X, _ = umfi.datasets.load_brca()
    names = [str(name) for name in X][: workshop.choose(quick=N_SHOWN, full=len(X.columns))]
    rows = []
    for remover in PAPER:
        for protected in workshop.track(names, f"{remover} removal"):
            after = umfi.remove_dependence(
                X, protected, remover=remover, protocol="paper",
                random_state=workshop.seed_of(remover, protected),
            )  # fmt: skip
            rows += [
                (remover, protected, name, umfi.mic_e(X[name].to_numpy(), after[name].to_numpy()))
                for name in names
                if name != protected
            ]
    columns = ["remover", "protected", "feature", "mic_e"]
    return {"coefficients": pd.DataFrame(rows, columns=columns)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on the coefficients that the figure shows."""
    table = tables["coefficients"]
    names = list(dict.fromkeys(table["protected"]))
    shown = table[table["protected"].isin(names[:N_SHOWN]) & table["feature"].isin(names[:N_SHOWN])]
    claims = []
    for remover, least in PAPER.items():
        values = shown[shown["remover"] == remover]["mic_e"]
        claims.append(
            claim_of_number(
                f"{remover}: least coefficient",
                values.min(),
                least=least - 0.1,
                most=least + 0.1,
                paper=f"{least:g}",
            )
        )
    linear = shown[shown["remover"] == "linear"]["mic_e"]
    transport = shown[shown["remover"] == "transport"]["mic_e"]
    claims += [
        claim_of_number("linear: median coefficient", linear.median(), least=0.9, paper="near 1"),
        claim_of_number(
            "transport: share of pairs from 0.6 to 0.9",
            transport.between(0.6, 0.9).mean(),
            least=0.5,
            paper="mostly",
        ),
    ]
    return claims


def draw(tables: Tables) -> Figure:
    """Draw the coefficients of the first fifteen genes as squares."""
    import matplotlib.pyplot as plt

    table = tables["coefficients"]
    names = list(dict.fromkeys(table["protected"]))[:N_SHOWN]
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
    for ax, (remover, part) in zip(axes, table.groupby("remover", sort=False), strict=True):
        square = part.pivot_table(index="protected", columns="feature", values="mic_e")
        square = square.reindex(index=names, columns=names)
        picture = ax.imshow(np.asarray(square), vmin=0.0, vmax=1.0, cmap="Blues")
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        ax.set_yticks(range(len(names)), names, fontsize=7)
        ax.set_title(f"{remover} removal", loc="left")
        ax.set_xlabel("transformed")
    axes[0].set_ylabel("protected")
    figure.colorbar(picture, ax=axes, shrink=0.8, label="MIC_e before and after")
    return figure
