"""Runs that are broken off and gone on with: the numbers of an unbroken one, to the bit."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import umfi
from tests.execution.runs import POWER, run, table
from umfi.execution.checkpoint import read_checkpoint
from umfi.importance import METHODS as REGISTERED
from umfi.power import PredictingPower

ROOT = Path(__file__).parents[2]
METHODS = {name: {"repeats": 2} for name in REGISTERED} | {
    "ultra_marginal": {"repeats": 2, "subsample": 0.8, "test": "permutation"},
    "ablation": {"repeats": 2, "test": "full-permutation", "max_permutations": 20},
    "bivariate": {"test": "permutation", "max_permutations": 30},
    "marginal_contribution": {"max_context": 1, "repeats": 2},
    "permutation": {"repeats": 2},
    "conditional_permutation": {"repeats": 2},
    "decompose": {"repeats": 2, "test": "permutation", "max_permutations": 20},
}
FRAMES = ("scores", "tests", "part_scores", "part_tests")


def assert_same(first, second):
    for name in FRAMES:
        one, other = getattr(first, name), getattr(second, name)
        assert (one is None) == (other is None)
        if one is not None:
            pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert first.settings == second.settings


class StopError(Exception):
    pass


class StoppingPower(PredictingPower):
    """A forest that breaks the run off after so many fits."""

    measure = None

    def __init__(self, n_fits=None, error=StopError):
        self.n_left = n_fits
        self.error = error
        self.lock = threading.Lock()

    def count(self):
        with self.lock:
            if self.n_left is not None:
                self.n_left -= 1
                if self.n_left < 0:
                    raise self.error

    def with_measure(self, measure):
        return self

    def predict(self, columns, target, seed):
        self.count()
        return POWER.predict(columns, target, seed)

    def average_out(self, context, candidates, target, seed, *, is_test=False, donors=None):
        self.count()
        return POWER.average_out(context, candidates, target, seed, is_test=is_test, donors=donors)

    def __reduce__(self):
        return StoppingPower, ()


@pytest.fixture
def described_alike(monkeypatch):
    """The power counts, which must not make it another one."""
    from umfi.execution.checkpoint import describe

    def describe_power(value, *arguments):
        return "stopping" if isinstance(value, StoppingPower) else describe(value, *arguments)

    monkeypatch.setattr("umfi.importance.study.describe", describe_power)
    monkeypatch.setattr(StoppingPower, "__repr__", lambda self: "StoppingPower()")


@pytest.mark.parametrize("method", [name for name in METHODS if "permutation" not in name])
@pytest.mark.parametrize("error", [StopError, KeyboardInterrupt])
def test_a_run_that_is_broken_off_again_and_again_ends_with_the_same_numbers(
    method, error, tmp_path, described_alike
):
    X, y = table()
    arguments = METHODS[method] | {"random_state": 5, "n_jobs": 1}
    unbroken = getattr(umfi, method)(X, y, power=StoppingPower(), **arguments)
    path = tmp_path / "run.umfi"
    n_breaks = 0
    while True:
        # A batch of a test that refits is one task of ten fits.
        power = StoppingPower(13 if method in ("ablation", "decompose") else 4, error)
        try:
            result = getattr(umfi, method)(X, y, power=power, checkpoint=path, **arguments)
        except error:
            n_breaks += 1
        else:
            break
    assert n_breaks >= 2
    assert_same(unbroken, result)
    [status] = umfi.checkpoint_status(path)
    assert_same(unbroken, status.result)
    assert status.is_complete


@pytest.mark.parametrize("method", METHODS)
def test_a_complete_checkpoint_gives_the_result_without_any_work(method, tmp_path, monkeypatch):
    X, y = table()
    arguments = METHODS[method] | {"random_state": 5, "power": POWER}
    path = tmp_path / "run.umfi"
    first = getattr(umfi, method)(X, y, checkpoint=path, **arguments)
    assert_same(getattr(umfi, method)(X, y, **arguments), first)
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    assert_same(first, getattr(umfi, method)(X, y, checkpoint=path, **arguments))


def test_runs_killed_at_random_moments_end_with_the_same_numbers(tmp_path):
    """Twenty runs are killed with SIGKILL, at moments from their first second to their last."""
    unbroken = run()
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    subprocess.run(
        [sys.executable, "-m", "tests.execution.killed", tmp_path, "20", "0"],
        check=True,
        env=environment,
        cwd=ROOT,
    )
    n_kept = []
    for number in range(20):
        path = tmp_path / f"{number}.umfi"
        runs = read_checkpoint(path) if path.exists() else []
        n_kept += [sum(map(len, kept.answers.values())) for kept in runs]
        assert_same(unbroken, run(checkpoint=path))
    # They were killed at different stages, and had kept something. How much depends on how fast
    # the machine happens to be while each of them runs.
    assert len(set(n_kept)) >= 3
    assert max(n_kept) > 10


def test_an_interrupt_of_a_real_run_keeps_what_is_done_and_says_how_to_go_on(tmp_path):
    path = tmp_path / "run.umfi"
    # Shells make processes in the background deaf to interrupts.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"from tests.execution.runs import run; run(checkpoint={str(path)!r}, repeats=500)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, cwd=ROOT, text=True
    )
    try:
        for _ in range(2000):
            if path.exists() and any(one.answers for one in read_checkpoint(path)):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "stops when the tasks under way are done" in message
    assert f"what is done is kept in {path}" in message
    assert os.listdir(tmp_path) == ["run.umfi"]
    assert_same(run(), run(checkpoint=path))


def test_an_interrupt_without_a_checkpoint_returns_what_is_done():
    X, y = table()
    counts = iter(range(10**6))

    class Interrupting(StoppingPower):
        def count(self):
            if next(counts) == 40:
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = umfi.ultra_marginal(
            X, y, repeats=1_000, random_state=5, power=Interrupting(), n_jobs=2
        )
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert any(note.startswith("The run was interrupted") for note in result.notes)
    full = umfi.ultra_marginal(X, y, repeats=2, random_state=5, power=POWER)
    shared = result.scores[result.scores["repeat"] < 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(shared, full.scores, check_exact=True)


def test_an_interrupt_before_anything_is_done_is_passed_on():
    X, y = table()
    with pytest.raises(KeyboardInterrupt):
        umfi.bivariate(X, y, power=StoppingPower(0, KeyboardInterrupt), n_jobs=1)


def test_an_error_in_a_task_costs_no_answer(tmp_path, described_alike):
    X, y = table()
    path = tmp_path / "run.umfi"
    with pytest.raises(StopError):
        umfi.bivariate(X, y, power=StoppingPower(7), checkpoint=path, n_jobs=2, repeats=5)
    [kept] = read_checkpoint(path)
    assert len(kept.answers["scores"]) >= 2


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"repeats": 2}, {"repeats": 5}),
        ({"repeats": 20}, {"repeats": 30}),
        ({"test": None}, {}),
        ({"max_permutations": 20}, {"max_permutations": 60}),
        ({}, {"test": "full-permutation", "max_permutations": 40}),
        ({"test": "full-permutation", "max_permutations": 40}, {"max_permutations": 40}),
        ({"alpha": 0.2}, {"alpha": 0.01}),
        ({"repeats": 20}, {"repeats": 3}),
        ({"repeats": 30, "test": None}, {"repeats": 20, "test": None}),
    ],
)
# Forests by name are tested by a first look and then anew, larger.
@pytest.mark.parametrize("power", [umfi.ForestPower(n_trees=20), "forest"])
def test_a_run_can_be_extended_and_equals_a_new_one(power, less, more, tmp_path):
    path = tmp_path / "run.umfi"
    base = {"repeats": 3, "power": power}
    run(checkpoint=path, **(base | less))
    assert_same(run(**(base | more)), run(checkpoint=path, **(base | more)))


def test_extending_does_only_what_is_new(tmp_path):
    path = tmp_path / "run.umfi"
    run(checkpoint=path, repeats=2, test=None)
    [before] = read_checkpoint(path)
    run(checkpoint=path, repeats=3, test=None)
    [after] = read_checkpoint(path)
    assert len(before.answers["scores"]) == 10  # Five columns; one is a copy.
    assert len(after.answers["scores"]) == 15
    assert before.seconds["scores"].items() <= after.seconds["scores"].items()


def changes():
    X, y = table()
    other = X.copy()
    other.loc[3, "x3"] += 1.0
    later = y.copy()
    later.iloc[0] += 1.0
    return {
        "a value of X": ({"X": other}, "X has other values in 'x3'"),
        "a column": ({"X": X.drop(columns="x4")}, "X is now without 'x4'"),
        "rows": ({"X": X[:150], "y": y[:150]}, "X had 200 rows and has now 150"),
        "the response": ({"y": later}, "y is another"),
        "the seed": ({"random_state": 6}, "random_state was 5 and is now 6"),
        "the power": ({"power": "forest"}, "power"),
        "the trees": ({"power": umfi.ForestPower(n_trees=61)}, "power"),
        "the remover": ({"remover": "linear"}, "remover was 'transport' and is now 'linear'"),
        "the subsample": ({"subsample": 0.6}, "subsample was 0.5 and is now 0.6"),
        "groups": ({"groups": {"g": ["x1", "x2"]}}, "groups"),
        "the protocol": ({"protocol": "paper", "test": None}, "protocol was 'one-fit'"),
    }


@pytest.mark.parametrize("change", changes())
def test_other_data_and_settings_are_refused_by_name_before_any_work(change, tmp_path, monkeypatch):
    X, y = table()
    arguments = {
        "power": POWER,
        "repeats": 2,
        "subsample": 0.5,
        "random_state": 5,
        "remover": "transport",
    }
    path = tmp_path / "run.umfi"
    umfi.ultra_marginal(X, y, checkpoint=path, **arguments)
    before = path.read_bytes()
    changed, message = changes()[change]
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    with pytest.raises(umfi.InputError, match="holds another run") as caught:
        umfi.ultra_marginal(**({"X": X, "y": y, "checkpoint": path} | arguments | changed))
    assert message in str(caught.value)
    assert path.read_bytes() == before


def test_another_method_and_another_version_are_refused(tmp_path, monkeypatch):
    X, y = table()
    path = tmp_path / "run.umfi"
    umfi.bivariate(X, y, random_state=5, power=POWER, checkpoint=path)
    with pytest.raises(umfi.InputError, match="method was 'bivariate' and is now 'ablation'"):
        umfi.ablation(X, y, random_state=5, power=POWER, checkpoint=path)
    monkeypatch.setattr("umfi.importance.study.source_digest", lambda: "other code")
    with pytest.raises(umfi.InputError, match=r"umfi was .* and is now .*other code"):
        umfi.bivariate(X, y, random_state=5, power=POWER, checkpoint=path)


def test_without_a_seed_the_run_goes_on_with_its_own(tmp_path):
    X, y = table()
    path = tmp_path / "run.umfi"
    first = umfi.bivariate(X, y, power=POWER, checkpoint=path)
    assert_same(first, umfi.bivariate(X, y, power=POWER, checkpoint=path))
    assert not umfi.bivariate(X, y, power=POWER).scores.equals(first.scores)


def test_a_damaged_checkpoint_is_gone_on_with(tmp_path):
    path = tmp_path / "run.umfi"
    unbroken = run(checkpoint=path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    with pytest.warns(RuntimeWarning, match="finished tasks could be read and are kept"):
        result = run(checkpoint=path)
    assert_same(unbroken, result)


@pytest.mark.parametrize("method", METHODS)
def test_shares_of_several_machines_are_merged_into_the_same_result(method, tmp_path, monkeypatch):
    X, y = table()
    arguments = METHODS[method] | {"random_state": 5, "power": POWER}
    files = [tmp_path / f"{part}.umfi" for part in (1, 2, 3)]
    for part, file in enumerate(files, start=1):
        share = umfi.Checkpoint(file, share=(part, 3))
        if method == "marginal_contribution":  # A share of the subsets says nothing by itself.
            with pytest.raises(umfi.InputError, match=f"share {part} of 3"):
                umfi.marginal_contribution(X, y, checkpoint=share, **arguments)
            continue
        result = getattr(umfi, method)(X, y, checkpoint=share, **arguments)
        assert any(note.startswith(f"This is share {part} of 3") for note in result.notes)
    [status] = umfi.merge_checkpoints(files, tmp_path / "all.umfi")
    unbroken = getattr(umfi, method)(X, y, **arguments)
    merged = getattr(umfi, method)(X, y, checkpoint=tmp_path / "all.umfi", **arguments)
    assert_same(unbroken, merged)
    n_tasks = [
        sum(map(len, read_checkpoint(file)[0].answers.values())) for file in [*files, files[0]]
    ]
    assert status.stages["done"].sum() == sum(n_tasks[:3])


def test_status_tells_of_a_run_that_is_going_on(tmp_path, monkeypatch):
    monkeypatch.setattr("umfi.execution.checkpoint.WRITE_SECONDS", 0.05)
    path = tmp_path / "run.umfi"
    thread = threading.Thread(target=run, kwargs={"checkpoint": path, "repeats": 60})
    thread.start()
    seen = []
    while thread.is_alive():
        time.sleep(0.05)
        if path.exists():
            seen += umfi.checkpoint_status(path)
    thread.join()
    counts = [int(status.stages["done"].sum()) for status in seen]
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    partial = next(status for status in seen if status.result is not None)
    assert any(note.startswith("The run is not complete") for note in partial.result.notes)
    assert partial.stages["left"].sum() > 0
    assert partial.seconds_left > 0.0
    assert "tasks done" in repr(partial)
    assert umfi.checkpoint_status(path)[0].is_complete


def test_a_clock_that_is_set_back_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "run.umfi"
    unbroken = run()
    with monkeypatch.context() as patch:
        random_times = random.Random(0)
        patch.setattr(time, "time", lambda: 1e9 * random_times.random())
        patch.setattr(time, "time_ns", lambda: int(1e18 * random_times.random()))
        run(checkpoint=path, repeats=3)
        os.utime(path, (4e9, 4e9))  # Written in what is now the future.
        assert_same(unbroken, run(checkpoint=path, time_limit=600))
    [status] = umfi.checkpoint_status(path)
    assert 0.0 <= status.seconds_left < 60.0


def test_a_checkpoint_that_cannot_be_written_any_more_costs_no_result(tmp_path, monkeypatch):
    path = tmp_path / "run.umfi"
    unbroken = run(repeats=3, test=None)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    from umfi.execution import checkpoint as store

    real = store.open_file
    monkeypatch.setattr(store, "WRITE_SECONDS", 0.0)
    monkeypatch.setattr(store, "open_file", lambda file: real(file))
    calls = []

    def fail_after_begin(file):
        calls.append(file)
        return real(file) if len(calls) == 1 else refuse()

    monkeypatch.setattr(store, "open_file", fail_after_begin)
    with pytest.warns(RuntimeWarning, match=r"No space left on device|15 finished tasks could"):
        result = run(checkpoint=path, repeats=3, test=None)
    assert_same(unbroken, result)
    assert len(calls) > 3  # It was tried again.


def test_compare_keeps_all_its_methods_in_one_file(tmp_path, monkeypatch):
    X, y = table()
    path = tmp_path / "run.umfi"
    arguments = {"methods": ["ultra_marginal", "bivariate"], "powers": [POWER]}
    first = umfi.compare(X, y, checkpoint=path, **arguments)
    assert [run.label for run in read_checkpoint(path)] == ["ultra_marginal", "bivariate"]
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    again = umfi.compare(X, y, checkpoint=path, **arguments)
    pd.testing.assert_frame_equal(first.table, again.table, check_exact=True)


def test_partners_and_diagnose_go_on_as_well(tmp_path, monkeypatch):
    X, y = table()
    X = X.drop(columns="again")
    seed = {"random_state": 5}
    power = umfi.ForestPower(n_trees=20)
    found = umfi.partners(X, y, "x1", power=power, checkpoint=tmp_path / "p.umfi", **seed)
    removal = umfi.diagnose(X, y, checkpoint=tmp_path / "d.umfi", **seed)
    pd.testing.assert_frame_equal(
        found.table, umfi.partners(X, y, "x1", power=power, **seed).table, check_exact=True
    )
    pd.testing.assert_frame_equal(
        removal.table, umfi.diagnose(X, y, **seed).table, check_exact=True
    )
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    again = umfi.partners(X, y, "x1", power=power, checkpoint=tmp_path / "p.umfi")
    pd.testing.assert_frame_equal(found.table, again.table, check_exact=True)
    again = umfi.diagnose(X, y, checkpoint=tmp_path / "d.umfi")
    pd.testing.assert_frame_equal(removal.table, again.table, check_exact=True)
    assert umfi.checkpoint_status(tmp_path / "d.umfi")[0].result is None
    assert umfi.checkpoint_status(tmp_path / "p.umfi")[0].method == "partners"


def test_the_callers_data_is_not_changed(tmp_path):
    X, y = table()
    before = X.copy(), y.copy()
    umfi.bivariate(X, y, power=POWER, checkpoint=tmp_path / "run.umfi", executor="processes")
    pd.testing.assert_frame_equal(X, before[0])
    pd.testing.assert_series_equal(y, before[1])


def test_replace_makes_a_share_of_a_checkpoint():
    share = replace(umfi.Checkpoint("run.umfi"), share=(1, 2))
    assert share.file == Path("run.umfi").absolute()
    assert np.array_equal(share.share, (1, 2))


def test_a_power_that_changes_folders_does_not_move_the_checkpoint(tmp_path, monkeypatch):
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(tmp_path)

    def power(columns, y, rng):
        os.chdir(other)
        return rng.random()

    umfi.bivariate(X, y, power=power, executor="serial", random_state=0, checkpoint="run.umfi")
    assert os.listdir(other) == []
    assert sorted(os.listdir(tmp_path)) == ["other", "run.umfi"]
    [status] = umfi.checkpoint_status(tmp_path / "run.umfi")
    assert status.is_complete


@pytest.mark.parametrize(
    ("first", "second", "n_repeats", "has_test"),
    [
        ({"repeats": 1}, {"repeats": 4, "test": None}, 4, True),
        ({"repeats": 4, "test": None}, {"repeats": 1}, 4, True),
        ({"repeats": 2, "test": None}, {"repeats": 1, "test": None}, 2, False),
    ],
)
def test_status_shows_all_that_was_ever_asked_for(first, second, n_repeats, has_test, tmp_path):
    path = tmp_path / "run.umfi"
    base = {"power": umfi.ForestPower(n_trees=5), "subsample": None, "max_permutations": 19}
    run(checkpoint=path, **(base | first))
    run(checkpoint=path, **(base | second))
    [status] = umfi.checkpoint_status(path)
    assert status.result.scores["repeat"].nunique() == n_repeats
    assert ("p_value" in status.result.table) == has_test


def test_wider_contexts_are_not_forgotten_by_a_narrower_run(tmp_path):
    path = tmp_path / "run.umfi"
    X, y = table()
    for max_context in (2, 0):
        umfi.marginal_contribution(
            X, y, power=umfi.ForestPower(n_trees=5), max_context=max_context, random_state=0,
            checkpoint=path,
        )  # fmt: skip
    [status] = umfi.checkpoint_status(path)
    assert status.settings["max_context"] == 2
