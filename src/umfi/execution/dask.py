"""Dask clusters: the table is sent once to each worker, and lost workers are borne.

Dask's own face of an executor is not used: its futures do not say whether a worker was lost, and
cancel what has begun.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import distributed
import numpy as np
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from umfi.errors import InputError, RunError
from umfi.execution.executors import (
    GROUP_SECONDS,
    MAX_GROUPS_PER_SECOND,
    MAX_LOSSES,
    RemotePool,
    count_workers,
)
from umfi.execution.payload import Payload, forget_payloads, run_sent
from umfi.execution.tasks import LostWorkError, Outcome, TaskName, Work

__all__ = ["find_dask_pool", "refuse_client"]

# How long a cluster may be without any worker, as when all are being replaced.
GRACE_SECONDS = 60.0
CONNECT_SECONDS = 30.0
# How often workers are counted.
COUNT_SECONDS = 5.0
# The scheduler cannot be asked now, or what was asked for went away with a worker.
UNREACHABLE = (OSError, TimeoutError, RuntimeError, FutureCancelledError)


def refuse_client(client: Any) -> None:
    """Raise if this is not a client that can be waited for."""
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(
            f"executor={client!r} cannot be used: pass a dask.distributed.Client(...) that is not "
            "asynchronous."
        )


def find_dask_pool(n_jobs: int | None, executor: Any) -> DaskPool:
    """Return the workers of a client, of the address of a scheduler, or of "dask".

    "dask" is the client that is in use, if there is one, and otherwise a cluster on this machine.
    """
    if not isinstance(executor, str):
        return DaskPool(executor)
    if executor == "dask":
        with suppress(ValueError):
            return DaskPool(distributed.get_client())
        cluster = distributed.LocalCluster(
            n_workers=count_workers(n_jobs), threads_per_worker=1, dashboard_address=":0"
        )
        return DaskPool(distributed.Client(cluster, set_as_default=False), cluster)
    try:
        client = distributed.Client(executor, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"No Dask scheduler answers at {executor!r} ({error}): check the address."
        ) from None
    return DaskPool(client, client)


class DaskPool(RemotePool):
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    own : Client or Cluster, optional
        What to close in the end.
    """

    def __init__(self, client: distributed.Client, own: Any = None) -> None:
        super().__init__(client, 1)
        self.own = own
        # Arrays by place: where they are on the cluster, and themselves, because others could take
        # their place in memory.
        self.sent: dict[tuple[int, int], tuple[Any, memoryview]] = {}
        self.key_of: dict[str, str] = {}
        self.used: set[str] = set()
        self.n_losses = 0
        self.alone_since: float | None = None
        try:
            self._wait_for_workers()
        except BaseException:
            self.close()
            raise

    @property
    def group_seconds(self) -> float:  # type: ignore[override]
        return max(GROUP_SECONDS, self.n_workers / MAX_GROUPS_PER_SECOND)

    def _wait_for_workers(self) -> None:
        wish = None
        while not self._count_threads():
            self.check()
            # Clusters that grow with their work have no workers before there is some.
            if wish is None and self.executor.status == "running":
                key = f"umfi waits for a worker-{uuid4().hex}"
                wish = self.executor.submit(int, key=key, pure=False)
            time.sleep(0.1)

    def _count_threads(self) -> int:
        """Return how many threads the cluster has now, and remember it."""
        n_threads = 0
        with suppress(*UNREACHABLE):
            if self.executor.status == "running":
                n_threads = sum(self.executor.nthreads().values())
        self.counted = time.monotonic()
        if n_threads:
            self.alone_since = None
            self.n_workers = self.n_ahead = n_threads
        return n_threads

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Any:
        if time.monotonic() - self.counted > COUNT_SECONDS:
            self._count_threads()  # Others may have joined.
        payload, head = self._pack(work)
        arrays = [self.sent[array.place][0] for array in payload.arrays]
        # Dashboards show what comes before the token.
        key = f"{label}-{uuid4().hex}"
        self.key_of[key] = payload.key
        self.used.add(payload.key)
        # A list, because Dask looks for its futures in those.
        return self.executor.submit(
            run_sent, payload.key, [head, arrays], names, key=key, pure=False
        )

    def _prepare(self, payload: Payload) -> tuple[Payload, Any]:
        """Send the payload to all workers; arrays that are there already are not sent again."""
        for array in payload.arrays:
            if array.place not in self.sent:
                data = np.frombuffer(array.data, np.uint8)
                self.sent[array.place] = self._scatter(data), array.data
        return payload, self._scatter(payload.head)

    def _scatter(self, data: Any) -> Any:
        while True:
            self._wait_for_workers()
            try:
                return self.executor.scatter(data, broadcast=True, hash=False)
            except (OSError, TimeoutError, KeyError, FutureCancelledError) as error:
                self._count_loss(error)  # A worker went away meanwhile.
                time.sleep(0.2)

    def collect(self, future: Any) -> Outcome:
        sent_with = self.key_of.pop(future.key)
        try:
            outcome: Outcome = future.result()
        except KilledWorker as error:
            self._count_loss(error)
            raise LostWorkError from None
        except FutureCancelledError as error:
            # The table was on workers that are gone: it is sent again, once for all groups.
            if self.packed is not None and self.packed[1][0].key == sent_with:
                self._count_loss(error)
                self.sent.clear()
                self.packed = None
            raise LostWorkError from None
        except ModuleNotFoundError as error:
            raise RunError(
                f"A Dask worker has no module {error.name!r}: install it on all of them."
            ) from error
        self.n_losses = 0
        return outcome

    def _count_loss(self, error: BaseException) -> None:
        self._count_threads()
        self.n_losses += 1
        if self.n_losses > MAX_LOSSES:
            raise RunError(
                f"Dask workers died {self.n_losses} times without an answer ({error}), perhaps for "
                "want of memory: give them more, or use fewer threads on each."
            ) from None

    def check(self) -> None:
        if self.executor.status in ("closed", "closing"):
            raise RunError("The Dask client is closed: connect to the cluster again.")
        if self._count_threads():
            return
        now = time.monotonic()
        self.alone_since = self.alone_since or now
        if now - self.alone_since > GRACE_SECONDS:
            raise RunError(
                f"The Dask cluster has had no workers for {GRACE_SECONDS:g} seconds: start some, "
                "and run again."
            )

    def close(self, *, is_waiting: bool = True) -> None:
        self.sent.clear()
        self.packed = None
        if self.own is not None:
            self.executor.close()
            self.own.close()
        elif self.used and self.executor.status == "running":
            with suppress(*UNREACHABLE):
                self.executor.run(_forget, list(self.used), wait=False, on_error="ignore")


async def _forget(keys: Sequence[str]) -> None:
    """Let go of work on a worker; Dask waits for plain functions, and not for this."""
    forget_payloads(keys)
