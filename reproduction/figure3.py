"""Figure 3 and table 1: genes of which forty are permuted."""

from __future__ import annotations

from reproduction import table1
from reproduction.claims import Claim, claim_of_mean
from reproduction.gene_claims import claim_accuracy, claim_agreement, claim_chance, claim_order
from reproduction.genes import (
    CONTRIBUTION,
    KNOWN_GENES,
    MAIN_METHODS,
    PAPERS,
    run_forests,
    run_tests,
)
from reproduction.session import Session, Tables

TITLE = "Breast cancer, forty of fifty genes permuted (with table 1)"
CLAIM = (
    "All methods give the ten known genes importance, BCL11A and SLC22A5 most and TEX14 least; "
    "marginal contribution gives all permuted genes some, ultra-marginal importance few."
)
DIFFERENCES = f"""{table1.DIFFERENCES}\
- The matched protocol and its test are ours; the test has all patients and, in each table,
  another permutation.
"""
SHOWN = table1.SHOWN
draw = table1.draw


def measure(session: Session) -> Tables:
    """Return importances over iterations, table 1, tests, and accuracies."""
    tests = run_tests(session, session.choose(quick=1, full=10))
    forests = run_forests(session, permuted=True)
    tables = table1.measure_methods(session, MAIN_METHODS)
    return {**tables, "tests": tests, "forests": forests}


def assess(tables: Tables) -> list[Claim]:
    """Return the claims on importances, tests and accuracies."""
    table = tables["importances"]
    claims = table1.assess(tables)
    claims += [claim_chance(table, method) for method in MAIN_METHODS if method != CONTRIBUTION]
    claims += claim_order(table, PAPERS)
    claims += [
        claim_agreement(table, CONTRIBUTION, method, least=0.7, paper="similar")
        for method in PAPERS
        if method != CONTRIBUTION
    ]
    tests = tables["tests"]
    for is_known, rate in ((True, "TPR"), (False, "TNR")):
        own = tests[tests["feature"].isin(KNOWN_GENES) == is_known]
        is_right = (own["related"] == is_known).groupby(own["iteration"]).mean()
        claims.append(
            claim_of_mean(
                f"transport, matched, with its test, one run: {rate}",
                is_right, limits=(0.0, 1.0), least=0.95,
            )
        )  # fmt: skip
    claims.append(claim_accuracy(tables["forests"], 0.76))
    return claims
