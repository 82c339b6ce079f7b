"""Named tasks: in which order they are begun, in groups, and what comes of them."""

from __future__ import annotations

import math
import queue
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from umfi.execution.executors import WorkerPool
    from umfi.execution.limits import Budget

__all__ = [
    "Done",
    "LostWorkError",
    "Outcome",
    "TaskName",
    "Work",
    "make_portable",
    "run_group",
    "schedule",
]

TaskName = tuple[str | int, ...]
Work = Callable[[TaskName], Any]

# While nothing happens, so often is asked whether workers are left, and answers are saved.
BEAT_SECONDS = 1.0
# The last groups are small, so that workers end at about the same time.
GROUPS_LEFT_PER_WORKER = 2


class LostWorkError(Exception):
    """A group was lost with its worker, and can be done again."""


class Outcome(NamedTuple):
    """What came of a group of tasks: answers in their order, how long each took, and an error.

    The error is why the task after the last answer failed.
    """

    answers: list[Any]
    seconds: list[float]
    error: BaseException | None


class Done(NamedTuple):
    """A task that is done."""

    name: TaskName
    answer: Any
    seconds: float


def run_group(work: Work, names: Sequence[TaskName]) -> Outcome:
    """Return the answers of these tasks; an error comes with the answers before it.

    Examples
    --------
    >>> run_group(lambda name: 6 // name[0], [(2,), (0,)]).answers
    [3]
    """
    answers: list[Any] = []
    seconds: list[float] = []
    for name in names:
        start = time.perf_counter()
        try:
            answers.append(work(name))
        # An interrupt too: what was computed before it must not be lost.
        except BaseException as error:
            return Outcome(answers, seconds, error)
        seconds.append(time.perf_counter() - start)
    return Outcome(answers, seconds, None)


def make_portable(outcome: Outcome) -> Outcome:
    """Return the outcome with an error that survives the way to another process."""
    if outcome.error is None:
        return outcome
    import pickle

    error = outcome.error
    story = "".join(traceback.format_exception(error))
    try:
        error = pickle.loads(pickle.dumps(error.with_traceback(None)))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"On the worker:\n{story}")
    return outcome._replace(error=error)


def schedule(
    pool: WorkerPool,
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
    pool : WorkerPool
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
    n_timed, total_seconds = (0, 0.0) if mean_seconds is None else (1, mean_seconds)
    is_begun = is_answered = not is_one_due
    failure: BaseException | None = None

    while waiting or under_way:
        while (
            waiting
            and len(under_way) < pool.n_workers + pool.n_ahead
            and not (budget.is_over and is_begun)
        ):
            mean = total_seconds / n_timed if n_timed else math.inf
            size = _group_size(pool, len(waiting), mean, budget.seconds_left)
            group = [waiting.popleft() for _ in range(size)]
            more = f" and {size - 1} more" if size > 1 else ""
            future = pool.submit(work, group, label_of(group[0]) + more)
            is_begun = True
            under_way[id(future)] = (future, group)
            future.add_done_callback(finished.put)
            if pool.n_ahead == 0:
                break
        if not under_way:
            break
        if (budget.is_over and is_answered) or failure is not None:
            for waiting_future, _ in under_way.values():
                pool.withdraw(waiting_future)
        try:
            future = finished.get(timeout=BEAT_SECONDS)
        except queue.Empty:
            pool.check()
            yield []
            continue
        _, group = under_way.pop(id(future), (None, []))
        if not group or (future.cancelled() and (budget.is_over or failure is not None)):
            continue
        try:
            outcome = pool.collect(future)
        except LostWorkError:
            if failure is None:
                waiting.extendleft(reversed(group))
            continue
        is_answered = True
        n_timed += len(outcome.seconds)
        total_seconds += sum(outcome.seconds)
        n_answers = len(outcome.answers)
        yield list(map(Done, group[:n_answers], outcome.answers, outcome.seconds))
        if isinstance(outcome.error, KeyboardInterrupt):
            budget.is_interrupted = True
        elif outcome.error is not None:
            # What others are doing is waited for, because it would be lost.
            failure = failure or outcome.error
            waiting.clear()
    if failure is not None:
        raise failure


def _group_size(pool: WorkerPool, n_waiting: int, mean_seconds: float, seconds_left: float) -> int:
    """Return how many tasks to send at once."""
    n_fitting = min(pool.group_seconds, max(seconds_left, 0.0)) / max(mean_seconds, 1e-6)
    n_fair = math.ceil(n_waiting / (GROUPS_LEFT_PER_WORKER * pool.n_workers))
    return max(1, min(int(n_fitting), n_fair, n_waiting))
