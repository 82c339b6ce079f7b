"""Figure 12: the genes as they are, with ablation and the permutation methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim, claim_of_number
from umfi.experiments.genes import OTHER_METHODS, draw_genes, rates, run_genes, wide
from umfi.experiments.workshop import Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Breast cancer, all genes as they are, other methods"
CLAIM = (
    "Permutation puts BCL11A first, as the scientific methods do; conditional permutation puts "
    "SLC25A1 first, which is not known to matter; ablation is mostly noise."
)
DIFFERENCES = (
    "The file has 572 patients, the text says 571.",
    "Conditional permutation follows permimp's cells, on our own forests.",
)


def measure(workshop: Workshop) -> Tables:
    """Return importances over iterations, and how much they vary."""
    n_iterations = dict.fromkeys(OTHER_METHODS, workshop.choose(quick=20, full=100))
    n_iterations["conditional permutation"] = workshop.choose(quick=5, full=100)
    table = run_genes(workshop, OTHER_METHODS, n_iterations, permuted=False)
    return {"importances": table, "rates": rates(table)}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on importances."""
    table = tables["importances"]
    medians = {method: wide(table, method).median() for method in OTHER_METHODS}
    ranks = {method: one.rank(ascending=False, method="min") for method, one in medians.items()}
    noise = tables["rates"].set_index("method")["SIQR"]
    return [
        claim_of_number(
            "permutation: place of BCL11A", ranks["permutation"]["BCL11A"], most=1, paper="1"
        ),
        claim_of_number(
            "conditional permutation: place of SLC25A1",
            ranks["conditional permutation"]["SLC25A1"],
            most=1,
            paper="1, by far",
        ),
        claim_of_number(
            "ablation: its SIQR is so many times that of permutation",
            noise["ablation"] / noise["permutation"],
            least=3.0,
            paper="large",
        ),
    ]


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
