"""Dask workers that die: the run finishes with the same numbers, or says what to do."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dask
import distributed
import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.execution.checkpoint import read_checkpoint
from umfi.execution.payload import _unpacked

POWER = umfi.ForestPower(n_trees=150)


@pytest.fixture(scope="module")
def table():
    X, y = umfi.datasets.simulate("correlation", n=600, random_state=1)
    rng = np.random.default_rng(0)
    return X.assign(**{f"noise{k}": rng.normal(size=600) for k in range(16)}), y


def run(table, **arguments):
    settings = {"power": POWER, "repeats": 30, "subsample": 0.9, "random_state": 5}
    return umfi.ultra_marginal(*table, **(settings | arguments))


def linger(columns, y, rng):
    """Score a table, but on workers take a while, until a file says that nobody kills any more."""
    value = float(np.mean(columns)) + rng.normal()
    permit = os.environ.get("UMFI_TEST_PERMIT")
    if permit and not os.path.exists(permit):
        time.sleep(0.2)
    return value


@pytest.mark.timeout(600)  # Busy machines take long to give birth to ten workers.
def test_a_run_outlives_ten_deaths_of_workers(table, tmp_path, monkeypatch):
    settings = {"power": linger, "repeats": 100}
    unbroken = run(table, **settings)
    path, permit = tmp_path / "run.umfi", tmp_path / "permit"
    monkeypatch.setenv("UMFI_TEST_PERMIT", str(permit))  # Workers are born with it.
    killed = []
    is_over = threading.Event()

    def kill(client):
        moments = random.Random(0)
        deadline = time.monotonic() + 400.0
        while len(killed) < 10 and not is_over.is_set() and time.monotonic() < deadline:
            time.sleep(moments.uniform(0.1, 0.8))
            pids = sorted(client.run(os.getpid, on_error="ignore").values())
            if len(pids) == 2 and path.exists():
                killed.append(moments.choice(pids))
                os.kill(killed[-1], signal.SIGKILL)
        permit.touch()

    with (
        # A cluster lets a worker go that is away so long after a death of it, and be it a new one.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        distributed.Client(cluster, set_as_default=False) as killers_client,
    ):
        killer = threading.Thread(target=kill, args=(killers_client,))
        killer.start()
        try:
            result = run(table, executor=client, checkpoint=path, **settings)
        finally:
            is_over.set()
            killer.join()
    assert len(set(killed)) == 10
    pd.testing.assert_frame_equal(unbroken.scores, result.scores, check_exact=True)
    again = run(table, checkpoint=path, **settings)
    pd.testing.assert_frame_equal(unbroken.scores, again.scores, check_exact=True)


@pytest.fixture
def workers():
    """A scheduler and two workers without anybody to restart them."""
    started = []
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for _ in range(2):
            command = [sys.executable, "-m", "distributed.cli.dask_worker"]
            options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
            started.append(
                subprocess.Popen(
                    [*command, cluster.scheduler_address, *options], stderr=subprocess.DEVNULL
                )
            )
        client.wait_for_workers(2, timeout=60)
        yield client, started
        for process in started:
            process.kill()
            process.wait()


def test_when_all_workers_are_gone_a_clear_error_says_so_and_the_checkpoint_is_whole(
    table, tmp_path, workers, monkeypatch
):
    monkeypatch.setattr("umfi.execution.dask.GRACE_SECONDS", 2.0)
    client, processes = workers
    path = tmp_path / "run.umfi"

    def kill():
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            if path.exists() and any(kept.answers for kept in read_checkpoint(path)):
                break
            time.sleep(0.1)
        for process in processes:
            process.kill()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with pytest.raises(umfi.RunError, match="no workers for 2 seconds") as caught:
        run(table, executor=client, checkpoint=path, repeats=5_000)
    killer.join()
    assert f"What is done is kept in {path}" in str(caught.value)
    [kept] = read_checkpoint(path)
    assert len(kept.answers["scores"]) > 0
    assert os.listdir(tmp_path) == ["run.umfi"]
    result = run(table, checkpoint=path, repeats=3)
    pd.testing.assert_frame_equal(result.scores, run(table, repeats=3).scores, check_exact=True)


def test_a_cluster_without_workers_is_waited_for_and_then_refused(table, monkeypatch):
    monkeypatch.setattr("umfi.execution.dask.GRACE_SECONDS", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        with pytest.raises(umfi.RunError, match="no workers"):
            run(table, executor=client)
        monkeypatch.setattr("umfi.execution.dask.GRACE_SECONDS", 60.0)
        timer = threading.Timer(1.0, lambda: cluster.scale(1))
        timer.start()
        result = run(table, executor=client, repeats=1)
        timer.join()
    pd.testing.assert_frame_equal(result.scores, run(table, repeats=1).scores, check_exact=True)


def test_a_closed_client_and_an_asynchronous_one_are_refused(table):
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        client = distributed.Client(cluster, set_as_default=False)
        client.close()
        with pytest.raises(umfi.RunError, match="client is closed"):
            run(table, executor=client)

    async def wait():
        async with distributed.Client(processes=False, asynchronous=True) as client:
            with pytest.raises(umfi.InputError, match="not asynchronous"):
                run(table, executor=client)

    # Other tests may have an event loop on this thread.
    with ThreadPoolExecutor(1) as other_thread:
        other_thread.submit(lambda: asyncio.run(wait())).result()


def test_the_client_in_use_is_taken_for_dask(table):
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        before = client.cluster
        result = run(table, executor="dask", repeats=1)
        assert client.status == "running"
        assert client.cluster is before
    pd.testing.assert_frame_equal(result.scores, run(table, repeats=1).scores, check_exact=True)


def test_nothing_is_left_on_the_cluster_after_a_run(table):
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        run(table, executor=client, repeats=1)
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline and (any(client.has_what().values()) or _unpacked):
            time.sleep(0.1)
        assert not any(client.has_what().values())
        assert not _unpacked  # The worker is a thread of this process.


def test_a_cluster_that_grows_with_its_work_is_given_some_to_grow():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    power = umfi.ForestPower(n_trees=5)
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        cluster.adapt(minimum=0, maximum=1, interval="200ms")
        found = umfi.bivariate(X, y, power=power, random_state=0, executor=client)
    expected = umfi.bivariate(X, y, power=power, random_state=0, executor="serial")
    pd.testing.assert_frame_equal(found.scores, expected.scores, check_exact=True)
