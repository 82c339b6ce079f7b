"""Long runs on several workers: what scheduling costs, memory, speed, and what a cluster would do.

``python benchmarks/cluster.py overhead``, ``memory``, ``speed``, ``workers`` or ``plan``; the last
one takes what the others measured on this machine and says what 100 machines would do for 100,000
features, by a formula and by a simulated run of the scheduler.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import psutil

import umfi
from umfi.execution import Budget, Runner
from umfi.execution.checkpoint import Checkpoint, read_checkpoint
from umfi.execution.executors import GROUP_SECONDS, MAX_GROUPS_PER_SECOND, WorkerPool, hire
from umfi.execution.tasks import Outcome, schedule

MEGABYTE = 2**20


@contextmanager
def cluster(n_workers: int, *, is_loaded: bool = True) -> Iterator[distributed.Client]:
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=None
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        if is_loaded:
            client.run(_load)
        yield client


def _load() -> None:
    """Import the library and load its kernels."""
    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    umfi.ultra_marginal(X, y, n_jobs=1, test="permutation", max_permutations=9)


def overhead() -> None:
    """1,000 features × 50 repeats: what is not spent in tasks, as a proportion of what is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1_000))
    y = X[:, 0] + rng.normal(size=200)
    arguments = {"repeats": 50, "random_state": 0, "power": umfi.ForestPower(n_trees=40)}
    _load()
    for name in ("threads", "processes", "dask"):
        with tempfile.TemporaryDirectory() as folder, cluster(2) as client:
            path = Path(folder) / "run.umfi"
            executor: Any = client if name == "dask" else name
            umfi.bivariate(X[:, :20], y, executor=executor, n_jobs=2)  # Starting is not scheduling.
            start = time.perf_counter()
            umfi.bivariate(X, y, executor=executor, n_jobs=2, checkpoint=path, **arguments)
            seconds = time.perf_counter() - start
            [run] = read_checkpoint(path)
            work = sum(run.seconds["scores"].values())
            proportion = (2 * seconds - work) / work
            print(
                f"{name}: {len(run.answers['scores']):,} tasks of {1e3 * work / 5e4:.2f} ms in "
                f"{seconds:.1f} s, {path.stat().st_size / MEGABYTE:.1f} MB; beside the work "
                f"{proportion:.1%} of it",
                flush=True,
            )


def memory() -> None:
    """100,000 tasks: the memory of everybody after each tenth of them."""
    for name in ("threads", "dask"):
        with tempfile.TemporaryDirectory() as folder, cluster(2) as client:
            runner = Runner(executor=client if name == "dask" else "threads", n_jobs=2)
            runner.keep_in(Checkpoint(Path(folder) / "run.umfi"), dict, lambda: {"settings": {}})
            us = psutil.Process()
            workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
            seen = []
            for tenth in range(10):
                names = [(index, repeat) for repeat in range(10) for index in range(1_000)]
                named = [(index, 10 * tenth + repeat) for index, repeat in names]
                runner.run("scores", _small_work, named)
                sizes = [one.memory_info().rss / MEGABYTE for one in (us, *workers)]
                seen.append(sizes)
            runner.close()
            first, last = np.array(seen[0]), np.array(seen[-1])
            print(
                f"{name}: after 10,000 tasks {np.round(first)} MB (caller with scheduler, workers),"
                f" after 100,000 {np.round(last)} MB",
                flush=True,
            )


def _small_work(name: tuple[Any, ...]) -> dict[str, list[float]]:
    numbers = np.random.default_rng(int(name[0])).random(3)
    return {str(name[0]): [float(number) for number in numbers]}


def speed() -> None:
    """Two workers against one, taking turns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 60))
    X[:, 1:] += 0.5 * X[:, :1]
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=500)
    _load()

    def run(executor: Any, n_jobs: int) -> float:
        start = time.perf_counter()
        umfi.ultra_marginal(
            X, y, repeats=6, random_state=0, executor=executor, n_jobs=n_jobs, progress=False
        )
        return time.perf_counter() - start

    with cluster(1) as one, cluster(2) as two:
        pairs: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
            "dask": (lambda: run(one, 1), lambda: run(two, 2)),
            "threads": (lambda: run("threads", 1), lambda: run("threads", 2)),
        }
        for name, (first, second) in pairs.items():
            ratios = []
            for _ in range(3):
                alone = first()
                ratios.append(alone / second())
            print(f"{name}: one worker {alone:.1f} s, two {np.round(ratios, 2)} times as fast")
    run("processes", 1)
    run("processes", 2)
    ratios = [run("processes", 1) / run("processes", 2) for _ in range(3)]
    print(f"processes: two {np.round(ratios, 2)} times as fast (starting them included)")


def workers() -> None:
    """Print the peak memory of a worker beside the size of the table."""
    for n_rows, n_columns in ((1_000, 4_000), (20_000, 400), (20_000, 2_000)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, n_columns))
        X[:, 1:] += 0.5 * X[:, :1]
        y = X[:, 0] + rng.normal(size=n_rows)
        size = X.nbytes / MEGABYTE
        for remover, name in itertools.product(("linear", "transport"), ("processes", "dask")):
            with cluster(1, is_loaded=False) as client:
                ours = {one.pid for one in psutil.Process().children(recursive=True)}
                umfi.ultra_marginal(
                    X,
                    y,
                    remover=remover,
                    power=umfi.ForestPower(n_trees=10),
                    random_state=0,
                    test="permutation",
                    time_limit=12,
                    n_jobs=1,
                    executor=client if name == "dask" else "processes",
                )
                everybody = {one.pid for one in psutil.Process().children(recursive=True)}
                [worker] = client.run(os.getpid).values()
                peaks = [_peak_memory(pid) for pid in everybody - ours]
                peak = _peak_memory(worker) if name == "dask" else max(peaks)
            hire(1).shutdown(kill_workers=True)
            print(
                f"{n_rows:,} × {n_columns:,}, {remover}, {name}: table {size:.0f} MB, peak "
                f"{peak:.0f} MB, limit {1.5 * size + 300:.0f} MB",
                flush=True,
            )


def _peak_memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


class SimulatedPool(WorkerPool):
    """Workers that are only reckoned with: the scheduler is the real one, time is not.

    Parameters
    ----------
    n_workers : int
    task_seconds : float
        What a task takes in the mean; each takes more or less, by a gamma distribution.
    group_cost : float
        What sending a group and taking in its answers costs the one who schedules.
    latency : float
        What a message takes on its way.
    """

    def __init__(
        self, n_workers: int, task_seconds: float, group_cost: float, latency: float
    ) -> None:
        super().__init__(None, n_workers)
        self.group_seconds = max(GROUP_SECONDS, n_workers / MAX_GROUPS_PER_SECOND)
        self.task_seconds, self.group_cost, self.latency = task_seconds, group_cost, latency
        self.now = 0.0
        self.free = [0.0] * n_workers
        self.ends: list[tuple[float, int, Future[Outcome], Outcome]] = []
        self.rng = np.random.default_rng(0)
        self.n_groups = 0

    def submit(self, work: Any, names: Any, label: str) -> Future[Outcome]:
        """Reckon when the group will end."""
        self.now += self.group_cost / 2
        self.n_groups += 1
        seconds = self.rng.gamma(10.0, self.task_seconds / 10.0, len(names)).tolist()
        start = max(heapq.heappop(self.free), self.now + self.latency)
        end = start + sum(seconds)
        heapq.heappush(self.free, end)
        future: Future[Outcome] = Future()
        outcome = Outcome([0] * len(names), seconds, None)
        heapq.heappush(self.ends, (end + self.latency, self.n_groups, future, outcome))
        if len(self.ends) == self.n_workers + self.n_ahead or self.n_groups == 1:
            self._finish_next()
        return future

    def _finish_next(self) -> None:
        end, _, future, outcome = heapq.heappop(self.ends)
        self.now = max(self.now, end)
        future.set_result(outcome)

    def collect(self, future: Future[Outcome]) -> Outcome:
        """Return the answers, and let the group that ends next be finished."""
        self.now += self.group_cost / 2
        if self.ends:
            self._finish_next()
        return future.result()


def simulate(n_tasks: int, pool: SimulatedPool) -> float:
    """Return how long a run takes by the simulated clock."""
    names = [(number,) for number in range(n_tasks)]
    for _ in schedule(pool, len, names, Budget()):
        pass
    return pool.now


def plan() -> None:
    """Print what 100 machines of 16 cores would do for 100,000 features of 1,000 rows."""
    rng = np.random.default_rng(0)
    n_rows, n_features, n_cores = 1_000, 100_000, 1_600
    X = rng.normal(size=(n_rows, n_features))
    y = X[:, 0] + rng.normal(size=n_rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.umfi"
        umfi.ultra_marginal(
            X,
            y,
            remover="linear",
            random_state=0,
            n_jobs=1,
            time_limit=60,
            checkpoint=path,
        )
        [run] = read_checkpoint(path)
    task_seconds = float(np.median(list(run.seconds["scores"].values())))
    group_cost, latency = _measure_messages()
    n_tasks = 5 * n_features
    print(
        f"a task {task_seconds:.1f} s, a group {1e3 * group_cost:.1f} ms, a message {latency:.4f} s"
    )
    size = max(1, int(max(GROUP_SECONDS, n_cores / MAX_GROUPS_PER_SECOND) / task_seconds))
    n_groups = n_tasks / size
    by_work = n_tasks * task_seconds / n_cores
    by_scheduler = n_groups * group_cost
    formula = max(by_work, by_scheduler) + 2 * size * task_seconds
    pool = SimulatedPool(n_cores, task_seconds, group_cost, latency)
    simulated = simulate(n_tasks, pool)
    print(
        f"{n_tasks:,} tasks on {n_cores:,} cores: work {by_work / 3600:.2f} h, scheduling "
        f"{by_scheduler / 3600:.2f} h, formula {formula / 3600:.2f} h, simulated "
        f"{simulated / 3600:.2f} h in {pool.n_groups:,} groups"
    )
    for n_workers in (2, 16, 160, 1_600, 16_000):
        pool = SimulatedPool(n_workers, task_seconds, group_cost, latency)
        n_some = min(n_tasks, 200 * n_workers)
        seconds = simulate(n_some, pool)
        print(f"{n_workers:,} cores: {n_some * task_seconds / seconds:,.0f} times one")
    # The same simulation of what was measured: two workers on this machine.
    for seconds_each in (0.005, 0.1):
        _check_simulation(seconds_each, group_cost, latency)


def _measure_messages() -> tuple[float, float]:
    """Return what a group costs the caller and the scheduler, and a message on its way."""
    with cluster(2) as client:
        n_groups = 2_000
        runner = Runner(executor=client)
        runner.run("first", _sleep, [(k, 0.0) for k in range(4)])
        start = time.perf_counter()
        futures = [client.submit(_nothing, k, pure=False) for k in range(n_groups)]
        client.gather(futures)
        group_cost = (time.perf_counter() - start) / n_groups
        start = time.perf_counter()
        for k in range(200):
            client.submit(_nothing, k, pure=False).result()
        latency = (time.perf_counter() - start) / 400
        runner.close()
    return group_cost, latency


def _nothing(number: int) -> int:
    return number


def _sleep(name: tuple[Any, ...]) -> int:
    time.sleep(float(name[1]))
    return 0


def _check_simulation(seconds_each: float, group_cost: float, latency: float) -> None:
    n_tasks = int(20 / seconds_each)
    with cluster(2) as client:
        runner = Runner(executor=client)
        runner.run("first", _sleep, [(k, 0.0) for k in range(4)])
        start = time.perf_counter()
        runner.run("tasks", _sleep, [(k, seconds_each) for k in range(n_tasks)])
        measured = time.perf_counter() - start
        runner.close()
    simulated = simulate(n_tasks, SimulatedPool(2, seconds_each, group_cost, latency))
    print(
        f"{n_tasks:,} tasks of {seconds_each} s on two workers: measured {measured:.1f} s, "
        f"simulated {simulated:.1f} s"
    )


PARTS = {part.__name__: part for part in (overhead, memory, speed, workers, plan)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    PARTS[parser.parse_args().part]()


if __name__ == "__main__":
    main()
