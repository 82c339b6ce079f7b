"""Serial, threads, processes, Dask and other executors: the same numbers to the bit."""

import os
import signal
import subprocess
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import distributed
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import umfi
from tests.parity.test_workers import METHODS
from umfi.execution import Runner
from umfi.execution.payload import (
    MIN_LARGE_BYTES,
    _folder_prefix,
    forget_payloads,
    pack,
    run_sent,
)

POWER = umfi.ForestPower(n_trees=25)
FRAMES = ("scores", "tests", "part_scores", "part_tests")


@pytest.fixture(scope="module")
def table():
    X, y = umfi.datasets.simulate("correlation", n=400, random_state=1)
    rng = np.random.default_rng(0)
    # Large enough for the table to travel beside the pickle.
    noise = {f"noise{k}": rng.normal(size=400) for k in range(24)}
    assert MIN_LARGE_BYTES < 8 * 400 * 28
    return X.assign(**noise), y


@pytest.fixture(scope="module")
def small_table():
    X, y = umfi.datasets.simulate("correlation", n=120, random_state=1)
    return X.assign(flag=X["x2"] > 0, soil=np.where(X["x3"] > 0.2, "clay", "sand")), y


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


class RemoteExecutor(Executor):
    """Nothing is known of its workers: they are processes that see nothing of ours."""

    def __init__(self):
        self.pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))

    def submit(self, function, /, *arguments, **named) -> Future:
        return self.pool.submit(function, *arguments, **named)


def assert_same(first, second):
    for name in FRAMES:
        one, other = getattr(first, name), getattr(second, name)
        assert (one is None) == (other is None)
        if one is not None:
            pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert first.settings == second.settings


@pytest.mark.parametrize("method", METHODS)
def test_processes_and_dask_give_the_numbers_of_one_thread(
    method, small_table, client, monkeypatch
):
    # All arrays stand beside the pickle, so that workers have all of them read-only.
    monkeypatch.setattr("umfi.execution.payload.MIN_LARGE_BYTES", 1)
    run = getattr(umfi, method)
    X, y = small_table
    if method in ("ultra_marginal", "bivariate", "decompose"):
        arguments = METHODS[method] | {"test": "permutation", "max_permutations": 20}
    else:
        arguments = METHODS[method]
    arguments = arguments | {"power": POWER, "random_state": 5}
    serial = run(X, y, executor="serial", **arguments)
    assert_same(serial, run(X, y, executor="processes", n_jobs=2, **arguments))
    assert_same(serial, run(X, y, executor=client, **arguments))


@pytest.mark.parametrize(
    "make",
    [
        lambda client: ThreadPoolExecutor(3),
        lambda client: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
        lambda client: RemoteExecutor(),
        lambda client: client.scheduler.address,
        lambda client: "threads",
        lambda client: "dask",
    ],
    ids=["own threads", "own processes", "remote", "address", "threads", "local cluster"],
)
def test_all_executors_give_the_numbers_of_one_thread(make, table, client):
    arguments = {"power": POWER, "random_state": 5, "repeats": 2, "subsample": 0.8, "n_jobs": 2}
    serial = umfi.ultra_marginal(*table, executor="serial", **arguments)
    assert_same(serial, umfi.ultra_marginal(*table, executor=make(client), **arguments))


@pytest.mark.parametrize("power", ["linear", Ridge(), "knn"])
def test_powers_and_closed_forms_travel(power, table, client):
    X, y = table
    arguments = {"power": power, "random_state": 5, "repeats": 20, "subsample": 0.5}
    if power == "linear":
        arguments["test"] = "permutation"
    X = X.iloc[:, :6]
    serial = umfi.ultra_marginal(X, y, executor="serial", **arguments)
    assert_same(serial, umfi.ultra_marginal(X, y, executor=client, **arguments))
    assert_same(serial, umfi.ultra_marginal(X, y, executor="processes", **arguments))


def test_closed_forms_of_many_columns_do_not_depend_on_who_makes_them(tmp_path):
    """Many enough for linear algebra to go to several threads, unless it is kept from that."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 200))
    y = X[:, 0] + rng.normal(size=500)
    arguments = {"power": "linear", "random_state": 5, "max_permutations": 20}
    serial = umfi.ultra_marginal(X, y, executor="serial", test="permutation", **arguments)
    path = tmp_path / "run.umfi"
    umfi.ultra_marginal(X, y, checkpoint=path, **arguments)
    went_on = umfi.ultra_marginal(X, y, checkpoint=path, test="permutation", **arguments)
    assert_same(serial, went_on)
    sent = umfi.ultra_marginal(X, y, executor="processes", test="permutation", **arguments)
    assert_same(serial, sent)


@pytest.mark.parametrize("make", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_that_was_shut_down_is_named_as_the_reason(make, table):
    executor = make(1)
    executor.shutdown()
    with pytest.raises(umfi.RunError, match=r"takes no more work.*pass a new one"):
        umfi.bivariate(*table, power=POWER, random_state=5, executor=executor)


def test_a_full_temporary_folder_is_named(table, monkeypatch):
    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("umfi.execution.payload.Path.write_bytes", refuse)
    with pytest.raises(umfi.RunError, match="TMPDIR"):
        umfi.bivariate(*table, power=POWER, random_state=5, executor="processes")


def test_folders_of_killed_runs_are_removed_and_those_of_others_stay(table, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    kept = {f"{_folder_prefix()}{os.getpid()}-going_on", f"umfi-elsewhere-{gone.pid}-going_on"}
    for name in (*kept, f"{_folder_prefix()}{gone.pid}-left"):
        (tmp_path / name).mkdir()
    umfi.bivariate(*table, power=POWER, random_state=5, executor="processes", n_jobs=1)
    assert set(os.listdir(tmp_path)) == kept


def test_functions_of_the_caller_travel(table, client):
    weight = 2.0

    def power(columns, y, rng):
        return weight * columns.shape[1] + rng.random()

    serial = umfi.bivariate(*table, power=power, random_state=5, executor="serial")
    assert_same(serial, umfi.bivariate(*table, power=power, random_state=5, executor=client))


def test_partners_and_diagnose_too(small_table, client):
    X, y = small_table
    power = umfi.ForestPower(n_trees=10)
    for call in (
        lambda executor: umfi.partners(X, y, "x1", power=power, random_state=5, executor=executor),
        lambda executor: umfi.diagnose(X, y, random_state=5, executor=executor),
    ):
        pd.testing.assert_frame_equal(call("serial").table, call(client).table, check_exact=True)


def test_the_table_is_sent_once_for_all_stages(table, client, monkeypatch):
    sent = []
    real = client.scatter

    def scatter(data, **arguments):
        sent.append(memoryview(data).nbytes)
        return real(data, **arguments)

    monkeypatch.setattr(client, "scatter", scatter)
    X, y = table
    umfi.ultra_marginal(X, y, power=POWER, random_state=5, test="permutation", executor=client)
    assert sum(size >= X.to_numpy().nbytes for size in sent) == 1
    assert sum(sent) < 2 * X.to_numpy().nbytes


def test_small_tasks_are_sent_in_groups_and_named(client, monkeypatch):
    keys = []
    real = client.submit

    def submit(*arguments, key, **named):
        keys.append(key)
        return real(*arguments, key=key, **named)

    monkeypatch.setattr(client, "submit", submit)
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=1)
    umfi.bivariate(X, y, power=POWER, repeats=300, random_state=0, executor=client)
    assert len(keys) < 100  # Of 1,200 tasks.
    assert keys[0].startswith("bivariate of x1, scores, repeat 0")
    assert any(" more-" in key for key in keys)


def test_a_dead_process_is_replaced(table, tmp_path):
    """A task kills its process the first time that it is tried."""
    mark = tmp_path / "died"

    def power(columns, y, rng):
        if columns.shape[1] > 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(rng.random())

    X, y = table
    arguments = {"power": power, "random_state": 5, "repeats": 4}
    result = umfi.ultra_marginal(X, y, executor="processes", n_jobs=2, **arguments)
    assert mark.exists()
    assert_same(umfi.ultra_marginal(X, y, executor="serial", **arguments), result)


def test_processes_that_die_again_and_again_are_an_error(table):
    def power(columns, y, rng):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(umfi.RunError, match=r"Processes died \d+ times without an answer"):
        umfi.bivariate(*table, power=power, random_state=5, executor="processes", n_jobs=2)


def test_a_given_executor_that_breaks_is_an_error(table):
    def power(columns, y, rng):
        os.kill(os.getpid(), signal.SIGKILL)

    executor = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with pytest.raises(umfi.RunError, match="pass a new one"):
        umfi.bivariate(*table, power=power, random_state=5, executor=executor)


def test_errors_on_workers_reach_the_caller_with_their_story(table, client):
    def power(columns, y, rng):
        raise ZeroDivisionError("of this power")

    for executor in ("processes", client):
        with pytest.raises(ZeroDivisionError, match="of this power") as caught:
            umfi.bivariate(*table, power=power, random_state=5, executor=executor)
        assert "in power" in "".join(caught.value.__notes__)


def test_errors_that_cannot_travel_are_told_in_words(table):
    def power(columns, y, rng):
        class Odd(Exception):  # noqa: N818
            def __reduce__(self):
                raise TypeError

        raise Odd("inside")

    with pytest.raises(RuntimeError, match="Odd: inside"):
        umfi.bivariate(*table, power=power, random_state=5, executor="processes")


def test_what_cannot_be_pickled_is_refused_in_words(table):
    lock = threading.Lock()

    def power(columns, y, rng):
        with lock:
            return 0.0

    with pytest.raises(umfi.RunError, match="cannot be sent to other processes"):
        umfi.bivariate(*table, power=power, executor="processes")


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ("process", "did you mean 'processes'"),
        (3, "is not an executor"),
        (object(), "is not an executor"),
        ("tcp://127.0.0.1:1", "No Dask scheduler answers"),
    ],
)
def test_executors_that_are_none_are_refused(executor, message, table, monkeypatch):
    monkeypatch.setattr("umfi.execution.dask.CONNECT_SECONDS", 0.5)
    with pytest.raises(umfi.InputError, match=message):
        umfi.bivariate(*table, executor=executor)


def test_other_code_on_a_worker_is_refused(table, monkeypatch):
    monkeypatch.setattr("umfi.execution.payload.source_digest", lambda: "other")
    with pytest.raises(umfi.RunError, match="install the same versions everywhere"):
        umfi.bivariate(*table, executor="processes", n_jobs=2)


def test_large_arrays_stand_beside_the_pickle_once():
    table = np.ones((1_000, 100), order="F")
    small = np.ones(3)

    def work(name):
        return float(table[0, 0] + small[0])

    first, second = pack(work), pack(lambda name: table.sum() + work(name))
    assert [array.place for array in first.arrays] == [array.place for array in second.arrays]
    assert len(first.head) < 5_000


def test_a_worker_shares_what_it_was_sent_and_cannot_change_it():
    table = np.ones((1_000, 100), order="F")
    payload = pack(lambda name: (table.ctypes.data, table.flags.writeable))
    buffer = bytearray(payload.arrays[0].data)
    outcome = run_sent(payload.key, (payload.head, [buffer]), [()])
    forget_payloads([payload.key])
    assert outcome.answers == [(np.frombuffer(buffer, np.uint8).ctypes.data, False)]


def count_blas_threads(name):
    from threadpoolctl import threadpool_info

    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


@pytest.mark.parametrize("executor", ["serial", "threads", "processes", "dask"])
def test_linear_algebra_has_one_thread_in_every_task(executor, client):
    before = count_blas_threads(())
    runner = Runner(executor=client if executor == "dask" else executor, n_jobs=2)
    answers = runner.run("counts", count_blas_threads, [(k,) for k in range(6)])
    runner.close()
    assert set(answers.values()) == {1}
    assert count_blas_threads(()) == before


def test_many_tasks_of_one_runner_keep_to_their_stages(client):
    runner = Runner(executor=client)
    first = runner.run("squares", lambda name: name[0] ** 2, [(k,) for k in range(50)])
    second = runner.run("cubes", lambda name: name[0] ** 3, [(k,) for k in range(50)])
    runner.close()
    assert dict(first) == {(k,): k**2 for k in range(50)}
    assert dict(second) == {(k,): k**3 for k in range(50)}
