"""Kinds of columns and missing values, from the table to the importances."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import umfi
from umfi.data.columns import Kind
from umfi.data.frames import read_columns

SOILS = ["clay", "sand", "silt", "peat"]


def make_table(n_rows=300, seed=0):
    """Return soils, a quantity and noise; the response depends on soils in no order of theirs."""
    rng = np.random.default_rng(seed)
    soil = rng.choice(SOILS, n_rows, p=[0.4, 0.3, 0.2, 0.1])
    X = pd.DataFrame({"soil": soil, "rain": rng.normal(size=n_rows), "noise": rng.random(n_rows)})
    y = X["soil"].map({"clay": 1.0, "sand": -1.0, "silt": 1.5, "peat": -2.0}) + X["rain"]
    return X, y + 0.2 * rng.normal(size=n_rows)


TABLES = {
    "pandas text": lambda X: X,
    "pandas categories": lambda X: X.astype({"soil": "category"}),
    "pandas string": lambda X: X.astype({"soil": "string"}),
    "polars text": pl.from_pandas,
    "polars categories": lambda X: pl.from_pandas(X).cast({"soil": pl.Categorical}),
    "pyarrow text": pa.Table.from_pandas,
    "pyarrow dictionary": lambda X: pa.Table.from_pandas(X.astype({"soil": "category"})),
}


@pytest.mark.parametrize("name", TABLES)
def test_text_and_categories_are_categorical_in_every_table(name):
    X, _ = make_table()
    columns = read_columns(TABLES[name](X))
    assert columns.kinds == (Kind.CATEGORICAL, Kind.CONTINUOUS, Kind.CONTINUOUS)
    expected = pd.factorize(X["soil"])[0]
    assert columns.values[:, 0].tolist() == expected.tolist()


ORDERED = {
    "pandas": lambda codes: pd.DataFrame(
        {"grade": pd.Categorical.from_codes(codes, ["low", "mid", "high"], ordered=True)}
    ),
    "polars": lambda codes: pl.DataFrame(
        {"grade": pl.Series(["low", "mid", "high"])[codes]},
        schema={"grade": pl.Enum(["low", "mid", "high"])},
    ),
    "pyarrow": lambda codes: pa.table(
        {
            "grade": pa.DictionaryArray.from_arrays(
                pa.array(codes), pa.array(["low", "mid", "high"]), ordered=True
            )
        }
    ),
}


@pytest.mark.parametrize("name", ORDERED)
def test_ordered_categories_are_ordinal_in_every_table(name):
    codes = np.tile([2, 0, 1, 1], 10)
    columns = read_columns(ORDERED[name](codes))
    assert columns.kinds == (Kind.ORDINAL,)
    assert columns.values[:, 0].tolist() == codes.tolist()


def test_kinds_override_what_the_data_suggest():
    X = pd.DataFrame({"code": np.tile([7, 3, 5], 20), "flag": np.tile([True, False], 30)})
    assert read_columns(X).kinds == (Kind.CONTINUOUS, Kind.BOOLEAN)
    columns = read_columns(X, kinds={"code": "categorical", "flag": "continuous"})
    assert columns.kinds == (Kind.CATEGORICAL, Kind.CONTINUOUS)
    assert columns.values[:3, 0].tolist() == [0.0, 1.0, 2.0]
    assert read_columns(X, kinds={"code": "ordinal"}).values[:3, 0].tolist() == [7.0, 3.0, 5.0]


def test_two_levels_are_boolean():
    assert read_columns(pd.DataFrame({"sex": ["f", "m"] * 20})).kinds == (Kind.BOOLEAN,)


@pytest.mark.parametrize("power", ["forest", "extra-trees"])
def test_a_forest_splits_categories_as_well_as_indicators(power):
    X, y = make_table()
    indicators = pd.get_dummies(X, columns=["soil"])
    own = umfi.predictive_power(X, y, power=power, random_state=0)
    assert own > umfi.predictive_power(indicators, y, power=power, random_state=0)
    assert own > 0.75


def test_an_unrelated_column_of_many_levels_predicts_nothing():
    """Levels are ordered by a tree's own rows, so rows out of the bag carry no information."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"site": rng.integers(0, 50, 400).astype(str)})
    for y in (rng.normal(size=400), rng.choice(["a", "b", "c"], 400)):
        assert umfi.predictive_power(X, y, random_state=0) < 0.02


def test_classes_are_predicted_by_categories():
    X, y = make_table()
    classes = pd.cut(y, 4, labels=list("abcd")).astype(str)
    X = X[["soil", "noise"]]
    numbers = X.assign(soil=pd.factorize(X["soil"])[0])
    found = umfi.predictive_power(X, classes, random_state=0)
    assert found > 0.15
    assert found > umfi.predictive_power(numbers, classes, random_state=0) - 0.05


def test_estimators_are_given_indicators():
    X, y = make_table()
    indicators = pd.get_dummies(X, columns=["soil"])
    power = LinearRegression()
    found = umfi.predictive_power(X, y, power=power, random_state=0)
    assert found == pytest.approx(
        umfi.predictive_power(indicators, y, power=power, random_state=0), abs=1e-9
    )


def test_long_tables_of_categories_are_told_in_subsampled_trees():
    X, y = make_table(n_rows=6000)
    whole = umfi.predictive_power(X, y, power=umfi.ForestPower(n_trees=20), random_state=0)
    few = umfi.ForestPower(n_trees=20, rows_per_tree=1500)
    assert umfi.predictive_power(X, y, power=few, random_state=0) > whole - 0.05


METHODS = [
    umfi.ultra_marginal,
    umfi.ablation,
    umfi.bivariate,
    umfi.marginal_contribution,
    umfi.permutation,
    umfi.conditional_permutation,
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_every_method_takes_categories(method):
    X, y = make_table()
    result = method(X, y, random_state=0)
    assert result.importances.idxmin() == "noise"
    assert result.importances["soil"] > 5 * abs(result.importances["noise"])
    serial = method(X, y, random_state=0, n_jobs=1)
    pd.testing.assert_frame_equal(result.scores, serial.scores, check_exact=True)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_every_method_takes_missing_values(method):
    X, y = make_table()
    X.loc[::10, "soil"] = None
    X.loc[::7, "rain"] = np.nan
    y[5] = np.nan
    dropped = method(X, y, missing="drop", random_state=0)
    is_complete = X.notna().all(axis=1) & y.notna()
    same = method(X[is_complete], y[is_complete], random_state=0)
    pd.testing.assert_frame_equal(dropped.scores, same.scores, check_exact=True)
    n_dropped = int((~is_complete).sum())
    assert f"{n_dropped} of 300 rows hold missing values" in dropped.settings["notes"][-1]
    levels = method(X, y.fillna(0.0), missing="level", random_state=0)
    assert levels.importances[["soil", "rain"]].min() > 0.05
    assert levels.settings["missing"] == "level"


def test_missing_values_are_a_level_of_their_own():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"rain": rng.normal(size=400), "soil": rng.choice(SOILS, 400)})
    is_missing = rng.random((400, 2)) < 0.3
    X = X.mask(is_missing)
    for position, name in enumerate(X):
        y = is_missing[:, position] + 0.1 * rng.normal(size=400)
        importances = umfi.ultra_marginal(X, y, missing="level", random_state=0).importances
        assert importances[name] > 0.8
    columns = read_columns(X, missing="level")
    assert columns.kinds == (Kind.ORDINAL, Kind.CATEGORICAL)
    assert columns.is_missing(0).tolist() == is_missing[:, 0].tolist()
    assert not columns.is_missing(1).any()


def test_numbers_with_gaps_have_an_indicator():
    column = pd.DataFrame({"rain": [1.0, np.nan, 3.0, 5.0] * 10})
    numbers = read_columns(column, missing="level").to_numbers()
    assert numbers[:3].tolist() == [[1.0, 0.0], [3.0, 1.0], [3.0, 0.0]]


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_the_paper_protocol_has_numbers_only(kind):
    X = pd.DataFrame({"code": np.tile([7, 3, 5, 9], 20), "rain": np.arange(80.0)})
    y = np.arange(80.0)
    for call in (
        lambda **arguments: umfi.ultra_marginal(X, y, **arguments),
        lambda **arguments: umfi.remove_dependence(X, "rain", remover="linear", **arguments),
    ):
        with pytest.raises(umfi.InputError, match=f"'code' is {kind}, which the paper protocol"):
            call(kinds={"code": kind}, protocol="paper")


def test_the_test_of_ablation_has_no_categories():
    X, y = make_table()
    with pytest.raises(umfi.InputError, match="'soil' is categorical, and what is added"):
        umfi.ablation(X, y, test="permutation")


def test_removal_returns_the_rows_that_are_left():
    X, _ = make_table()
    X.index = X.index + 1000
    X.loc[1010:1019, "rain"] = np.nan
    S = umfi.remove_dependence(X, "noise", missing="drop")
    assert len(S) == 290
    assert S.index.tolist() == X.index[X["rain"].notna()].tolist()
    assert umfi.remove_dependence(X, "noise", missing="level").shape == (300, 2)


DROPS = {
    "pandas": (lambda X: X, lambda y: y),
    "polars": (pl.from_pandas, lambda y: pl.Series(y)),
    "pyarrow": (pa.Table.from_pandas, lambda y: pa.chunked_array([y])),
    "numpy": (lambda X: X.to_numpy(dtype=float), lambda y: y),
    "lists": (lambda X: X.to_numpy(dtype=float).tolist(), lambda y: y.tolist()),
}


@pytest.mark.parametrize("name", DROPS)
def test_rows_are_dropped_from_every_kind_of_table(name):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    y = X["a"].to_numpy() + 0.1 * rng.normal(size=100)
    gaps = X.mask(rng.random((100, 2)) < 0.1)
    response = np.where(np.arange(100) == 50, np.nan, y)
    table, values = DROPS[name]
    found = umfi.predictive_power(table(gaps), values(response), missing="drop", random_state=0)
    is_complete = gaps.notna().all(axis=1).to_numpy() & ~np.isnan(response)
    assert found == umfi.predictive_power(X[is_complete], y[is_complete], random_state=0)


def test_labels_and_gaps_in_a_list_stay_labels():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = ["a" if value > 0 else "b" for value in X[:, 0]]
    y[3] = np.nan
    result = umfi.bivariate(X, y, missing="drop", random_state=0)
    assert result.settings["classes"] == ["a", "b"]
    masked = np.ma.masked_array((X[:, 0] > 0).astype(int), mask=np.arange(60) == 7)
    result = umfi.bivariate(X, masked, missing="drop", random_state=0)
    assert result.settings["task"] == "classification"
    assert result.settings["n_rows"] == 59
    arrow = pa.array([None, *X[1:, 0]])
    assert umfi.bivariate(X, arrow, missing="drop", random_state=0).settings["n_rows"] == 59
