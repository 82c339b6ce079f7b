"""``umfi compare`` and ``umfi diagnose``."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import umfi
from umfi.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y = umfi.datasets.simulate("correlation", n=80, random_state=0)
    path = tmp_path_factory.mktemp("data") / "table.parquet"
    X.assign(y=y).to_parquet(path)
    return path


def test_methods_stand_side_by_side_in_one_table_and_one_picture(table, tmp_path):
    ended = run(
        "compare", table, "-t", "y", "--methods", "ultra_marginal,ablation", "--repeats", "1",
        "--out", tmp_path,
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    assert "ultra_marginal [R²]" in ended.stdout
    assert "Agreement of the rankings" in ended.stdout
    found = pd.read_csv(tmp_path / "comparison.csv")
    assert list(found) == ["feature", "ultra_marginal", "ablation"]
    assert (tmp_path / "comparison.png").stat().st_size > 5_000
    loaded = umfi.load_result(tmp_path / "ablation.json")
    assert loaded.importances["x1"] == pytest.approx(found.set_index("feature")["ablation"]["x1"])
    assert not (tmp_path / "unfinished-compare.umfi").exists()


def test_powers_are_compared_too_and_machines_get_json(table):
    ended = run(
        "compare", table, "-t", "y", "--methods", "bivariate", "--powers", "forest,linear",
        "--repeats", "1", "--json",
    )  # fmt: skip
    document = json.loads(ended.stdout)
    assert set(document["measures"]) == {"bivariate, forest", "bivariate, linear"}
    assert len(document["features"]) == 4


def test_unknown_methods_are_refused(table):
    ended = run("compare", table, "-t", "y", "--methods", "ablaton")
    assert ended.exit_code == 2
    assert "did you mean 'ablation'" in ended.stderr


def test_removal_is_diagnosed_with_and_without_a_response(table, tmp_path):
    ended = run("diagnose", table, "-t", "y", "--removers", "linear,transport", "--out", tmp_path)
    assert ended.exit_code == 0, ended.output
    found = pd.read_csv(tmp_path / "diagnosis.csv")
    assert len(found) == 8
    assert found["retention"].notna().all()
    assert (tmp_path / "diagnosis.png").stat().st_size > 5_000
    without = run("diagnose", table, "--drop", "y", "--removers", "linear", "--json")
    assert without.exit_code == 0, without.output
    document = json.loads(without.stdout)
    assert [row["retention"] for row in document["features"]] == [None] * 4
    assert document["advice"]
