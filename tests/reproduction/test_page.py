"""What the page on the paper shows is what the tables beside it say."""

import os
import zipfile
from pathlib import Path

import pytest

from reproduction import page

DOCS = Path(__file__).parents[2] / "docs"
ARCHIVES = sorted((DOCS / "reproduction" / "tables").glob("*.zip"))


@pytest.fixture
def writer():
    """Return the module that writes the page."""
    return page


def test_tables_are_kept():
    numbers = (1, 3, 6, 7, 8, 9, 10, 12, 14, 15)
    assert {f"figure{number}" for number in numbers} <= {path.stem for path in ARCHIVES}


@pytest.mark.parametrize("name", [path.stem for path in ARCHIVES])
def test_verdicts_on_the_page_are_those_of_the_tables_beside_it(name, writer, tmp_path):
    verdict = (writer.judge_anew(name, tmp_path) / "verdict.md").read_text("utf-8")
    assert verdict == (DOCS / "reproduction" / f"{name}.md").read_text("utf-8")
    text = verdict.split("\n", maxsplit=1)[1].strip()
    assert text in (DOCS / "reproduction.md").read_text("utf-8")


def test_archives_hold_the_tables_to_the_byte_and_no_dates(writer, tmp_path, monkeypatch):
    own = writer.judge_anew("figure7", tmp_path)
    monkeypatch.setattr(writer, "TABLES", tmp_path / "tables")
    writer._pack("figure7", own)
    again = tmp_path / "tables" / "figure7.zip"
    first = again.read_bytes()
    os.utime(own / "measured.json", (0, 0))
    writer._pack("figure7", own)
    assert again.read_bytes() == first
    kept = zipfile.ZipFile(DOCS / "reproduction" / "tables" / "figure7.zip")
    assert zipfile.ZipFile(again).namelist() == kept.namelist()
    assert all((own / name).read_bytes() == kept.read(name) for name in kept.namelist())
