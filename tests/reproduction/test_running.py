"""Experiments of the paper, made small."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock
from matplotlib.figure import Figure

import umfi
from reproduction import figure1, genes, simulations
from reproduction.__main__ import main
from reproduction.running import EXPERIMENTS, FIGURES, LOCK_NAME, conclude, reproduce
from reproduction.session import Session
from tests.conftest import needs_data

ROOT = Path(__file__).parents[2]
OWN = Path("quick") / "figure1"
# Of a table of 200 rows of the blood relation, seed 0: x1 and x2 only share a collider with y.
EXPECTED = {
    "x1": 0.004200779026444779,
    "x2": -0.007345532517973652,
    "x3": 0.08132749691687224,
    "x4": 0.6095735020313383,
}


def _make_small(patch):
    patch.setattr(figure1, "draw", lambda tables: Figure(figsize=(1, 1)))
    patch.setattr(simulations, "N_ROWS", 200)
    patch.setattr(Session, "choose", lambda self, *, quick, full: min(quick, 2))


@pytest.fixture
def small(monkeypatch):
    """Make simulations small, and leave pictures to the test of every experiment."""
    _make_small(monkeypatch)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return the folder and the outcome of figure 1, measured in one go."""
    folder = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        _make_small(patch)
        return folder, reproduce("figure1", folder)


@pytest.fixture(scope="module")
def cut_once(tmp_path_factory):
    """Return the folder and the outcome of figure 1, cut by a time limit."""
    folder = tmp_path_factory.mktemp("cut")
    with pytest.MonkeyPatch.context() as patch:
        _make_small(patch)
        return folder, reproduce("figure1", folder, time_limit=1e-9)


@pytest.fixture
def cut(cut_once, tmp_path):
    """Return a copy of the folder that was cut, to go on from."""
    shutil.copytree(cut_once[0], tmp_path / "cut")
    return tmp_path / "cut"


def test_figure_1_gives_the_expected_numbers(done):
    folder, found = done
    table = pd.read_csv(folder / OWN / "shares.csv")
    blood = table[(table["simulation"] == "blood_relation") & (table["replication"] == 0)]
    shares = blood[blood["method"] == "linear, matched"].set_index("feature")["importance"]
    assert shares.to_dict() == pytest.approx(EXPECTED, abs=1e-12)
    assert {path.suffix for path in found.files} == {".csv", ".png", ".svg", ".md"}
    assert all(path.exists() for path in found.files)
    verdict = (folder / OWN / "verdict.md").read_text(encoding="utf-8")
    assert "overwrites x2" in verdict
    assert verdict.count("| ") > 20
    left = {path.suffix for path in (folder / OWN).iterdir() if path.name != LOCK_NAME}
    assert left == {".csv", ".png", ".svg", ".md", ".json"}


def test_what_is_done_is_not_done_again_unless_settings_differ(small, done, monkeypatch):
    folder, first = done
    monkeypatch.setattr(figure1, "measure", None)
    assert reproduce("figure1", folder).claims == first.claims
    assert conclude("figure1", folder, is_full=False).claims == first.claims
    with pytest.raises(TypeError):
        reproduce("figure1", folder, seed=1)
    with pytest.raises(umfi.InputError, match="run 'python -m reproduction figure3' first"):
        conclude("figure3", folder, is_full=False)


def test_a_time_limit_cuts_replications_says_so_and_can_be_gone_on_from(small, done, cut_once, cut):
    assert "Cut by the time limit: blood relation, 1 of 2." in cut_once[1].notes
    assert "Cut by the time limit" in (cut / OWN / "verdict.md").read_text("utf-8")
    again = reproduce("figure1", cut)
    assert not any("time limit" in note for note in again.notes)
    assert again.claims == done[1].claims
    assert not (cut / OWN / "runs.jsonl").exists()


SCRIPT = """
import sys
from reproduction import running, session, simulations
simulations.N_ROWS = 200
session.Session.choose = lambda self, *, quick, full: 2
running.reproduce("figure1", sys.argv[1], n_jobs=1)
"""


def test_a_killed_run_goes_on_and_gives_the_numbers_of_an_unbroken_one(small, done, tmp_path):
    stored = tmp_path / OWN / "runs.jsonl"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], cwd=ROOT)
    for _ in range(4000):
        if stored.exists() and stored.read_bytes().count(b"\n") > 10:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    lines = stored.read_bytes().splitlines()
    assert 10 < len(lines) < 40
    # As if the kill had come in the middle of a line.
    stored.write_bytes(stored.read_bytes() + lines[0][:50])
    reproduce("figure1", tmp_path, n_jobs=1)
    for name in ("shares.csv", "claims.csv"):
        assert (tmp_path / OWN / name).read_bytes() == (done[0] / OWN / name).read_bytes()


def test_runs_that_are_done_are_taken_along_to_another_machine(
    small, done, cut, tmp_path, monkeypatch
):
    stored = (cut / OWN / "runs.jsonl").read_bytes()
    there = tmp_path / "there" / OWN
    there.mkdir(parents=True)
    old = stored.replace(f'"umfi": "{umfi.__version__}'.encode(), b'"umfi": "0.0.9')
    old = re.sub(rb'"workers": \d+', b'"workers": 7', old)
    (there / "runs.jsonl").write_bytes(old)
    ran = []
    monkeypatch.setattr("umfi.ultra_marginal", _counted(umfi.ultra_marginal, ran))
    second = reproduce("figure1", tmp_path / "there")
    # Four simulations twice by four methods; the first of each had been done.
    assert len(ran) == 16
    assert second.claims == done[1].claims
    (versions,) = [note for note in second.notes if "other versions" in note]
    assert "20 of 40 runs by umfi 0.0.9" in versions
    took = sum(json.loads(line)["seconds"] for line in stored.splitlines())
    assert second.seconds_on[7] == pytest.approx(took)
    assert "s on 7 cores" in second.verdict
    assert not (there / "runs.jsonl").exists()


def test_a_limit_that_is_over_keeps_what_is_done(small, cut_once, cut):
    second = reproduce("figure1", cut, time_limit=2e-9)
    # One more of the first simulation was new; of four a second one is all there is.
    table = pd.read_csv(cut / OWN / "shares.csv")
    assert table.groupby("simulation")["replication"].nunique().tolist() == [2, 2, 2, 2]
    assert not any("time limit" in note for note in second.notes)
    assert second.claims != cut_once[1].claims


def test_half_a_run_is_not_stored(tmp_path, small, monkeypatch):
    def stopped(*arguments, **named):
        return SimpleNamespace(settings={"stopped": "Ctrl-C"}, importances={"x1": 1.0})

    monkeypatch.setattr("umfi.marginal_contribution", stopped)
    with pytest.raises(KeyboardInterrupt):
        reproduce("figure1", tmp_path)
    assert not (tmp_path / OWN / "runs.jsonl").exists()


def test_runs_on_other_tables_or_settings_are_not_taken(small, cut, monkeypatch):
    ran = []
    monkeypatch.setattr(simulations, "N_ROWS", 201)
    for method in ("ultra_marginal", "marginal_contribution"):
        monkeypatch.setattr(f"umfi.{method}", _counted(_instead, ran))
    reproduce("figure1", cut)
    assert len(ran) == 40


def _instead(X, y, **settings):
    """Return importances as quickly as can be."""
    rng = np.random.default_rng(settings["random_state"])
    return SimpleNamespace(settings={}, importances=dict(zip(X, rng.random(4), strict=True)))


def _counted(method, ran):
    def run(*arguments, **named):
        ran.append(named)
        return method(*arguments, **named)

    return run


def test_a_folder_is_for_one_run_at_a_time(tmp_path, small):
    folder = tmp_path / OWN
    folder.mkdir(parents=True)
    with FileLock(folder / LOCK_NAME), pytest.raises(umfi.RunError, match="Another run is at work"):
        reproduce("figure1", tmp_path)


@needs_data
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs(name, tmp_path, monkeypatch):
    """As small as it goes, for what may break; numbers are for the full runs."""
    monkeypatch.setattr(Session, "choose", _smallest)
    monkeypatch.setattr("reproduction.claims.N_BOOTSTRAPS", 20)
    monkeypatch.setattr("reproduction.running.PICTURE_FORMATS", ("png",))
    monkeypatch.setattr("reproduction.running.DOTS_PER_INCH", 50)
    monkeypatch.setattr(simulations, "N_ROWS", 60)
    monkeypatch.setattr(genes, "N_PATIENTS", 60)
    real_brca, real_camels = umfi.datasets.load_brca, umfi.datasets.load_camels
    chosen = [*genes.KNOWN_GENES, "SLC25A1", "CST9L"]

    def few_genes(*arguments, **named):
        X, y = real_brca(*arguments, **named)
        return X[chosen].head(120), y.head(120)

    def few_attributes():
        X, y = real_camels()
        attributes = ["p_mean", "aridity", "geol_permeability", "soil_porosity", "frac_snow"]
        return X[attributes].head(80), y.head(80)

    monkeypatch.setattr(umfi.datasets, "load_brca", few_genes)
    monkeypatch.setattr(umfi.datasets, "load_camels", few_attributes)
    found = reproduce(name, tmp_path)
    assert found.claims
    assert (tmp_path / "quick" / name / f"{name}.png").stat().st_size > 5_000


def _smallest(self, *, quick, full):
    if isinstance(quick, tuple):
        return (4, 5, 6) if quick[0] < quick[1] else (6, 5, 4)
    return min(quick, 2)


def test_the_command_says_what_a_time_limit_cut(small, cut, capsys):
    code = main(["figure1", "--out", str(cut), "--time-limit", "1e-9"])
    assert code == 2
    assert "--time-limit '1e-9' is not a time" in capsys.readouterr().err
    code = main(["figure1", "--out", str(cut / "new"), "--time-limit", "0.001"])
    assert code == 4
    shown = capsys.readouterr()
    assert "Cut by the time limit: correlation, 1 of 2." in shown.out
    assert "with more time goes on from there" in shown.err


def test_the_command_lists_shows_and_refuses(small, done, capsys):
    out = str(done[0])
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in EXPERIMENTS)
    assert main(["figure2"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["figure2", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["exit_code"] == 2
    assert main(["figure1", "--out", out, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["figure1"]
    assert all("verdict" in claim for claim in document["claims"])
    assert document["is_cut"] is False
    assert main(["list", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(EXPERIMENTS)
    assert main(["figure1", "--out", out]) == 0
    shown = capsys.readouterr().out
    assert "Of the paper's claims" in shown
    assert shown.count("blood relation") > 10
    with pytest.raises(SystemExit) as ended:
        main(["figure1", "--quick", "--full"])
    assert ended.value.code == 2


def test_stopping_the_command_says_how_to_go_on(tmp_path, small, monkeypatch, capsys):
    def stop(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("umfi.marginal_contribution", stop)
    assert main(["all", "--out", str(tmp_path)]) == 130
    assert f"stored in {tmp_path / OWN}, and the same command" in capsys.readouterr().err


def test_all_is_every_figure_and_table_1_is_a_part_of_one():
    assert [name for name in EXPERIMENTS if name not in FIGURES] == ["table1"]
