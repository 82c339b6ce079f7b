"""Runs that are done are stored, line by line."""

import pytest

import umfi
from reproduction.stored_runs import StoredRuns


def test_numbers_come_back_to_the_bit(tmp_path):
    values = {"gène, one": 0.1 + 0.2, "b": -1e-300, "c": float("nan")}
    StoredRuns(tmp_path / "runs.jsonl").add("linear, 1", "a1", values, 1.5, 2)
    found = StoredRuns(tmp_path / "runs.jsonl").find("linear, 1", "a1")
    assert repr(found) == repr(values)


def test_other_runs_are_not_found(tmp_path):
    runs = StoredRuns(tmp_path / "runs.jsonl")
    runs.add("linear, 1", "a1", {"x": 1.0}, 1.5, 2)
    assert runs.find("linear, 1", "b2") is None
    assert runs.find("linear, 2", "a1") is None
    assert list(runs.versions.values()) == [1]
    assert runs.n_new == 1


def test_a_broken_last_line_is_written_over(tmp_path):
    path = tmp_path / "runs.jsonl"
    StoredRuns(path).add("one", "a1", {"x": 1.0}, 1.5, 2)
    path.write_bytes(path.read_bytes() + b'{"run": "two", "as')
    runs = StoredRuns(path)
    assert runs.find("two", "a1") is None
    runs.add("three", "a1", {"x": 3.0}, 1.5, 2)
    again = StoredRuns(path)
    assert again.find("one", "a1") == {"x": 1.0}
    assert again.find("three", "a1") == {"x": 3.0}
    assert len(path.read_bytes().splitlines()) == 2


def test_a_line_that_is_damaged_is_named(tmp_path):
    path = tmp_path / "runs.jsonl"
    StoredRuns(path).add("one", "a1", {"x": 1.0}, 1.5, 2)
    path.write_bytes(path.read_bytes() + b"[1, 2]\n")
    with pytest.raises(umfi.RunError, match=r"Line 2 of .* remove the line"):
        StoredRuns(path)


def test_what_runs_took_is_added_up(tmp_path):
    path = tmp_path / "runs.jsonl"
    for number in range(3):
        StoredRuns(path).add(str(number), "a1", {"x": 1.0}, 10.0**number, 2 - number % 2)
    runs = StoredRuns(path)
    runs.find("1", "a1")
    assert runs.seconds_before == 111.0
    assert runs.seconds_found == {1: 10.0}
