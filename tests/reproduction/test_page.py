"""What the page on the paper shows is what the tables beside it say."""

import os
import zipfile

import pytest

from reproduction import page

ARCHIVES = sorted(path.stem for path in page.TABLES.glob("*.zip"))


@pytest.fixture(scope="module")
def assessed(tmp_path_factory):
    """Return the folder of all stored tables, each assessed once, and the outcomes by name."""
    folder = tmp_path_factory.mktemp("stored")
    return folder, {name: page.assess_stored(name, folder, draws=False) for name in ARCHIVES}


def test_tables_are_stored():
    numbers = (1, 3, 6, 7, 8, 9, 10, 12, 14, 15)
    assert {f"figure{number}" for number in numbers} <= set(ARCHIVES)


@pytest.mark.parametrize("name", ARCHIVES)
def test_verdicts_on_the_page_are_those_of_the_tables_beside_it(name, assessed):
    verdict = assessed[1][name].verdict
    assert verdict == (page.PARTS / f"{name}.md").read_text("utf-8")
    text = verdict.split("\n", maxsplit=1)[1].strip()
    assert text in (page.DOCS / "reproduction.md").read_text("utf-8")


def test_archives_hold_the_tables_to_the_byte_and_no_dates(assessed, tmp_path, monkeypatch):
    stored = page.TABLES / "figure7.zip"
    own = assessed[0] / "full" / "figure7"
    monkeypatch.setattr(page, "TABLES", tmp_path / "tables")
    page.pack("figure7", own)
    again = tmp_path / "tables" / "figure7.zip"
    first = again.read_bytes()
    os.utime(own / "measured.json", (0, 0))
    page.pack("figure7", own)
    assert again.read_bytes() == first
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(stored).namelist()
    assert all(
        (own / name).read_bytes() == zipfile.ZipFile(stored).read(name)
        for name in zipfile.ZipFile(stored).namelist()
    )
