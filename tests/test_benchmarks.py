"""Benchmarks are run by hand and seldom, so a missing piece would be found late."""

import json
import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.glob("*.py"))


@pytest.fixture
def loaded(monkeypatch):
    """From the path of a script to its names, as they are before anything is measured."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield lambda path: runpy.run_path(str(path), run_name="loaded")
    for name in {path.stem for path in SCRIPTS} & (set(sys.modules) - before):
        del sys.modules[name]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_finds_what_it_imports(path, loaded):
    assert loaded(path)["__doc__"]


def test_a_report_is_written_as_its_sections_come(tmp_path, loaded, capsys):
    names = loaded(BENCHMARKS / "report.py")
    report = names["Report"](tmp_path)
    report.add(names["Section"]("One forest", ["12 ms."], {"seconds": [0.012]}))
    assert "12 ms." in capsys.readouterr().out
    report.add(names["Section"]("Growth: 10 × 3", ["| a |", "|---|"], {"exponent": 1.5}))
    page = (tmp_path / "report.md").read_text("utf-8")
    assert page.index("## One forest\n\n12 ms.") < page.index("## Growth: 10 × 3\n\n| a |")
    found = json.loads((tmp_path / "report.json").read_text("utf-8"))["found"]
    assert found == {"One forest": {"seconds": [0.012]}, "Growth: 10 × 3": {"exponent": 1.5}}
