"""The permutation test: a feature's score among those of permuted copies of it.

A copy has the feature's own values in another order, so it stands to the context as the feature
does if that is unrelated: then all scores of a batch are exchangeable, and the rank of the
feature's own is all that a p-value needs. The test looks at all rows, whatever the repeats do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns
from umfi.methods.assembly import leakage_stage, test_stage
from umfi.methods.features import Feature, with_copies
from umfi.methods.problem import Problem
from umfi.methods.trials import FIRST_LOOK, Plan, Trial, most_copies
from umfi.power import POWERS, ForestPower, LinearContest, find_statistic, measure_leakages
from umfi.tasks import TaskName, count_workers

__all__ = ["Contest", "run_test"]

# More trees tell more in the same time than more copies do: benchmarks/power_per_second.py.
N_TEST_TREES = 300
# Leakage is told from these copies; its batch has a number that no other has.
N_LEAKAGE_COPIES = 3
LEAKAGE_BATCH = -1

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
    plan = Plan.from_settings(problem.settings)
    if plan is None:
        return
    if plan.note is not None and plan.note not in problem.settings["notes"]:
        problem.settings["notes"].append(plan.note)
    tested = [index for index in sorted(set(features)) if not problem.features[index].is_constant]
    trials = [
        Trial(plan, problem.columns.n_rows, problem.features[index], index) for index in tested
    ]
    work = _make_batches(problem, contest, closed_form)
    stage = test_stage(part)
    answers = problem.run_features(stage, work, _wanted(problem, trials), title="test, round 1")
    if closed_form is None and is_leakage_found:
        _find_leakages(problem, contest, tested, part)
    for number in range(2, 1 + max((len(trial.sizes) for trial in trials), default=0)):
        for trial in trials:
            trial.advance(answers)
        trials = [trial for trial in trials if trial.next_batch is not None]
        if not trials:
            break
        wanted = _wanted(problem, trials)
        problem.run_features(stage, work, wanted, title=f"test, round {number}")


def _wanted(problem: Problem, trials: Sequence[Trial]) -> list[TaskName]:
    """Return the batches that come next: several of each trial if few trials are left.

    Those beyond what decides a trial are not looked at, and would have cost an idle worker.
    """
    n_workers = count_workers(problem.runner.n_jobs)
    n_each = max(1, n_workers // max(1, len(trials)))
    return [batch for trial in trials for batch in trial.next_batches(n_each)]


def _make_batches(
    problem: Problem, contest: Contest, closed_form: LinearContest | None
) -> Callable[[TaskName], list[float]]:
    """Return what scores a batch."""
    power = large = problem.power
    if isinstance(power, ForestPower) and problem.settings["power"] in POWERS:
        large = replace(power, n_trees=N_TEST_TREES)
    n_rows = problem.columns.n_rows

    def work(name: TaskName) -> list[float]:
        """Return the scores of a batch: of the copies, after the feature's own in the first."""
        index, number, n_copies = (int(part) for part in name)
        feature = problem.features[index]
        rng = problem.streams.generator(feature.name, "test", number, "permutations")
        permutations = [rng.permutation(n_rows) for _ in range(n_copies)]
        if closed_form is not None:
            own = problem.columns.select(feature.positions)
            scores = closed_form.statistics([with_copies(own, permutations)])[0]
            return [float(score) for score in scores[0 if number == 0 else 1 :]]
        is_first = number in (0, FIRST_LOOK)
        context, candidates = contest(feature, number, permutations)
        seed = problem.streams.seed(feature.name, "test", number, "power")
        return [
            find_statistic(
                power if number < 0 else large,
                context.prepend(candidate),
                problem.target,
                seed,
            )
            for candidate in candidates[0 if is_first else 1 :]
        ]

    return work


def _find_leakages(problem: Problem, contest: Contest, tested: Sequence[int], part: str) -> None:
    """Measure what the context of each feature still tells about it."""

    def work(name: TaskName) -> list[tuple[float, list[float], bool]]:
        feature = problem.features[int(name[0])]
        rng = problem.streams.generator(feature.name, "leakage", "permutations")
        n_rows = problem.columns.n_rows
        permutations = [rng.permutation(n_rows) for _ in range(most_copies(n_rows, feature))]
        context, (own, *copies) = contest(feature, LEAKAGE_BATCH, permutations)
        seed = problem.streams.seed(feature.name, "leakage", "power")
        # Those removed right after the feature: where removal goes column by column, later ones
        # are removed more thoroughly.
        leakages = measure_leakages(context, own, copies[:N_LEAKAGE_COPIES], seed)
        return [
            (float(one.own), [float(copy) for copy in one.of_copies], bool(one.is_distance))
            for one in leakages
        ]

    names = [(index,) for index in tested]
    problem.run_features(leakage_stage(part), work, names, title="leakage")
