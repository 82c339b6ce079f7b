"""Tests of features: what they find, what they leave alone, and what never goes wrong."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import umfi
from tests.conftest import needs_data
from umfi.errors import InputError
from umfi.inference.sequential import SequentialDesign

POWER = umfi.ForestPower(n_trees=50)
REMOVERS = ["linear", "transport"]


def run(X, y, method=umfi.ultra_marginal, **arguments):
    settings = {"test": "permutation", "power": POWER, "random_state": 0, **arguments}
    return method(X, y, **settings)


@pytest.mark.parametrize("remover", REMOVERS)
@pytest.mark.parametrize(
    ("simulation", "related"),
    [
        ("nonlinear_interactions", ["x1", "x2", "x3", "x4"]),
        ("correlation", ["x1", "x2", "x3"]),
        ("blood_relation", ["x3", "x4"]),
    ],
)
def test_related_features_of_the_simulations_are_found(simulation, related, remover):
    X, y = umfi.datasets.simulate(simulation, n=400, random_state=3)
    result = run(X, y, remover=remover)
    assert result.related(alpha=0.01, control="holm") == related


@needs_data
def test_the_weakest_gene_is_found_and_permuted_ones_are_not():
    X, y = umfi.datasets.load_brca(permuted=True, random_state=1)
    genes = [
        "BRCA2",
        "TEX14",
        "BCL11A",
        *[name for name in X if name not in umfi.datasets.ASSOCIATED_GENES][:7],
    ]
    result = umfi.ultra_marginal(X[genes], y, remover="linear", test="permutation", random_state=0)
    assert set(result.related()) == {"BRCA2", "TEX14", "BCL11A"}


def test_a_test_changes_no_importance_and_workers_change_nothing():
    X, y = umfi.datasets.simulate("blood_relation", n=150, random_state=0)
    first = run(X, y, n_jobs=1)
    second = run(X, y, n_jobs=2)
    plain = run(X, y, test=None)
    pd.testing.assert_frame_equal(first.tests, second.tests)
    pd.testing.assert_frame_equal(first.scores, plain.scores)
    assert plain.tests is None
    assert "p_value" not in plain.table


def test_a_full_test_decides_the_same_with_more_permutations():
    X, y = umfi.datasets.simulate("blood_relation", n=200, random_state=1)
    sequential = run(X, y, remover="linear", max_permutations=59)
    full = run(X, y, remover="linear", max_permutations=59, test="full-permutation")
    assert sequential.related() == full.related()
    assert (full.tests["n_permutations"] == 59).all()
    assert sequential.tests["n_permutations"].sum() < 0.7 * full.tests["n_permutations"].sum()


def test_copies_get_one_p_value_and_constants_one():
    X, y = umfi.datasets.simulate("correlation", n=150, random_state=0)
    p_values = run(X.assign(copy=X["x2"], constant=3.0), y).tests.set_index("feature")["p_value"]
    assert p_values["copy"] == p_values["x2"] < 0.01
    assert p_values["constant"] == 1.0


def test_levels_and_corrections_are_chosen_afterwards():
    X, y = umfi.datasets.simulate("correlation", n=150, random_state=0)
    result = run(X, y, alpha=0.2)
    p_values = result.tests.set_index("feature")["p_value"]
    for alpha in (1e-4, 0.05, 0.999):
        expected = list(p_values.index[p_values <= alpha])
        assert result.related(alpha=alpha, control="none") == expected
    assert len(result.related(alpha=0.999, control="none")) >= 3
    assert result.related(alpha=1e-300) == []
    table = result.table.set_index("feature")
    assert set(table.index[table["related"]]) == set(result.related(alpha=0.2))


AWKWARD = {
    "twenty rows": lambda rng: (rng.normal(size=(20, 3)), rng.normal(size=20)),
    "ties": lambda rng: (rng.integers(0, 3, size=(60, 3)).astype(float), rng.normal(size=60)),
    "tied response": lambda rng: (rng.normal(size=(40, 3)), np.repeat([0.0, 1.5], 20)),
    "booleans": lambda rng: (
        pd.DataFrame(rng.random((60, 3)) < 0.3, columns=list("abc")),
        rng.integers(0, 2, 60),
    ),
    "one column": lambda rng: (rng.normal(size=(40, 1)), rng.normal(size=40)),
    "rare class": lambda rng: (rng.normal(size=(40, 2)), np.array(["a"] * 38 + ["b"] * 2)),
    "a copy with another unit": lambda rng: (
        np.outer(np.arange(30.0), [1.0, 7.0]),
        rng.normal(size=30),
    ),
}


@pytest.mark.parametrize("method", [umfi.ultra_marginal, umfi.ablation])
@pytest.mark.parametrize("max_permutations", [1, 12])
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_tables_have_p_values_without_warnings(name, max_permutations, method):
    X, y = AWKWARD[name](np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(
            X,
            y,
            method,
            max_permutations=max_permutations,
            power=umfi.ForestPower(n_trees=10),
        )
    assert result.tests["p_value"].between(0.0, 1.0, inclusive="right").all()
    assert not result.tests.isna().any().any()


def test_more_columns_than_rows_can_be_tested_but_not_by_ablation():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    result = run(X, y, power=umfi.ForestPower(n_trees=10), max_permutations=5)
    assert result.tests["p_value"].between(0.0, 1.0, inclusive="right").all()
    with pytest.raises(InputError, match="20 rows and 30 columns"):
        run(X, y, umfi.ablation)


@pytest.mark.parametrize("remover", REMOVERS)
def test_p_values_of_unrelated_features_are_as_small_as_they_should_be(remover):
    # x1 and x2 determine most of each other, so a copy that is treated otherwise would show.
    p_values = []
    for seed in range(60):
        X, y = umfi.datasets.simulate("blood_relation", n=200, random_state=100 + seed)
        power = umfi.ForestPower(n_trees=30)
        result = run(X, y, remover=remover, power=power, max_permutations=19, random_state=seed)
        p_values.extend(result.tests["p_value"][:2])
    # x1 and x2 of a table are not independent: 60 tables count, not 120 p-values.
    for level in (0.1, 0.3):
        error = np.sqrt(level * (1 - level) / 60)
        assert np.mean(np.array(p_values) <= level) < level + 2.5 * error
    # Half of them, whose importance is not above zero, are 1.
    assert 0.3 < np.mean(np.array(p_values) == 1.0) < 0.7


def test_the_test_looks_at_all_rows_and_repeats_at_theirs():
    X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    power = umfi.ForestPower(n_trees=10)
    settings = {"power": power, "max_permutations": 9, "subsample": 0.5}
    first = run(X, y, repeats=20, **settings)
    second = run(X, y, repeats=2, **settings)
    pd.testing.assert_frame_equal(first.tests, second.tests)
    shared = first.scores[first.scores["repeat"] < 2]
    pd.testing.assert_frame_equal(shared, second.scores)


@pytest.mark.parametrize("n_rows", [20, 90, 150, 1000])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_batches_hold_as_many_copies_as_the_rows_bear(n_rows, n_columns):
    most = max(3, min(19, n_rows // (15 * n_columns) - 1))
    for n_permutations in range(1, 200):
        design = SequentialDesign(n_permutations, 0.05, is_sequential=True)
        sizes = design.batch_sizes(n_rows, n_columns)
        assert sum(sizes) == n_permutations
        assert max(sizes) <= most
        # From the second batch on a score needs another to be compared with.
        assert min(sizes) >= 2 or len(sizes) == 1


def test_features_that_raise_nothing_are_not_tested_at_length():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(200, 12)), columns=list("abcdefghijkl"))
    y = X["a"] + 0.5 * rng.normal(size=200)
    result = run(X, y)
    tests = result.tests.set_index("feature")
    raises = result.importances[tests.index] > 0.0
    assert 2 <= raises.sum() <= 10
    assert (tests.loc[~raises, "p_value"] == 1.0).all()
    assert (tests.loc[~raises, "n_permutations"] == 3).all()
    assert (tests.loc[raises, "n_permutations"] >= 5).all()
    assert tests["leakage"].notna().all()
    # Later repeats may raise the mean, so that every feature is tested.
    of_many = run(X, y, repeats=2).tests.set_index("feature")
    assert (of_many["n_permutations"] >= 5).all()


def test_too_few_permutations_are_noted():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    note = run(X, y, max_permutations=9).settings["notes"][-1]
    assert note.startswith("With at most 9 permutations no p-value is below 0.1: at least 19 are")


def test_a_classifier_is_tested_by_its_probabilities():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc"))
    y = np.where(X["a"] + rng.normal(size=150) > 0, "yes", "no")
    assert run(X, y, power=LogisticRegression(), max_permutations=39).related() == ["a"]


def test_removal_that_leaks_is_flagged():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = pd.DataFrame(
        {"x": x, "square": x**2 + 0.1 * rng.normal(size=300), "z": rng.normal(size=300)}
    )
    y = X["square"] + rng.normal(size=300)
    linear = run(X, y, remover="linear").table.set_index("feature")
    assert linear.loc["x", "leakage"] > 0.2
    assert linear.loc["x", "leaks"]
    assert not linear.loc["z", "leaks"]
    gentle = run(X, y, remover=umfi.TransportRemover(rows_per_bin=15)).table.set_index("feature")
    assert gentle.loc["x", "leakage"] < 0.5 * linear.loc["x", "leakage"]
    text = repr(run(X, y, remover="linear"))
    assert "Leakage for 'square', 'x'" in text or "Leakage for 'x', 'square'" in text
    assert "joint removal, the default, removes more" in text


def test_what_others_replace_does_not_pass_the_test_of_ablation():
    X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    result = run(X, y, umfi.ablation)
    assert "x2" in result.related()
    # y is made of x1, which x3 only repeats with noise.
    assert not {"x3", "x4"} & set(result.related(alpha=0.01))
    for test in ("permutation", "full-permutation"):
        copied = run(X.assign(copy=X["x2"]), y, umfi.ablation, test=test, max_permutations=19)
        p_values = copied.tests.set_index("feature")["p_value"]
        assert p_values["x2"] == p_values["copy"] == 1.0


def test_what_ablation_cannot_keep_linear_is_flagged():
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    X = pd.DataFrame({"z": z, "x": z**2 + 0.3 * rng.normal(size=300)})
    tests = run(X, z + rng.normal(size=300), umfi.ablation).tests.set_index("feature")
    assert tests.loc["x", "leaks"]


def test_ablation_of_huge_numbers_is_that_of_small_ones():
    X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    small = run(X, y, umfi.ablation, max_permutations=19)
    huge = run(X * 2.0**660, y, umfi.ablation, max_permutations=19)
    pd.testing.assert_frame_equal(small.tests, huge.tests)


def test_booleans_that_leak_are_flagged_however_rare():
    rng = np.random.default_rng(0)
    flag = rng.random(600) < 0.1
    z = rng.normal(size=600) * np.where(flag, 6.0, 1.0)
    X = pd.DataFrame({"flag": flag, "z": z})
    tests = run(X, rng.normal(size=600), remover="linear").tests.set_index("feature")
    assert tests.loc["flag", "leaks"]
    assert tests.loc["flag", "leakage"] > 0.2


def test_the_importance_lies_in_its_interval():
    X, y = umfi.datasets.simulate("nonlinear_interactions", n=300, random_state=0)
    power = umfi.ForestPower(n_trees=20)
    result = umfi.ultra_marginal(X, y, power=power, repeats=20, subsample=0.2, random_state=0)
    table = result.table
    assert ((table["low"] < table["importance"]) & (table["importance"] < table["high"])).all()


def test_results_of_the_first_format_are_still_read(tmp_path):
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    result = umfi.bivariate(X, y, power=POWER, random_state=0)
    path = result.save(tmp_path / "result.json")
    document = json.loads(path.read_text())
    document["version"] = 1
    del document["settings"]["n_sampled_rows"], document["settings"]["groups"]
    del document["scores"]["standard_error"]
    path.write_text(json.dumps(document))
    old = umfi.load_result(path)
    pd.testing.assert_frame_equal(old.table, result.table.drop(columns=["low", "high"]))
    with pytest.raises(InputError, match="There are no intervals"):
        old.intervals()


def test_results_with_tests_and_intervals_survive_saving(tmp_path):
    X, y = umfi.datasets.simulate("blood_relation", n=100, random_state=0)
    power = umfi.ForestPower(n_trees=10)
    result = run(X, y, power=power, max_permutations=9, repeats=20, subsample=0.5)
    loaded = umfi.load_result(result.save(tmp_path / "result.json"))
    pd.testing.assert_frame_equal(loaded.table, result.table)
    assert loaded.related(alpha=0.5) == result.related(alpha=0.5)
    pd.testing.assert_frame_equal(loaded.intervals(0.8), result.intervals(0.8))


def test_intervals_come_with_one_fit_and_powers_that_only_score_need_subsamples():
    X, y = umfi.datasets.simulate("correlation", n=120, random_state=0)
    result = umfi.bivariate(X, y, power=POWER, random_state=0)
    assert (result.table["low"] < result.table["high"]).all()
    wide, narrow = result.intervals(0.99), result.intervals(0.5)
    assert (wide["low"] < narrow["low"]).all()
    subsampled = umfi.bivariate(X, y, power="foci", repeats=20, subsample=0.5, random_state=0)
    assert (subsampled.table["low"] < subsampled.table["high"]).all()
    for settings in (
        {"repeats": 20},
        {"repeats": 5, "subsample": 0.5},
        {"repeats": 20, "subsample": 0.9},
        {"repeats": 20, "subsample": 0.17},
    ):
        plain = umfi.bivariate(X, y, power="foci", random_state=0, **settings)
        assert "low" not in plain.table
        with pytest.raises(InputError, match="There are no intervals"):
            plain.intervals()


@pytest.mark.parametrize("method", [umfi.ultra_marginal, umfi.bivariate, umfi.decompose])
def test_no_table_calls_a_feature_related_whose_importance_is_not_above_zero(method):
    rng = np.random.default_rng(0)
    for seed in range(6):
        X = rng.normal(size=(80, 5))
        y = X[:, 0] + 3.0 * rng.normal(size=80)
        table = run(X, y, method, alpha=0.9, random_state=seed).table
        assert (table["importance"][table["p_value"] < 1.0] > 0.0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test": "bootstrap"}, "'permutation'"),
        ({"test": ["permutation"]}, "'permutation'"),
        ({"max_permutations": 0}, "max_permutations=0"),
        ({"alpha": 5}, "alpha=5"),
        ({"protocol": "paper"}, "leave protocol out"),
        ({"protocol": "one-fit", "power": "foci"}, "only scores: pass protocol='matched'"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    with pytest.raises(InputError, match=message):
        run(X, y, **arguments)


def test_there_is_nothing_related_without_a_test():
    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    with pytest.raises(InputError, match="test='permutation'"):
        umfi.bivariate(X, y, power=POWER).related()


def test_bivariate_has_a_test_too():
    X, y = umfi.datasets.simulate("correlation", n=200, random_state=1)
    found = umfi.bivariate(X, y, test="permutation", max_permutations=39, random_state=0)
    assert found.related(control="none") == ["x1", "x2", "x3"]
    assert (found.table["leakage"] == 0.0).all()


@pytest.mark.parametrize("method", [umfi.ultra_marginal, umfi.bivariate, umfi.decompose])
def test_very_long_tables_are_tested_on_rows_drawn_at_random(method, monkeypatch):
    monkeypatch.setattr("umfi.inference.sequential.MAX_TEST_ROWS", 150)
    X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    found = run(X, y, method, n_jobs=1)
    assert any(note.startswith("Tests take 150 of the 300 rows") for note in found.notes)
    table = found.table.set_index("feature")
    assert table.loc["x1", "related"]
    assert not table.loc["x4", "related"]
    pd.testing.assert_frame_equal(run(X, y, method, n_jobs=2).tests, found.tests, check_exact=True)

    # The importances are of all rows.
    monkeypatch.undo()
    whole = run(X, y, method, n_jobs=1)
    pd.testing.assert_frame_equal(whole.scores, found.scores, check_exact=True)
    assert not any(note.startswith("Tests take") for note in whole.notes)
    assert not whole.tests.equals(found.tests)
