import pandas as pd
from typer.testing import CliRunner

import umfi
from umfi.cli import app


def test_demo_ranks_a_real_table_and_writes_files(tmp_path, monkeypatch):
    monkeypatch.setattr("umfi.cli.DEMO_REPEATS", 2)
    monkeypatch.setattr("umfi.cli.DEMO_PERMUTATIONS", 3)
    folder = tmp_path / "new" / "folder"
    outcome = CliRunner().invoke(app, ["demo", "--out", str(folder)])
    assert outcome.exit_code == 0
    assert "ultra_marginal importance for diagnosis: 569 rows, 30 features" in outcome.output
    assert "Note: With max_permutations=3 no p-value is below 0.25" in outcome.output
    table = pd.read_csv(folder / "importance.csv")
    assert len(table) == 30
    assert table["p_value"].between(0.0, 1.0, inclusive="right").all()
    assert table["importance"].is_monotonic_decreasing
    assert (folder / "importance.png").read_bytes().startswith(b"\x89PNG")


def test_demo_shows_and_writes_the_parts_that_were_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("umfi.cli.DEMO_PART_REPEATS", 1)
    outcome = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--parts"])
    assert outcome.exit_code == 0
    assert "decompose importance for diagnosis" in outcome.output
    table = pd.read_csv(tmp_path / "importance.csv")
    for part in ("alone", "together", "irreplaceable", "replaceable"):
        assert part in outcome.output
        assert part in table
    assert (tmp_path / "importance.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    outcome = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file")])
    assert outcome.exit_code == 2
    letters = "".join(filter(str.isalpha, outcome.output))  # without the box and its line breaks
    assert "cannotbemadeafolder" in letters


def test_version():
    outcome = CliRunner().invoke(app, ["--version"])
    assert outcome.exit_code == 0
    assert outcome.output.strip() == f"umfi {umfi.__version__}"


def test_without_a_command_help_is_shown():
    outcome = CliRunner().invoke(app, [])
    assert "demo" in outcome.output
