"""Figure 10: the permuted genes with ablation and the permutation methods."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from reproduction.claims import Claim, Numbers, claim_of_medians
from reproduction.gene_claims import claim_more_spread, claim_rate, rates
from reproduction.genes import (
    OTHER_METHODS,
    OWN_CELLS,
    PATIENTS,
    SHARED_FOREST,
    draw_genes,
    other_genes,
    run_genes,
    wide,
)
from reproduction.session import Session, Tables

TITLE = "Breast cancer, permuted genes, other methods"
CLAIM = (
    "Ablation finds eight of the ten genes and nothing else, permutation all ten with a true "
    "negative rate of 0.725, conditional permutation all ten with permuted ones among them."
)
DIFFERENCES = f"""\
- {PATIENTS}
- {OWN_CELLS}
- Permutation methods are not clipped at zero in each run, as the authors do; medians above zero
  are the same.
- {SHARED_FOREST}
"""
N_ITERATIONS = 200
SHOWN = ("rates",)


def measure(session: Session) -> Tables:
    """Return importances over iterations, and how many genes are classified correctly."""
    n_iterations = dict.fromkeys(OTHER_METHODS, session.choose(quick=20, full=N_ITERATIONS))
    table = run_genes(session, OTHER_METHODS, n_iterations, permuted=True)
    return {"importances": table, "rates": rates(table)}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on importances."""
    table, by_method = tables["importances"], tables["rates"].set_index("method")
    conditional = wide(table, "conditional permutation")
    claims = [
        claim_rate(table, "ablation", "TPR", least=0.7, most=0.9, paper="8 of 10"),
        claim_rate(table, "ablation", "TNR", least=1.0, paper="1"),
        claim_more_spread(table, "ablation", "permutation", least=2.0, paper="large"),
        claim_rate(table, "permutation", "TPR", least=1.0, paper="1"),
        claim_rate(table, "conditional permutation", "TPR", least=1.0, paper="1"),
        claim_of_medians(
            "conditional permutation: permuted genes above CDK6",
            conditional[["CDK6", *other_genes(table)]].to_numpy(),
            _n_above_first,
            limits=(0.0, 40.0),
            is_of_so_many_runs=True,
            least=1.0,
            paper="some",
        ),
        claim_more_spread(
            table, "conditional permutation", "permutation",
            least=1.0, is_strict=True, paper="less stable",
        ),
    ]  # fmt: skip
    if by_method["iterations"]["permutation"] >= N_ITERATIONS:
        claims.append(claim_rate(table, "permutation", "TNR", least=0.6, most=0.85, paper="0.725"))
    return claims


def _n_above_first(medians: Numbers) -> Any:
    """Return how many medians are above the first one."""
    return (medians[..., 1:] > medians[..., :1]).sum(axis=-1)


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
