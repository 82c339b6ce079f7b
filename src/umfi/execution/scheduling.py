"""Which tasks are done when: in groups of about a second, as many at a time as workers take."""

from __future__ import annotations

import math
import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from umfi.execution.budget import Budget
from umfi.execution.crews import Crew, LostWorkError
from umfi.execution.groups import TaskName, Work

__all__ = ["Done", "schedule"]

# As long as nothing happens for: whether workers are left, and whether answers are to be saved.
BEAT_SECONDS = 1.0
# The last groups are small, so that workers end at about the same time.
GROUPS_LEFT_PER_WORKER = 2


class Done(NamedTuple):
    """A task that is done."""

    name: TaskName
    answer: Any
    seconds: float


def schedule(
    crew: Crew,
    work: Work,
    names: Sequence[TaskName],
    budget: Budget,
    *,
    label_of: Callable[[TaskName], str] = str,
    is_one_due: bool = False,
    mean_seconds: float | None = None,
) -> Iterator[list[Done]]:
    """Yield tasks as they are done, and nothing now and then while none is.

    Parameters
    ----------
    crew : Crew
    work : callable
    names : sequence of tuples
        In the order in which they are begun.
    budget : Budget
        When it is over, what was begun is waited for, and nothing else is begun.
    label_of : callable
        What dashboards call a task.
    is_one_due : bool
        Whether a task is begun even if the budget is over.
    mean_seconds : float, optional
        What a task is known to take.
    """
    waiting = deque(names)
    under_way: dict[int, tuple[Any, list[TaskName]]] = {}
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    pace = _Pace(mean_seconds)
    is_begun = is_answered = not is_one_due
    failure: BaseException | None = None

    while waiting or under_way:
        while (
            waiting
            and len(under_way) < crew.n_workers + crew.n_ahead
            and not (budget.is_over and is_begun)
        ):
            size = _group_size(crew, len(waiting), pace.mean_seconds, budget.seconds_left)
            group = [waiting.popleft() for _ in range(size)]
            more = f" and {size - 1} more" if size > 1 else ""
            future = crew.submit(work, group, label_of(group[0]) + more)
            is_begun = True
            under_way[id(future)] = (future, group)
            future.add_done_callback(finished.put)
            if crew.n_ahead == 0:
                break
        if not under_way:
            break
        if (budget.is_over and is_answered) or failure is not None:
            for waiting_future, _ in under_way.values():
                crew.take_back(waiting_future)
        try:
            future = finished.get(timeout=BEAT_SECONDS)
        except queue.Empty:
            crew.check()
            yield []
            continue
        _, group = under_way.pop(id(future), (None, []))
        if not group or (future.cancelled() and (budget.is_over or failure is not None)):
            continue
        try:
            outcome = crew.collect(future)
        except LostWorkError:
            if failure is None:
                waiting.extendleft(reversed(group))
            continue
        is_answered = True
        pace.add(outcome.seconds)
        n_answers = len(outcome.answers)
        yield list(map(Done, group[:n_answers], outcome.answers, outcome.seconds))
        if isinstance(outcome.error, KeyboardInterrupt):
            budget.interrupt()
        elif outcome.error is not None:
            # What others are doing is waited for, because it would be lost.
            failure = failure or outcome.error
            waiting.clear()
    if failure is not None:
        raise failure


class _Pace:
    """What a task takes, as far as is known: nothing is, until the first is done."""

    def __init__(self, mean_seconds: float | None) -> None:
        self.n_tasks = 0 if mean_seconds is None else 1
        self.seconds = mean_seconds or 0.0

    def add(self, seconds: Sequence[float]) -> None:
        self.n_tasks += len(seconds)
        self.seconds += sum(seconds)

    @property
    def mean_seconds(self) -> float:
        return self.seconds / self.n_tasks if self.n_tasks else math.inf


def _group_size(crew: Crew, n_waiting: int, mean_seconds: float, seconds_left: float) -> int:
    """Return how many tasks to send at once."""
    n_fitting = min(crew.group_seconds, max(seconds_left, 0.0)) / max(mean_seconds, 1e-6)
    n_fair = math.ceil(n_waiting / (GROUPS_LEFT_PER_WORKER * crew.n_workers))
    return max(1, min(int(n_fitting), n_fair, n_waiting))
