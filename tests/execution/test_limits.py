"""Time limits: a valid result of what was reached, of every method."""

import itertools
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.errors import StopCode
from umfi.execution import Budget, Runner, read_seconds

POWER = umfi.ForestPower(n_trees=25)


class SlowPower:
    """A forest that takes its time."""

    measures = POWER.measures

    def __init__(self, seconds=0.02):
        self.seconds = seconds

    def score(self, columns, target, seed):
        time.sleep(self.seconds)
        return POWER.score(columns, target, seed)


@pytest.fixture(scope="module")
def table():
    X, y = umfi.datasets.simulate("correlation", n=120, random_state=1)
    rng = np.random.default_rng(0)
    return X.assign(**{f"noise{k}": rng.normal(size=120) for k in range(6)}), y


@pytest.fixture
def ticking(monkeypatch):
    """Take a second for each look at the clock, so that limits mean the same on any machine."""
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(looks)))
    monkeypatch.setattr("umfi.execution.limits.time", clock)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("1.5m", 90),
        ("1h30m", 5400),
        ("2d", 172_800),
        (7, 7.0),
        (" 1 h ", 3600),
    ],
)
def test_times_are_read_as_people_write_them(text, seconds):
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("bad", ["", "soon", "-3", -1, 0, float("nan"), True, "1x", [3]])
def test_what_is_no_time_is_refused_before_any_work(bad, table):
    with pytest.raises(umfi.InputError, match="is not a time"):
        umfi.bivariate(*table, time_limit=bad)


def test_without_a_limit_time_is_never_up():
    assert Budget().seconds_left == float("inf")
    assert not Budget().is_over
    assert Budget(1e-9).share(2).is_over


def test_why_a_run_stopped_is_a_kind_beside_a_sentence():
    runner = Runner(time_limit=1e-9)
    assert runner.describe_stop().code is StopCode.TIME_LIMIT
    assert str(runner.describe_stop()) == "The time limit of 1e-09 seconds was reached"
    runner.budget.is_interrupted = True
    assert runner.describe_stop().code is StopCode.INTERRUPTED
    assert Runner().describe_stop() is None


@pytest.mark.parametrize("method", ["ultra_marginal", "ablation", "bivariate", "decompose"])
@pytest.mark.parametrize("executor", ["threads", "serial"])
def test_scores_that_were_reached_are_those_of_a_full_run(method, executor, table):
    run = getattr(umfi, method)
    arguments = {"power": POWER, "repeats": 50, "subsample": 0.5, "random_state": 3}
    run(
        *table, **{**arguments, "repeats": 1}, executor=executor
    )  # Compiles, out of the time taken.
    start = time.monotonic()
    full = run(*table, **arguments, executor=executor)
    limit = round((time.monotonic() - start) / 3, 3)
    part = run(*table, **arguments, time_limit=limit, executor=executor)
    assert 0 < len(part.scores) < len(full.scores)
    keys = ["feature", "repeat"]
    both = part.scores.merge(full.scores, on=keys, suffixes=("", "_full"))
    assert len(both) == len(part.scores)
    assert (both["importance"] == both["importance_full"]).all()
    [note] = [note for note in part.notes if note.startswith("The time limit of ")]
    assert "of 50 repeats are done" in note
    assert part.table["importance"].notna().all()
    repr(part)
    part.plot()


def test_a_limit_that_is_not_reached_changes_nothing(table):
    arguments = {"power": POWER, "repeats": 2, "random_state": 3, "test": "permutation"}
    full = umfi.ultra_marginal(*table, **arguments)
    part = umfi.ultra_marginal(*table, **arguments, time_limit="1h")
    pd.testing.assert_frame_equal(full.scores, part.scores, check_exact=True)
    assert full.settings == part.settings


def test_time_goes_to_every_feature_once_and_then_to_those_that_are_undecided(table, monkeypatch):
    """The clock is one of tasks: each takes a second, whatever it does."""
    seconds = iter(range(10**6))
    clock = SimpleNamespace(monotonic=lambda: next(seconds) / 4)
    monkeypatch.setattr("umfi.execution.limits.time", clock)
    done = []

    class NotingRunner(Runner):
        def run(self, stage, work, names, **arguments):
            answers = super().run(stage, work, names, **arguments)
            done.append((stage, set(answers)))
            return answers

    monkeypatch.setattr("umfi.importance.study.Runner", NotingRunner)
    result = umfi.ultra_marginal(
        *table,
        power=umfi.ForestPower(n_trees=60),
        repeats=1_000,
        test="permutation",
        max_permutations=9_999,
        random_state=3,
        time_limit=30.0,
        n_jobs=1,
    )
    stages = list(dict.fromkeys(stage for stage, names in done if names))
    assert stages == ["scores", "test of importance"]
    assert (result.scores["repeat"] == 0).all()
    assert len(result.importances) == 10
    counts = result.tests.set_index("feature")["n_permutations"]
    # x1, x2 and x3 are related, which few batches show; the others are shown to be not.
    assert counts.min() > 0
    assert counts.max() > counts[["x1", "x2", "x3"]].min()
    [note] = [note for note in result.notes if note.startswith("The time limit")]
    assert "undecided" in note


def test_features_that_were_not_reached_are_named_and_never_related(table):
    result = umfi.ultra_marginal(
        *table, power=SlowPower(0.1), test="permutation", random_state=3, time_limit=0.5, n_jobs=1
    )
    [note] = [note for note in result.notes if note.startswith("The time limit")]
    assert "there is no importance of" in note
    assert "'noise5'" in note
    assert (result.tests["p_value"] == 1.0).all()
    assert result.related() == []
    assert len(result.table) < 10


def test_a_limit_that_is_over_before_it_begins_still_gives_something(table):
    result = umfi.ultra_marginal(*table, power=POWER, time_limit=1e-9, random_state=0, n_jobs=1)
    assert list(result.importances.index) == ["x1"]


def test_the_limit_is_kept_within_a_task_or_two(table):
    X, y = table
    slow = SlowPower(0.05)
    result = umfi.bivariate(X, y, power=slow, repeats=10_000, time_limit=1.0, n_jobs=2)
    # Two threads cannot sleep more often in a second, and a group is under way when it is over.
    assert 0 < len(result.scores) <= 2 * (1.0 / 0.05) + 4


@pytest.mark.usefixtures("ticking")
def test_marginal_contribution_takes_complete_repeats_or_smaller_sets(table):
    X, y = table
    arguments = {"power": POWER, "random_state": 3, "n_jobs": 1}
    full = umfi.marginal_contribution(X, y, max_context=1, repeats=5, **arguments)
    part = umfi.marginal_contribution(X, y, max_context=1, repeats=5, **arguments, time_limit=500)
    n_done = part.n_repeats
    assert 2 <= n_done < 5
    expected = full.scores[full.scores["repeat"] < n_done].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.scores, expected, check_exact=True)
    smaller = umfi.marginal_contribution(X, y, max_context=3, **arguments, time_limit=300)
    [note] = [note for note in smaller.notes if note.startswith("The time limit")]
    assert "sets S of at most one feature were" in note
    pd.testing.assert_frame_equal(
        smaller.scores, full.scores[full.scores["repeat"] == 0], check_exact=True
    )
    with pytest.raises(umfi.InputError, match="before any feature had its importance"):
        umfi.marginal_contribution(X, y, **arguments, time_limit=5)


@pytest.mark.usefixtures("ticking")
def test_permutation_takes_the_trees_that_were_grown(table):
    power = umfi.ForestPower(n_trees=1_000)
    result = umfi.permutation(*table, power=power, random_state=3, time_limit=20, n_jobs=1)
    [note] = [note for note in result.notes if note.startswith("The time limit")]
    assert "of 1000 trees" in note
    assert result.importances.idxmax() == "x2"


@pytest.mark.usefixtures("ticking")
def test_partners_takes_complete_pairs(table):
    arguments = {"power": POWER, "random_state": 3, "n_jobs": 1}
    full = umfi.partners(*table, "x1", **arguments)
    part = umfi.partners(*table, "x1", **arguments, time_limit=200)
    assert 2 <= len(part.table) < len(full.table)
    assert any("pairs are missing" in note for note in part.notes)
    keys = ["feature", "partner"]
    both = part.table.merge(full.table, on=keys, suffixes=("", "_full"))
    assert (both["interaction"] == both["interaction_full"]).all()
    with pytest.raises(umfi.InputError, match="before any pair was complete"):
        umfi.partners(*table, "x1", **arguments, time_limit=10)


@pytest.mark.usefixtures("ticking")
def test_diagnose_takes_complete_features(table):
    X, _ = table
    full = umfi.diagnose(X, random_state=3, n_jobs=1)
    part = umfi.diagnose(X, random_state=3, n_jobs=1, time_limit=20)
    assert 2 <= len(part.table) < len(full.table)
    pd.testing.assert_frame_equal(part.table, full.table.head(len(part.table)), check_exact=True)
    assert "rows are missing" in repr(part)
    with pytest.raises(umfi.InputError, match="before any feature was diagnosed"):
        umfi.diagnose(X, random_state=3, n_jobs=1, time_limit=3)


@pytest.mark.usefixtures("ticking")
def test_compare_shares_the_time_between_its_methods(table):
    methods = ["ultra_marginal", "bivariate"]
    found = umfi.compare(
        *table, methods=methods, powers=[POWER], repeats=100, time_limit=600, n_jobs=1
    )
    for result in found.results.values():
        assert 2 <= result.n_repeats < 100


def test_a_checkpoint_takes_up_where_the_limit_was_reached(table, tmp_path):
    arguments = {"power": SlowPower(0.005), "repeats": 30, "subsample": 0.5, "random_state": 3}
    full = umfi.bivariate(*table, **arguments)
    n_calls = 0
    while True:
        result = umfi.bivariate(
            *table, **arguments, checkpoint=tmp_path / "run.umfi", time_limit=0.3
        )
        n_calls += 1
        if not any(note.startswith("The time limit") for note in result.notes):
            break
    assert n_calls > 1
    pd.testing.assert_frame_equal(full.scores, result.scores, check_exact=True)


def test_a_runner_without_tasks_hires_nobody():
    runner = Runner(executor="processes")
    assert dict(runner.run("nothing", lambda name: name, [])) == {}
    assert runner._pool is None
    runner.close()
