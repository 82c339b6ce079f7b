"""Figure 12: the genes as they are, with ablation and the permutation methods."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from reproduction.claims import Claim, claim_of_medians
from reproduction.gene_claims import (
    claim_agreement,
    claim_lead,
    claim_more_spread,
    claim_place,
    rates,
)
from reproduction.genes import (
    OTHER_METHODS,
    OWN_CELLS,
    PAPER_REMOVERS,
    PATIENTS,
    SHARED_FOREST,
    draw_genes,
    other_genes,
    run_genes,
    wide,
)
from reproduction.session import Session, Tables

TITLE = "Breast cancer, all genes as they are, other methods"
CLAIM = (
    "Permutation puts BCL11A first, as the scientific methods do; conditional permutation puts "
    "SLC25A1 first, which is not known to matter; ablation is mostly noise."
)
DIFFERENCES = f"""\
- {PATIENTS}
- {OWN_CELLS}
- Permutation methods are not clipped at zero in each run, as the authors do.
- {SHARED_FOREST}
- Whether permutation gives similar importances is assessed against ultra-marginal ones; marginal
  contribution is compared with those in figure 11.
"""
METHODS = {**OTHER_METHODS, **PAPER_REMOVERS}
HIGH = ("BRCA1", "BRCA2", "TEX14", "EZH2", "IGF1R")
# Rank correlations that we call similar, as in figure 11, and what is by far more than the next.
ALIKE, BY_FAR = 0.7, 1.5
SHOWN = ("rates",)


def measure(session: Session) -> Tables:
    """Return importances over iterations, and how much they vary."""
    n_iterations = dict.fromkeys(METHODS, session.choose(quick=20, full=100))
    table = run_genes(session, METHODS, n_iterations, permuted=False)
    return {"importances": table, "rates": rates(table)}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on importances."""
    table = tables["importances"]
    others = other_genes(table)
    genes = list(dict.fromkeys(table["feature"]))
    claims = [
        claim_lead(table, "permutation", "BCL11A first of all", ["BCL11A"], paper="first"),
        claim_place(
            table, "permutation", ["CST9L"], others, "forty other genes",
            most=5.0, paper="among the first",
        ),
        claim_lead(
            table, "conditional permutation", "SLC25A1 first of all", ["SLC25A1"], paper="first"
        ),
        _claim_by_far(table, "conditional permutation", "SLC25A1"),
        claim_more_spread(table, "ablation", "permutation", least=3.0, paper="high variance"),
    ]  # fmt: skip
    for method in ("ablation", "conditional permutation"):
        claims += [
            claim_place(table, method, HIGH, genes, "fifty genes", most=12.0, paper="high"),
            claim_place(
                table, method, ["SLC25A1"], others, "forty other genes", most=5.0, paper="high"
            ),
        ]
    for method in OTHER_METHODS:
        is_alike = method == "permutation"
        bounds = {"least": ALIKE} if is_alike else {"most": ALIKE, "is_strict": True}
        claims += [
            claim_agreement(
                table, method, remover, paper="similar" if is_alike else "much worse", **bounds
            )
            for remover in PAPER_REMOVERS
        ]
    return claims


def _claim_by_far(table: pd.DataFrame, method: str, gene: str) -> Claim:
    """Return the claim that the median of a gene is by far the largest."""
    own = wide(table, method)
    second = own.median().drop(gene).idxmax()
    return claim_of_medians(
        f"{method}: {gene} has so many times as much as the next ({second}), medians",
        own[[gene, second]].to_numpy(),
        lambda pair: pair[..., 0] / pair[..., 1],
        least=BY_FAR,
        paper="by far the highest",
    )


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles of what the paper has here."""
    table = tables["importances"]
    return draw_genes(table[table["method"].isin(OTHER_METHODS)])
