"""The run of one call: its tasks, stage after stage, with what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from umfi.errors import RunError, StopCode, StopReason
from umfi.execution.budget import Budget
from umfi.execution.checkpoint import Checkpoint, begin
from umfi.execution.crews import Crew, check_workers, count_workers, find_crew
from umfi.execution.groups import TaskName, Work
from umfi.execution.progress import progress_bar
from umfi.execution.scheduling import Done, schedule
from umfi.execution.threads import one_blas_thread

__all__ = ["Answers", "Runner", "Store", "run_tasks"]


class Store(Protocol):
    """Keeps answers beyond the run."""

    path: Path

    def read(self, stage: str) -> dict[TaskName, str]:
        """Return the answers that are kept of a stage."""

    def plan(self, stage: str, n_tasks: int) -> None:
        """Note how many tasks a stage has."""

    def write(self, stage: str, done: Sequence[Done]) -> None:
        """Keep answers; called with none now and then, for what is held back to be written."""

    def flush(self) -> None:
        """Write what is held back."""

    @property
    def is_behind(self) -> bool:
        """Whether answers are held back that could not be written."""

    def close(self) -> None:
        """Let others have the file."""


class Answers(Mapping[TaskName, Any]):
    """The answers of one stage by the names of the tasks, as far as there are any.

    They are plain: numbers, text, and lists and dictionaries of these. They are held as text, as
    they are kept, so that a run that was broken off goes on with the same numbers.
    """

    def __init__(self, texts: dict[TaskName, str] | None = None) -> None:
        self.texts = {} if texts is None else texts

    def __getitem__(self, name: TaskName) -> Any:
        return json.loads(self.texts[name])

    def __iter__(self) -> Iterator[TaskName]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __contains__(self, name: object) -> bool:
        return name in self.texts


@dataclass(frozen=True)
class _AsText:
    """Work whose answers are text."""

    work: Work

    def __call__(self, name: TaskName) -> str:
        return json.dumps(self.work(name), separators=(",", ":"))


class Runner:
    """Carries out the tasks of one call.

    Parameters
    ----------
    n_jobs, executor, progress, time_limit
        As in :func:`umfi.ultra_marginal`.

    Attributes
    ----------
    answers : dict of Answers
        By stage.
    budget : Budget
    store : Store, optional
        Keeps answers; set before the first task.
    share : tuple of int
        Which part of the tasks is done here, and of how many parts.
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
        self.answers: dict[str, Answers] = {}
        self.store: Store | None = None
        self.share = (1, 1)
        self._begin_store: Callable[[], Store] | None = None
        self._crew: Crew | None = None
        self._as_text: _AsText | None = None
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
        """Keep answers in a checkpoint, which is opened when the first task is about to begin."""
        self.share = checkpoint.share
        self._begin_store = lambda: begin(
            checkpoint, identity(), outline(), count_workers(self.n_jobs)
        )

    def answers_of(self, stage: str) -> Answers:
        """Return what there is of a stage, from this run or from those before it."""
        if self._begin_store is not None:
            self.store, self._begin_store = self._begin_store(), None
            for planned in self._planned.items():
                self.store.plan(*planned)
        if stage not in self.answers:
            self.answers[stage] = Answers(self.store.read(stage) if self.store else {})
        return self.answers[stage]

    def describe_stop(self) -> StopReason | None:
        """Return why tasks are missing, if any are."""
        if self.budget.is_interrupted:
            return StopReason(StopCode.INTERRUPTED, "The run was interrupted")
        if self.budget.is_over:
            sentence = f"The time limit of {self.budget.seconds:g} seconds was reached"
            return StopReason(StopCode.TIME_LIMIT, sentence)
        if self.share != (1, 1):
            sentence = f"This is share {self.share[0]} of {self.share[1]}"
            return StopReason(StopCode.PART_OF_RUN, sentence)
        return None

    def plan(self, stage: str, n_tasks: int) -> None:
        """Note how many tasks a stage will have at least, for those who look at the checkpoint."""
        self._planned[stage] = max(n_tasks, self._planned.get(stage, 0))
        if self.store is not None:
            self.store.plan(stage, self._planned[stage])

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
        owner_of: Callable[[TaskName], Hashable] | None = None,
        is_one_due: bool = False,
    ) -> Answers:
        """Return the answers of a stage after doing the named tasks that are not yet done.

        Some are missing when time is up, when the user stops the run, or when others do their
        share of it.

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
            From a name to a number; tasks of one number are done by the same share.
        is_one_due : bool
            Whether a task at least is begun, however little time is left.
        """
        answers = self.answers_of(stage)
        self.plan(stage, sum(name not in answers.texts for name in names) + len(answers))
        left = [
            name
            for place, name in enumerate(names)
            if name not in answers.texts
            and self._is_mine(place if owner_of is None else owner_of(name))
        ]
        if left and (is_one_due or not self.budget.is_over):
            self._do(stage, answers, work, left, len(names), title or stage, label_of, is_one_due)
        # What could not be written is returned, as without a checkpoint.
        is_kept = self.store is not None and not self.store.is_behind
        if self.budget.is_interrupted and self.store is not None and is_kept:
            raise KeyboardInterrupt(
                f"Stopped: what is done is kept in {self.store.path}, and the same call goes on "
                "from there."
            )
        return answers

    def _is_mine(self, owner: Any) -> bool:
        part, n_parts = self.share
        return n_parts == 1 or int(owner) % n_parts == part - 1

    def _do(
        self,
        stage: str,
        answers: Answers,
        work: Work,
        names: list[TaskName],
        n_all: int,
        title: str,
        label_of: Callable[[TaskName], str],
        is_one_due: bool,
    ) -> None:
        if self._as_text is None or self._as_text.work is not work:
            self._as_text = _AsText(work)
        n_done, seconds = 0, 0.0
        if not self._is_heeding:
            # Until the end, so that nothing is torn between stages either.
            self._until_closed.enter_context(self.budget.heeding_interrupts())
            self._is_heeding = True
        try:
            with (
                one_blas_thread(),
                progress_bar(title, n_all, self.progress, n_done=n_all - len(names)) as advance,
            ):
                if self._crew is None:
                    self._crew = find_crew(self.n_jobs, self.executor)
                for done in schedule(
                    self._crew,
                    self._as_text,
                    names,
                    self.budget,
                    label_of=label_of,
                    is_one_due=is_one_due,
                    mean_seconds=self._mean_seconds.get(stage),
                ):
                    for one in done:
                        answers.texts[one.name] = one.answer
                        seconds += one.seconds
                    n_done += len(done)
                    if self.store is not None:
                        self.store.write(stage, done)
                    advance(len(done))
        except RunError as error:
            if self.store is None:
                raise
            self.store.flush()
            if self.store.is_behind:
                raise
            raise RunError(f"{error} What is done is kept in {self.store.path}.") from error
        finally:
            if self.store is not None:
                self.store.flush()
        if n_done:
            self._mean_seconds[stage] = seconds / n_done

    def close(self, *, is_waiting: bool = True) -> None:
        """Let workers and files go."""
        try:
            if self._crew is not None:
                self._crew.close(is_waiting=is_waiting)
                self._crew = None
        finally:
            try:
                if self.store is not None:
                    self.store.close()
            finally:
                self._until_closed.close()
                self._is_heeding = False


def run_tasks(
    work: Callable[[TaskName], Any],
    names: Sequence[TaskName],
    *,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool | None = None,
    title: str = "",
) -> dict[TaskName, Any]:
    """Return the answer of every named task, in the order of the names; nothing is kept.

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
    crew = find_crew(n_jobs, executor)
    try:
        with one_blas_thread(), progress_bar(title, len(names), progress) as advance:
            for done in schedule(crew, work, names, budget):
                answers.update((one.name, one.answer) for one in done)
                advance(len(done))
    finally:
        crew.close()
    if budget.is_interrupted:
        raise KeyboardInterrupt
    return {name: answers[name] for name in names}
