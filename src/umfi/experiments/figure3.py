"""Figure 3 and table 1: genes of which forty are permuted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umfi.experiments.claims import Claim, claim_of_mean
from umfi.experiments.genes import (
    KNOWN_GENES,
    claim_accuracy,
    claim_order,
    claim_rate,
    draw_genes,
    rates,
    run_forests,
    run_genes,
    run_tests,
)
from umfi.experiments.workshop import Methods, Tables, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "TITLE", "draw", "judge", "measure"]

TITLE = "Breast cancer, forty of fifty genes permuted (with table 1)"
CLAIM = (
    "All methods give the ten known genes importance, BCL11A and SLC22A5 most and TEX14 least; "
    "marginal contribution gives all permuted genes some, ultra-marginal importance few."
)
DIFFERENCES = (
    "The file has 572 patients, the text says 571.",
    "Genes are permuted anew in each iteration.",
    "The authors floor accuracy at 0.5, clip importances at 0, and mtry differs between forests.",
    "The matched protocol does none of this, and its test says which genes are related.",
)

CONTRIBUTION = "marginal contribution"
METHODS: Methods = {
    "linear, paper": {"method": "ultra_marginal", "remover": "linear", "protocol": "paper"},
    "transport, paper": {"method": "ultra_marginal", "remover": "transport", "protocol": "paper"},
    "linear, matched": {"method": "ultra_marginal", "remover": "linear"},
    "transport, matched": {"method": "ultra_marginal", "remover": "transport"},
    CONTRIBUTION: {"method": "marginal_contribution", "max_context": 2},
}
# What the paper prints: true positives, true negatives, standardised interquartile range.
TABLE_1 = {
    CONTRIBUTION: (1.0, 0.0, 0.066),
    "linear, paper": (1.0, 0.975, 0.419),
    "transport, paper": (1.0, 0.775, 0.285),
}


def measure(workshop: Workshop) -> Tables:
    """Return importances over iterations, table 1, tests, and accuracies."""
    n_iterations = dict.fromkeys(METHODS, workshop.choose(quick=20, full=200))
    n_iterations[CONTRIBUTION] = workshop.choose(quick=1, full=200)
    tested = run_tests(workshop, workshop.choose(quick=1, full=10))
    forests = run_forests(workshop, permuted=True)
    table = run_genes(workshop, METHODS, n_iterations, permuted=True)
    return {"importances": table, "table1": rates(table), "tests": tested, "forests": forests}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on importances, tests and accuracies."""
    table, tested = tables["importances"], tables["tests"]
    n_iterations = tables["table1"].set_index("method")["iterations"]
    claims = []
    for method, (true_positives, true_negatives, spread) in TABLE_1.items():
        claims.append(claim_rate(table, method, "TPR", least=true_positives, paper="1"))
        bounds = {"most": 0.1} if true_negatives == 0.0 else {"least": true_negatives}
        claims.append(claim_rate(table, method, "TNR", paper=f"{true_negatives:g}", **bounds))
        if n_iterations[method] > 1:
            claims.append(
                claim_rate(
                    table,
                    method,
                    "SIQR",
                    least=spread / 1.3,
                    most=spread * 1.3,
                    paper=f"{100 * spread:.1f} %",
                )
            )
    claims += claim_order(table, list(TABLE_1))
    is_known = tested["feature"].isin(KNOWN_GENES)
    by_table = tested.assign(right=tested["related"] == is_known).groupby("iteration")["right"]
    claims += [
        claim_of_mean(
            "transport, matched, with its test: share of genes that are told right",
            by_table.mean(),
            least=0.95,
            paper="0.82 (transport), 0.98 (linear) without a test",
        ),
        claim_accuracy(tables["forests"], 0.76),
    ]
    return claims


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
