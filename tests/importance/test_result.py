import json

import numpy as np
import pandas as pd
import pytest

import umfi


@pytest.fixture(scope="module")
def result():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    return umfi.ultra_marginal(X, y, power=umfi.ForestPower(n_trees=10), random_state=0, repeats=3)


@pytest.fixture(scope="module")
def single():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    return umfi.marginal_contribution(X, y, max_context=1, power=umfi.ForestPower(n_trees=5))


def test_scores_have_a_row_for_each_feature_and_repeat(result):
    scores = result.scores
    assert list(scores) == [
        "feature",
        "repeat",
        "score_with",
        "score_without",
        "importance",
        "standard_error",
    ]
    assert len(scores) == 4 * 3
    np.testing.assert_array_equal(
        scores["importance"], scores["score_with"] - scores["score_without"]
    )


def test_importances_are_means_in_column_order(result):
    assert result.importances.index.tolist() == ["x1", "x2", "x3", "x4"]
    for feature, importance in result.importances.items():
        rows = result.scores[result.scores["feature"] == feature]
        assert importance == pytest.approx(rows["importance"].mean(), abs=1e-15)


def test_table_is_sorted_with_the_spread_over_repeats(result):
    table = result.table
    assert list(table) == ["feature", "importance", "low", "high", "spread"]
    assert table["importance"].is_monotonic_decreasing
    rows = result.scores[result.scores["feature"] == table["feature"][0]]
    assert table["spread"][0] == pytest.approx(rows["importance"].std(ddof=1))


def test_one_repeat_has_no_spread(single):
    assert "spread" not in single.table
    assert "spread" not in repr(single)
    assert "1 repeat)" in repr(single)


@pytest.mark.parametrize("which", ["result", "single"])
def test_saving_and_loading_gives_the_same_to_the_bit(which, request, tmp_path):
    original = request.getfixturevalue(which)
    path = original.save(tmp_path / "missing" / "folders" / "result.json")
    loaded = umfi.load_result(path)
    pd.testing.assert_frame_equal(loaded.scores, original.scores, check_exact=True)
    assert loaded.settings == original.settings
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_save_leaves_the_old_file(result, tmp_path):
    path = result.save(tmp_path / "result.json")
    before = path.read_text()
    broken = umfi.ImportanceResult(result.scores.assign(importance=np.nan), result.settings)
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.save(path)
    assert path.read_text() == before


def test_loading_something_else_is_refused(tmp_path):
    with pytest.raises(umfi.InputError, match="There is no file"):
        umfi.load_result(tmp_path / "nothing.json")
    with pytest.raises(umfi.InputError, match="does not hold a result"):
        umfi.load_result(tmp_path)
    for content in ("not json", "[1, 2]", '{"format": "other"}'):
        (tmp_path / "other.json").write_text(content)
        with pytest.raises(umfi.InputError, match="does not hold a result"):
            umfi.load_result(tmp_path / "other.json")


def test_loading_from_a_newer_version_is_refused(result, tmp_path):
    path = result.save(tmp_path / "result.json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "version": 99}))
    with pytest.raises(umfi.InputError, match="newer version of umfi: update"):
        umfi.load_result(path)


def test_repr_reads_like_a_table(result):
    text = repr(result)
    assert text.startswith("ultra_marginal of 'y' in R² (60 rows, 4 features, 3 repeats)")
    assert len(text.splitlines()) == 6
    assert "<table" in result._repr_html_()


def test_repr_of_a_wide_result_is_cut():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 30))).add_prefix("<b>gene")
    result = umfi.bivariate(X, X.sum(axis=1), power=umfi.ForestPower(n_trees=2))
    assert "and 10 more features" in repr(result)
    assert "<b>gene" not in result._repr_html_()


def test_a_result_cannot_be_rebound(result):
    with pytest.raises(AttributeError):
        result.scores = None


def test_settings_tell_what_was_done(result):
    settings = result.settings
    assert settings["method"] == "ultra_marginal"
    assert settings["remover"] == "joint"
    assert settings["protocol"] == "one-fit"
    assert settings["power"] == (
        "ForestPower(n_trees=10, mtry=None, min_node_rows=None, split='best', rows_per_tree=None, "
        "measure=None)"
    )
    assert (settings["n_rows"], settings["n_features"]) == (60, 4)
    assert settings["versions"]["umfi"] == umfi.__version__
    json.dumps(settings, allow_nan=False)
