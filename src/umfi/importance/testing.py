"""The permutation test: a feature among permuted copies of it.

A copy has the feature's own values in another order, so it stands to the context as the feature
does if that is unrelated: then all statistics of a batch are exchangeable, and the rank of the
feature's own is all that a p-value needs. In the one-fit protocol a batch is a single fit on the
context, the feature and its copies, and the statistic of each is what the fit gains by it; others
fit once for each of them, and compare scores. The test looks at all rows, whatever the repeats do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.execution import TaskName, count_workers
from umfi.importance.assembly import find_decided, test_stage
from umfi.importance.features import Feature, with_copies
from umfi.importance.study import Problem
from umfi.inference.sequential import Plan, Trial
from umfi.power import LinearContest, PredictingPower, score_columns
from umfi.removal import measure_leakages

__all__ = ["Contest", "run_test"]

# Leakage is told from these copies.
N_LEAKAGE_COPIES = 3

# From a feature, the number of a batch and permutations of the rows to a context and columns to
# add to it: the feature itself, then a copy for each permutation.
Contest = Callable[[Feature, int, Sequence[NDArray[np.intp]]], tuple[Columns, Sequence[Columns]]]


def run_test(
    problem: Problem,
    contest: Contest,
    features: Sequence[int],
    *,
    part: str = "importance",
    closed_form: LinearContest | None = None,
    is_leakage_found: bool = True,
) -> None:
    """Compute what the test of each feature needs, batch after batch.

    Parameters
    ----------
    problem : Problem
    contest : callable
        Makes what is compared.
    features : sequence of int
        Those that are tested; constants are not.
    part : str
        What of the importance is tested.
    closed_form : LinearContest, optional
        Scores what is compared without a context; nothing that it looks at can leak.
    is_leakage_found : bool
        Whether it is measured what contexts tell about features.
    """
    plan = Plan.from_settings(problem.settings, part)
    if plan is None:
        return
    if plan.note is not None and plan.note not in problem.settings["notes"]:
        problem.settings["notes"].append(plan.note)
    tested = [index for index in sorted(set(features)) if not problem.features[index].is_constant]
    decided = find_decided(problem.outline, problem.runner.answers_of, part)
    trials = [
        Trial(
            plan,
            problem.outline.n_rows,
            problem.features[index],
            index,
            is_decided=index in decided,
        )
        for index in tested
    ]
    work = _make_batches(
        problem, contest, plan, closed_form, is_leakage_found and closed_form is None
    )
    stage = test_stage(part)
    for number in range(1, 1 + max((len(trial.sizes) for trial in trials), default=0)):
        trials = [trial for trial in trials if trial.next_batch is not None]
        if not trials:
            break
        answers = problem.run_features(
            stage, work, _wanted(problem, trials), title=f"test, round {number}"
        )
        for trial in trials:
            trial.advance(answers)


def _wanted(problem: Problem, trials: Sequence[Trial]) -> list[TaskName]:
    """Return the batches that come next: several of each trial if few trials are left.

    Those beyond what decides a trial are not looked at, and would have cost an idle worker.
    """
    n_workers = count_workers(problem.runner.n_jobs)
    n_each = max(1, n_workers // max(1, len(trials)))
    return [batch for trial in trials for batch in trial.next_batches(n_each)]


def _make_batches(
    problem: Problem,
    contest: Contest,
    plan: Plan,
    closed_form: LinearContest | None,
    is_leakage_found: bool,
) -> Callable[[TaskName], dict[str, Any]]:
    """Return what computes a batch."""
    n_rows = problem.columns.n_rows

    def compare(
        context: Columns, candidates: Sequence[Columns], seed: np.random.SeedSequence
    ) -> list[float]:
        power, target = problem.power, problem.target
        if plan.is_one_fit and isinstance(power, PredictingPower):
            averages = power.average_out(context, candidates, target, seed, is_test=True)
            return averages.statistics(target)
        if isinstance(power, PredictingPower):
            power = power.with_measure("r2")  # It says more of a fit than others do.
        return [
            score_columns(power, context.prepend(candidate), target, seed)
            for candidate in candidates
        ]

    def work(name: TaskName) -> dict[str, Any]:
        """Return the statistics of the feature, in the first batch, and of its copies."""
        index, number, n_copies = (int(part) for part in name)
        feature = problem.features[index]
        rng = problem.streams.generator(feature.name, "test", number, "permutations")
        permutations = [rng.permutation(n_rows) for _ in range(n_copies)]
        leakages: list[Any] = []
        if closed_form is not None:
            own = problem.columns.select(feature.positions)
            [scores] = closed_form.statistics([with_copies(own, permutations)])
        else:
            context, candidates = contest(feature, number, permutations)
            seed = problem.streams.seed(feature.name, "test", number, "power")
            if number == 0 and is_leakage_found:
                own, *copies = candidates
                leakages = [
                    (float(one.own), [float(copy) for copy in one.of_copies], one.is_distance)
                    for one in measure_leakages(context, own, copies[:N_LEAKAGE_COPIES], seed)
                ]
            scores = compare(context, candidates, seed)
        return {
            "scores": [float(score) for score in scores[0 if number == 0 else 1 :]],
            "leakages": leakages,
        }

    return work
