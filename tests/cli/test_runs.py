"""``umfi status`` and ``umfi merge``."""

import json
import subprocess
import sys

from typer.testing import CliRunner

import umfi
from umfi.cli import app


def run_bivariate(path, part=1):
    X, y = umfi.datasets.simulate("correlation", n=80, random_state=0)
    checkpoint = umfi.Checkpoint(path, share=(part, 2))
    umfi.bivariate(X, y, power=umfi.ForestPower(n_trees=10), random_state=0, checkpoint=checkpoint)


def test_status_shows_how_far_a_run_is_and_its_importances(tmp_path):
    path = tmp_path / "run.umfi"
    run_bivariate(path)
    shown = CliRunner().invoke(app, ["status", str(path)])
    assert shown.exit_code == 0
    assert "2 tasks done, 2 left, about" in shown.output
    assert "x1" in shown.output
    assert "Note: The run is not complete: there is no importance of 'x2', 'x4'." in shown.output


def test_merge_puts_shares_together(tmp_path):
    files = [str(tmp_path / f"{part}.umfi") for part in (1, 2)]
    for part, file in enumerate(files, start=1):
        run_bivariate(file, part)
    out = tmp_path / "all.umfi"
    shown = CliRunner().invoke(app, ["merge", str(out), *files])
    assert shown.exit_code == 0
    assert "4 tasks done, none left" in shown.output
    assert out.exists()


def test_files_that_are_no_checkpoints_get_one_sentence(tmp_path):
    shown = CliRunner().invoke(app, ["status", str(tmp_path / "nothing.umfi")])
    assert shown.exit_code == 2
    assert shown.output.startswith("Error: There is no file")
    other = tmp_path / "data.csv"
    other.write_text("a,b\n1,2\n")
    shown = CliRunner().invoke(app, ["merge", str(tmp_path / "out.umfi"), str(other)])
    assert shown.exit_code == 2
    assert "is not a checkpoint" in shown.output
    (tmp_path / "empty.umfi").touch()
    assert (
        "holds no run yet"
        in CliRunner().invoke(app, ["status", str(tmp_path / "empty.umfi")]).output
    )


def test_the_folder_of_a_run_is_enough_if_it_holds_one(tmp_path):
    run_bivariate(tmp_path / "unfinished-rank.umfi")
    shown = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert "2 tasks done, 2 left, about" in shown.output
    run_bivariate(tmp_path / "unfinished-compare.umfi")
    both = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert both.exit_code == 2
    assert "holds 2 unfinished runs" in both.output


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    run_bivariate(tmp_path / "run.umfi")
    command = (
        f"{sys.executable} -c 'from umfi.cli import app; app()' status {tmp_path / 'run.umfi'}"
    )
    ended = subprocess.run(
        f"set -o pipefail; {command} | true", shell=True, executable="/bin/bash",
        capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0
    assert ended.stderr == b""


def test_status_speaks_to_machines_too(tmp_path):
    path = tmp_path / "run.umfi"
    run_bivariate(path)
    shown = CliRunner().invoke(app, ["status", str(path), "--json"])
    [run] = json.loads(shown.output)["runs"]
    assert run["method"] == "bivariate"
    assert [one["done"] for one in run["stages"]] == [2]
    assert {one["feature"] for one in run["features"]} == {"x1", "x3"}
