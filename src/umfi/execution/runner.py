"""The run of one call: its tasks, stage after stage, and what is stored of them.

All that a method needs is ``runner.run(stage, work, names)``: the answers of the named tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from umfi.errors import RunError, StopCode, StopReason
from umfi.execution.checkpoint import Checkpoint, Section, begin
from umfi.execution.executors import WorkerPool, check_workers, count_workers, find_pool
from umfi.execution.limits import Budget
from umfi.execution.progress import progress_bar
from umfi.execution.tasks import Done, TaskName, Work, schedule
from umfi.execution.threads import one_blas_thread

__all__ = ["Answers", "Runner", "run_tasks"]

# Of one stage, by the names of the tasks: numbers, text, and lists and dictionaries of these.
Answers = Mapping[TaskName, Any]


class Runner:
    """Carries out the tasks of one call.

    Parameters
    ----------
    n_jobs, executor, progress, time_limit
        As in :func:`umfi.ultra_marginal`.

    Attributes
    ----------
    budget : Budget
    part : tuple of int
        Which part of the tasks is done here, and of how many.
    """

    def __init__(
        self,
        *,
        n_jobs: int | None = None,
        executor: Any = None,
        progress: bool | None = None,
        time_limit: Any = None,
    ) -> None:
        check_workers(n_jobs, executor)
        self.n_jobs = n_jobs
        self.executor = executor
        self.progress = progress
        self.budget = time_limit if isinstance(time_limit, Budget) else Budget(time_limit)
        self.part = (1, 1)
        self._answers: dict[str, dict[TaskName, Any]] = {}
        self._open_store: Callable[[], Section] | None = None
        self._store: Section | None = None
        self._pool: WorkerPool | None = None
        self._mean_seconds: dict[str, float] = {}
        self._planned: dict[str, int] = {}
        self._until_closed = ExitStack()
        self._is_heeding = False

    def keep_in(
        self,
        checkpoint: Checkpoint,
        identity: Callable[[], Mapping[str, Any]],
        outline: Callable[[], Mapping[str, Any]],
    ) -> None:
        """Store answers in a checkpoint, which is opened when the first task is about to begin."""
        self.part = checkpoint.share
        self._open_store = lambda: begin(
            checkpoint, identity(), outline(), count_workers(self.n_jobs)
        )

    def answers_of(self, stage: str) -> dict[TaskName, Any]:
        """Return what there is of a stage, from this run or from those before it."""
        if self._open_store is not None:
            self._store, self._open_store = self._open_store(), None
            for planned in self._planned.items():
                self._store.plan(*planned)
        if stage not in self._answers:
            self._answers[stage] = self._store.read(stage) if self._store else {}
        return self._answers[stage]

    def describe_stop(self) -> StopReason | None:
        """Return why tasks are missing, if any are."""
        part, n_parts = self.part
        if self.budget.stop_reason is None and n_parts > 1:
            return StopReason(StopCode.PART_OF_RUN, f"This is share {part} of {n_parts}")
        return self.budget.stop_reason

    def plan(self, stage: str, n_tasks: int) -> None:
        """Note how many tasks a stage will have at least, for those who look at the checkpoint."""
        self._planned[stage] = max(n_tasks, self._planned.get(stage, 0))
        if self._store is not None:
            self._store.plan(stage, self._planned[stage])

    def pass_on_interrupt(self) -> None:
        """Raise KeyboardInterrupt if that is why nothing was done."""
        if self.budget.is_interrupted:
            raise KeyboardInterrupt

    def run(
        self,
        stage: str,
        work: Work,
        names: Sequence[TaskName],
        *,
        title: str | None = None,
        label_of: Callable[[TaskName], str] = str,
        owner_of: Callable[[TaskName], int] | None = None,
        is_one_due: bool = False,
    ) -> Answers:
        """Return the answers of a stage after doing the named tasks that are not yet done.

        Some are missing when time is up, when the user stops the run, or when other machines do
        them.

        Parameters
        ----------
        stage : str
        work : callable
            Computes one task from its name alone; releases the GIL where it takes long.
        names : sequence of tuples
            No name twice.
        title : str, optional
            What the progress bar says.
        label_of : callable, optional
            What dashboards say of a task.
        owner_of : callable, optional
            From a name to a number; tasks of one number are done by the same machine.
        is_one_due : bool
            Whether a task at least is begun, however little time is left.
        """
        answers = self.answers_of(stage)
        self.plan(stage, sum(name not in answers for name in names) + len(answers))
        part, n_parts = self.part
        left = [
            name
            for place, name in enumerate(names)
            if name not in answers
            and (place if owner_of is None else owner_of(name)) % n_parts == part - 1
        ]
        if left and (is_one_due or not self.budget.is_over):
            with progress_bar(
                title or stage, len(names), self.progress, n_done=len(names) - len(left)
            ) as advance:
                self._do(stage, answers, work, left, label_of, advance, is_one_due)
        # What could not be written is returned, as without a checkpoint.
        if self.budget.is_interrupted and self._store is not None and not self._store.is_behind:
            raise KeyboardInterrupt(
                f"Stopped: what is done is kept in {self._store.path}, and the same call goes on "
                "from there."
            )
        return answers

    def _do(
        self,
        stage: str,
        answers: dict[TaskName, Any],
        work: Work,
        names: list[TaskName],
        label_of: Callable[[TaskName], str],
        advance: Callable[[int], None],
        is_one_due: bool,
    ) -> None:
        if not self._is_heeding:
            # Until the end, so that nothing is torn between stages either.
            self._until_closed.enter_context(self.budget.heeding_interrupts())
            self._is_heeding = True
        seconds = []
        try:
            with one_blas_thread():
                if self._pool is None:
                    self._pool = find_pool(self.n_jobs, self.executor)
                for found in schedule(
                    self._pool,
                    work,
                    names,
                    self.budget,
                    label_of=label_of,
                    is_one_due=is_one_due,
                    mean_seconds=self._mean_seconds.get(stage),
                ):
                    done = [Done(name, _as_plain(answer), took) for name, answer, took in found]
                    answers.update((name, answer) for name, answer, _ in done)
                    seconds += [took for _, _, took in done]
                    if self._store is not None:
                        self._store.write(stage, done)
                    advance(len(done))
        except RunError as error:
            if self._store is None:
                raise
            self._store.flush()
            if self._store.is_behind:
                raise
            raise RunError(f"{error} What is done is kept in {self._store.path}.") from error
        finally:
            if self._store is not None:
                self._store.flush()
        if seconds:
            self._mean_seconds[stage] = sum(seconds) / len(seconds)

    def close(self, *, is_waiting: bool = True) -> None:
        """Let workers and files go."""
        with self._until_closed:
            self._is_heeding = False
            if self._store is not None:
                self._until_closed.callback(self._store.close)
            if self._pool is not None:
                self._pool.close(is_waiting=is_waiting)
                self._pool = None


def _as_plain(answer: Any) -> Any:
    """Return an answer as JSON would give it back, so that it is the same from a checkpoint."""
    if isinstance(answer, float):
        return float(answer)
    if isinstance(answer, list | tuple):
        return [_as_plain(one) for one in answer]
    if isinstance(answer, dict):
        return {str(key): _as_plain(one) for key, one in answer.items()}
    return answer


def run_tasks(
    work: Callable[[TaskName], Any],
    names: Sequence[TaskName],
    *,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool | None = None,
    title: str = "",
) -> dict[TaskName, Any]:
    """Return the answer of every named task, in the order of the names; nothing is stored.

    Parameters
    ----------
    work : callable
        Computes one task from its name alone; releases the GIL where it takes long.
    names : sequence of tuples
        No name twice.
    n_jobs, executor, progress
        As in :func:`umfi.ultra_marginal`.
    title : str
        What the progress bar says.

    Examples
    --------
    >>> run_tasks(lambda name: name[0] ** 2, [(3,), (2,)])
    {(3,): 9, (2,): 4}
    """
    budget = Budget()
    answers: dict[TaskName, Any] = {}
    pool = find_pool(n_jobs, executor)
    try:
        with one_blas_thread(), progress_bar(title, len(names), progress) as advance:
            for done in schedule(pool, work, names, budget):
                answers.update((one.name, one.answer) for one in done)
                advance(len(done))
    finally:
        pool.close()
    if budget.is_interrupted:
        raise KeyboardInterrupt
    return {name: answers[name] for name in names}
