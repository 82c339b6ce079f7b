"""Bad input gets one plain sentence that names the column and the way out, before any long work."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import umfi
from umfi.importance import METHODS as REGISTERED

ROWS = 40
RNG = np.random.default_rng(0)
X = pd.DataFrame({"rain": RNG.normal(size=ROWS), "snow": RNG.normal(size=ROWS)})
Y = pd.Series(RNG.normal(size=ROWS), name="flow")

METHODS = [*(method.function for method in REGISTERED.values()), umfi.partners]


class NoPower:
    """A power that must not be reached."""

    def score(self, columns, target, seed):
        raise AssertionError("long work was started")


def with_value(value, row=3):
    changed = X.copy()
    changed.loc[row, "rain"] = value
    return changed


BAD_TABLES = {
    "missing": (with_value(np.nan), "missing values in 'rain'.*fill them in"),
    "infinite": (with_value(np.inf), "infinite values in 'rain'"),
    "nullable": (X.astype("Float64").mask(X > 1), "missing values in 'rain', 'snow'"),
    "labels of rows": (
        X.assign(site=[f"site {row}" for row in range(ROWS)]),
        "Column 'site' has too many different levels to be categories.*merge levels, or drop it",
    ),
    "missing labels": (
        X.assign(soil=["clay", None] * (ROWS // 2)),
        "missing values in 'soil'.*set missing to 'drop' or 'level'",
    ),
    "nothing at all": (X.assign(soil=[None] * ROWS), "missing values in 'soil'"),
    "objects": (X.assign(soil=[{1: 2}] * ROWS), r"'soil' holds values such as \{1: 2\}: convert"),
    "several at once": (
        with_value(np.nan)
        .assign(site=range(ROWS), day=pd.Timestamp("2020-01-01"))
        .astype({"site": str}),
        "missing values in 'rain'.* Column 'site' has too many.* Column 'day' holds dates",
    ),
    "masked": (np.ma.masked_greater(X.to_numpy(), 1.0), "missing values in 'x1', 'x2'"),
    "ragged": ([[1.0, 2.0]] * 20 + [[1.0]], "rows of different lengths"),
    "lazy": (pl.LazyFrame({"a": range(20)}), r"pass X.collect\(\)"),
    "dates": (X.assign(day=pd.date_range("2020", periods=ROWS)), "'day' holds dates.*days since"),
    "complex": (X.to_numpy() + 1j, "array of type complex128: pass real numbers"),
    "object array": (X.to_numpy().astype(object), "array of type object: pass real numbers"),
    "one dimension": (X["rain"].to_numpy(), r"1 dimension.*reshape\(-1, 1\)"),
    "a series": (X["rain"], "X is a Series: pass a pandas"),
    "no columns": (X[[]], "no columns: pass at least one"),
    "no columns in an array": (np.empty((ROWS, 0)), "no columns: pass at least one"),
    "few rows": (X.head(9), "9 rows: at least 10"),
    "repeated names": (
        pd.concat([X, X[["rain"]]], axis=1),
        "more than one column named 'rain': rename",
    ),
    "a dictionary": ({"rain": [1, 2]}, "X is a dict: pass a pandas"),
    "polars nulls": (pl.DataFrame({"a": [1.0, None] * 20}), "missing values in 'a'"),
    "pyarrow nulls": (pa.table({"a": [True, None] * 20}), "missing values in 'a'"),
}


BAD_RESPONSES_TO_DROP = {
    "nothing": (None, "X is a NoneType: pass a pandas", None),
    "lazy": (pl.LazyFrame({"a": range(20)}), r"pass X.collect\(\)", None),
    "two columns": (X, "y has 2 dimensions", np.zeros((ROWS, 2))),
    "a number": (X, "y is a int: pass a series", 5),
    "one of the columns": (X, "is itself a column of X", "rain"),
    "empty column": (X.assign(empty=np.nan), "no value at all in 'empty': drop it", None),
    "no whole row": (
        pd.DataFrame({"a": [np.nan, 1.0, 2.0] * 20, "b": [3.0, np.nan, np.nan] * 20}),
        "Every row has a missing value: drop columns, or set missing to 'level'",
        None,
    ),
}


@pytest.mark.parametrize("name", BAD_RESPONSES_TO_DROP)
def test_what_cannot_be_dropped_from_is_refused_in_a_sentence(name):
    table, message, response = BAD_RESPONSES_TO_DROP[name]
    if response is None:
        response = Y
    elif isinstance(response, str):
        response = table[response]
    with pytest.raises(umfi.InputError, match=message):
        umfi.ultra_marginal(table, response, missing="drop", power=NoPower())


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_refused(name):
    table, message = BAD_TABLES[name]
    y = Y.to_numpy()[: len(table)] if hasattr(table, "__len__") else Y
    with pytest.raises(umfi.InputError, match=message):
        umfi.ultra_marginal(table, y, power=NoPower())
    with pytest.raises(umfi.InputError, match=message):
        umfi.remove_dependence(table, "rain")


BAD_RESPONSES = {
    "too short": (Y[:30], "X has 40 rows and y has 30"),
    "missing": (Y.mask(Y > 1), "'flow' holds missing values: drop"),
    "missing labels": (["a", None] * 20, "holds missing values"),
    "infinite": (Y.replace(Y[3], np.inf), "'flow' holds infinite values"),
    "constant": (Y * 0, "'flow' is constant"),
    "one class": (["a"] * ROWS, "one class only, 'a'"),
    "a lonely class": (
        ["a"] * 20 + ["b"] * 19 + ["c"],
        "1 of the 3 classes .* such as 'c': merge or drop such classes.$",
    ),
    "lonely numbers": (
        np.r_[np.arange(10), np.zeros(30)].astype(int),
        "or set the task to 'regression'",
    ),
    "a name": ("flow", r"y is the text 'flow': pass the values, such as table\['flow'\]"),
    "a complex series": (Y + 1j, "holds values such as .*astype"),
    "complex": (Y.to_numpy() + 1j, "complex"),
    "two columns": (np.ones((ROWS, 2)), "2 dimensions: pass one value per row"),
    "a frame of two": (X, "2 columns: pass one value per row"),
    "dates": (pd.Series(pd.date_range("2020", periods=ROWS)), "dates or times"),
    "labels of other rows": (Y.set_axis(Y.index + 3), r"other row labels: pass y.loc\[X.index\]"),
    "another row order": (Y.sort_values(), r"different orders: pass y.loc\[X.index\]"),
    "a column of X": (X["rain"], "'rain' is itself a column of X: drop"),
    "a copied column of X": (X["rain"].copy(), "'rain' is itself a column of X: drop"),
    "a nameless column of X": (X["snow"].to_numpy(), "itself a column of X"),
    "not a series": (5, "y is a int: pass a series"),
}


@pytest.mark.parametrize("name", BAD_RESPONSES)
def test_bad_responses_are_refused(name):
    y, message = BAD_RESPONSES[name]
    with pytest.raises(umfi.InputError, match=message):
        umfi.ultra_marginal(X, y, power=NoPower())


def test_a_column_of_an_array_is_refused_as_response():
    values = X.to_numpy().copy()
    with pytest.raises(umfi.InputError, match="itself a column of X"):
        umfi.bivariate(values, values[:, 1])


def test_a_feature_equal_to_the_response_is_allowed():
    table = X.assign(guess=Y.to_numpy())
    result = umfi.bivariate(table, Y, power=umfi.LinearPower(), random_state=0)
    assert result.importances.idxmax() == "guess"


BAD_ARGUMENTS = {
    "power": ({"power": "forrest"}, "Unknown power 'forrest': did you mean 'forest'"),
    "power class": ({"power": umfi.ForestPower}, r"is a class: pass an object, ForestPower\(\)"),
    "power number": ({"power": 3}, "power=3 is not a power"),
    "power arguments": ({"power": lambda columns: 0.0}, r"write it as f\(columns, y, rng\)"),
    "task": ({"task": "regresion"}, "did you mean 'regression'"),
    "no repeats": ({"repeats": 0}, "repeats=0 is not valid: pass a whole number from 1"),
    "half a repeat": ({"repeats": 1.5}, "repeats=1.5 is not valid"),
    "subsample": ({"subsample": 41}, "subsample=41 is more than the 40 rows"),
    "tiny subsample": ({"subsample": 10}, "leaves 10 of 40 rows, and 20 at least"),
    "tiny share": ({"subsample": 0.1}, "leaves 4 of 40 rows, and 20 at least"),
    "endless subsample": ({"subsample": np.inf}, "subsample=inf is not valid"),
    "negative subsample": ({"subsample": -3}, "subsample=-3 is not valid"),
    "odd subsample": ({"subsample": 20.5}, "pass a whole number of rows, or a fraction"),
    "seed": ({"random_state": "seven"}, "random_state='seven' is not a seed"),
    "negative seed": ({"random_state": -1}, "random_state=-1 is not a seed"),
    "no workers": ({"n_jobs": 0}, "n_jobs=0 leaves nobody to work"),
    "half a worker": ({"n_jobs": 0.5}, "not a number of workers"),
    "executor": ({"executor": "thread"}, "did you mean 'threads'"),
    "kind": ({"kinds": {"rain": "continous"}}, "did you mean 'continuous'"),
    "kind of what": ({"kinds": {"rian": "continuous"}}, "did you mean 'rain'"),
    "too many levels": ({"kinds": {"rain": "categorical"}}, "'rain' has too many different levels"),
    "way with gaps": ({"missing": "dorp"}, "did you mean 'drop'"),
    "no dictionary": ({"kinds": ["rain"]}, "is not a dictionary"),
    "not boolean": ({"kinds": {"rain": "boolean"}}, "does not hold exactly two values"),
}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_are_refused_by_every_method(name, method):
    arguments, message = BAD_ARGUMENTS[name]
    with pytest.raises(umfi.InputError, match=message):
        method(X, Y, **{"power": NoPower(), **arguments})


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        (umfi.ultra_marginal, {"remover": "linaer"}, "did you mean 'linear'"),
        (umfi.ultra_marginal, {"remover": "LINEAR"}, "did you mean 'linear'"),
        (umfi.ultra_marginal, {"remover": "zzz"}, "Unknown remover 'zzz'. Valid: 'joint'"),
        (umfi.ultra_marginal, {"remover": 7}, "remover=7 is not a remover"),
        (
            umfi.ultra_marginal,
            {"remover": umfi.LinearRemover},
            r"pass an object, LinearRemover\(\)",
        ),
        (umfi.ultra_marginal, {"protocol": "papre"}, "did you mean 'paper'"),
        (umfi.ablation, {"protocol": "match"}, "did you mean 'matched'"),
        (umfi.bivariate, {"protocol": ""}, "Unknown protocol"),
        (umfi.marginal_contribution, {"max_context": -1}, "max_context=-1 is not valid"),
        (umfi.conditional_permutation, {"threshold": 2}, "threshold=2 is not valid"),
        (umfi.permutation, {"power": NoPower()}, "permutation needs a forest"),
    ],
)
def test_bad_arguments_of_one_method_are_refused(method, arguments, message):
    with pytest.raises(umfi.InputError, match=message):
        method(X, Y, **{"power": NoPower(), **arguments})


def test_too_many_subsets_are_refused():
    wide = pd.DataFrame(RNG.normal(size=(ROWS, 30)))
    with pytest.raises(umfi.InputError, match="sets to score: lower max_context"):
        umfi.marginal_contribution(wide, Y, max_context=None, power=NoPower())


def test_unknown_features_are_named_with_the_nearest():
    with pytest.raises(umfi.InputError, match="Unknown feature 'rian': did you mean 'rain'"):
        umfi.remove_dependence(X, "rian")
    with pytest.raises(umfi.InputError, match="Unknown feature '2'"):
        umfi.remove_dependence(X.to_numpy(), 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: umfi.ForestPower(n_trees=0), "n_trees=0 is not valid"),
        (lambda: umfi.ForestPower(mtry=0.5), "mtry=0.5 is not valid"),
        (lambda: umfi.ForestPower(rows_per_tree=0), "rows_per_tree=0 is not valid"),
        (lambda: umfi.ForestPower(min_node_rows=-1), "min_node_rows=-1 is not valid"),
        (lambda: umfi.ForestPower(split="bset"), "did you mean 'best'"),
        (lambda: umfi.TransportRemover(rows_per_bin=1), "rows_per_bin=1 is too small"),
        (lambda: umfi.datasets.simulate("correlations"), "did you mean 'correlation'"),
        (lambda: umfi.datasets.simulate("correlation", n=0), "n=0 is not a number of rows"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(umfi.InputError, match=message):
        make()


def test_many_names_are_not_all_listed():
    wide = pd.DataFrame(np.full((ROWS, 30), np.nan)).rename(columns=str)
    with pytest.raises(umfi.InputError, match="and 22 more: fill them in"):
        umfi.bivariate(wide, Y)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_the_callers_data_is_never_changed(method):
    table = X.assign(copy=X["rain"], constant=1.0, flag=X["snow"] > 0)
    response = Y.copy()
    before, response_before = table.copy(deep=True), response.copy(deep=True)
    # Partners are found by many repeats, so for one feature only.
    settings = {"feature": "rain"} if method is umfi.partners else {"repeats": 2}
    method(table, response, power=umfi.ForestPower(n_trees=2), random_state=0, **settings)
    for remover in ("linear", "transport"):
        umfi.remove_dependence(table, "rain", remover=remover)
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_series_equal(response, response_before)


def test_read_only_data_is_accepted_and_gives_the_same_result():
    settings = {"power": umfi.ForestPower(n_trees=2), "remover": "linear", "random_state": 0}
    values, response = X.to_numpy().copy(), Y.to_numpy().copy()
    expected = umfi.ultra_marginal(values, response, **settings).importances
    expected_rest = umfi.remove_dependence(values, 0, remover="linear", random_state=0)
    values.flags.writeable = response.flags.writeable = False
    importances = umfi.ultra_marginal(values, response, **settings).importances
    pd.testing.assert_series_equal(importances, expected, check_exact=True)
    rest = umfi.remove_dependence(values, 0, remover="linear", random_state=0)
    np.testing.assert_array_equal(rest, expected_rest)
