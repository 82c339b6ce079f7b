"""Dask clusters as crews: the table is sent once to each worker, and lost workers are borne."""

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
from umfi.execution.crews import (
    GROUP_SECONDS,
    MAX_GROUPS_PER_SECOND,
    MAX_LOSSES,
    LostWorkError,
    count_workers,
)
from umfi.execution.groups import Outcome, TaskName, Work
from umfi.execution.parcels import Parcel, forget_parcels, pack, run_parcel

__all__ = ["find_dask_crew", "refuse_client"]

# How long a cluster may be without any worker, as when all are being replaced.
GRACE_SECONDS = 60.0
CONNECT_SECONDS = 30.0
# Groups that wait for each thread of a worker, so that it has work while an answer travels.
GROUPS_AHEAD = 1
# How often workers are counted.
COUNT_SECONDS = 5.0


def refuse_client(client: Any) -> None:
    """Raise if this is not a client that can be waited for."""
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(
            f"executor={client!r} cannot be used: pass a dask.distributed.Client(...) that is not "
            "asynchronous."
        )


def find_dask_crew(n_jobs: int | None, executor: Any) -> DaskCrew:
    """Return the crew of a client, of the address of a scheduler, or of "dask".

    "dask" is the client that is in use, if there is one, and otherwise a cluster on this machine.
    """
    if not isinstance(executor, str):
        return DaskCrew(executor)
    if executor == "dask":
        with suppress(ValueError):
            return DaskCrew(distributed.get_client())
        cluster = distributed.LocalCluster(
            n_workers=count_workers(n_jobs), threads_per_worker=1, dashboard_address=":0"
        )
        return DaskCrew(distributed.Client(cluster, set_as_default=False), cluster)
    try:
        client = distributed.Client(executor, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"No Dask scheduler answers at {executor!r} ({error}): check the address."
        ) from None
    return DaskCrew(client, client)


class DaskCrew:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    own : Client or Cluster, optional
        What to close in the end.
    """

    def __init__(self, client: distributed.Client, own: Any = None) -> None:
        self.client = client
        self.own = own
        self.sent: dict[tuple[int, int], Any] = {}
        self.kept: list[Any] = []
        self.parcel: tuple[Work, Parcel, Any] | None = None
        self.parcel_of: dict[str, str] = {}
        self.unpacked: set[str] = set()
        self.n_losses = 0
        self.alone_since: float | None = None
        self.n_workers = 1
        self.counted = time.monotonic()
        try:
            self._wait_for_workers()
        except BaseException:
            self.close()
            raise

    def _wait_for_workers(self) -> None:
        if self._count_threads():
            return
        # Clusters that grow with their work have no workers before there is some.
        wish = None
        while not self._count_threads():
            self.check()
            if wish is None and self.client.status == "running":
                key = f"umfi waits for a worker-{uuid4().hex}"
                wish = self.client.submit(int, key=key, pure=False)
            time.sleep(0.1)

    def _count_threads(self) -> int:
        """Return how many threads the cluster has now, and remember it."""
        n_threads = 0
        try:
            if self.client.status == "running":
                n_threads = sum(self.client.nthreads().values())
        except (OSError, TimeoutError, RuntimeError, FutureCancelledError):
            pass  # The scheduler cannot be asked now.
        self.counted = time.monotonic()
        if n_threads:
            self.alone_since = None
            self.n_workers = n_threads
        return n_threads

    @property
    def n_ahead(self) -> int:
        return GROUPS_AHEAD * self.n_workers

    @property
    def group_seconds(self) -> float:
        return max(GROUP_SECONDS, self.n_workers / MAX_GROUPS_PER_SECOND)

    def submit(self, work: Work, names: Sequence[TaskName], label: str) -> Any:
        if time.monotonic() - self.counted > COUNT_SECONDS:
            self._count_threads()  # Others may have joined.
        parcel, head = self._send(work)
        arrays = [self.sent[array.place] for array in parcel.arrays]
        # Dashboards show what comes before the token.
        key = f"{label}-{uuid4().hex}"
        self.parcel_of[key] = parcel.key
        self.unpacked.add(parcel.key)
        return self.client.submit(
            _run_scattered, parcel.key, head, arrays, names, key=key, pure=False
        )

    def _send(self, work: Work) -> tuple[Parcel, Any]:
        """Return the parcel and the place of its head on the cluster; arrays are sent once."""
        if self.parcel is None or self.parcel[0] is not work:
            parcel = pack(work)
            for array in parcel.arrays:
                if array.place not in self.sent:
                    self.sent[array.place] = self._scatter(np.frombuffer(array.data, np.uint8))
                    self.kept.append(array.data)
            self.parcel = (work, parcel, self._scatter(parcel.head))
        return self.parcel[1:]

    def _scatter(self, data: Any) -> Any:
        while True:
            self._wait_for_workers()
            try:
                return self.client.scatter(data, broadcast=True, hash=False)
            except (OSError, TimeoutError, KeyError, FutureCancelledError) as error:
                self._count_loss(error)  # A worker went away meanwhile.
                time.sleep(0.2)

    def collect(self, future: Any) -> Outcome:
        sent_with = self.parcel_of.pop(future.key)
        try:
            outcome: Outcome = future.result()
        except KilledWorker as error:
            self._count_loss(error)
            raise LostWorkError from None
        except FutureCancelledError as error:
            # The table was on workers that are gone: it is sent again, once for all groups.
            if self.parcel is not None and self.parcel[1].key == sent_with:
                self._count_loss(error)
                self.sent.clear()
                self.parcel = None
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

    def take_back(self, future: Any) -> None:
        """Do nothing: Dask would cancel what has begun as well."""

    def check(self) -> None:
        if self.client.status in ("closed", "closing"):
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
        self.parcel = None
        if self.unpacked and self.own is None and self.client.status == "running":
            with suppress(OSError, TimeoutError, RuntimeError, FutureCancelledError):
                self.client.run(_forget, list(self.unpacked), wait=False, on_error="ignore")
        if self.own is not None:
            self.client.close()
            self.own.close()


async def _forget(keys: Sequence[str]) -> None:
    """Let go of work on a worker; Dask waits for plain functions, and not for this."""
    forget_parcels(keys)


def _run_scattered(
    key: str, head: bytes, arrays: Sequence[Any], names: Sequence[TaskName]
) -> Outcome:
    return run_parcel(key, lambda: (head, arrays), names)
