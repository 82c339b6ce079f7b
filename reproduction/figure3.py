"""Figure 3 and table 1: genes of which forty are permuted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.claims import Claim, claim_of_mean
from reproduction.genes import (
    CONTRIBUTION,
    FINISHING_ORDER,
    KNOWN_GENES,
    KNOWN_SPREAD,
    MAIN_METHODS,
    PAPERS,
    SPREAD,
    claim_accuracy,
    claim_agreement,
    claim_chance,
    claim_more_spread,
    claim_order,
    claim_rate,
    draw_genes,
    rates,
    run_forests,
    run_genes,
    run_tests,
)
from reproduction.session import Session, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIM", "DIFFERENCES", "SHOWN", "TITLE", "draw", "judge", "measure"]

TITLE = "Breast cancer, forty of fifty genes permuted (with table 1)"
CLAIM = (
    "All methods give the ten known genes importance, BCL11A and SLC22A5 most and TEX14 least; "
    "marginal contribution gives all permuted genes some, ultra-marginal importance few."
)
DIFFERENCES = (
    "The file has 572 patients, the text says 571.",
    (
        "A gene counts as found if its median over iterations is above zero, so the true "
        "negative rate grows with the number of iterations: a permuted gene is above zero in a "
        "little less than half of them. Rates are judged with the paper's 200 iterations only; "
        "the share behind them always."
    ),
    (
        "Marginal contribution counts scores below the majority class as the majority class "
        "(0.53); the authors' floor is 0.5 whatever the classes, which can add up to 0.03 to an "
        "importance and nothing to its spread, and so lowers the SIQR."
    ),
    (
        "The text has the SIQR over all fifty genes. What it prints is near what the ten known "
        "genes give, so both are judged, the latter as ours."
    ),
    "Intervals are over iterations on the same 572 patients and the same permuted genes.",
    FINISHING_ORDER,
    (
        "The matched protocol and its test are ours; the test has all patients and, in each "
        "table, another permutation."
    ),
)

N_ITERATIONS = 200
# What the paper prints, and how near a repetition should come.
TABLE_1 = {
    "linear, paper": {"TPR": 1.0, "TNR": 0.975, "OA": 0.98, SPREAD: 0.419},
    "transport, paper": {"TPR": 1.0, "TNR": 0.775, "OA": 0.82, SPREAD: 0.285},
    CONTRIBUTION: {"TPR": 1.0, "TNR": 0.0, "OA": 0.20, SPREAD: 0.066},
}
NEAR = {"TPR": 0.0, "TNR": 0.125, "OA": 0.1}
# Of marginal contribution the text says that no median is zero, so that there is nothing near.
NO_GENE_AT_ZERO = {"TPR": 0.0, "TNR": 0.0, "OA": 0.0}
SHOWN = ("table1",)


def measure(session: Session) -> Tables:
    """Return importances over iterations, table 1, tests, and accuracies."""
    n_iterations = dict.fromkeys(MAIN_METHODS, session.choose(quick=20, full=N_ITERATIONS))
    n_iterations[CONTRIBUTION] = session.choose(quick=1, full=N_ITERATIONS)
    tested = run_tests(session, session.choose(quick=1, full=10))
    forests = run_forests(session, permuted=True)
    table = run_genes(session, MAIN_METHODS, n_iterations, permuted=True)
    return {"importances": table, "table1": rates(table), "tests": tested, "forests": forests}


def judge(tables: Tables) -> list[Claim]:
    """Return the claims on importances, tests and accuracies."""
    table = tables["importances"]
    n_iterations = tables["table1"].set_index("method")["iterations"]
    claims = []
    for method, printed in TABLE_1.items():
        claims += [
            claim_rate(
                table, method, rate, least=max(0.0, printed[rate] - near),
                most=min(1.0, printed[rate] + near), paper=f"{printed[rate]:g}",
            )
            for rate, near in (NO_GENE_AT_ZERO if method == CONTRIBUTION else NEAR).items()
            # Marginal contribution is above zero in nearly every run, not in nearly half of them.
            if n_iterations[method] >= N_ITERATIONS or method == CONTRIBUTION or rate == "TPR"
        ]  # fmt: skip
        spread = printed[SPREAD]
        if n_iterations[method] > 1:  # One run has no range.
            claims += [
                claim_rate(
                    table, method, rate, least=spread / 1.3, most=spread * 1.3,
                    paper=f"{100 * spread:.1f} %" if rate == SPREAD else "",
                )
                for rate in (SPREAD, KNOWN_SPREAD)
            ]  # fmt: skip
            if method != CONTRIBUTION and n_iterations[CONTRIBUTION] > 1:
                claims.append(
                    claim_more_spread(
                        table, method, CONTRIBUTION, least=1.0, is_strict=True, paper="higher"
                    )
                )
    claims += [claim_chance(table, method) for method in MAIN_METHODS if method != CONTRIBUTION]
    claims += claim_order(table, PAPERS)
    claims += [
        claim_agreement(table, CONTRIBUTION, method, least=0.7, paper="similar")
        for method in PAPERS
        if method != CONTRIBUTION
    ]
    tested = tables["tests"]
    for is_known, rate in ((True, "TPR"), (False, "TNR")):
        own = tested[tested["feature"].isin(KNOWN_GENES) == is_known]
        is_right = own["related"] == is_known
        claims.append(
            claim_of_mean(
                f"transport, matched, with its test, one run: {rate}",
                is_right.groupby(own["iteration"]).mean(),
                limits=(0.0, 1.0),
                least=0.95,
            )
        )
    claims.append(claim_accuracy(tables["forests"], 0.76))
    return claims


def draw(tables: Tables) -> Figure:
    """Draw medians and quartiles."""
    return draw_genes(tables["importances"])
