"""Groups of columns as one feature."""

import numpy as np
import pandas as pd
import polars as pl
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


@pytest.mark.parametrize(
    "method",
    [
        umfi.ultra_marginal,
        umfi.ablation,
        umfi.bivariate,
        umfi.marginal_contribution,
        umfi.permutation,
        umfi.conditional_permutation,
    ],
)
def test_a_group_has_one_importance_where_its_first_column_stands(table, method):
    result = method(*table, groups={"both": ["b", "a"]}, power=POWER, random_state=0)
    assert result.importances.index.tolist() == ["both", "follower", "noise"]
    assert result.importances["both"] > 5.0 * abs(result.importances["noise"])
    assert result.settings["groups"] == {"both": ["a", "b"]}


@pytest.mark.parametrize(
    "method",
    [
        umfi.ultra_marginal,
        umfi.marginal_contribution,
        umfi.permutation,
        umfi.conditional_permutation,
    ],
)
def test_a_group_of_one_is_the_column(table, method):
    alone = method(*table, power=POWER, random_state=0)
    grouped = method(*table, groups={"a": ["a"]}, power=POWER, random_state=0)
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
    assert p_values["both"] < 0.005
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
        pd.DataFrame({"first": first, "second": second, "z": z}),
        ["first", "second"],
        remover="transport",
    )
    means = S["z"].groupby([first, second]).mean()
    assert means.to_numpy() == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("order", [["flag", "c"], ["c", "flag"]])
def test_a_boolean_and_a_continuous_column_are_a_group(order):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.random(300) < 0.5, "c": rng.normal(size=300)})[order]
    X["z"] = rng.normal(size=300)
    y = np.where(X["flag"], X["z"], -X["z"])
    for remover in ("linear", "transport"):
        result = umfi.ultra_marginal(
            X, y, remover=remover, groups={"g": order}, power=POWER, random_state=0
        )
        assert result.importances["g"] > 0.3


def test_copies_of_a_grouped_column_come_out_equal(table):
    X, y = table
    copied = X.assign(first=X["a"], second=X["a"], constant=1.0)
    result = umfi.ultra_marginal(
        copied, y, groups={"g": ["a", "noise", "constant"]}, power=POWER, random_state=0
    )
    assert result.importances["first"] == result.importances["second"]


def test_groups_are_named_by_any_listing_of_names_or_positions(table):
    X, y = table
    expected = umfi.ablation(X, y, groups={"g": ["a", "b"]}, power=POWER, random_state=0)
    for X_like, members in [
        (X, X.columns[[0, 2]]),
        (X, {"a", "b"}),
        (pl.from_pandas(X), ("a", "b")),
        (X.set_axis(["x1", "x2", "x3", "x4"], axis=1).to_numpy(), [0, 2]),
    ]:
        found = umfi.ablation(X_like, y, groups={"g": members}, power=POWER, random_state=0)
        assert found.importances["g"] == expected.importances["g"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "dictionary"),
        ({"g": []}, "list of column names"),
        ({"g": "ab"}, "list of column names"),
        ({"g": ["a", "zz"]}, "groups\\['g'\\]: .*'zz'"),
        ({1: ["a"], "1": ["b"]}, "Two groups are called '1'"),
        ({"b": ["a"], "q": ["b"]}, "Group 'b'"),
        (pd.Series({"g": ["a"]}), "dictionary"),
        ({"g": ["a"], "h": ["a", "b"]}, "two groups"),
        ({"noise": ["a", "b"]}, "'noise'"),
    ],
)
def test_bad_groups_are_refused(table, groups, message):
    with pytest.raises(InputError, match=message):
        umfi.ultra_marginal(*table, groups=groups)


def test_the_paper_protocol_has_no_groups(table):
    with pytest.raises(InputError, match="leave protocol out"):
        umfi.ultra_marginal(*table, groups={"g": ["a", "b"]}, protocol="paper")
    with pytest.raises(InputError, match="leave protocol out"):
        umfi.remove_dependence(table[0], ["a", "b"], remover="linear", protocol="paper")
    with pytest.raises(InputError, match="names no feature"):
        umfi.remove_dependence(table[0], [])


def test_groups_too_large_for_the_rows_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), rng.normal(size=60)
    with pytest.raises(
        InputError,
        match=r"10 columns.*too many for 60 rows: 7 at most",
    ):
        umfi.ultra_marginal(X, y, groups={"g": range(10)})


@pytest.mark.parametrize("feature", [3.5, None, ("a", "zz")])
def test_features_that_are_not_there_are_refused(table, feature):
    with pytest.raises(InputError, match="feature"):
        umfi.remove_dependence(table[0], feature)


def test_something_must_be_left_to_remove_from(table):
    with pytest.raises(InputError, match="leave one at least"):
        umfi.remove_dependence(table[0], list(table[0]))
