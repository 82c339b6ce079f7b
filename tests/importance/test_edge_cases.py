"""Tables at the edge of what can be asked: constant, single, copied, boolean, wide."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.importance import METHODS as REGISTERED
from umfi.importance.options import DEFAULTS
from umfi.importance.study import Study

METHODS = [method.function for method in REGISTERED.values()]
POWER = umfi.ForestPower(n_trees=20)
by_name = {"ids": lambda method: method.__name__}


@pytest.fixture
def table():
    return umfi.datasets.simulate("correlation", n=80, random_state=0)


@pytest.mark.parametrize("method", METHODS, **by_name)
def test_constant_columns_have_importance_zero_and_a_note(method, table):
    X, y = table
    result = method(X.assign(nothing=4.0, too=0), y, power=POWER, random_state=0)
    assert (result.importances[["nothing", "too"]] == 0.0).all()
    assert np.isfinite(result.scores[["score_with", "score_without"]]).all(axis=None)
    assert "'nothing', 'too' are constant" in result.settings["notes"][0]


@pytest.mark.parametrize("protocol", ["matched", "paper"])
@pytest.mark.parametrize("method", [umfi.ultra_marginal, umfi.ablation, umfi.bivariate], **by_name)
def test_constant_columns_have_importance_zero_in_both_protocols(method, protocol, table):
    X, y = table
    for remover in ("linear", "transport") if method is umfi.ultra_marginal else (None,):
        arguments = {"remover": remover} if remover else {}
        result = method(X.assign(nothing=4.0), y, power=POWER, protocol=protocol, **arguments)
        assert result.importances["nothing"] == 0.0


def test_constant_columns_change_no_other_importance(table):
    X, y = table
    base = umfi.ultra_marginal(X, y, power=POWER, random_state=0).importances
    more = umfi.ultra_marginal(X.assign(nothing=4.0), y, power=POWER, random_state=0).importances
    pd.testing.assert_series_equal(more[base.index], base, check_exact=True)


@pytest.mark.parametrize("method", METHODS, **by_name)
def test_only_constant_columns(method, table):
    X = pd.DataFrame({"a": [1.0] * 80, "b": [2.0] * 80})
    assert (method(X, table[1], power=POWER).importances == 0.0).all()


@pytest.mark.parametrize("method", METHODS, **by_name)
def test_one_column(method, table):
    X, y = table
    assert method(X[["x2"]], y, power=POWER, random_state=0).importances["x2"] > 0.2


@pytest.mark.parametrize("method", METHODS, **by_name)
def test_more_columns_than_rows(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(25, 40))).add_prefix("gene")
    arguments = {
        umfi.marginal_contribution: {"max_context": 0},
        umfi.decompose: {"subsample": None, "repeats": 1},
    }.get(method, {})
    result = method(X, X["gene0"] * 1.0 + 1.0, power=umfi.ForestPower(n_trees=5), **arguments)
    assert len(result.importances) == 40


@pytest.mark.parametrize("method", METHODS, **by_name)
def test_boolean_columns(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((200, 3)) > 0.5, columns=["a", "b", "c"])
    y = np.where(X["a"], "yes", "no")
    result = method(X, y, power=POWER, random_state=0)
    assert result.table["feature"][0] == "a"
    assert result.importances["a"] > 0.25
    # Of two equal classes R² moves twice as far as accuracy.
    assert result.importances[["b", "c"]].abs().max() < 0.2


@pytest.mark.parametrize(
    "method",
    [umfi.ultra_marginal, umfi.marginal_contribution, umfi.ablation, umfi.bivariate],
    **by_name,
)
@pytest.mark.parametrize("protocol", ["matched", "paper"])
def test_copies_come_out_equal(method, protocol, table):
    X, y = table
    arguments = {} if method is umfi.marginal_contribution else {"protocol": protocol}
    result = method(X.assign(copy=X["x1"]), y, power=POWER, random_state=0, **arguments)
    assert result.importances["copy"] == result.importances["x1"]
    assert "Copies of other columns: 'copy' of 'x1'." in result.settings["notes"]


def test_the_paper_floor_is_for_its_own_measures_only(table):
    X, y = table
    result = umfi.bivariate(X, y, protocol="paper", power=lambda columns, y, rng: -5.0)
    assert (result.scores["score_with"] == -5.0).all()
    assert (umfi.bivariate(X, y, protocol="paper", power=POWER).scores["score_with"] >= 0).all()


def test_copies_replace_each_other_in_ablation(table):
    X, y = table
    result = umfi.ablation(X.assign(copy=X["x2"]), y, random_state=0)
    assert result.importances[["x2", "copy"]].max() < 0.1
    assert umfi.ablation(X, y, random_state=0).importances["x2"] > 0.3


@pytest.mark.parametrize("method", METHODS, **by_name)
def test_subsamples_draw_fresh_rows_for_each_repeat(method, table):
    result = method(*table, power=POWER, random_state=0, repeats=3, subsample=40)
    assert result.n_repeats == 3
    spread = result.table.set_index("feature")["spread"]
    assert (spread > 0).all()


def test_a_subsample_may_miss_a_class():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=100), "b": rng.normal(size=100)})
    y = np.array(["common"] * 98 + ["rare"] * 2)
    result = umfi.ultra_marginal(X, y, power=POWER, random_state=0, repeats=4, subsample=30)
    # Where all rows are of one class there is nothing to explain.
    is_one_class = result.scores["score_with"] == 0.0
    assert is_one_class.any()
    assert (result.scores["standard_error"][is_one_class] == 0.0).all()


def test_a_fraction_of_all_rows_is_all_rows(table):
    whole = umfi.bivariate(*table, power=POWER, random_state=0)
    fraction = umfi.bivariate(*table, power=POWER, random_state=0, subsample=1.0)
    pd.testing.assert_frame_equal(whole.scores, fraction.scores)


def test_rows_of_a_repeat_are_drawn_once_and_few_repeats_are_stored():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    options = DEFAULTS | {"repeats": 5, "subsample": 0.5, "random_state": 0}
    study = Study.prepare("bivariate", X, y, {}, options)
    first, _ = study.rows_of(0)
    assert study.rows_of(0)[0] is first
    for repeat in range(1, 5):
        assert study.rows_of(repeat)[0] is not first
    assert len(study.sampled.made) == 2
    again, _ = study.rows_of(0)
    assert (again.values == first.values).all()
