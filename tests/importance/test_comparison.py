import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import umfi


@pytest.fixture(scope="module")
def table():
    return umfi.datasets.simulate("correlation", n=200, random_state=0)


def test_each_column_is_what_the_method_gives_by_itself(table):
    found = umfi.compare(*table, random_state=5)
    assert list(found.results) == ["ultra_marginal", "ablation", "bivariate", "permutation"]
    for name, result in found.results.items():
        alone = getattr(umfi, name)(*table, random_state=5)
        pd.testing.assert_series_equal(result.importances, alone.importances)


def test_powers_are_compared_as_well_as_methods(table):
    found = umfi.compare(
        *table,
        methods=["ultra_marginal", "ablation"],
        powers=["forest", "linear", LinearRegression()],
        random_state=0,
    )
    assert list(found.table) == [
        "feature",
        "ultra_marginal, forest",
        "ultra_marginal, linear",
        "ultra_marginal, LinearRegression()",
        "ablation, forest",
        "ablation, linear",
        "ablation, LinearRegression()",
    ]
    assert set(found.table["feature"]) == {"x1", "x2", "x3", "x4"}


def test_one_method_can_be_compared_with_itself_in_other_settings(table):
    found = umfi.compare(
        *table,
        methods={
            "linear": {"method": "ultra_marginal", "remover": "linear"},
            "transport": {"method": "ultra_marginal", "remover": "transport"},
            "bivariate": {},
        },
        repeats=2,
        random_state=0,
    )
    assert list(found.table) == ["feature", "linear", "transport", "bivariate"]
    assert found.results["linear"].settings["remover"] == "linear"
    assert found.results["bivariate"].n_repeats == 2


def test_shared_arguments_reach_the_methods_that_know_them(table):
    found = umfi.compare(*table, remover="linear", methods=["ultra_marginal", "bivariate"])
    assert found.results["ultra_marginal"].settings["remover"] == "linear"
    assert "remover" not in found.results["bivariate"].settings


def test_ranks_and_agreement_follow_from_the_importances(table):
    found = umfi.compare(*table, methods=["ultra_marginal", "bivariate"], random_state=0)
    ranks = found.ranks.set_index("feature")
    assert ranks.loc["x4"].tolist() == [4, 4]
    assert sorted(ranks["bivariate"]) == [1, 2, 3, 4]
    agreement = found.agreement
    expected = ranks["ultra_marginal"].corr(ranks["bivariate"])
    assert agreement.loc["ultra_marginal", "bivariate"] == pytest.approx(expected)
    assert np.allclose(np.diag(agreement), 1.0)
    text = repr(found)
    assert text.startswith("importances for 'y' (200 rows, 4 features)")
    assert "bivariate [R²]" in text
    assert "x4" in found._repr_html_()


def test_notes_of_the_results_are_shown_once(table):
    X, y = table
    found = umfi.compare(X.assign(same=1.0), y, methods=["ablation", "bivariate"], random_state=0)
    assert found.notes == ["Column 'same' is constant and can have no importance."]
    assert repr(found).count("Note: Column 'same' is constant") == 1


def test_methods_that_look_into_trees_are_left_out_where_powers_have_none(table):
    found = umfi.compare(*table, powers=["linear"], random_state=0)
    assert list(found.results) == ["ultra_marginal", "ablation", "bivariate"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ["ultra_marginl"]}, "Unknown method 'ultra_marginl': did you mean"),
        ({"methods": "ablation"}, "methods='ablation' is not valid: pass a list"),
        ({"powers": "forest"}, "powers='forest' is not valid: pass a list"),
        ({"powers": ["forset"]}, "Unknown power 'forset'"),
        ({"methods": ["permutation"], "powers": ["linear"]}, "looks into the trees of a forest"),
        ({"power": "linear"}, "pass powers="),
        ({"repeat": 3}, "Unknown argument 'repeat': did you mean 'repeats'"),
        ({"powers": ["forest", "forest"]}, "have the same name: give them names"),
        ({"methods": ["ablation", "ablation"]}, "names 'ablation' twice"),
        ({"methods": [["ablation"]]}, "Unknown method"),
        ({"methods": {"a": "ablation"}}, "is not valid: pass arguments"),
        ({"methods": {"ablation": {"repeatz": 2}}}, "Unknown argument of ablation 'repeatz'"),
        ({"methods": ["ablation"], "powers": [LogisticRegression()]}, "is not a regressor"),
        ({"methods": ["ablation"], "powers": [umfi.ForestPower(measure="auc")]}, "does not score"),
    ],
)
def test_bad_questions_are_refused_before_anything_runs(table, arguments, message, monkeypatch):
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    with pytest.raises(umfi.InputError, match=message):
        umfi.compare(*table, **arguments)


def test_powers_can_be_named(table):
    found = umfi.compare(
        *table,
        methods=["ablation"],
        powers={"few": umfi.ForestPower(n_trees=5), "many": umfi.ForestPower(n_trees=50)},
        random_state=0,
    )
    assert list(found.results) == ["ablation, few", "ablation, many"]


def test_default_methods_that_other_powers_lack_are_named():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    found = umfi.compare(X, y, powers=["linear"], random_state=0)
    assert "Left out, being for forests alone: 'permutation'." in found.notes
    assert not any("permutation" in name for name in found.results)
