"""Figure 12: the genes as they are, with ablation and the permutation methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim, claim_of_number
from umfi.experiments.genes import (
    KNOWN_GENES,
    OTHER_METHODS,
    SHARED_FOREST,
    claim_lead,
    draw_genes,
    place_of,
    rates,
    run_genes,
    wide,
)
from umfi.experiments.workshop import Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "SHOWN", "TITLE", "draw", "judge", "measure"]

TITLE = "Breast cancer, all genes as they are, other methods"
CLAIM = (
    "Permutation puts BCL11A first, as the scientific methods do; conditional permutation puts "
    "SLC25A1 first, which is not known to matter; ablation is mostly noise."
)
DIFFERENCES = (
    "The file has 572 patients, the text says 571.",
    (
        "Conditional permutation follows permimp's cells, on our own forests; the authors took "
        "randomForest."
    ),
    "Permutation methods are not clipped at zero in each run, as the authors do.",
    SHARED_FOREST,
)
HIGH = ("BRCA1", "BRCA2", "TEX14", "EZH2", "IGF1R")
SHOWN = ("rates",)


def measure(workshop: Workshop) -> Tables:
    """Return importances over iterations, and how much they vary."""
    n_iterations = dict.fromkeys(OTHER_METHODS, workshop.choose(quick=20, full=100))
    table = run_genes(workshop, OTHER_METHODS, n_iterations, permuted=False)
    return {"importances": table, "rates": rates(table)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on importances."""
    table = tables["importances"]
    noise = tables["rates"].set_index("method")["SIQR"]
    genes = [str(gene) for gene in wide(table, "permutation")]
    others = [gene for gene in genes if gene not in KNOWN_GENES]
    claims = [
        claim_lead(table, "permutation", "BCL11A first of all", ["BCL11A"], paper="first"),
        claim_of_number(
            "permutation: place of CST9L among the forty other genes",
            place_of(table, "permutation", "CST9L", others),
            most=5,
            paper="among the first",
        ),
        claim_lead(
            table, "conditional permutation", "SLC25A1 first of all", ["SLC25A1"],
            paper="by far the highest",
        ),
        claim_of_number(
            "ablation: its SIQR is so many times that of permutation",
            noise["ablation"] / noise["permutation"],
            least=3.0,
            paper="high relative variance",
        ),
    ]  # fmt: skip
    for method in ("ablation", "conditional permutation"):
        places = [place_of(table, method, gene, genes) for gene in HIGH]
        claims.append(
            claim_of_number(
                f"{method}: mean place of {', '.join(HIGH)}, of 50",
                sum(places) / len(places),
                most=12.0,
                paper="high",
            )
        )
    return claims


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
