"""The file that keeps answers: what is refused, what is kept, what a damaged file still gives."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path
from shutil import copy2

import numpy as np
import pytest

from umfi.errors import ErrorCode, InputError
from umfi.execution import Done, store
from umfi.execution.checkpoint import Checkpoint, begin, find_seed, merge, read_checkpoint

IDENTITY = {"method": "ablation", "random_state": 7, "power": "forest"}
OUTLINE = {"settings": {"method": "ablation"}}
# More than a page holds, so that overflow pages are there as well.
LONG = [0.1 + number for number in range(2_000)]


def answers(n_tasks: int) -> list[Done]:
    return [
        Done((number, "x"), LONG if number % 50 == 0 else [number / 7], 0.01)
        for number in range(n_tasks)
    ]


def write(path, n_tasks=600, label=""):
    section = begin(Checkpoint(path, label), IDENTITY, OUTLINE)
    section.write("scores", answers(n_tasks))
    section.close()
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.umfi"


@pytest.fixture
def never_due(monkeypatch):
    """Write only what is flushed, however slow the machine."""
    monkeypatch.setattr("umfi.execution.checkpoint.WRITE_SECONDS", float("inf"))


def test_what_was_kept_is_read_again_and_one_file_is_left(path):
    write(path)
    assert os.listdir(path.parent) == ["run.umfi"]
    section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    assert section.read("scores") == {one.name: one.answer for one in answers(600)}
    assert section.read("other") == {}
    section.close()
    assert find_seed(Checkpoint(path)) == 7
    assert find_seed(Checkpoint(path, label="another")) is None


def test_nothing_in_the_file_is_a_pickle(path):
    write(path, 20)
    with sqlite3.connect(path) as connection:
        kinds = connection.execute("SELECT DISTINCT typeof(name), typeof(answer) FROM tasks")
        assert kinds.fetchall() == [("text", "text")]
        for (answer,) in connection.execute("SELECT answer FROM tasks"):
            json.loads(answer)


def test_missing_folders_are_made_and_odd_names_are_taken(tmp_path):
    path = tmp_path / "a folder" / "ümlaut #1 ?mode=ro.umfi"
    write(path, 3)
    assert len(read_checkpoint(path)[0].answers["scores"]) == 3


def test_another_run_is_refused_with_what_differs(path):
    write(path)
    with pytest.raises(
        InputError, match=r"random_state was 7 and is now 8; power was 'forest'"
    ) as caught:
        begin(Checkpoint(path), IDENTITY | {"random_state": 8, "power": "linear"}, OUTLINE)
    assert caught.value.code is ErrorCode.OTHER_RUN
    begin(Checkpoint(path), IDENTITY, OUTLINE).close()  # The refusal let go of the lock.


def test_runs_of_other_labels_share_the_file(path):
    write(path, 5, "first")
    write(path, 6, "second")
    found = {run.label: len(run.answers["scores"]) for run in read_checkpoint(path)}
    assert found == {"first": 5, "second": 6}


def test_a_second_run_on_the_same_file_is_refused_at_once(path):
    section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    with pytest.raises(InputError, match="in use by another run"):
        begin(Checkpoint(path), IDENTITY, OUTLINE)
    section.close()
    begin(Checkpoint(path), IDENTITY, OUTLINE).close()


def test_the_lock_of_a_killed_run_is_gone(path):
    code = (
        "import os, sys; from umfi.execution.checkpoint import Checkpoint, begin\n"
        f"section = begin(Checkpoint({str(path)!r}), {IDENTITY!r}, {OUTLINE!r})\n"
        "os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert path.with_name("run.umfi-lock").exists()
    begin(Checkpoint(path), IDENTITY, OUTLINE).close()
    assert os.listdir(path.parent) == ["run.umfi"]


def test_a_file_that_another_program_holds_is_refused(path, monkeypatch):
    monkeypatch.setattr("umfi.execution.store.START_SECONDS", 0.1)
    write(path, 3)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InputError, match="in use by another run"):
        begin(Checkpoint(path), IDENTITY, OUTLINE)
    holder.close()
    begin(Checkpoint(path), IDENTITY, OUTLINE).close()


@pytest.mark.usefixtures("never_due")
def test_a_file_that_is_held_in_mid_run_is_written_later(path, monkeypatch):
    monkeypatch.setattr("umfi.execution.checkpoint.BUSY_SECONDS", 0.05)
    section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    section.write("scores", answers(5))
    with pytest.warns(RuntimeWarning, match="cannot be written now"):
        section.flush()
    holder.close()
    section.close()
    assert len(read_checkpoint(path)[0].answers["scores"]) == 5


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("/proc/run.umfi", "cannot be written"),
        ("/proc/folder/run.umfi", "cannot be written"),
        (".", "pass the name of a file"),
        ("", "pass the name of a file"),
        (3, "pass the name of a file"),
    ],
)
def test_places_that_cannot_be_written_to_are_refused(place, message):
    with pytest.raises(InputError, match=message):
        begin(Checkpoint(place), IDENTITY, OUTLINE)


def test_folders_and_files_of_others_are_refused_and_left_alone(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        begin(Checkpoint(tmp_path), IDENTITY, OUTLINE)
    other = tmp_path / "data.csv"
    other.write_text("x,y\n1,2\n" * 2_000)
    database = tmp_path / "other.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE tasks (a, b, c, d, e, f)")
        connection.execute("INSERT INTO tasks VALUES (1, 2, 3, 4, 5, 6)")
    connection.close()
    for file in (other, database):
        before = file.read_bytes()
        with pytest.raises(InputError, match="not a checkpoint"):
            begin(Checkpoint(file), IDENTITY, OUTLINE)
        assert file.read_bytes() == before


@pytest.mark.parametrize("share", [(0, 3), (4, 3), (1,), 2, (1.5, 3), "12"])
def test_shares_that_are_none_are_refused(share):
    with pytest.raises(InputError, match=r"pass \(1, 5\)"):
        Checkpoint("run.umfi", share=share)


def test_an_empty_file_is_a_new_checkpoint(path):
    path.touch()
    write(path, 4)
    assert len(read_checkpoint(path)[0].answers["scores"]) == 4


def test_a_checkpoint_of_a_newer_format_is_refused(path):
    write(path, 3)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="newer umfi"):
        begin(Checkpoint(path), IDENTITY, OUTLINE)


def begin_damaged(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    found = section.read("scores")
    section.close()
    return found, [str(one.message) for one in caught]


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.999])
def test_what_is_left_of_a_truncated_file_is_recovered(path, share):
    """Pages are filled in the order of writing: what was committed before the cut is there."""
    write(path)
    data = path.read_bytes()
    kept = int(share * len(data))
    path.write_bytes(data[:kept])
    found, messages = begin_damaged(path)
    true = {one.name: one.answer for one in answers(600)}
    assert all(true[name] == answer for name, answer in found.items())
    # The index of names takes a part of the file, and the cut goes through the last page.
    assert len(found) >= 600 * (share - 0.15)
    assert len(messages) == 1
    assert "is damaged" in messages[0]
    assert path.with_name("run.umfi.damaged").read_bytes() == data[:kept]
    again, messages = begin_damaged(path)  # The file is sound again.
    assert (again, messages) == (found, [])


@pytest.mark.parametrize("seed", range(15))
def test_no_wrong_answer_comes_out_of_a_file_with_flipped_bytes(path, seed):
    write(path)
    rng = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    for place in rng.integers(0, len(data), 8):
        data[place] ^= int(rng.integers(1, 256))
    path.write_bytes(data)
    found, _ = begin_damaged(path)
    true = {one.name: one.answer for one in answers(600)}
    assert all(true[name] == answer for name, answer in found.items())
    assert len(found) > 500


def test_a_file_without_its_header_is_recovered(path):
    write(path)
    data = bytearray(path.read_bytes())
    data[:4096] = bytes(4096)
    path.write_bytes(data)
    assert len(begin_damaged(path)[0]) == 600


def test_answers_in_the_log_of_a_killed_run_are_recovered_even_if_the_file_is_torn(path):
    section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    section.write("scores", answers(100))
    section.flush()
    log = path.with_name("run.umfi-wal").read_bytes()
    main = path.read_bytes()
    section.close()
    path.write_bytes(main[: len(main) // 2])
    path.with_name("run.umfi-wal").write_bytes(log)
    assert len(begin_damaged(path)[0]) == 100


def test_answers_of_another_run_are_not_taken_from_the_rubble(path):
    write(path)
    path.write_bytes(path.read_bytes()[4096:])  # The table of runs is gone as well.
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        with pytest.raises(InputError, match=r"holds another run|not a checkpoint"):
            begin(Checkpoint(path), IDENTITY | {"random_state": 8}, OUTLINE)


@pytest.mark.usefixtures("never_due")
def test_a_full_disk_costs_no_answer(tmp_path):
    """The limit on the size of files stands in for the disk: it fails in the same call."""
    path = tmp_path / "run.umfi"
    section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    section.write("scores", answers(40))
    section.flush()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        section.write("more", answers(400))
        with pytest.warns(RuntimeWarning, match="the run goes on, and tries again"):
            section.flush()
        section.flush()  # It says so once.
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    section.write("scores", answers(41)[40:])
    section.close()
    [run] = read_checkpoint(path)
    assert len(run.answers["scores"]) == 41
    assert len(run.answers["more"]) == 400


@pytest.mark.usefixtures("never_due")
def test_a_disk_that_stays_full_leaves_what_was_committed(tmp_path):
    path = tmp_path / "run.umfi"
    section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    section.write("scores", answers(40))
    section.flush()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        section.write("more", answers(400))
        with pytest.warns(RuntimeWarning, match=r"cannot be written now|400 finished tasks could"):
            section.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    [run] = read_checkpoint(path)
    assert len(run.answers["scores"]) == 40


def test_a_full_disk_at_the_start_is_an_error(tmp_path):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(InputError, match="cannot be written"):
            begin(Checkpoint(tmp_path / "run.umfi"), IDENTITY, OUTLINE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def test_files_of_several_machines_are_merged(tmp_path):
    for number in range(3):
        section = begin(Checkpoint(tmp_path / f"{number}.umfi"), IDENTITY, OUTLINE)
        section.write("scores", answers(30)[number::3])
        section.close()
    files = [tmp_path / f"{number}.umfi" for number in range(3)]
    [run] = merge(files, tmp_path / "all.umfi")
    assert run.read("scores") == {one.name: one.answer for one in answers(30)}
    assert merge(files, tmp_path / "all.umfi")[0].answers == run.answers  # Twice changes nothing.
    assert sorted(os.listdir(tmp_path)) == ["0.umfi", "1.umfi", "2.umfi", "all.umfi"]


def test_files_that_do_not_belong_together_are_not_merged(tmp_path):
    write(tmp_path / "a.umfi", 5)
    section = begin(Checkpoint(tmp_path / "b.umfi"), IDENTITY | {"random_state": 8}, OUTLINE)
    section.close()
    with pytest.raises(InputError, match=r"b\.umfi' holds another run: random_state was 7"):
        merge([tmp_path / "a.umfi", tmp_path / "b.umfi"], tmp_path / "c.umfi")
    section = begin(Checkpoint(tmp_path / "d.umfi"), IDENTITY, OUTLINE)
    section.write("scores", [Done((1, "x"), [99.0], 0.1)])
    section.close()
    with pytest.raises(InputError, match=r"another answer to task \(1, 'x'\)"):
        merge([tmp_path / "a.umfi", tmp_path / "d.umfi"], tmp_path / "c.umfi")
    with pytest.raises(InputError, match="There is no file"):
        merge([Path("nowhere.umfi")], tmp_path / "c.umfi")
    assert not (tmp_path / "c.umfi").exists()


def test_a_log_in_a_folder_that_cannot_be_written_to_is_read_too(path, monkeypatch):
    section = begin(Checkpoint(path), IDENTITY, OUTLINE)
    section.write("scores", answers(300))
    section.flush()
    aside = path.parent / "killed"
    aside.mkdir()
    for ending in ("", "-wal"):  # As a killed run leaves them.
        copy2(path.with_name(path.name + ending), aside / (path.name + ending))
    section.close()
    connect = store._connect

    def refuse(file, *mode):
        if file.parent == aside:
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorcode = sqlite3.SQLITE_READONLY_DIRECTORY
            raise error
        return connect(file, *mode)

    monkeypatch.setattr(store, "_connect", refuse)
    [stored] = read_checkpoint(aside / path.name)
    assert len(stored.answers["scores"]) == 300
    assert sorted(os.listdir(aside)) == [path.name, f"{path.name}-wal"]
