import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import umfi


def find(X, y, feature, **arguments):
    found = umfi.partners(X, y, feature, random_state=0, **arguments)
    return found.table.set_index(["feature", "partner"])


def test_near_copies_share_and_independent_features_do_not():
    X, y = umfi.datasets.simulate("correlation", n=500, random_state=0)
    table = find(X, y, ["x1", "x2"])
    assert table["shares"][table["shares"]].index.tolist() == [("x1", "x3")]
    # x1 has half of the variance, and x3 explains 99 % of x1.
    assert table.loc[("x1", "x3"), "sharing"] == pytest.approx(0.5, abs=0.15)
    assert not table["interacts"].any()


def test_exact_copies_share_everything_and_do_not_interact():
    rng = np.random.default_rng(0)
    coins = rng.integers(0, 2, (400, 2))
    X = pd.DataFrame({"a": coins[:, 0], "b": coins[:, 1], "copy": coins[:, 1]})
    table = find(X, coins[:, 0] != coins[:, 1], ["a", "b"])
    assert table.loc[("b", "copy"), "shares"]
    assert table.loc[("b", "copy"), "interaction"] == 0.0
    assert table.loc[("a", "b"), "interacts"]
    assert table.loc[("a", "copy"), "interacts"]
    assert not table.loc[("a", "b"), "shares"]


@pytest.mark.parametrize("name", ["nonlinear_interactions", "correlated_interactions"])
def test_interactions_of_the_simulations_are_found(name):
    X, y = umfi.datasets.simulate(name, n=1000, random_state=0)
    table = find(X, y, "x1")
    assert table["interacts"][table["interacts"]].index.tolist() == [("x1", "x2")]
    is_correlated = name == "correlated_interactions"
    assert table.loc[("x1", "x2"), "shares"] == is_correlated


@pytest.mark.parametrize("function", [np.square, np.exp, np.abs])
def test_functions_of_one_of_two_correlated_features_are_no_interactions(function):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    X = pd.DataFrame({"x": a, "z": 0.7 * a + np.sqrt(0.51) * b})
    table = find(X, function(X["z"]) + 0.5 * rng.normal(size=400), ["x", "z"])
    assert not table["interacts"].any()


def test_products_of_correlated_features_are_interactions():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 600))
    X = pd.DataFrame({"x": a, "z": 0.5 * a + np.sqrt(0.75) * b})
    assert find(X, X["x"] * X["z"], "x").loc[("x", "z"), "interacts"]


def test_additive_features_do_not_interact_however_strong():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    table = find(X, np.exp(X["a"]) + 2.0 * X["b"] ** 2, "a")
    assert not table["interacts"].any()


def test_what_three_say_together_links_all_three():
    coins = np.random.default_rng(0).integers(0, 2, (600, 3))
    X = pd.DataFrame(coins, columns=["a", "b", "c"])
    table = find(X, coins.sum(axis=1) % 2 == 1, "a")
    assert table["interacts"].all()


def test_classes_are_predicted_as_indicators():
    X, y = umfi.datasets.simulate("nonlinear_interactions", n=600, random_state=0)
    labels = np.where(np.sign(X["x1"] * X["x2"]) > 0, "same", "other")
    table = find(X, labels, "x1")
    assert table.loc[("x1", "x2"), "interacts"]
    three = np.select([y < -1.5, y > 1.5], ["low", "high"], "middle")
    assert find(X, three, "x1", among=["x2"]).loc[("x1", "x2"), "interacts"]


def test_same_numbers_for_any_number_of_workers_and_any_company():
    X, y = umfi.datasets.simulate("correlation", n=150, random_state=0)
    both = find(X, y, ["x1", "x2"], n_jobs=2)
    one = find(X, y, "x1", n_jobs=1)
    columns = ["sharing", "sharing_p_value", "interaction", "interaction_p_value"]
    pd.testing.assert_frame_equal(both.loc[["x1"], columns], one[columns])


def test_features_are_named_by_position_group_or_not_at_all():
    X, y = umfi.datasets.simulate("correlation", n=120, random_state=0)
    assert find(X, y, 0).index.tolist() == [("x1", "x2"), ("x1", "x3"), ("x1", "x4")]
    grouped = find(X, y, "pair", groups={"pair": ["x1", "x3"]})
    assert grouped.index.tolist() == [("pair", "x2"), ("pair", "x4")]
    assert len(find(X.assign(x4=1.0), y, None)) == 12


def test_constant_features_have_no_partners():
    X, y = umfi.datasets.simulate("correlation", n=120, random_state=0)
    table = find(X.assign(x4=1.0), y, "x4")
    assert (table["sharing"] == 0.0).all()
    assert (table["sharing_p_value"] == 1.0).all()


def test_words_and_tables_tell_who():
    X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    found = umfi.partners(X, y, "x1", random_state=0)
    assert found.summary[0].startswith("'x1' shares what it says with 'x3', and interacts with")
    assert "sharing_q_value" in repr(found)
    assert "x3" in found._repr_html_()


def test_unrelated_p_values_are_not_too_small():
    # 6 tables, 6 pairs and 2 questions: 72 p-values of additive, independent features.
    p_values = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        y = X.sum(axis=1) + rng.normal(size=200)
        table = umfi.partners(X, y, random_state=seed).table
        p_values += [*table["sharing_p_value"], *table["interaction_p_value"]]
    # At most 0.05 in 3.6 ± 1.8 of them, were they as small as that: the test is cautious.
    assert np.sum(np.array(p_values) <= 0.05) <= 3.6 + 2.0 * 1.8


def test_subsamples_without_variation_say_nothing():
    X, _ = umfi.datasets.simulate("correlation", n=100, random_state=0)
    y = np.where(np.arange(100) < 2, "rare", "common")
    table = find(X, y, "x1", among=["x2"])
    assert table["sharing_p_value"].between(0.0, 1.0).all()


def test_what_was_asked_is_among_the_settings():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    found = umfi.partners(X, y > 0, "x1", among=["x2"], random_state=0)
    assert found.settings["feature"] == ["x1"]
    assert found.settings["among"] == ["x2"]
    assert found.settings["measure"] == "R²"


def test_names_go_before_positions():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    X.columns = ["3", "2", "1", "0"]
    assert find(X, y, 3, among=["2"]).index.tolist() == [("3", "2")]
    assert find(X, y, np.int64(-1), among=["2"]).index.tolist() == [("0", "2")]


def test_regressors_tell_classes_as_indicators():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    table = find(X, np.where(y > 0, "a", "b"), "x1", among=["x3"], power=LinearRegression())
    assert table.loc[("x1", "x3"), "sharing"] > 0.1


def test_groups_too_large_for_the_rows_are_refused():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 20)))
    groups = {"a": list(range(10)), "b": list(range(10, 20))}
    with pytest.raises(umfi.InputError, match="too many for 20 rows"):
        umfi.partners(X, X[0] + X[11], "a", groups=groups)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"feature": "x9"}, "Unknown feature 'x9': did you mean"),
        ({"feature": 0.5}, "Unknown feature '0.5'"),
        ({"feature": "x1", "among": ["x1"]}, "no pair to look at"),
        ({"feature": []}, "no pair to look at"),
        (
            {"feature": "x1", "power": umfi.ForestPower(measure="auc")},
            "does not score a regression",
        ),
        ({"feature": "x1", "remover": "auto"}, "Unknown remover 'auto'"),
        ({"feature": "x1", "repeats": 5}, "partners needs subsamples"),
        ({"feature": "x1", "power": "knn"}, "compares R², which power='knn' does not measure"),
        ({"feature": "x1", "alpha": 2.0}, "alpha=2.0 is not valid"),
    ],
)
def test_bad_questions_are_refused_before_anything_runs(arguments, message, monkeypatch):
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    with pytest.raises(umfi.InputError, match=message):
        umfi.partners(X, y, **arguments)


def test_classifiers_cannot_tell_indicators():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    labels = np.where(y > 0, "a", "b")
    with pytest.raises(umfi.InputError, match="is not a regressor"):
        umfi.partners(X, labels, "x1", power=LogisticRegression())
    with pytest.raises(umfi.InputError, match="a function that expects classes cannot"):
        umfi.partners(X, labels, "x1", power=lambda columns, y, rng: 0.0)
