"""``umfi rank`` and ``umfi demo``, as a person or a script calls them."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import umfi
from umfi.cli import app

FAST = ["--permutations", "39", "--repeats", "2", "--seed", "3"]


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def nasty(tmp_path):
    """A table with gaps, dates, row labels, a response in words, a blank and an umlaut in names."""
    rng = np.random.default_rng(0)
    n_rows = 120
    height = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "Probe ID": [f"P{number:04}" for number in range(n_rows)],
            "Datum": pd.date_range("2020-01-01", periods=n_rows).strftime("%d.%m.%Y"),
            "Höhe (m)": np.round(500 + 100 * height, 1),
            "pH": np.where(
                np.arange(n_rows) % 20 == 0, np.nan, np.round(rng.normal(size=n_rows), 2)
            ),
            "[red]soil": rng.choice(["clay", "sand"], n_rows),
            "Ergebnis": np.where(height > 0, "gut", "schlecht"),
        }
    )
    path = tmp_path / "daten.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False, encoding="cp1252")
    return path


def test_a_nasty_file_is_ranked_and_what_was_done_is_said(nasty, tmp_path):
    out = tmp_path / "new" / "results"
    ended = run("rank", nasty, "-t", "Ergebnis", "--missing", "drop", "--out", out, *FAST)
    assert ended.exit_code == 0, ended.output
    for said in ("Windows-1252", "decimal commas", "'Probe ID'", "days since", "6 of 120 rows"):
        assert said in ended.output
    assert "[red]soil" in ended.stdout
    assert "1 of 4 features is related to 'Ergebnis'" in ended.stdout
    written = {path.name for path in out.iterdir()}
    assert written == {"importance.csv", "importance.png", "report.html", "result.json"}
    result = umfi.load_result(out / "result.json")
    assert result.related() == ["Höhe (m)"]
    table = pd.read_csv(out / "importance.csv")
    assert table["feature"].tolist() == result.table["feature"].tolist()
    assert "Windows-1252" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-t", "Ergebnis"], "pass --missing drop to leave these rows out, or --missing level"),
        (["-t", "ergebnis"], "did you mean 'Ergebnis'?"),
        (["-t", "Ergebnis", "--drop", "Hohe (m)"], "did you mean 'Höhe (m)'?"),
        (["-t", "Ergebnis", "--missing", "drop", "--remover", "linaer"], "did you mean 'linear'?"),
        (
            ["-t", "Ergebnis", "--missing", "drop", "--method", "abation"],
            "did you mean 'ablation'?",
        ),
        (["-t", "Ergebnis", "--missing", "drop", "--kinds", "pH"], "--kinds NAME=categorical"),
        (["-t", "Ergebnis", "--missing", "drop", "--groups", "a"], "--groups NAME=first,second"),
        (
            ["-t", "Ergebnis", "--missing", "drop", "--time-limit", "soon"],
            "--time-limit soon is not",
        ),
        (["-t", "Ergebnis", "--missing", "drop", "--jobs", "0"], "--jobs 0 leaves nobody to work"),
        (["-t", "Ergebnis", "--missing", "drop", "--repeats", "0"], "--repeats 0 is not valid"),
        (["-t", "Ergebnis", "--missing", "drop", "--seed", "-1"], "--seed -1 is not a seed"),
        (["-t", "Ergebnis", "--missing", "drop", "--subsample", "inf"], "--subsample inf"),
        (["-t", "Ergebnis", "--method", "permutation", "--test", "none"], "--test is for"),
        (["-t", "Ergebnis", "--method", "bivariate", "--remover", "linear"], "--remover is for"),
        (
            ["-t", "Ergebnis", "--missing", "drop", "--groups", "a=pH", "--groups", "a=Datum"],
            "names 'a' twice",
        ),
    ],
)
def test_every_mistake_gets_one_sentence_with_the_way_out(nasty, arguments, sentence):
    ended = run("rank", nasty, *arguments)
    assert ended.exit_code == 2
    errors = [line for line in ended.stderr.splitlines() if not line.startswith("Note:")]
    assert len(errors) == 1
    assert errors[0].startswith("Error: ")
    assert sentence in errors[0]
    assert ended.stdout == ""


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(nasty, tmp_path):
    (tmp_path / "file").write_text("")
    for command in (["rank", nasty, "-t", "Ergebnis"], ["demo"]):
        ended = run(*command, "--out", tmp_path / "file")
        assert ended.exit_code == 2
        assert "is no folder that can be written to" in ended.stderr


def test_machines_get_json_and_nothing_else_on_standard_output(nasty):
    ended = run("rank", nasty, "-t", "Ergebnis", "--missing", "level", "--json", *FAST)
    assert ended.exit_code == 0
    document = json.loads(ended.stdout)
    assert document["features"][0]["feature"] == "Höhe (m)"
    assert document["features"][0]["related"] is True
    assert any("days since" in note for note in document["notes"])
    failed = run("rank", nasty, "-t", "nothing", "--json")
    assert failed.exit_code == 2
    assert json.loads(failed.stdout)["exit_code"] == 2


def test_options_reach_the_library(nasty):
    options = ["--missing", "drop", "--test", "none", "--repeats", "1", "--seed", "5"]
    ended = run(
        "rank", nasty, "-t", "Ergebnis", *options, "--json", "--remover", "linear", "--power",
        "extra-trees", "--groups", "place=Höhe (m),pH", "--drop", "Datum", "--kinds",
        "[red]soil=categorical",
    )  # fmt: skip
    settings = json.loads(ended.stdout)["settings"]
    assert settings["remover"] == "linear"
    assert settings["power"] == "extra-trees"
    assert settings["groups"] == {"place": ["Höhe (m)", "pH"]}
    assert settings["kinds"] == {"[red]soil": "categorical"}
    assert settings["random_state"] == 5
    assert [one["feature"] for one in json.loads(ended.stdout)["features"]].count("place") == 1


def test_the_same_seed_prints_the_same(nasty):
    first, second = (
        run("rank", nasty, "-t", "Ergebnis", "--missing", "drop", "--json", "--jobs", jobs, *FAST)
        for jobs in (1, 2)
    )
    assert first.stdout == second.stdout


def test_time_that_is_up_has_its_own_code_and_the_next_call_goes_on(nasty, tmp_path):
    options = ["rank", nasty, "-t", "Ergebnis", "--missing", "drop", "--out", tmp_path / "out"]
    ended = run(*options, "--repeats", "400", "--test", "none", "--time-limit", "1s")
    assert ended.exit_code == 4
    assert "The time limit of 1 seconds was reached" in ended.stdout
    assert "the same command goes on from there" in ended.stderr
    stored = tmp_path / "out" / "unfinished-rank.umfi"
    first = int(umfi.checkpoint_status(stored)[0].stages["done"].sum())
    run(*options, "--repeats", "400", "--test", "none", "--time-limit", "1s")
    assert int(umfi.checkpoint_status(stored)[0].stages["done"].sum()) > first
    other = run(*options, "--remover", "linear", "--test", "none")
    assert other.exit_code == 2
    assert "--fresh starts anew" in other.stderr
    anew = run(*options, "--remover", "linear", "--test", "none", "--repeats", "1", "--fresh")
    assert anew.exit_code == 0
    assert not stored.exists()


def test_a_shorter_run_does_not_throw_away_what_a_longer_one_has_stored(nasty, tmp_path):
    options = ["rank", nasty, "-t", "Ergebnis", "--missing", "drop", "--out", tmp_path / "out"]
    assert run(*options, "--test", "none", "--repeats", "400", "--time-limit", "1s").exit_code == 4
    stored = tmp_path / "out" / "unfinished-rank.umfi"
    before = int(umfi.checkpoint_status(stored)[0].stages["done"].sum())
    for _ in range(2):
        shorter = run(*options, "--test", "none", "--repeats", "1")
        assert shorter.exit_code == 0
        assert "holds more repeats than these, and is left as it is" in shorter.stderr
        assert int(umfi.checkpoint_status(stored)[0].stages["done"].sum()) >= before


def test_only_checkpoints_are_forgotten(nasty, tmp_path):
    precious = tmp_path / "precious.csv"
    precious.write_text("a,b\n1,2\n")
    options = ["rank", nasty, "-t", "Ergebnis", "--missing", "drop", "--fresh"]
    ended = run(*options, "--checkpoint", precious)
    assert ended.exit_code == 2
    assert "is not a checkpoint" in ended.stderr
    assert precious.read_text() == "a,b\n1,2\n"


def test_a_file_that_cannot_be_written_after_the_run_is_told_in_a_sentence(nasty, tmp_path):
    (tmp_path / "importance.csv").mkdir()
    options = ["--missing", "drop", "--test", "none", "--repeats", "1", "--out", tmp_path]
    ended = run("rank", nasty, "-t", "Ergebnis", *options)
    assert ended.exit_code == 3
    assert "Error: A file cannot be read or written" in ended.stderr


def test_nothing_is_cut_on_a_narrow_screen(nasty, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    ended = run("rank", nasty, "-t", "Ergebnis", "--missing", "drop", *FAST)
    for name in ("Höhe (m)", "[red]soil", "Datum", "pH"):
        assert name in ended.stdout
    document = json.loads(
        run("rank", nasty, "-t", "Ergebnis", "--missing", "drop", "--json", *FAST).stdout
    )
    for row in document["features"]:
        assert f"{row['importance']:.4f}" in ended.stdout


def test_letters_that_the_screen_lacks_end_no_run(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["γένος", "基因"])
    frame.assign(y=frame["γένος"]).to_csv(tmp_path / "t.csv", index=False)
    command = [
        sys.executable, "-c", "from umfi.cli import app; app()", "rank", str(tmp_path / "t.csv"),
        "-t", "y", "--test", "none", "--repeats", "1",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    shown = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"?" in shown.stdout
    as_json = subprocess.run([*command, "--json"], env=environment, capture_output=True, check=True)
    assert json.loads(as_json.stdout)["features"][0]["feature"] == "γένος"


def test_an_interrupt_stops_and_says_how_to_go_on(nasty, tmp_path):
    # Shells make processes in the background deaf to interrupts.
    hearing = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [
        sys.executable, "-c", hearing + "from umfi.cli import app; app()", "rank", str(nasty), "-t",
        "Ergebnis", "--missing", "drop", "--out", str(tmp_path / "out"), "--test", "none",
        "--repeats", "100000", "--jobs", "1",
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    stored = tmp_path / "out" / "unfinished-rank.umfi"
    try:
        for _ in range(2000):
            runs = umfi.checkpoint_status(stored) if stored.exists() else []
            if any(run.stages["done"].sum() > 0 for run in runs):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "goes on from there" in said


def test_demo_ranks_a_real_table_and_writes_files(tmp_path, monkeypatch):
    monkeypatch.setattr("umfi.cli.rank.DEFAULT_PERMUTATIONS", 3)
    ended = run("demo", "--out", tmp_path)
    assert ended.exit_code == 0
    assert "ultra_marginal importance for diagnosis in R²: 569 rows, 30 features" in ended.stdout
    assert "95 % interval" in ended.stdout
    assert "Note: With at most 3 permutations no p-value is below 0.25" in ended.stdout
    assert len(pd.read_csv(tmp_path / "importance.csv")) == 30
    assert (tmp_path / "importance.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "report.html").stat().st_size < 500_000


def test_demo_shows_and_writes_the_parts_that_were_computed(tmp_path):
    ended = run("demo", "--out", tmp_path, "--parts")
    assert ended.exit_code == 0
    table = pd.read_csv(tmp_path / "importance.csv")
    for part in ("alone", "together", "irreplaceable", "replaceable"):
        assert part in ended.stdout
        assert part in table


@pytest.mark.parametrize("command", ["", "rank", "compare", "diagnose", "demo", "status", "merge"])
def test_help_fits_a_screen_and_has_an_example(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(*filter(None, [command, "--help"])).stdout
    assert len(shown.splitlines()) <= 40
    assert "Example" in shown
    assert f"umfi {command}".strip() in shown


def test_version_and_help_without_a_command():
    assert run("--version").stdout.strip() == f"umfi {umfi.__version__}"
    assert "umfi rank data.csv --target y --out results" in run().output


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (umfi.InputError("is wrong: fix.", argument="missing", value="x"), "--missing x is wrong"),
        (umfi.InputError("is wrong: fix.", argument="random_state", value=7), "--seed 7 is wrong"),
        (umfi.InputError("is wrong: fix.", argument="remover", value=["a"]), "--removers ['a'] is"),
        (
            umfi.InputError("X has gaps: fix.", argument="missing"),
            "X has gaps: fix. See --missing.",
        ),
        (umfi.InputError("is wrong: fix.", argument="protocol", value=1), "protocol=1 is wrong"),
        (
            umfi.RunError("Workers died: fix.", argument="executor"),
            "Workers died: fix. See --executor.",
        ),
        (umfi.InputError("protocol=1 is wrong: fix."), "protocol=1 is wrong: fix."),
    ],
)
def test_errors_of_the_library_name_the_option_of_their_argument(error, said, nasty, monkeypatch):
    def refuse(*arguments, **settings):
        raise error

    monkeypatch.setattr("umfi.importance.diagnose", refuse)
    ended = run("diagnose", nasty, "--missing", "drop")
    assert f"Error: {said}" in ended.stderr


def test_a_test_that_nobody_asked_for_and_that_cannot_be_is_left_out_and_said(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"soil": rng.choice(["clay", "sand", "silt"], 60), "ph": rng.normal(size=60)}
    )
    frame["y"] = frame["ph"] + rng.normal(size=60)
    frame.to_csv(tmp_path / "data.csv", index=False)
    options = ["rank", tmp_path / "data.csv", "-t", "y", "--method", "ablation", "--repeats", "1"]
    ended = run(*options)
    assert ended.exit_code == 0, ended.output
    assert "No p-values. Column 'soil' is categorical" in ended.stderr
    asked = run(*options, "--test", "permutation")
    assert asked.exit_code == 2
    assert "See --test." in asked.stderr


def test_what_a_run_did_not_come_to_is_undecided(nasty):
    options = ["rank", nasty, "-t", "Ergebnis", "--missing", "drop", "--time-limit", "0.001"]
    ended = run(*options)
    assert ended.exit_code == 4
    assert "undecided" in ended.stdout
    assert "So far" in ended.stdout
    [feature] = [
        one for one in json.loads(run(*options, "--json").stdout)["features"] if one["feature"]
    ][:1]
    assert feature["p_value"] is None
    assert feature["related"] is None


def test_an_interrupt_while_the_command_is_loaded_is_no_traceback():
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import builtins, os, sys\n"
        "real = builtins.__import__\n"
        "def stop(name, *rest):\n"
        "    if name == 'umfi.cli':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = stop\n"
        "from umfi.__main__ import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 130
    assert ended.stderr.strip() == "Stopped."
