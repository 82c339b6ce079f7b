"""P-values, corrections and intervals against their definitions."""

import numpy as np
import pytest
from scipy import stats

from umfi.errors import InputError, check_level
from umfi.inference import (
    adjust_p_values,
    is_settled,
    permutation_test,
    subsampling_interval,
)


def naive_sequential_p_value(statistic, nulls, enough=5):
    """Besag and Clifford, null score after null score."""
    n_above = 0
    for n_drawn, null in enumerate(nulls, start=1):
        n_above += null >= statistic
        if n_above == enough:
            return enough / n_drawn
    return (1 + n_above) / (1 + len(nulls))


def test_sequential_p_values_equal_a_loop():
    rng = np.random.default_rng(0)
    for _ in range(300):
        statistic, nulls = rng.random(), rng.random(15).round(1)
        found = permutation_test(statistic, [nulls])
        assert found.p_value == naive_sequential_p_value(statistic, nulls)


def p_values_of(scores, n_batches=1, **settings):
    """Return the p-values of first scores among the others of their rows."""
    return np.array(
        [
            permutation_test(row[0], np.split(row[1:], n_batches), **settings).p_value
            for row in scores
        ]
    )


@pytest.mark.parametrize("is_sequential", [True, False])
def test_p_values_of_exchangeable_scores_are_at_or_below_a_level_as_often_as_it_says(is_sequential):
    # With 15 null scores there is no fitted tail, so the p-value is exact.
    scores = np.random.default_rng(1).normal(size=(20_000, 16))
    p_values = p_values_of(scores, is_sequential=is_sequential)
    for level in (1 / 16, 2 / 16, 0.3, 0.5):
        error = np.sqrt(level * (1 - level) / len(p_values))
        assert np.mean(p_values <= level) <= level + 3 * error
    assert np.mean(p_values <= 2 / 16) == pytest.approx(2 / 16, abs=0.01)


@pytest.mark.parametrize("spread_of_batches", [0.0, 3.0])
def test_p_values_of_several_batches_are_right_whatever_their_levels(spread_of_batches):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(10_000, 1 + 6 * 9))
    levels = np.repeat(rng.normal(size=(10_000, 6)) * spread_of_batches, 9, axis=1)
    scores[:, 1:] += levels
    scores[:, 0] += levels[:, 0]
    p_values = p_values_of(scores, 6)
    for level in (1 / 55, 2 / 55, 4 / 55, 0.2):
        assert np.mean(p_values <= level + 1e-9) == pytest.approx(level, rel=0.15)


def test_a_full_test_counts_all_null_scores():
    nulls = np.arange(1.0, 20.0)
    assert permutation_test(4.0, [nulls], is_sequential=False) == (17 / 20, 19, False)
    assert permutation_test(4.0, [nulls]) == (5 / 8, 8, False)


@pytest.mark.parametrize(
    ("draw", "most"),
    [
        (lambda rng, shape: rng.normal(size=shape), 0.001),
        # Skewness 0.7, more than that of forests on noise.
        (lambda rng, shape: rng.gamma(8.0, size=shape), 0.0015),
    ],
)
def test_fitted_tails_are_near_their_level(draw, most):
    scores = draw(np.random.default_rng(2), (40_000, 28))
    n_small = np.sum(p_values_of(scores[(scores[:, 1:] < scores[:, :1]).all(axis=1)], 3) <= 0.001)
    assert n_small / len(scores) <= most


def test_tails_are_marked_and_counted_p_values_are_not():
    batches = np.split(np.random.default_rng(3).normal(size=18), 2)
    assert permutation_test(9.0, batches).is_tail
    assert 0.0 < permutation_test(9.0, batches).p_value < 1 / 19
    assert not permutation_test(9.0, batches[:1]).is_tail
    assert permutation_test(9.0, batches[:1]).p_value == 0.1


@pytest.mark.parametrize("sizes", [[1], [2], [3, 3], [9, 9, 9]])
def test_scores_without_variation_tell_nothing(sizes):
    # 0.95 is not a binary fraction: means of it are off in the last digit.
    batches = [np.full(size, 0.95) for size in sizes]
    assert permutation_test(0.95, batches, is_sequential=False).p_value == 1.0
    assert permutation_test(0.975, batches).p_value == 1 / (1 + sum(sizes))


def test_a_test_is_settled_when_far_from_the_level_on_either_side():
    batches = np.split(np.random.default_rng(4).normal(size=18), 2)
    assert is_settled(-9.0, batches, 1e-4)
    assert is_settled(30.0, batches, 1e-4)
    assert not is_settled(2.5, batches, 1e-4)
    assert not is_settled(30.0, batches[:1], 1e-4)


def naive_step_up(p_values, factor):
    n = len(p_values)
    ranks = stats.rankdata(p_values)
    return [
        min(
            1.0,
            min(
                n * factor * p / rank
                for p, rank in zip(p_values, ranks, strict=True)
                if rank >= own
            ),
        )
        for own in ranks
    ]


def test_corrections_equal_their_definitions():
    p_values = np.random.default_rng(5).random(12) ** 3
    harmonic = sum(1.0 / k for k in range(1, 13))
    np.testing.assert_allclose(adjust_p_values(p_values, "fdr"), naive_step_up(p_values, 1.0))
    np.testing.assert_allclose(adjust_p_values(p_values, "by"), naive_step_up(p_values, harmonic))
    ordered = np.sort(p_values)
    holm = [max(min(1.0, (12 - i) * ordered[i]) for i in range(k + 1)) for k in range(12)]
    np.testing.assert_allclose(np.sort(adjust_p_values(p_values, "holm")), holm)
    np.testing.assert_array_equal(adjust_p_values(p_values, "none"), p_values)
    assert adjust_p_values(np.array([]), "fdr").shape == (0,)


def test_an_unknown_control_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="'fdr'"):
        adjust_p_values(np.array([0.5]), "bonferoni")


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, "0.05", True, np.nan])
def test_levels_lie_between_zero_and_one(level):
    with pytest.raises(InputError, match="between 0 and 1"):
        check_level("alpha", level)


def test_intervals_of_a_mean_are_those_of_theory():
    # Means of 60 of 200 rows vary by σ²(1/60 - 1/200), the mean of all by σ²/200.
    rng = np.random.default_rng(6)
    widths, n_covered = [], 0
    for _ in range(400):
        rows = rng.normal(size=200)
        subsampled = np.array([rng.choice(rows, 60, replace=False).mean() for _ in range(60)])
        low, high = subsampling_interval(subsampled, np.array([rows.mean()]), 0.3, 0.9)
        widths.append(high - low)
        n_covered += low <= 0.0 <= high
    assert n_covered / 400 == pytest.approx(0.9, abs=0.045)
    # A little wider, because the mean of the subsamples is not quite that of all rows.
    assert np.mean(widths) == pytest.approx(2 * stats.norm.ppf(0.95) / np.sqrt(200), rel=0.12)


def test_an_interval_reaches_to_where_more_rows_would_lead():
    # Importance 1 - 1/√n at 25 and 100 rows, without noise.
    low, high = subsampling_interval(np.full(30, 0.8), np.full(6, 0.9), 0.25, 0.95)
    assert (low, high) == (pytest.approx(0.9), pytest.approx(1.0))
