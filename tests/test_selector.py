"""The interface for scikit-learn follows scikit-learn's rules, and selects as the result says."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import umfi
from umfi.selector import UltraMarginalSelector

POWER = umfi.ForestPower(n_trees=10)
NOTHING_KEPT = "ignore:No features were selected:UserWarning"


def make_selector(**settings):
    return UltraMarginalSelector(
        **{"power": POWER, "max_permutations": 19, "random_state": 0, "n_jobs": 1, **settings}
    )


@pytest.fixture(scope="module")
def table():
    X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def mixed():
    """Two columns that predict the class, text and a category, and one that does not."""
    rng = np.random.default_rng(1)
    is_wet = rng.random(120) < 0.5
    X = pd.DataFrame(
        {
            "noise": rng.normal(size=120),
            "soil": np.where(is_wet ^ (rng.random(120) < 0.05), "clay", "sand"),
            "slope": pd.Categorical(np.where(is_wet ^ (rng.random(120) < 0.1), "flat", "steep")),
        }
    )
    return X, np.where(is_wet, "wet", "dry")


class NoPower:
    """A power that must not be reached."""

    def score(self, columns, target, seed):
        raise AssertionError("long work was started")


# --- scikit-learn's own checks


@pytest.mark.filterwarnings(NOTHING_KEPT)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"top": 2},
        {"threshold": 0},
        {"top": 1, "missing": "level"},
        {"top": 1, "missing": "drop", "task": "regression"},
        {"threshold": 0, "remover": "linear", "power": "linear", "test": "permutation"},
    ],
    ids=str,
)
def test_scikit_learn_finds_nothing_to_complain_about(settings):
    checks = check_estimator(make_selector(**settings), on_skip=None, on_fail="raise")
    not_passed = {check["check_name"] for check in checks if check["status"] != "passed"}
    # Needs an environment variable that must be set before SciPy is imported.
    assert not_passed <= {"check_array_api_input"}
    assert len(checks) > 40


def test_tags_tell_what_is_needed():
    assert get_tags(make_selector()).target_tags.required
    assert not get_tags(make_selector()).input_tags.allow_nan
    assert get_tags(make_selector(missing="drop")).input_tags.allow_nan
    assert get_tags(make_selector(missing="level")).input_tags.allow_nan


# --- what is selected


def test_importances_are_those_of_the_method(table):
    X, y = table
    selector = make_selector(test="permutation").fit(X, y)
    result = umfi.ultra_marginal(
        X, y, power=POWER, test="permutation", max_permutations=19, random_state=0
    )
    np.testing.assert_array_equal(selector.importances_, result.importances)
    pd.testing.assert_frame_equal(selector.result_.table, result.table)


@pytest.mark.parametrize(("alpha", "control"), [(0.05, "fdr"), (0.3, "none"), (0.2, "holm")])
def test_related_features_are_those_of_the_result(table, alpha, control):
    selector = make_selector(alpha=alpha, control=control, max_permutations=49).fit(*table)
    related = selector.result_.related(alpha, control)
    assert selector.get_feature_names_out().tolist() == related
    assert selector.result_.settings["test"] == "permutation"


def test_related_features_of_a_simulation_are_found(table):
    selector = UltraMarginalSelector(random_state=1).fit(*table)
    assert selector.get_feature_names_out().tolist() == ["x1", "x2", "x3"]


@pytest.mark.parametrize("top", [1, 2, 4])
def test_top_takes_the_head_of_the_table(table, top):
    selector = make_selector(top=top).fit(*table)
    head = selector.result_.table["feature"].head(top)
    assert set(selector.get_feature_names_out()) == set(head)
    assert selector.support_.sum() == top


def test_of_equal_features_the_first_is_taken(table):
    X, y = table
    selector = make_selector(top=1).fit(X.assign(copy=X["x2"])[["x2", "copy"]], y)
    assert selector.importances_[0] == selector.importances_[1]
    assert selector.get_support().tolist() == [True, False]


def test_top_beyond_the_number_of_features_takes_all_and_warns(table):
    selector = make_selector(top=9)
    with pytest.warns(UserWarning, match="top=9 is more than the 4 features: all are kept"):
        selector.fit(*table)
    assert selector.support_.all()


def test_threshold_takes_importances_at_or_above(table):
    importances = make_selector(threshold=0).fit(*table).importances_
    middle = float(np.sort(importances)[2])
    selector = make_selector(threshold=middle).fit(*table)
    np.testing.assert_array_equal(selector.get_support(), importances >= middle)
    assert selector.support_.sum() == 2


@pytest.mark.parametrize("rule", [{"top": 1}, {"threshold": 0.1}])
def test_nothing_is_tested_unless_needed_or_asked_for(table, rule):
    assert make_selector(**rule).fit(*table).result_.tests is None
    assert make_selector(**rule, test="full-permutation").fit(*table).result_.tests is not None


def test_nothing_selected_warns_and_leaves_no_columns(table):
    X, y = table
    selector = make_selector(threshold=99.0).fit(X, y)
    for output, given in [("default", X), ("pandas", X), ("polars", pl.from_pandas(X))]:
        with pytest.warns(UserWarning, match="No features were selected"):
            assert selector.set_output(transform=output).transform(given).shape == (100, 0)


# --- settings and data that are refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top": 2, "threshold": 0.1}, "Both top and threshold are given: pass one"),
        ({"top": 0}, "top=0 is not valid: pass a whole number from 1 up"),
        ({"top": 0.5}, "top=0.5 is not valid"),
        ({"top": True}, "top=True is not valid"),
        ({"threshold": "mean"}, "threshold='mean' is not valid: pass a number"),
        ({"threshold": np.nan}, "threshold=nan is not valid"),
        ({"threshold": False}, "threshold=False is not valid"),
        ({"alpha": 5}, "alpha=5 is not valid: pass a number between 0 and 1"),
        ({"control": "fdrr"}, "Unknown control 'fdrr': did you mean 'fdr'"),
        ({"control": ["fdr"]}, "Unknown control"),
        ({"test": None}, "found by a test, and there is none with test=None: pass top"),
        ({"protocol": "paper"}, "there is none with protocol='paper': pass top or threshold"),
        ({"top": 1, "test": "permutations"}, "Unknown test 'permutations'"),
        ({"top": 1, "protocol": "papers"}, "Unknown protocol 'papers'"),
        ({"remover": "linaer"}, "Unknown remover 'linaer': did you mean 'linear'"),
        ({"missing": "drp"}, "Unknown missing 'drp'"),
        ({"kinds": {"x9": "ordinal"}}, "Unknown feature in kinds 'x9'"),
        ({"random_state": -1}, "random_state=-1 is not a seed"),
        ({"executor": "thread"}, "Unknown executor 'thread'"),
    ],
)
def test_bad_settings_are_refused_before_any_work(table, settings, message):
    selector = make_selector(**{"power": NoPower(), **settings})
    with pytest.raises(umfi.InputError, match=message):
        selector.fit(*table)
    assert not hasattr(selector, "importances_")


def test_bad_data_are_refused(table):
    X, y = table
    selector = make_selector(power=NoPower())
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        selector.fit(X)
    with pytest.raises(umfi.InputError, match="X has 100 rows and y has 99"):
        selector.fit(X, y[:-1])
    with pytest.raises(umfi.InputError, match="X has 10 rows and y has 9"):
        selector.fit(X.head(10), y[:9])
    with pytest.raises(umfi.InputError, match="X has 0 rows"):
        selector.fit(X.head(0), y[:0])
    with pytest.raises(umfi.InputError, match=r"X is a lazy frame: pass X\.collect\(\)"):
        selector.fit(pl.from_pandas(X).lazy(), y)
    with pytest.raises(umfi.InputError, match="missing values in 'x1'"):
        selector.fit(X.mask(X > 1), y)
    with pytest.raises(ValueError, match="contains NaN"):
        selector.fit(X.mask(X > 1).to_numpy(), y)
    with pytest.raises(TypeError, match="dense data is required"):
        selector.fit(sparse.csr_array(X.to_numpy()), y)


def test_nothing_is_known_before_the_fit(table):
    selector = make_selector()
    for method in (selector.get_support, selector.get_feature_names_out):
        with pytest.raises(NotFittedError):
            method()
    with pytest.raises(NotFittedError):
        selector.transform(table[0])


def test_a_table_too_small_to_score_is_refused(table):
    X, y = table
    with pytest.raises(umfi.InputError, match="9 rows: at least 10"):
        make_selector().fit(X.head(9), y[:9])


# --- tables and responses of all sorts


def test_columns_of_an_array_have_the_names_that_scikit_learn_gives_them(table):
    X, y = table
    selector = make_selector(top=2, kinds={"x3": "ordinal"}).fit(X.to_numpy(), y)
    assert selector.result_.importances.index.tolist() == ["x0", "x1", "x2", "x3"]
    assert set(selector.get_feature_names_out()) == set(selector.result_.table["feature"][:2])
    assert not hasattr(selector, "feature_names_in_")


def test_an_array_gives_the_numbers_of_a_frame_with_these_names(table):
    X, y = table
    named = X.set_axis(["x0", "x1", "x2", "x3"], axis=1)
    expected = make_selector(top=1).fit(named, y).importances_
    for values in (X.to_numpy(), np.asfortranarray(X), X.to_numpy().tolist()):
        np.testing.assert_array_equal(make_selector(top=1).fit(values, y).importances_, expected)


def test_row_labels_of_a_response_do_not_matter_beside_an_array(table):
    X, y = table
    expected = make_selector(top=1).fit(X.to_numpy(), y.to_numpy()).importances_
    relabelled = y.set_axis(np.random.default_rng(0).permutation(100))
    for response in (relabelled, relabelled.to_frame(), y.tolist(), pl.Series(y)):
        found = make_selector(top=1).fit(X.to_numpy(), response).importances_
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "convert", [np.array, list, pd.Series, pd.Categorical, pl.Series, lambda y: y == "wet"]
)
def test_class_labels_of_all_sorts_give_the_same_numbers(mixed, convert):
    X, y = mixed
    expected = make_selector(top=1).fit(X, y).importances_
    selector = make_selector(top=1).fit(X, convert(y))
    assert selector.result_.settings["task"] == "classification"
    np.testing.assert_array_equal(selector.importances_, expected)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_other_libraries_give_the_same_numbers(mixed, convert):
    X, y = mixed
    expected = make_selector(top=2).fit(X, y)
    selector = make_selector(top=2).fit(convert(X), y)
    np.testing.assert_array_equal(selector.importances_, expected.importances_)
    assert selector.feature_names_in_.tolist() == ["noise", "soil", "slope"]
    np.testing.assert_array_equal(selector.transform(convert(X)), expected.transform(X))


def test_text_and_categories_are_selected_and_keep_their_types(mixed):
    X, y = mixed
    in_pandas = make_selector(top=2).set_output(transform="pandas").fit_transform(X, y)
    pd.testing.assert_frame_equal(in_pandas, X[["soil", "slope"]])
    polars = pl.from_pandas(X)
    in_polars = make_selector(top=2).set_output(transform="polars").fit_transform(polars, y)
    assert in_polars.equals(polars[["soil", "slope"]])
    assert in_polars.schema == polars[["soil", "slope"]].schema


def test_pandas_output_keeps_row_labels(table):
    X, y = table
    labelled = X.set_axis(range(500, 600))
    selector = make_selector(top=2).set_output(transform="pandas").fit(labelled, y)
    selected = selector.transform(labelled)
    pd.testing.assert_frame_equal(selected, labelled.loc[:, selector.support_])
    of_array = make_selector(top=2).set_output(transform="pandas").fit_transform(X.to_numpy(), y)
    assert set(of_array) <= {"x0", "x1", "x2", "x3"}


def test_other_columns_than_those_of_the_fit_are_refused(table):
    X, y = table
    for output, convert in [("default", pd.DataFrame), ("polars", pl.from_pandas)]:
        selector = make_selector(top=2).set_output(transform=output).fit(X, y)
        with pytest.raises(ValueError, match="feature names should match"):
            selector.transform(convert(X.rename(columns={"x1": "x9"})))


def test_missing_values_pass_through_where_they_are_not_refused(table):
    X, y = table
    gappy = X.mask(X > 1.5)
    assert gappy.isna().any().any()
    for missing, n_rows in [("level", 100), ("drop", gappy.notna().all(axis=1).sum())]:
        for given in (gappy, gappy.to_numpy()):
            selector = make_selector(top=2, missing=missing).fit(given, y)
            assert selector.result_.settings["n_rows"] == n_rows
            np.testing.assert_array_equal(
                selector.transform(given), gappy.to_numpy()[:, selector.support_]
            )


def test_inverse_transform_puts_zeros_where_columns_were_left_out(table):
    X, y = table
    selector = make_selector(top=2).fit(X, y)
    back = selector.inverse_transform(selector.transform(X))
    np.testing.assert_array_equal(back, X.to_numpy() * selector.support_)


def test_the_callers_data_are_unchanged(mixed):
    X, y = mixed
    gappy = X.assign(noise=X["noise"].mask(X["noise"] > 1))
    response = pd.Series(y, index=X.index, name="class")
    before = gappy.copy(), response.copy()
    make_selector(top=1, missing="level").fit_transform(gappy, response)
    pd.testing.assert_frame_equal(gappy, before[0])
    pd.testing.assert_series_equal(response, before[1])
    values = np.random.default_rng(0).normal(size=(40, 3))
    values_before = values.copy()
    make_selector(top=1).fit_transform(values, response[:40])
    np.testing.assert_array_equal(values, values_before)


# --- copies, seeds and the company of other estimators


def test_a_clone_with_the_same_seed_finds_the_same(table):
    selector = make_selector(top=2).fit(*table)
    copy = clone(selector)
    assert not hasattr(copy, "importances_")
    np.testing.assert_array_equal(copy.fit(*table).importances_, selector.importances_)


@pytest.mark.parametrize(
    "make_state",
    [lambda: 7, lambda: np.random.RandomState(7), lambda: np.random.default_rng(7)],
)
def test_equal_random_states_give_equal_numbers(table, make_state):
    first, second = (
        make_selector(top=1, random_state=make_state()).fit(*table).importances_ for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_a_random_state_that_is_used_twice_gives_fresh_numbers(table):
    selector = make_selector(top=1, random_state=np.random.RandomState(7))
    first = selector.fit(*table).importances_
    assert not np.array_equal(first, selector.fit(*table).importances_)


def test_a_fitted_selector_survives_a_file(table, tmp_path):
    X, y = table
    selector = make_selector(top=2).fit(X, y)
    joblib.dump(selector, tmp_path / "selector.joblib")
    loaded = joblib.load(tmp_path / "selector.joblib")
    np.testing.assert_array_equal(loaded.transform(X), selector.transform(X))
    pd.testing.assert_frame_equal(loaded.result_.table, selector.result_.table)


def test_a_pipeline_with_a_classifier_beats_chance(mixed):
    X, y = mixed
    pipeline = make_pipeline(
        make_selector(max_permutations=49), OneHotEncoder(), LogisticRegression()
    )
    pipeline.fit(X, y)
    assert pipeline[0].get_feature_names_out().tolist() == ["soil", "slope"]
    assert pipeline.score(X, y) > 0.9
    assert pipeline[:-1].get_feature_names_out()[0] == "soil_clay"


def test_a_pipeline_takes_shuffled_rows(table):
    X, y = table
    rows = np.random.default_rng(0).permutation(100)
    pipeline = make_pipeline(StandardScaler(), make_selector(top=2), Ridge())
    assert pipeline.fit(X.iloc[rows], y.iloc[rows]).score(X, y) > 0.5


def test_a_column_transformer_gives_it_some_columns(mixed):
    X, y = mixed
    numbers = X.assign(more=np.random.default_rng(2).normal(size=120))
    transformer = ColumnTransformer(
        [
            ("chosen", make_selector(top=1), ["noise", "soil"]),
            ("scaled", StandardScaler(), ["more"]),
        ]
    ).set_output(transform="pandas")
    chosen = transformer.fit_transform(numbers, y)
    assert list(chosen) == ["chosen__soil", "scaled__more"]


def test_a_search_finds_how_many_features_are_needed(table):
    X, _ = table
    rng = np.random.default_rng(3)
    noisy = X[["x1", "x4"]].assign(noise=rng.normal(size=100))
    response = X["x1"] + X["x4"] + 0.1 * rng.normal(size=100)
    pipeline = make_pipeline(make_selector(), Ridge())
    search = GridSearchCV(pipeline, {"ultramarginalselector__top": [1, 2]}, cv=3)
    search.fit(noisy, response)
    assert search.best_params_ == {"ultramarginalselector__top": 2}
    assert set(search.best_estimator_[0].get_feature_names_out()) == {"x1", "x4"}


def test_folds_on_other_processes_give_the_same_scores(table):
    X, y = table
    pipeline = make_pipeline(make_selector(top=2), Ridge())
    here, there = (cross_val_score(pipeline, X, y, cv=2, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(here, there)


def test_parameters_of_an_estimator_that_is_the_power_can_be_set(table):
    X, y = table
    selector = make_selector(top=2, power=Ridge()).set_params(power__alpha=0.5)
    assert clone(selector).power.alpha == 0.5
    assert "alpha=0.5" in selector.fit(X, y).result_.settings["power"]
