"""What a worker does: a group of tasks, one after the other, on one thread.

This is all of the library that runs on workers beside the work itself; it is the same code for
threads, processes and clusters.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from umfi.execution.checkpoint import TaskName

__all__ = ["Outcome", "TaskName", "Work", "make_portable", "run_group"]

Work = Callable[[TaskName], Any]


class Outcome(NamedTuple):
    """What came of a group of tasks.

    Attributes
    ----------
    answers : list
        Of the tasks in their order; fewer than there are tasks if one failed.
    seconds : list of float
        How long each took.
    error : exception, optional
        Why the task after the last answer failed.
    """

    answers: list[Any]
    seconds: list[float]
    error: BaseException | None


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
