"""Systems whose parts are known: what is said alone, together, and what cannot be replaced."""

import numpy as np
import pandas as pd
import pytest

import umfi

PARTS = ["importance", "alone", "together", "irreplaceable", "replaceable"]
N_COINS = 2000
N_NEIGHBOURS = 3
# Each row adds a digamma of a count of about k rows, whose variance is 1/k, and neighbours share
# rows, which at most doubles the variance of their mean; differences of two double it again.
# At each border between two answers about 4 k rows have neighbours beyond it, and S has two.
COIN_TOLERANCE = 3.0 * np.sqrt(4.0 / (N_NEIGHBOURS * N_COINS)) + 8.0 * N_NEIGHBOURS / N_COINS


def find_parts(X, y, **arguments):
    settings = {"repeats": 1, "subsample": None, "random_state": 0} | arguments
    return umfi.decompose(X, y, **settings).table.set_index("feature")[PARTS]


def assert_parts(found, feature, tolerance, **expected):
    for part, value in expected.items():
        assert found.loc[feature, part] == pytest.approx(value, abs=tolerance), (feature, part)


@pytest.mark.parametrize("seed", [0, 1])
def test_two_coins_and_their_xor_say_one_bit_together_and_nothing_alone(seed):
    flips = np.random.default_rng(seed).integers(0, 2, (N_COINS, 2))
    coins = pd.DataFrame(flips, columns=["a", "b"])
    found = find_parts(coins, coins["a"] != coins["b"], power="knn")
    bit = np.log(2.0)
    for coin in coins:
        assert_parts(
            found, coin, COIN_TOLERANCE, alone=0.0, together=bit, irreplaceable=bit, replaceable=0.0
        )


def test_forests_see_the_xor_as_half_of_the_accuracy():
    coins = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (1000, 2)), columns=["a", "b"])
    found = find_parts(coins, coins["a"] != coins["b"])
    # Alone a coin is right as often as chance, which has a standard deviation of 0.016.
    assert np.abs(found["alone"]).max() < 3.0 * np.sqrt(2.0) * 0.016
    assert found["together"].min() > 0.4


@pytest.mark.parametrize("seed", [0, 1])
def test_whether_three_coins_agree(seed):
    # Without one of them the answer is known in half of the rows and a coin in the others: half a
    # bit each, none of it alone. Copies of the first can stand in for it.
    coins = np.random.default_rng(seed).integers(0, 2, (N_COINS, 3))
    X = pd.DataFrame(coins, columns=["F0", "F1", "F2"])
    X = X.assign(copy1=X["F0"], copy2=X["F0"], copy3=X["F0"])
    agree = (coins == coins[:, :1]).all(axis=1)
    found = find_parts(X, np.where(agree, 0, 1), power="knn")
    half = 0.5 * np.log(2.0)
    for coin in X:
        is_copied = coin not in ("F1", "F2")
        assert_parts(
            found,
            coin,
            COIN_TOLERANCE,
            alone=0.0,
            together=half,
            irreplaceable=0.0 if is_copied else half,
            replaceable=half if is_copied else 0.0,
        )


# The standard error of a squared correlation r² in n rows is 2 r (1 - r²) / √n.
def three_errors(squared, n_rows):
    return 3.0 * 2.0 * np.sqrt(squared) * (1.0 - squared) / np.sqrt(n_rows)


@pytest.mark.parametrize("power", ["linear", "forest"])
def test_a_sum_with_a_copy(power):
    # y = F0 + 2 F1, and F2 = F1: variances 1 and 4 of 5.
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 2)), columns=["F0", "F1"])
    X["F2"] = X["F1"]
    found = find_parts(X, X["F0"] + 2.0 * X["F1"], power=power)
    # A forest of two columns scores a permuted copy below zero: up to a fifth more, by which both
    # scores of a difference are stretched.
    stretch = 1.0 if power == "linear" else 1.2
    for feature, share in (("F0", 0.2), ("F1", 0.8), ("F2", 0.8)):
        tolerance = three_errors(share, 1000) + (stretch - 1.0) * share
        own = 0.0 if feature != "F0" else share
        assert_parts(
            found,
            feature,
            tolerance,
            alone=share,
            together=0.0,
            irreplaceable=own,
            replaceable=share - own,
        )


@pytest.mark.parametrize("power", ["linear", "forest"])
def test_a_sum_and_its_terms_replace_each_other(power):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 2)), columns=["F1", "F2"])
    X.insert(0, "F0", X["F1"] + X["F2"])
    found = find_parts(X, 2.0 * X["F0"], power=power)
    for feature, share in (("F0", 1.0), ("F1", 0.5), ("F2", 0.5)):
        tolerance = three_errors(0.5, 1000) + (0.01 if power == "linear" else 0.2 * share)
        assert_parts(
            found,
            feature,
            tolerance,
            alone=share,
            together=0.0,
            irreplaceable=0.0,
            replaceable=share,
        )


COVARIANCE = np.array(
    [[1.0, 0.6, 0.0, 0.2], [0.6, 1.0, 0.3, 0.0], [0.0, 0.3, 1.0, 0.4], [0.2, 0.0, 0.4, 1.0]]
)
COEFFICIENTS = np.array([1.0, 0.5, -0.7, 0.0])
NOISE = 1.0


def gaussian_truth(measure):
    """Parts of each feature, by the formulas of normal distributions."""
    with_y = COVARIANCE @ COEFFICIENTS
    variance = COEFFICIENTS @ with_y + NOISE**2

    def explained(places):
        inside = COVARIANCE[np.ix_(places, places)]
        return with_y[places] @ np.linalg.solve(inside, with_y[places]) / variance

    whole = explained([0, 1, 2, 3])
    rows = []
    for place in range(4):
        others = [other for other in range(4) if other != place]
        own, rest = explained([place]), explained(others)
        if measure == "r2":
            importance, alone, irreplaceable = own, own, whole - rest
        else:
            # S and x are independent, so R²(S) = R²(S, x) - R²(x), and S and x hold all.
            importance = 0.5 * np.log((1.0 - whole + own) / (1.0 - whole))
            alone = -0.5 * np.log(1.0 - own)
            irreplaceable = 0.5 * np.log((1.0 - rest) / (1.0 - whole))
        rows.append(
            (importance, alone, importance - alone, irreplaceable, importance - irreplaceable)
        )
    return np.array(rows)


@pytest.mark.parametrize("measure", ["r2", "information"])
def test_all_parts_of_gaussian_systems_have_their_closed_form(measure):
    root = np.linalg.cholesky(COVARIANCE)
    n_rows, n_tables = 600, 16
    found = []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows, 4)) @ root.T
        y = X @ COEFFICIENTS + NOISE * rng.normal(size=n_rows)
        power = umfi.LinearPower(measure=measure)
        found.append(find_parts(X, y, power=power, random_state=seed).sort_index().to_numpy())
    errors = np.std(found, axis=0, ddof=1) / np.sqrt(n_tables)
    # Rows not seen are told a little less well: five coefficients of n rows, and no more than two
    # of such differences in a part.
    bias = 2.0 * 5.0 / n_rows
    assert (np.abs(np.mean(found, axis=0) - gaussian_truth(measure)) < 3.0 * errors + bias).all()


def test_intervals_hold_the_closed_form():
    root = np.linalg.cholesky(COVARIANCE)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4)) @ root.T
    y = X @ COEFFICIENTS + NOISE * rng.normal(size=600)
    table = umfi.decompose(X, y, power="linear", random_state=0).table.set_index("feature")
    truth = gaussian_truth("r2")
    inside = [
        table.loc[f"x{place + 1}", f"{part}_low"] - 0.01
        <= truth[place, number]
        <= table.loc[f"x{place + 1}", f"{part}_high"] + 0.01
        for place in range(4)
        for number, part in enumerate(PARTS)
        if number > 0
    ]
    # Each holds in 95 of 100 tables; sixteen that go together in pairs miss two or three at most.
    assert sum(inside) >= 13


def test_interacting_features_say_more_together():
    X, y = umfi.datasets.simulate("nonlinear_interactions", n=1000, random_state=0)
    table = umfi.decompose(X, y, random_state=0).table.set_index("feature")
    assert (table.loc[["x1", "x2"], "together_low"] > 0.0).all()
    assert (table.loc[["x3", "x4"], "together_low"] < 0.0).all()
    # sign(x1 x2) has a fifth of the variance, of which forests of 1,000 rows find most.
    assert table.loc[["x1", "x2"], "together"].between(0.12, 0.2).all()


def test_features_that_correlate_and_interact_say_more_together():
    found = []
    for seed in range(10):
        X, y = umfi.datasets.simulate("correlated_interactions", n=1000, random_state=seed)
        found.append(find_parts(X, y, random_state=seed)["together"].sort_index())
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(10)
    # By quadrature: x1 says 0.352 alone, and 0.411 beside what it does not tell of the others.
    # A forest learns a part of it.
    assert (means[:2] > 3.0 * errors[:2]).all()
    assert (means[:2] < 0.059 + 3.0 * errors[:2]).all()
    assert (np.abs(means[2:]) < 0.03).all()


def test_correlated_features_are_replaceable_and_a_lonely_one_is_not():
    X, y = umfi.datasets.simulate("correlation", n=1000, random_state=0)
    table = umfi.decompose(X, y, random_state=0).table.set_index("feature")
    assert (table.loc[["x1", "x3"], "replaceable_low"] > 0.4).all()
    assert (table.loc[["x1", "x3"], "irreplaceable_high"] < 0.05).all()
    assert table.loc["x2", "irreplaceable_low"] > 0.4
    # Zero in theory; irreplaceable is refitted, which finds somewhat more than one fit does.
    assert table.loc["x2", "replaceable"] == pytest.approx(0.0, abs=0.06)
    assert table.loc["x4", "importance"] == pytest.approx(0.0, abs=0.03)


def test_behind_a_collider_replaceable_is_negative_and_explained():
    X, y = umfi.datasets.simulate("blood_relation", n=1000, random_state=0)
    result = umfi.decompose(X, y, random_state=0)
    table = result.table.set_index("feature")
    assert table.loc["x2", "replaceable_high"] < 0.0
    assert table.loc["x4", "alone_low"] > 0.3
    assert any("Replaceable is below zero for" in note and "'x2'" in note for note in result.notes)
