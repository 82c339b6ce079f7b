"""Claims can fail, and say by how much."""

import numpy as np
import pytest
from scipy import stats

from umfi.experiments.claims import Claim, claim_of_mean, claim_of_number, claim_of_rows


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
    claim = claim_of_rows("a mean", rows, lambda part: float(part.mean()), most=1.0)
    assert claim.value == rows.mean()
    assert claim.high - claim.low == pytest.approx(2 * 1.96 / 20, rel=0.15)
    assert claim == claim_of_rows("a mean", rows, lambda part: float(part.mean()), most=1.0)


def test_a_number_measured_once_has_no_interval():
    claim = claim_of_number("a number", 3, least=4)
    assert claim.numbers == "3"
    assert claim.verdict == "does not hold, by 1"
    assert claim.bounds == "at least 4"


def test_few_runs_have_no_interval_and_say_so():
    claim = claim_of_rows("a mean", np.ones((2, 1)), lambda part: float(part.mean()), least=0.0)
    assert claim.numbers == "1 (too few runs for an interval)"
    assert claim.verdict == "holds, which may be chance"


def test_strict_bounds_leave_ties_and_rounding_outside():
    tie = claim_of_number("a lead", 5e-17, least=0.0, is_strict=True)
    assert tie.verdict.startswith("does not hold")
    assert tie.bounds == "above 0"
    assert claim_of_number("a lead", 0.002, least=0.0, is_strict=True).holds


def test_the_interval_of_an_extreme_is_not_beyond_its_value():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 40))
    found = claim_of_rows("largest mean", rows, lambda part: float(part.mean(axis=0).max()))
    assert found.low < found.value
    negative = claim_of_rows(
        "share", rows, lambda part: float((np.median(part, axis=0) <= 0).mean()), limits=(0, 1)
    )
    assert 0.0 <= negative.low <= negative.value <= negative.high <= 1.0
