import numpy as np
import pandas as pd
import pytest
from scipy import stats

import umfi
from umfi.data.frames import read_columns
from umfi.removal.regression import regress

RNG = np.random.default_rng(0)
N_ROWS = 200


def make_table():
    a = RNG.normal(size=N_ROWS)
    return pd.DataFrame(
        {"a": a, "related": a + RNG.normal(size=N_ROWS), "noise": RNG.normal(size=N_ROWS)}
    )


def test_residuals_equal_scipy_regression():
    X = make_table()
    S = umfi.remove_dependence(X, "a", remover="linear")
    for name in S:
        fit = stats.linregress(X["a"], X[name])
        np.testing.assert_allclose(
            S[name], X[name] - fit.intercept - fit.slope * X["a"], atol=1e-12
        )


def test_paper_protocol_leaves_columns_without_significant_slope_alone():
    X = make_table()
    assert stats.linregress(X["a"], X["noise"]).pvalue > 0.01
    S = umfi.remove_dependence(X, "a", remover="linear", protocol="paper")
    pd.testing.assert_series_equal(S["noise"], X["noise"])
    assert abs(S["related"].corr(X["a"])) < 1e-12


@pytest.mark.parametrize("protocol", ["matched", "paper"])
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_residuals_do_not_depend_on_the_unit_of_either_column(unit, protocol):
    X = make_table()
    expected = umfi.remove_dependence(X, "a", remover="linear", protocol=protocol)
    for changed in (X.assign(a=unit * X["a"]), unit * X):
        S = umfi.remove_dependence(changed, "a", remover="linear", protocol=protocol)
        scale = 1.0 if changed["noise"].equals(X["noise"]) else unit
        np.testing.assert_allclose(S / scale, expected, atol=1e-12)


@pytest.mark.parametrize("protocol", ["matched", "paper"])
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_copies_in_any_unit_become_exactly_zero(unit, offset, protocol):
    X = make_table()
    X = X.assign(copy=(X["a"] + offset) * unit, negative=-3.0 * X["a"])
    S = umfi.remove_dependence(X, "a", remover="linear", protocol=protocol)
    assert (S["copy"] == 0.0).all()
    assert (S["negative"] == 0.0).all()


def test_a_constant_protected_column_changes_nothing_but_the_centre():
    X = make_table().assign(constant=0.1)
    S = umfi.remove_dependence(X, "constant", remover="linear")
    pd.testing.assert_frame_equal(S, X[list(S)] - X[list(S)].mean())
    S = umfi.remove_dependence(X, "constant", remover="linear", protocol="paper")
    pd.testing.assert_frame_equal(S, X[list(S)])


def test_a_small_but_real_difference_survives():
    X = make_table()
    X["nearly"] = X["a"] + 1e-7 * X["noise"]
    S = umfi.remove_dependence(X, "a", remover="linear")
    assert S["nearly"].corr(X["noise"]) > 0.99


@pytest.mark.parametrize("n_rows", [1000, 400_000])
@pytest.mark.parametrize("seed", range(5))
def test_copies_of_a_column_far_from_zero_become_exactly_zero(n_rows, seed):
    seconds = 1.6e9 + 3600.0 * np.random.default_rng(seed).random(n_rows)
    copies = np.stack([2.0 * seconds + 3.0, seconds - 1.6e9, -seconds / 60.0])
    assert (regress(copies, seconds).residuals == 0.0).all()


def test_copies_and_feature_are_regressed_out_together():
    rng = np.random.default_rng(0)
    columns = read_columns(rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4)))
    own, others = columns.select([0]), columns.without(0)
    protected = [own, *(own.take_rows(rng.permutation(80)) for _ in range(5))]
    S = umfi.LinearRemover().remove(others, protected, protocol="matched", rng=rng).values
    design = np.column_stack([np.ones(80), *(block.values for block in protected)])
    fitted = design @ np.linalg.lstsq(design, others.values, rcond=None)[0]
    np.testing.assert_allclose(S, others.values - fitted, atol=1e-12)


def test_ties_are_ranked_given_all_protected_columns():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 3000))
    flag = rng.random(3000) < np.clip(0.5 + 0.1 * first + 0.1 * second, 0, 1)
    X = pd.DataFrame({"first": first, "second": second, "flag": flag})
    ranks = umfi.remove_dependence(X, ["first", "second"], remover="linear", random_state=0)["flag"]
    for protected in (first, second):
        assert abs(np.corrcoef(ranks, protected)[0, 1]) < 0.05
    one = umfi.remove_dependence(X[["first", "flag"]], "first", remover="linear", random_state=0)
    assert np.corrcoef(one["flag"], second)[0, 1] > 0.1
