"""Experiments of the paper, made small."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pandas as pd
import pytest
from filelock import FileLock
from matplotlib.figure import Figure
from typer.testing import CliRunner

import umfi
from tests.conftest import needs_data
from umfi.cli import app
from umfi.experiments import EXPERIMENTS, conclude, reproduce

# Of a table of 200 rows of the blood relation, seed 0: x1 and x2 only share a collider with y.
EXPECTED = {
    "x1": 0.004200779026444779,
    "x2": -0.007345532517973652,
    "x3": 0.08132749691687224,
    "x4": 0.6095735020313383,
}


@pytest.fixture
def small(monkeypatch):
    """Make simulations small, and leave pictures to the test of every experiment."""
    monkeypatch.setattr("umfi.experiments.figure1.draw", lambda tables: Figure(figsize=(1, 1)))
    monkeypatch.setattr("umfi.experiments.simulations.N_ROWS", 200)
    monkeypatch.setattr(
        "umfi.experiments.workshop.Workshop.choose", lambda self, *, quick, full: min(quick, 2)
    )


def test_figure_1_gives_the_expected_numbers(small, tmp_path):
    found = reproduce("figure1", tmp_path)
    table = pd.read_csv(tmp_path / "quick" / "figure1" / "shares.csv")
    blood = table[(table["simulation"] == "blood_relation") & (table["replication"] == 0)]
    shares = blood[blood["method"] == "linear, matched"].set_index("feature")["importance"]
    assert shares.to_dict() == pytest.approx(EXPECTED, abs=1e-12)
    assert {path.suffix for path in found.files} == {".csv", ".png", ".svg", ".md"}
    assert all(path.exists() for path in found.files)
    verdict = (tmp_path / "quick" / "figure1" / "verdict.md").read_text(encoding="utf-8")
    assert "overwrites x2" in verdict
    assert verdict.count("| ") > 20
    left = {path.suffix for path in (tmp_path / "quick" / "figure1").iterdir()}
    assert left == {".csv", ".png", ".svg", ".md", ".json"}


def test_what_is_done_is_not_done_again_unless_settings_differ(small, tmp_path, monkeypatch):
    first = reproduce("figure1", tmp_path)
    monkeypatch.setattr("umfi.experiments.figure1.measure", None)
    assert reproduce("figure1", tmp_path).claims == first.claims
    assert conclude("figure1", tmp_path, is_full=False).claims == first.claims
    with pytest.raises(TypeError):
        reproduce("figure1", tmp_path, seed=1)
    with pytest.raises(umfi.InputError, match="run 'umfi reproduce figure3' first"):
        conclude("figure3", tmp_path, is_full=False)


def test_the_command_says_what_a_time_limit_cut(small, tmp_path):
    arguments = ["reproduce", "figure1", "--out", str(tmp_path), "--time-limit", "0.001"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 4
    assert "Cut by the time limit: correlation, 1 of 2." in ran.stdout
    assert "with more time goes on from there" in ran.stderr


def test_a_time_limit_cuts_replications_says_so_and_can_be_gone_on_from(small, tmp_path):
    cut = reproduce("figure1", tmp_path / "cut", time_limit=1e-9)
    assert "Cut by the time limit: blood relation, 1 of 2." in cut.notes
    assert "Cut by the time limit" in (
        tmp_path / "cut" / "quick" / "figure1" / "verdict.md"
    ).read_text("utf-8")
    again = reproduce("figure1", tmp_path / "cut")
    assert not any("time limit" in note for note in again.notes)
    assert again.claims == reproduce("figure1", tmp_path / "uncut").claims
    assert not (tmp_path / "cut" / "quick" / "figure1" / "runs.jsonl").exists()


SCRIPT = """
import sys
from umfi.experiments import reproduce, simulations, workshop
simulations.N_ROWS = 200
workshop.Workshop.choose = lambda self, *, quick, full: 2
reproduce("figure1", sys.argv[1], n_jobs=1)
"""


def test_a_killed_run_goes_on_and_gives_the_numbers_of_an_unbroken_one(tmp_path):
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    kept = broken / "quick" / "figure1" / "runs.jsonl"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(broken)])
    for _ in range(4000):
        if kept.exists() and kept.read_bytes().count(b"\n") > 10:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    lines = kept.read_bytes().splitlines()
    assert 10 < len(lines) < 40
    # As if the kill had come in the middle of a line.
    kept.write_bytes(kept.read_bytes() + lines[0][:50])
    for folder in (broken, unbroken):
        subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], check=True)
    for name in ("shares.csv", "claims.csv"):
        one, other = (folder / "quick" / "figure1" / name for folder in (broken, unbroken))
        assert one.read_bytes() == other.read_bytes()


def test_runs_that_are_done_are_taken_along_to_another_machine(tmp_path, small, monkeypatch):
    first = reproduce("figure1", tmp_path / "here", time_limit=1e-9)
    done = (tmp_path / "here" / "quick" / "figure1" / "runs.jsonl").read_bytes()
    there = tmp_path / "there" / "quick" / "figure1"
    there.mkdir(parents=True)
    old = done.replace(f'"umfi": "{umfi.__version__}'.encode(), b'"umfi": "0.0.9')
    old = re.sub(rb'"workers": \d+', b'"workers": 7', old)
    (there / "runs.jsonl").write_bytes(old)
    ran = []
    monkeypatch.setattr("umfi.ultra_marginal", _counted(umfi.ultra_marginal, ran))
    second = reproduce("figure1", tmp_path / "there")
    # Four simulations twice by four methods; the first of each had been done.
    assert len(ran) == 16
    assert second.claims != first.claims
    assert second.claims == reproduce("figure1", tmp_path / "anew").claims
    (versions,) = [note for note in second.notes if "other versions" in note]
    assert "20 of 40 runs by umfi 0.0.9" in versions
    took = sum(json.loads(line)["seconds"] for line in done.splitlines())
    assert second.seconds_on[7] == pytest.approx(took)
    assert "s on 7 cores" in "\n".join(second.words)
    assert not (there / "runs.jsonl").exists()


def test_a_limit_that_is_over_keeps_what_is_done(tmp_path, small):
    reproduce("figure1", tmp_path, time_limit=1e-9)
    second = reproduce("figure1", tmp_path, time_limit=2e-9)
    # One more of the first simulation was new; of four a second one is all there is.
    table = pd.read_csv(tmp_path / "quick" / "figure1" / "shares.csv")
    assert table.groupby("simulation")["replication"].nunique().tolist() == [2, 2, 2, 2]
    assert not any("time limit" in note for note in second.notes)


def test_half_a_run_is_not_kept(tmp_path, small, monkeypatch):
    def stopped(*arguments, **named):
        return SimpleNamespace(settings={"stopped": "Ctrl-C"}, importances={"x1": 1.0})

    monkeypatch.setattr("umfi.marginal_contribution", stopped)
    with pytest.raises(KeyboardInterrupt):
        reproduce("figure1", tmp_path)
    assert not (tmp_path / "quick" / "figure1" / "runs.jsonl").exists()


def test_runs_on_other_tables_or_settings_are_not_taken(tmp_path, small, monkeypatch):
    reproduce("figure1", tmp_path, time_limit=1e-9)
    ran = []
    monkeypatch.setattr("umfi.experiments.simulations.N_ROWS", 201)
    monkeypatch.setattr("umfi.ultra_marginal", _counted(umfi.ultra_marginal, ran))
    reproduce("figure1", tmp_path)
    assert len(ran) == 32


def _counted(method, ran):
    def run(*arguments, **named):
        ran.append(named)
        return method(*arguments, **named)

    return run


def test_a_folder_is_for_one_run_at_a_time(tmp_path, small):
    folder = tmp_path / "quick" / "figure1"
    folder.mkdir(parents=True)
    lock = FileLock(folder / "lock")
    lock.acquire()
    with pytest.raises(umfi.RunError, match="Another run is at work"):
        reproduce("figure1", tmp_path)
    lock.release()


@needs_data
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs(name, tmp_path, monkeypatch):
    """As small as it goes, for what may break; numbers are for the full runs."""
    monkeypatch.setattr("umfi.experiments.workshop.Workshop.choose", _smallest)
    monkeypatch.setattr("umfi.experiments.claims.N_BOOTSTRAPS", 20)
    monkeypatch.setattr("umfi.experiments.simulations.N_ROWS", 60)
    monkeypatch.setattr("umfi.experiments.genes.N_PATIENTS", 60)
    real_brca, real_camels = umfi.datasets.load_brca, umfi.datasets.load_camels
    names = ["BCL11A", "SLC22A5", "TEX14", "EZH2", "SLC25A1", "CST9L", "CDK6"]
    genes = [*names, *[g for g in _known() if g not in names]]

    def few_genes(*arguments, **named):
        X, y = real_brca(*arguments, **named)
        return X[[*genes, *[name for name in X if name not in genes][:2]]].head(120), y.head(120)

    def few_attributes():
        X, y = real_camels()
        kept = ["p_mean", "aridity", "geol_permeability", "soil_porosity", "frac_snow"]
        return X[kept].head(80), y.head(80)

    monkeypatch.setattr("umfi.data.datasets.load_brca", few_genes)
    monkeypatch.setattr("umfi.data.datasets.load_camels", few_attributes)
    found = reproduce(name, tmp_path)
    assert found.claims
    assert (tmp_path / "quick" / name / f"{name}.png").stat().st_size > 5_000


def _known():
    from umfi.experiments.genes import KNOWN_GENES

    return KNOWN_GENES


def _smallest(self, *, quick, full):
    if isinstance(quick, tuple):
        return (4, 5, 6) if quick[0] < quick[1] else (6, 5, 4)
    return min(quick, 2)


def test_the_command_lists_runs_and_refuses(small, tmp_path):
    listed = CliRunner().invoke(app, ["reproduce", "list"])
    assert all(name in listed.stdout for name in EXPERIMENTS)
    wrong = CliRunner().invoke(app, ["reproduce", "figure2"])
    assert wrong.exit_code == 2
    assert "did you mean" in wrong.stderr
    ran = CliRunner().invoke(app, ["reproduce", "figure1", "--out", str(tmp_path), "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)["figure1"]
    assert all("verdict" in claim for claim in told["claims"])
    assert told["is_cut"] is False
    titles = json.loads(CliRunner().invoke(app, ["reproduce", "list", "--json"]).stdout)
    assert list(titles) == list(EXPERIMENTS)
    shown = CliRunner().invoke(app, ["reproduce", "figure1", "--out", str(tmp_path)])
    assert "Of the paper's claims" in shown.stdout
