"""Claims can fail, and say by how much."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reproduction.claims import (
    Claim,
    claim_of_mean,
    claim_of_medians,
    claim_of_number,
    claim_of_quartiles,
    claim_of_rows,
)
from reproduction.gene_claims import (
    claim_agreement,
    claim_chance,
    claim_more_spread,
    claim_place,
    claim_rate,
)
from reproduction.genes import KNOWN_GENES, other_genes
from reproduction.simulations import claim_shares, claim_spread, lead_of, lead_of_pair


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (0.5, 0.4, 0.6, "holds"),
        (0.5, -0.1, 1.1, "holds, which may be chance"),
        (-0.2, -0.3, -0.1, "does not hold, by 0.2"),
        (-0.2, -0.5, 0.1, "does not hold, by 0.2, which may be chance"),
        (1.25, 1.1, 1.4, "does not hold, by 0.25"),
    ],
)
def test_verdicts_say_by_how_much_and_whether_chance_could_do_it(value, low, high, verdict):
    claim = Claim("a claim", value, low, high, least=0.0, most=1.0)
    assert claim.verdict == verdict
    assert claim.bounds == "0 to 1"
    assert claim.to_plain()["verdict"] == verdict


def test_the_interval_of_a_mean_is_students():
    samples = np.random.default_rng(0).normal(2.0, 1.0, size=12)
    claim = claim_of_mean("a mean", samples, least=0.0)
    low, high = stats.t.interval(0.95, 11, samples.mean(), stats.sem(samples))
    assert (claim.low, claim.high) == pytest.approx((low, high))
    assert claim_of_mean("one sample", [3.0], least=0.0).verdict == "holds, which may be chance"


def test_the_interval_of_a_statistic_is_that_of_a_bootstrap():
    rows = np.random.default_rng(0).normal(size=(400, 1))
    claim = claim_of_rows("a mean", rows, lambda part: part.mean(axis=(-2, -1)), most=1.0)
    assert claim.value == rows.mean()
    assert claim.high - claim.low == pytest.approx(2 * 1.96 / 20, rel=0.15)
    assert claim == claim_of_rows("a mean", rows, lambda part: part.mean(axis=(-2, -1)), most=1.0)


@pytest.mark.parametrize("n_rows", [5, 8, 30, 31])
def test_resampled_medians_and_quartiles_are_those_of_numpy(n_rows, monkeypatch):
    """Counting how often each row is drawn gives what drawing and sorting gives, to the bit."""
    monkeypatch.setattr("reproduction.claims.N_BOOTSTRAPS", 50)
    rows = np.random.default_rng(1).normal(size=(n_rows, 3)).round(1)
    rng = np.random.default_rng(0)
    drawn = [rows[rng.integers(n_rows, size=n_rows)] for _ in range(50)]
    seen = []

    def first(numbers):
        seen.append(numbers)
        return numbers[..., 0]

    claim_of_medians("a median", rows, first)
    assert np.array_equal(seen[-1], [np.median(part, axis=0) for part in drawn])
    claim_of_quartiles("a quartile", rows, lambda quartiles: first(quartiles)[2])
    expected = [np.quantile(part, [0.25, 0.5, 0.75], axis=0) for part in drawn]
    assert np.array_equal(seen[-1], np.swapaxes(expected, 0, 1))


def test_a_number_measured_once_has_no_interval():
    claim = claim_of_number("a number", 3, least=4)
    assert claim.numbers == "3"
    assert claim.verdict == "does not hold, by 1"
    assert claim.bounds == "at least 4"
    exact = Claim("a rate", 0.3, 0.1 + 0.2, 0.3, least=0.3, most=0.3)
    assert (exact.numbers, exact.bounds, exact.verdict) == ("0.3", "exactly 0.3", "holds")


def test_few_runs_have_no_interval_and_say_so():
    claim = claim_of_rows(
        "a mean", np.ones((2, 1)), lambda part: part.mean(axis=(-2, -1)), least=0.0
    )
    assert claim.numbers == "1 (too few runs for an interval)"
    assert claim.verdict == "holds, which may be chance"


def test_bounds_that_are_sums_take_in_what_is_equal_to_them():
    assert claim_of_number("a rate", 0.92, least=0.72, most=0.82 + 0.1).holds
    assert not claim_of_number("a rate", math.inf, most=1.0).holds


def test_strict_bounds_leave_ties_and_rounding_outside():
    tie = claim_of_number("a lead", 5e-17, least=0.0, is_strict=True)
    assert tie.verdict.startswith("does not hold")
    assert tie.bounds == "above 0"
    assert claim_of_number("a lead", 0.002, least=0.0, is_strict=True).holds


def test_the_interval_of_an_extreme_is_not_beyond_its_value():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 40))
    found = claim_of_rows("largest mean", rows, lambda part: part.mean(axis=-2).max(axis=-1))
    assert found.low < found.value
    negative = claim_of_medians(
        "fraction", rows, lambda medians: (medians <= 0).mean(axis=-1), limits=(0, 1)
    )
    assert 0.0 <= negative.low <= negative.value <= negative.high <= 1.0


def test_the_interval_of_so_many_runs_is_for_what_as_many_others_give(monkeypatch):
    """Not so the mirrored one, which is for ever more runs: then every median here is zero."""
    monkeypatch.setattr("reproduction.claims.N_BOOTSTRAPS", 300)

    def fraction_at_zero(rows):
        return (rows.mean(axis=-2) <= 0.5).mean(axis=-1)

    rng = np.random.default_rng(0)
    experiments = (rng.random((400, 60, 40)) < 0.46).astype(float)
    expected = np.mean([fraction_at_zero(rows) for rows in experiments])
    covered = {}
    for is_of_so_many in (True, False):
        claims = [
            claim_of_rows(
                "fraction", rows, fraction_at_zero, limits=(0, 1), is_of_so_many_runs=is_of_so_many
            )
            for rows in experiments[:60]
        ]
        assert all(claim.low <= claim.value <= claim.high for claim in claims)
        covered[is_of_so_many] = np.mean([claim.low <= expected <= claim.high for claim in claims])
    # Of 60 with a chance of 95 %, 51 and more but for one time in a thousand.
    assert covered[True] >= 51 / 60
    assert covered[False] < 45 / 60


def test_intervals_stay_within_what_a_mean_can_be():
    claim = claim_of_mean("a rate", [1.0, 1.0, 1.0, 0.9], limits=(0.0, 1.0), least=0.9)
    assert claim.high == 1.0
    assert claim.low < claim.value < 1.0


def _importances(**rows_of_methods):
    """Return a table of importances; rows have a column a known gene, then others."""
    rows = []
    for method, matrix in rows_of_methods.items():
        genes = [*KNOWN_GENES, *[f"other {number}" for number in range(matrix.shape[1] - 10)]]
        rows += [
            (method, iteration, gene, value)
            for iteration, row in enumerate(matrix)
            for gene, value in zip(genes, row, strict=True)
        ]
    return pd.DataFrame(rows, columns=["method", "iteration", "feature", "importance"])


def test_agreement_is_the_rank_correlation_of_medians_with_an_interval():
    rng = np.random.default_rng(1)
    one = rng.normal(np.r_[np.arange(10.0), 0.0, 0.0], 1.0, size=(30, 12))
    other = rng.normal(np.r_[np.arange(10.0)[::-1], 0.0, 0.0], 1.0, size=(40, 12))
    table = _importances(one=one, other=other, same=3.0 * one)
    claim = claim_agreement(table, "one", "other", least=0.7)
    medians = np.median(one, axis=0)[:10], np.median(other[:30], axis=0)[:10]
    assert claim.value == pytest.approx(stats.spearmanr(*medians).statistic)
    assert claim.low < claim.high < 0.7
    assert claim.verdict.startswith("does not hold")
    assert claim_agreement(table, "one", "same", least=0.7).value == pytest.approx(1.0)


def test_more_spread_is_that_of_the_first_over_that_of_the_second():
    rng = np.random.default_rng(2)
    narrow = rng.normal(5.0, 0.1, size=(40, 12))
    table = _importances(wide=5.0 + 3.0 * (narrow - np.median(narrow, axis=0)), narrow=narrow)
    assert claim_more_spread(table, "wide", "narrow", least=1.0).value == pytest.approx(3, rel=0.01)
    assert not claim_more_spread(table, "narrow", "wide", least=1.0).holds


def test_places_are_those_of_medians_with_an_interval():
    rng = np.random.default_rng(4)
    matrix = rng.normal(np.r_[np.arange(10.0), 4.5, 0.0, 0.1], 0.5, size=(30, 13))
    table = _importances(linear=matrix)
    genes, others = [*KNOWN_GENES, *other_genes(table)], other_genes(table)
    assert others == ["other 0", "other 1", "other 2"]
    first = claim_place(table, "linear", ["CCND1"], genes, "thirteen genes", most=1.0)
    assert (first.value, first.low, first.high, first.verdict) == (1.0, 1.0, 1.0, "holds")
    assert first.statement == "linear: place of CCND1 among the thirteen genes"
    both = claim_place(table, "linear", ["CCND1", "other 0"], genes, "thirteen genes", most=1.0)
    assert both.value == (1 + 6) / 2
    assert both.statement.startswith("linear: mean place of CCND1, other 0")
    # The last two are close, and which of them is last is chance.
    last = claim_place(table, "linear", ["other 1"], others, "three", most=3.0)
    assert last.low < last.high == 3.0


def test_what_is_said_of_permuted_genes_together_says_nothing_of_one():
    """One of twenty is above zero nearly always; the mean over genes does not notice."""
    rng = np.random.default_rng(3)
    above = rng.random((200, 30)) < np.r_[np.ones(10), np.full(19, 0.4), 0.9]
    table = _importances(linear=above.astype(float))
    mean = claim_chance(table, "linear")
    assert mean.holds
    assert mean.to_plain()["paper"] == "(ours)"
    assert claim_rate(table, "linear", "TNR", least=1.0).verdict.startswith("does not hold")


def _shares(**rows_of_methods):
    rows = [
        ("simulation", replication, method, f"x{number}", value)
        for method, matrix in rows_of_methods.items()
        for replication, row in enumerate(matrix)
        for number, value in enumerate(row, start=1)
    ]
    columns = ["simulation", "replication", "method", "feature", "share"]
    return pd.DataFrame(rows, columns=columns)


def test_a_pair_leads_only_if_both_are_above_both_others():
    means = np.array([[40.0, 20.0, 25.0, 15.0]])
    assert lead_of_pair(means) == -5.0
    assert lead_of_pair(means[:, [0, 2, 1, 3]]) == 5.0
    assert lead_of("x1", "x3")(means) == 15.0


def test_claims_on_shares_can_be_on_the_difference_to_another_method():
    one = np.random.default_rng(4).normal([40.0, 30.0, 20.0, 10.0], 1.0, size=(20, 4))
    table = _shares(one=one, other=one + np.r_[3.0, 0.0, 0.0, -3.0], steady=one.mean() + 0.5 * one)
    claim = claim_shares(
        table, "simulation", "other", "x1 has more", lead_of("x1", "x2"), less="one", least=1.0
    )
    assert claim.value == pytest.approx(3.0)
    assert claim.low == pytest.approx(3.0)
    ratio = claim_spread(table, "simulation", ["one", "other", "steady"], most=1.5)
    assert ratio.value == pytest.approx(2.0)
    assert not ratio.holds
