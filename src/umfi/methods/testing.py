"""The permutation test: a feature's score among those of permuted copies of it.

A copy has the feature's own values in another order, so it stands to the context as the feature
does if that is unrelated: then all scores of a batch are exchangeable, and the rank of the
feature's own is all that a p-value needs. The test looks at all rows, whatever the repeats do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from umfi.columns import Columns
from umfi.errors import InputError, check_count, check_level, unknown_name
from umfi.inference import PermutationTest, is_settled, permutation_test
from umfi.methods.features import Feature, with_copies
from umfi.methods.problem import Problem
from umfi.power import (
    POWERS,
    ForestPower,
    Leakage,
    LinearContest,
    find_statistic,
    leakage_limit,
    measure_leakages,
)
from umfi.tasks import TaskName

__all__ = ["Contest", "Plan", "check_test", "run_test"]

# By name: whether a feature that is decided gets no more copies.
TESTS = {"permutation": True, "full-permutation": False}
# More trees tell more in the same time than more copies do: benchmarks/power_per_second.py.
N_TEST_TREES = 300
# Every copy costs S what it tells by chance about that copy; fewer have no spread.
MIN_COPIES, MAX_COPIES = 3, 9
ROWS_PER_COPY = 15
# Leakage is told from these copies; its batch has a number that no other has.
N_LEAKAGE_COPIES = 3
LEAKAGE_BATCH = -1
# A p-value as good as zero: far below what any correction for the number of features asks for.
SETTLED_P_VALUE = 1e-4
SETTLED_MARGIN = 10.0


@dataclass(frozen=True)
class Plan:
    """How features are tested.

    Attributes
    ----------
    max_permutations : int
    alpha : float
    is_sequential : bool
        Whether a feature that is decided gets no more copies.
    """

    max_permutations: int
    alpha: float
    is_sequential: bool


# From a feature, the number of a batch and permutations of the rows to a context and columns to
# add to it: the feature itself, then a copy for each permutation.
Contest = Callable[[Feature, int, Sequence[NDArray[np.intp]]], tuple[Columns, Sequence[Columns]]]


def check_test(test: str | None, max_permutations: int, alpha: float, protocol: str) -> Plan | None:
    """Return how to test, or None; raise before anything long starts."""
    n_permutations = check_count("max_permutations", max_permutations)
    level = check_level("alpha", alpha)
    if test is None:
        return None
    if not isinstance(test, str) or test not in TESTS:
        raise unknown_name("test", test, TESTS)
    if protocol != "matched":
        raise InputError(
            f"test={test!r} compares with permuted copies, which protocol={protocol!r} does not "
            "have: pass protocol='matched'."
        )
    return Plan(n_permutations, level, TESTS[test])


def _note_on(plan: Plan) -> str | None:
    """Return what a reader should know of a test with few permutations."""
    smallest = 1.0 / (1 + plan.max_permutations)
    if smallest <= plan.alpha:
        return None
    n_needed = math.ceil(1.0 / plan.alpha) - 1
    return (
        f"With max_permutations={plan.max_permutations} no p-value is below {smallest:.2g}: pass "
        f"{n_needed} at least for alpha={plan.alpha:g}."
    )


def run_test(
    problem: Problem,
    plan: Plan,
    contest: Contest,
    representatives: Sequence[int],
    closed_form: LinearContest | None = None,
    *,
    is_leakage_found: bool = True,
) -> pd.DataFrame:
    """Return a row for each feature: ``feature, p_value, tail, n_permutations, leakage, leaks``.

    Parameters
    ----------
    problem : Problem
    plan : Plan
    contest : callable
        Makes what is compared.
    representatives : sequence of int
        For each feature the one whose p-value it gets.
    closed_form : LinearContest, optional
        Scores what is compared without a context; nothing that it looks at can leak.
    is_leakage_found : bool
        Whether it is measured what contexts tell about features.
    """
    note = _note_on(plan)
    if note is not None and note not in problem.settings["notes"]:
        problem.settings["notes"].append(note)
    tested = [
        index for index in sorted(set(representatives)) if not problem.features[index].is_constant
    ]
    found = _run_batches(problem, plan, contest, tested, closed_form)
    leakages: dict[int, list[Leakage]] = {}
    if closed_form is None and is_leakage_found:
        leakages = _find_leakages(problem, contest, tested)
    limit = leakage_limit([one for of_feature in leakages.values() for one in of_feature])
    rows = []
    for feature, index in zip(problem.features, representatives, strict=True):
        outcome = found.get(index, PermutationTest(1.0, 0, False))
        leakage = _worst_leakage(leakages.get(index, []), limit)
        rows.append(
            {
                "feature": feature.name,
                "p_value": outcome.p_value,
                "tail": outcome.is_tail,
                "n_permutations": outcome.n_permutations,
                "leakage": leakage,
                "leaks": leakage > limit,
            }
        )
    return pd.DataFrame(rows)


def _run_batches(
    problem: Problem,
    plan: Plan,
    contest: Contest,
    tested: Sequence[int],
    closed_form: LinearContest | None,
) -> dict[int, PermutationTest]:
    """Return the outcome for each feature; a round gives a batch to each that is not decided."""
    power = problem.power
    if isinstance(power, ForestPower) and problem.settings["power"] in POWERS:
        power = replace(power, n_trees=N_TEST_TREES)
    n_rows = problem.columns.n_rows
    strictest = plan.alpha / max(1, len(problem.features))
    level = min(SETTLED_P_VALUE, strictest / SETTLED_MARGIN)

    def work(name: TaskName) -> NDArray[np.float64]:
        """Return the scores of a batch: of the copies, after the feature's own in the first."""
        index, number, n_copies = (int(part) for part in name)
        feature = problem.features[index]
        rng = problem.streams.generator(feature.name, "test", number, "permutations")
        permutations = [rng.permutation(n_rows) for _ in range(n_copies)]
        if closed_form is not None:
            own = problem.columns.select(feature.positions)
            scores = closed_form.statistics([with_copies(own, permutations)])[0]
            return np.array(scores[0 if number == 0 else 1 :])
        context, candidates = contest(feature, number, permutations)
        seed = problem.streams.seed(feature.name, "test", number, "power")
        return np.array(
            [
                find_statistic(power, context.prepend(candidate), problem.target, seed)
                for candidate in candidates[0 if number == 0 else 1 :]
            ]
        )

    own: dict[int, float] = {}
    nulls: dict[int, list[NDArray[np.float64]]] = {index: [] for index in tested}
    sizes = {
        index: _batch_sizes(plan.max_permutations, n_rows, problem.features[index])
        for index in tested
    }
    undecided = list(tested)
    for number in itertools.count():
        undecided = [index for index in undecided if number < len(sizes[index])]
        if not undecided:
            break
        answers = problem.run(
            work,
            [(index, number, sizes[index][number]) for index in undecided],
            title=f"test, round {number + 1}",
        )
        for (index, *_), scores in answers.items():
            own.setdefault(int(index), float(scores[0]))
            nulls[int(index)].append(scores[1:] if number == 0 else scores)
        if plan.is_sequential:
            undecided = [
                index for index in undecided if not is_settled(own[index], nulls[index], level)
            ]
    return {
        index: permutation_test(own[index], nulls[index], is_sequential=plan.is_sequential)
        for index in tested
    }


def _find_leakages(
    problem: Problem, contest: Contest, tested: Sequence[int]
) -> dict[int, list[Leakage]]:
    """Return what the context of each feature still tells about it."""

    def work(name: TaskName) -> list[Leakage]:
        feature = problem.features[int(name[0])]
        rng = problem.streams.generator(feature.name, "leakage", "permutations")
        n_rows = problem.columns.n_rows
        permutations = [rng.permutation(n_rows) for _ in range(_most_copies(n_rows, feature))]
        context, (own, *copies) = contest(feature, LEAKAGE_BATCH, permutations)
        seed = problem.streams.seed(feature.name, "leakage", "power")
        # Those removed right after the feature: where removal goes column by column, later ones
        # are removed more thoroughly.
        return measure_leakages(context, own, copies[:N_LEAKAGE_COPIES], seed)

    answers = problem.run(work, [(index,) for index in tested], title="leakage")
    return {int(index): leakage for (index,), leakage in answers.items()}


def _worst_leakage(leakages: Sequence[Leakage], limit: float) -> float:
    """Return the leakage of a feature's values, or of distances where that is beyond the limit."""
    values = [leakage.excess for leakage in leakages if not leakage.is_distance]
    others = [leakage.excess for leakage in leakages if leakage.excess > limit]
    return max([*values, *others], default=0.0)


def _batch_sizes(n_permutations: int, n_rows: int, feature: Feature) -> list[int]:
    """Return the numbers of copies, batch after batch, as equal as can be."""
    n_batches = math.ceil(n_permutations / _most_copies(n_rows, feature))
    return [len(part) for part in np.array_split(np.arange(n_permutations), n_batches)]


def _most_copies(n_rows: int, feature: Feature) -> int:
    n_fitting = n_rows // (ROWS_PER_COPY * feature.n_directions) - 1
    return int(np.clip(n_fitting, MIN_COPIES, MAX_COPIES))
