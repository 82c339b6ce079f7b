"""Joint removal from discrete columns: systems that carry a feature only together."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import umfi
from umfi.data.frames import read_columns
from umfi.removal import find_leakage
from umfi.removal.exchange import DEPENDENCE_LEVEL, find_dependence

N_ROWS = 1000
# As in test_zoo: four times what columns that are independent of each other vary by.
MAX_LEAKAGE = 0.04


def make_or_gate(rng):
    """The gate and one of its parents carry the other parent."""
    x, other = rng.random((2, N_ROWS)) < 0.5
    return pd.DataFrame({"x": x, "other": other, "gate": x | other})


def make_noisy_or(rng):
    x, second, third = rng.random((3, N_ROWS)) < 0.3
    is_silent = 0.05**x * 0.2**second * 0.3**third
    return pd.DataFrame(
        {"x": x, "second": second, "third": third, "effect": rng.random(N_ROWS) > is_silent}
    )


def make_two_coins(rng):
    """Neither coin says anything about x alone."""
    x, coin = rng.random((2, N_ROWS)) < 0.5
    return pd.DataFrame({"x": x, "coin": coin, "both": x ^ coin})


def make_sum(rng):
    x, a, b = rng.integers(0, 3, (3, N_ROWS))
    return pd.DataFrame({"x": x, "a": a, "b": b, "sum": x + a + b})


def make_coarser(rng):
    fine = rng.integers(0, 8, N_ROWS)
    x = fine // 2 + (rng.random(N_ROWS) < 0.1)
    return pd.DataFrame({"x": x, "fine": fine, "coarse": fine // 4, "odd": fine % 2})


def make_one_hot(rng):
    soil = rng.choice(list("abcd"), N_ROWS, p=[0.4, 0.3, 0.2, 0.1])
    x = np.where(rng.random(N_ROWS) < 0.7, np.isin(soil, ["a", "d"]), rng.random(N_ROWS) < 0.5)
    return pd.get_dummies(pd.Series(soil)).assign(x=x)


def make_mixture(rng):
    """A boolean and a number whose relation x turns round."""
    x = rng.random(N_ROWS) < 0.5
    flag = rng.random(N_ROWS) < 0.5
    number = np.where(x == flag, 1.0, -1.0) + rng.normal(size=N_ROWS)
    return pd.DataFrame({"x": x, "flag": flag, "number": number})


def make_continuous_gate(rng):
    """A number behind a gate of its sign and a coin, and its size in another column."""
    x = rng.normal(size=N_ROWS)
    coin = rng.random(N_ROWS) < 0.5
    return pd.DataFrame({"x": x, "coin": coin, "gate": (x > 0.3) ^ coin, "large": abs(x) > 1.0})


SYSTEMS = {
    "or gate": make_or_gate,
    "noisy or": make_noisy_or,
    "two coins": make_two_coins,
    "sum": make_sum,
    "coarser versions": make_coarser,
    "one-hot block": make_one_hot,
    "mixture": make_mixture,
    "continuous gate": make_continuous_gate,
}


def leakage(S, X, feature="x"):
    own = read_columns(X[[feature]])
    return find_leakage(read_columns(S), own, np.random.SeedSequence(1), n_trees=200)


def make_table(system, seed=0):
    rng = np.random.default_rng(seed)
    return SYSTEMS[system](rng).assign(
        apart=rng.normal(size=N_ROWS), dice=rng.integers(0, 6, N_ROWS)
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_nothing_is_left_of_what_columns_carry_only_together(system):
    X = make_table(system)
    S = umfi.remove_dependence(X, "x", random_state=0)
    assert leakage(X.drop(columns="x"), X) > 0.1
    assert leakage(S, X) < MAX_LEAKAGE


@pytest.mark.parametrize("system", ["two coins", "sum", "continuous gate"])
def test_nothing_is_left_of_the_other_members_of_a_system_either(system):
    X = make_table(system)
    for feature in X.columns.drop(["x", "apart", "dice"]):
        S = umfi.remove_dependence(X, feature, random_state=0)
        assert leakage(S, X, feature) < MAX_LEAKAGE


def test_exchanges_keep_the_distribution_of_every_column():
    X = make_table("two coins")
    S = umfi.remove_dependence(X, "x", random_state=0)
    for name in ("coin", "both", "dice"):
        assert sorted(S[name]) == sorted(X[name])
    assert (S["both"] != X["both"]).any()


@pytest.mark.parametrize("system", ["or gate", "noisy or", "one-hot block"])
def test_columns_that_have_nothing_to_do_with_the_feature_stay_as_they_are(system):
    X = make_table(system)
    S = umfi.remove_dependence(X, "x", random_state=0)
    pd.testing.assert_series_equal(S["dice"].astype(int), X["dice"])
    assert S["apart"].corr(X["apart"], method="spearman") > 0.97


def test_categories_keep_their_names():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=300),
            "soil": pd.Categorical(rng.choice(["clay", "sand"], 300)),
            "use": rng.choice(["field", "wood"], 300),
        }
    )
    S = umfi.remove_dependence(X, "x", random_state=0)
    pd.testing.assert_frame_equal(S, X[["soil", "use"]])


def test_the_same_seed_gives_the_same_exchange():
    X = make_table("sum")
    first, second = (umfi.remove_dependence(X, "x", random_state=4) for _ in range(2))
    pd.testing.assert_frame_equal(first, second, check_exact=True)


def test_a_monotone_change_of_a_column_changes_nothing_but_where_cuts_lie_between_its_values():
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 300))
    X = pd.DataFrame({"a": a, "b": a + b, "c": a * c, "step": a + c > 0.0})
    bent = X.assign(a=np.exp(3.0 * a))
    for feature in X:
        first, second = (
            umfi.remove_dependence(table, feature, random_state=0) for table in (X, bent)
        )
        pd.testing.assert_frame_equal(first, second, check_exact=True)
    y = a + X["b"] ** 2
    first, second = (
        umfi.ultra_marginal(table, y, random_state=0).importances for table in (X, bent)
    )
    # A cut of a tree lies in the middle between two values, so rows between them may change sides.
    assert first["a"] == pytest.approx(second["a"], abs=0.01)
    assert first.drop("a").equals(second.drop("a"))


def test_dependence_of_discrete_columns_is_pearsons_chi_squared():
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, n_levels, 400) for n_levels in (2, 3, 6)]
    others = [codes[0] + rng.integers(0, 2, 400), 2 * rng.integers(0, 4, 400), codes[2] // 2]
    others.append(np.zeros(400, dtype=int))  # Constant: depends on nothing.
    expected = np.zeros((3, 4), dtype=bool)
    for row, one in enumerate(codes):
        for place, other in enumerate(others[:3]):
            counts = pd.crosstab(one, other)
            p_value = stats.chi2_contingency(counts, correction=False).pvalue
            expected[row, place] = p_value < DEPENDENCE_LEVEL
    assert set(expected.ravel()) == {False, True}
    np.testing.assert_array_equal(find_dependence(codes, others), expected)
