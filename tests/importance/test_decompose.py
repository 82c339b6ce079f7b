import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.importance.display import PARTS


@pytest.fixture(scope="module")
def table():
    return umfi.datasets.simulate("correlation", n=200, random_state=0)


@pytest.fixture(scope="module")
def result(table):
    return umfi.decompose(*table, random_state=0)


def test_parts_add_up_to_the_importance(result):
    table = result.table
    for first, second in (("alone", "together"), ("irreplaceable", "replaceable")):
        np.testing.assert_allclose(table[first] + table[second], table["importance"], atol=1e-12)


def test_every_part_has_an_interval_by_default(result):
    for part in PARTS:
        low, estimate, high = (result.table[part + end] for end in ("_low", "", "_high"))
        assert (low <= estimate).all()
        assert (estimate <= high).all()
    wide, narrow = result.parts(level=0.99), result.parts(level=0.5)
    assert (wide["high"] - wide["low"] > narrow["high"] - narrow["low"]).all()


def test_importance_and_irreplaceable_are_those_of_the_methods(table):
    # The same permutations, seeds and fits, to the bit.
    settings = {"repeats": 2, "random_state": 3}
    parts = umfi.decompose(*table, **settings)
    whole = umfi.ultra_marginal(*table, **settings)
    pd.testing.assert_frame_equal(parts.scores, whole.scores)
    ablation = umfi.ablation(*table, **settings)
    found = parts.part_scores[parts.part_scores["part"] == "irreplaceable"]
    pd.testing.assert_frame_equal(
        found.drop(columns="part").reset_index(drop=True), ablation.scores
    )


@pytest.mark.parametrize("shape", [(100, 30), (60, 15), (60, 120)])
def test_importances_of_the_linear_power_are_those_of_its_closed_form(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = 2.0 * X[:, 0] + X[:, 1] + rng.normal(size=shape[0])
    settings = {"power": "linear", "random_state": 0}
    parts = umfi.decompose(X, y, **settings)
    whole = umfi.ultra_marginal(X, y, power="linear", random_state=0)
    np.testing.assert_allclose(parts.importances, whole.importances, atol=1e-9)
    rows = parts.table.set_index("feature")
    # Additive and independent: what is said is said alone, up to what a small table shows.
    assert rows.loc["x1", "alone"] == pytest.approx(np.corrcoef(X[:, 0], y)[0, 1] ** 2, abs=0.1)
    assert abs(rows["together"].mean()) < 0.05


def test_leakage_of_irreplaceable_is_told():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = pd.DataFrame({"x": x, "z": x**2 + 0.1 * rng.normal(size=300)})
    found = umfi.decompose(
        X,
        x**2 + 0.1 * rng.normal(size=300),
        test="permutation",
        max_permutations=19,
        random_state=0,
    )
    assert any("p-values of irreplaceable may be too small" in note for note in found.notes)
    assert "p (irreplaceable)" in repr(found)


def test_same_numbers_for_any_number_of_workers(table, result):
    serial = umfi.decompose(*table, random_state=0, n_jobs=1)
    pd.testing.assert_frame_equal(serial.table, result.table)


def test_results_with_parts_are_saved_and_loaded(result, tmp_path):
    loaded = umfi.load_result(result.save(tmp_path / "parts.json"))
    pd.testing.assert_frame_equal(loaded.table, result.table)
    assert loaded.notes == result.notes


def test_tests_give_p_values_to_what_is_scored(table):
    found = umfi.decompose(*table, test="permutation", max_permutations=30, random_state=0)
    rows = found.table.set_index("feature")
    assert rows.loc["x2", "alone_p_value"] < 0.05
    assert rows.loc["x2", "irreplaceable_p_value"] < 0.05
    assert rows.loc["x4", "alone_p_value"] > 0.05
    assert "together_p_value" not in rows
    assert found.related() == ["x1", "x2", "x3"]
    assert found.parts()["p_value"].notna().sum() == 2 * len(rows)


def test_categories_have_no_p_value_of_irreplaceable_and_a_note_says_so(table):
    X, y = table
    X = X.assign(soil=np.tile(["clay", "sand", "silt", "loam"], 50))
    found = umfi.decompose(X, y, test="permutation", max_permutations=19, random_state=0)
    assert "irreplaceable_p_value" not in found.table
    assert any(note.startswith("No p-values of irreplaceable.") for note in found.notes)


def test_groups_constants_and_copies_have_parts(table):
    X, y = table
    X = X.assign(same=1.0, copy=X["x2"])
    found = umfi.decompose(X, y, groups={"pair": ["x1", "x3"]}, random_state=0)
    rows = found.table.set_index("feature")
    assert (rows.loc["same", list(PARTS)] == 0.0).all()
    assert (rows.loc["copy"].dropna() == rows.loc["x2"].dropna()).all()
    assert rows.loc["pair", "irreplaceable"] > 0.3
    assert abs(rows.loc["x2", "irreplaceable"]) < 0.1


def test_every_remover_takes_part(table):
    for remover in ("linear", "joint"):
        found = umfi.decompose(*table, remover=remover, random_state=0)
        assert found.table.set_index("feature").loc["x2", "alone"] > 0.3


def test_the_readable_form_shows_each_part_with_its_interval(result):
    text = repr(result)
    assert text.startswith("decompose of 'y' in R² (200 rows, 4 features, 1 repeat)")
    for part in PARTS:
        assert part in text
    assert " to " in text
    assert "together" in result._repr_html_()


def test_results_without_parts_say_where_they_come_from(table):
    with pytest.raises(umfi.InputError, match=r"run umfi\.decompose"):
        umfi.bivariate(*table, random_state=0).parts()


def test_scores_behind_the_parts_are_stored(result):
    counts = result.part_scores.groupby("part")["feature"].count()
    assert counts.to_dict() == dict.fromkeys(sorted(PARTS), 4)


def test_bad_input_is_refused_before_anything_runs(table, monkeypatch):
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    X, y = table
    with pytest.raises(umfi.InputError, match="Unknown remover"):
        umfi.decompose(X, y, remover="transprot")
    with pytest.raises(umfi.InputError, match="Unknown test"):
        umfi.decompose(X, y, test="permutate")
