"""Figure 7: how much removal changes the other genes, by the maximal information coefficient."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import umfi
from reproduction.claims import Claim, claim_of_number
from reproduction.genes import PATIENTS
from reproduction.session import Session, Tables

TITLE = "Distortion of the genes by removal"
CLAIM = (
    "Linear removal leaves most genes nearly as they were, with a least coefficient of 0.42; "
    "transport leaves mostly 0.6 to 0.9, with a least of 0.37."
)
DIFFERENCES = f"""\
- {PATIENTS}
- The coefficient is MIC_e (Reshef et al. 2016) with minerva's settings, as in the authors'
  script.
- The figure shows the first fifteen genes; where the text has extremes they are sought among
  these, and among all fifty in a full run.
"""

N_SHOWN = 15
PAPER = {"linear": 0.42, "transport": 0.37}
# Nothing here is random, so what is printed with two digits should be the same to these.
LAST_DIGIT = 0.005


def measure(session: Session) -> Tables:
    """Return the coefficient of each gene before and after removal of each other."""
    X, _ = umfi.datasets.load_brca()
    names = [str(name) for name in X][: session.choose(quick=N_SHOWN, full=len(X.columns))]
    rows = []
    for remover in PAPER:
        for protected in session.track(names, f"{remover} removal"):
            after = umfi.remove_dependence(
                X, protected, remover=remover, protocol="paper",
                random_state=session.seed_of(remover, protected),
            )  # fmt: skip
            rows += [
                (remover, protected, name, umfi.mic_e(X[name].to_numpy(), after[name].to_numpy()))
                for name in names
                if name != protected
            ]
    columns = ["remover", "protected", "feature", "mic_e"]
    return {"coefficients": pd.DataFrame(rows, columns=columns)}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on the coefficients that the figure shows, and on all of them."""
    table = tables["coefficients"]
    names = list(dict.fromkeys(table["protected"]))
    first = names[:N_SHOWN]
    shown = table[table["protected"].isin(first) & table["feature"].isin(first)]
    parts = {f"first {N_SHOWN} genes": shown}
    if len(names) > N_SHOWN:
        parts[f"all {len(names)} genes"] = table
    claims = []
    for words, part in parts.items():
        linear, transport = (part[part["remover"] == one]["mic_e"] for one in PAPER)
        claims += [
            claim_of_number(f"linear, {words}: median", linear.median(), least=0.9, paper="near 1"),
            claim_of_number(
                f"transport, {words}: fraction of pairs from 0.6 to 0.9",
                transport.between(0.6, 0.9).mean(),
                least=0.5,
                paper="mostly",
            ),
            claim_of_number(
                f"{words}: fraction of pairs that transport distorts more",
                (transport.to_numpy() < linear.to_numpy()).mean(),
                least=0.5,
                is_strict=True,
                paper="much more sizable effect",
            ),
        ]
        claims += [
            claim_of_number(
                f"{remover}, {words}: least",
                values.min(),
                least=PAPER[remover] - LAST_DIGIT,
                most=PAPER[remover] + LAST_DIGIT,
                paper=f"{PAPER[remover]:g}",
            )
            for remover, values in (("linear", linear), ("transport", transport))
        ]
    return claims


def draw(tables: Tables) -> Figure:
    """Draw the coefficients of the first fifteen genes as squares."""
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
        for (row, column), value in np.ndenumerate(np.asarray(square)):
            if np.isfinite(value):
                ax.text(
                    column, row, f"{value:.2f}"[1:] if value < 1.0 else "1", fontsize=6,
                    ha="center", va="center", color="white" if value > 0.6 else "black",
                )  # fmt: skip
    axes[0].set_ylabel("protected")
    figure.colorbar(picture, ax=axes, shrink=0.8, label="MIC_e before and after")
    return figure
