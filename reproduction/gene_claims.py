"""Claims on the importances of the breast-cancer genes: medians, ranks and how much they vary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from reproduction.claims import (
    Claim,
    Numbers,
    claim_of_mean,
    claim_of_medians,
    claim_of_quartiles,
    claim_of_rows,
)
from reproduction.genes import KNOWN_GENES, wide

NOT_ABOVE_ZERO = "genes not above zero"
SPREAD, KNOWN_SPREAD = "SIQR", "SIQR of the known genes"
RATES = (SPREAD, KNOWN_SPREAD, "TPR", "TNR", "OA", NOT_ABOVE_ZERO)


def _rate(medians: Numbers, is_known: NDArray[np.bool_], rate: str) -> Any:
    """Return a rate of medians, shape (..., n_genes): a gene above zero is found."""
    is_found = medians > 0.0
    if rate == "TPR":
        return is_found[..., is_known].mean(axis=-1)
    if rate == "TNR":
        return (~is_found[..., ~is_known]).mean(axis=-1)
    if rate == "OA":
        return (is_found == is_known).mean(axis=-1)
    if rate == NOT_ABOVE_ZERO:
        return (~is_found).sum(axis=-1)
    raise ValueError(rate)


def _spread(quartiles: Numbers, chosen: NDArray[np.bool_]) -> Any:
    """Return the standardised interquartile range: mean range over mean median (section 4.2)."""
    low, middle, high = quartiles[..., chosen]
    return (high - low).mean(axis=-1) / middle.mean(axis=-1)


def _spread_genes(is_known: NDArray[np.bool_], rate: str) -> NDArray[np.bool_]:
    return np.ones_like(is_known) if rate == SPREAD else is_known


def rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per method: how many iterations, and the rates."""
    rows = []
    for method in dict.fromkeys(table["method"]):
        own = wide(table, method)
        is_known = own.columns.isin(KNOWN_GENES)
        medians = np.median(own, axis=0)
        quartiles = np.quantile(own, [0.25, 0.5, 0.75], axis=0)
        found = {
            rate: float(
                _spread(quartiles, _spread_genes(is_known, rate))
                if rate in (SPREAD, KNOWN_SPREAD)
                else _rate(medians, is_known, rate)
            )
            for rate in RATES
        }
        rows.append({"method": method, "iterations": len(own), **found})
    return pd.DataFrame(rows)


def claim_rate(table: pd.DataFrame, method: str, rate: str, **bounds: Any) -> Claim:
    """Return the claim on a rate, with the interval of a bootstrap over iterations.

    How many medians are above zero depends on the number of iterations, so these rates have
    the interval of as many other ones.
    """
    own = wide(table, method)
    is_known = own.columns.isin(KNOWN_GENES)
    statement = f"{method}: {rate}"
    if rate in (SPREAD, KNOWN_SPREAD):
        spread = partial(_spread, chosen=_spread_genes(is_known, rate))
        return claim_of_quartiles(statement, own.to_numpy(), spread, limits=(0.0, np.inf), **bounds)
    return claim_of_medians(
        statement,
        own.to_numpy(),
        partial(_rate, is_known=is_known, rate=rate),
        limits=(0.0, np.inf if rate == NOT_ABOVE_ZERO else 1.0),
        is_of_so_many_runs=True,
        **bounds,
    )


def claim_chance(table: pd.DataFrame, method: str) -> Claim:
    """Return our claim that permuted genes are above zero in less than half of the runs.

    The median of a gene of which this is true is zero in the end. The mean over genes needs far
    fewer runs than medians, but does not speak of any one of them.
    """
    own = wide(table, method)
    is_above = own.to_numpy()[:, ~own.columns.isin(KNOWN_GENES)] > 0.0
    return claim_of_rows(
        f"{method}: fraction of runs in which a permuted gene is above zero, mean over genes",
        is_above.sum(axis=1, keepdims=True, dtype=np.float64),
        lambda rows: rows.sum(axis=(-2, -1)) / is_above.size,
        limits=(0.0, 1.0),
        most=0.5,
        is_strict=True,
    )


def _common_iterations(
    table: pd.DataFrame, one: str, other: str
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the iterations that both methods have, side by side, and which genes are known."""
    first, second = wide(table, one), wide(table, other)
    common = first.index.intersection(second.index)
    both = np.hstack([first.loc[common], second.loc[common, first.columns]])
    return both, np.asarray(first.columns.isin(KNOWN_GENES))


def claim_more_spread(table: pd.DataFrame, method: str, other: str, **bounds: Any) -> Claim:
    """Return the claim on how many times the SIQR of one method is that of another."""
    both, is_known = _common_iterations(table, method, other)
    is_first = np.repeat([True, False], len(is_known))
    return claim_of_quartiles(
        f"{method}: its SIQR is so many times that of {other}",
        both,
        lambda quartiles: _spread(quartiles, is_first) / _spread(quartiles, ~is_first),
        limits=(0.0, np.inf),
        **bounds,
    )


def claim_lead(
    table: pd.DataFrame,
    method: str,
    words: str,
    above: Sequence[str],
    below: Sequence[str] | None = None,
    **bounds: Any,
) -> Claim:
    """Return the claim that medians of some genes are above those of others (of all others).

    The pair that decides is found on all runs, and its difference has the interval.
    """
    own = wide(table, method)
    medians = own.median()
    lower = [str(gene) for gene in own if gene not in above] if below is None else list(below)
    last, first = medians[list(above)].idxmin(), medians[lower].idxmax()
    return claim_of_medians(
        f"{method}: {words} ({last} less {first}, medians)",
        own[[last, first]].to_numpy(),
        lambda pair: pair[..., 0] - pair[..., 1],
        **({"least": 0.0, "is_strict": True} | bounds),
    )


def claim_order(table: pd.DataFrame, methods: Sequence[str]) -> list[Claim]:
    """Return the claims that BCL11A and SLC22A5 come first, and TEX14 last of the ten."""
    known = [gene for gene in KNOWN_GENES if gene != "TEX14"]
    first = ("BCL11A", "SLC22A5")
    claims = []
    for method in methods:
        claims += [
            claim_lead(table, method, "BCL11A and SLC22A5 first", first, paper="first"),
            claim_lead(table, method, "TEX14 last of the ten", known, ["TEX14"], paper="last"),
        ]
    return claims


def claim_agreement(table: pd.DataFrame, one: str, other: str, **bounds: Any) -> Claim:
    """Return the claim that two methods put the ten known genes in a similar order."""
    both, is_known = _common_iterations(table, one, other)

    def agreement(medians: Numbers) -> Any:
        """Return the rank correlation of the two halves."""
        ranks = [rankdata(half[..., is_known], axis=-1) for half in np.split(medians, 2, axis=-1)]
        first, second = (part - part.mean(axis=-1, keepdims=True) for part in ranks)
        squares = (first**2).sum(axis=-1) * (second**2).sum(axis=-1)
        return (first * second).sum(axis=-1) / np.sqrt(squares)

    return claim_of_medians(
        f"order of the ten genes, {one} and {other} (rank correlation)",
        both,
        agreement,
        limits=(-1.0, 1.0),
        is_of_so_many_runs=True,
        **bounds,
    )


def claim_place(
    table: pd.DataFrame,
    method: str,
    genes: Sequence[str],
    among: Sequence[str],
    words: str,
    **bounds: Any,
) -> Claim:
    """Return the claim on the place of a gene's median, 1 for the largest; of several the mean.

    Places are counted ``among`` these genes, which the words name.
    """
    chosen = np.array([gene in genes for gene in among])

    def place(medians: Numbers) -> Any:
        is_above = medians[..., None, :] > medians[..., chosen, None]
        return is_above.sum(axis=-1).mean(axis=-1) + 1.0

    kind = "place" if len(genes) == 1 else "mean place"
    return claim_of_medians(
        f"{method}: {kind} of {', '.join(genes)} among the {words}",
        wide(table, method)[list(among)].to_numpy(),
        place,
        limits=(1.0, float(len(among))),
        is_of_so_many_runs=True,
        **bounds,
    )


def claim_accuracy(forests: pd.DataFrame, paper: float) -> Claim:
    """Return the claim on the accuracy of forests."""
    return claim_of_mean(
        "accuracy of forests on all genes", forests["accuracy"], least=paper - 0.02,
        most=paper + 0.02, paper=f"{paper:g}",
    )  # fmt: skip
