"""Groups of columns as one feature."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.errors import InputError

POWER = umfi.ForestPower(n_trees=50)


@pytest.fixture
def table():
    """Two weak halves of a signal, something that follows both, and noise."""
    rng = np.random.default_rng(0)
    a, b, noise = rng.normal(size=(3, 400))
    X = pd.DataFrame(
        {"a": a, "follower": a + b + 0.3 * rng.normal(size=400), "b": b, "noise": noise}
    )
    return X, a * b + 0.5 * rng.normal(size=400)


@pytest.mark.parametrize("method", [umfi.ultra_marginal, umfi.ablation, umfi.bivariate])
def test_a_group_has_one_importance_where_its_first_column_stands(table, method):
    result = method(*table, groups={"both": ["b", "a"]}, power=POWER, random_state=0)
    assert result.importances.index.tolist() == ["both", "follower", "noise"]
    assert result.table["feature"][0] == "both"
    assert result.settings["groups"] == {"both": ["a", "b"]}


def test_a_group_of_one_is_the_column(table):
    alone = umfi.ultra_marginal(*table, power=POWER, random_state=0)
    grouped = umfi.ultra_marginal(*table, groups={"a": ["a"]}, power=POWER, random_state=0)
    pd.testing.assert_frame_equal(alone.scores, grouped.scores)


@pytest.mark.parametrize("method", [umfi.ultra_marginal, umfi.ablation])
def test_a_group_has_one_p_value(table, method):
    X, y = table
    noises = X.assign(other_noise=np.random.default_rng(1).normal(size=400))
    result = method(
        noises,
        y,
        groups={"both": ["a", "b"], "noises": ["noise", "other_noise"]},
        test="permutation",
        power=POWER,
        random_state=0,
    )
    p_values = result.tests.set_index("feature")["p_value"]
    assert p_values["both"] < 0.001
    assert p_values["noises"] > 0.05


@pytest.mark.parametrize("remover", ["linear", "transport"])
def test_a_group_is_removed_jointly(table, remover):
    X, _ = table
    one = umfi.remove_dependence(X, "a", remover=remover)["follower"]
    assert abs(np.corrcoef(one, X["b"])[0, 1]) > 0.5
    both = umfi.remove_dependence(X, ["b", "a"], remover=remover)["follower"]
    limit = 1e-12 if remover == "linear" else 0.06
    assert abs(np.corrcoef(both, X["a"])[0, 1]) < limit
    assert abs(np.corrcoef(both, X["b"])[0, 1]) < limit


@pytest.mark.parametrize("remover", ["linear", "transport"])
def test_shares_that_add_up_are_a_group(table, remover):
    X, y = table
    shares = X.assign(c=1.0 - X["a"] - X["b"])
    result = umfi.ultra_marginal(
        shares, y, remover=remover, groups={"mix": ["a", "b", "c"]}, power=POWER, random_state=0
    )
    assert result.table["feature"][0] == "mix"


def test_booleans_of_a_group_are_removed_cell_by_cell():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 600)) < 0.5
    z = rng.normal(size=600) + 2.0 * (first & second)
    S = umfi.remove_dependence(
        pd.DataFrame({"first": first, "second": second, "z": z}), ["first", "second"]
    )
    means = S["z"].groupby([first, second]).mean()
    assert means.to_numpy() == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "dictionary"),
        ({"g": []}, "list of column names"),
        ({"g": "ab"}, "list of column names"),
        ({"g": ["a", "zz"]}, "zz"),
        ({"g": ["a"], "h": ["a", "b"]}, "two groups"),
        ({"noise": ["a", "b"]}, "'noise'"),
    ],
)
def test_bad_groups_are_refused(table, groups, message):
    with pytest.raises(InputError, match=message):
        umfi.ultra_marginal(*table, groups=groups)


def test_the_paper_protocol_has_no_groups(table):
    with pytest.raises(InputError, match="protocol='matched'"):
        umfi.ultra_marginal(*table, groups={"g": ["a", "b"]}, protocol="paper")
    with pytest.raises(InputError, match="protocol='matched'"):
        umfi.remove_dependence(table[0], ["a", "b"], protocol="paper")
    with pytest.raises(InputError, match="names no feature"):
        umfi.remove_dependence(table[0], [])
