"""How the two scores of an importance are made comparable.

one-fit
    One fit gives both (:class:`umfi.power.PredictingPower`): with the feature known, and averaged
    over it. If the context is independent of the feature, the average is what would be predicted
    without it, and the noise of the fit cancels. The fit has permuted copies of the feature too,
    and averages over one of these where the feature is known: see ``compare_averages``.
matched
    ``score_without`` is a second fit with a permuted copy of the feature in its place and the same
    seed, so that the two fits differ in nothing but the information in the feature. For powers
    that only score, and for contexts that are not independent of the feature.
paper
    ``score_without`` drops the feature, as the authors' package does: seeds and number of columns
    tried differ, scores are floored and importances clipped at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from umfi.data.columns import Columns
from umfi.data.contracts import ProtocolName
from umfi.data.target import Target
from umfi.errors import InputError
from umfi.execution import TaskName, Work
from umfi.importance.assembly import SCORES
from umfi.importance.features import Feature, Groups, with_copies
from umfi.importance.result import ImportanceResult
from umfi.importance.specification import ScorePair
from umfi.importance.study import Problem
from umfi.power import Comparison, LinearContest, PredictingPower, compare_answers, compare_averages
from umfi.power.measures import find_measure
from umfi.removal import find_donors

__all__ = [
    "ClosedForm",
    "ContextOf",
    "check_groups",
    "compare",
    "compare_in_closed_form",
    "compare_in_context",
    "make_candidates",
    "run_scores",
]

# The authors floor accuracy at a half whatever the classes; kept for comparison with their package.
PAPER_FLOORS = {"R²": 0.0, "accuracy": 0.5}
# Two make half of the noise of one, and cost the fit little: benchmarks/one_fit.py.
N_COPIES = {"one-fit": 2, "matched": 1, "paper": 0}
# Enough for one matrix product to be worth its while, few enough for a progress bar.
FEATURES_PER_BLOCK = 64


# From the columns of a repeat, a feature, its columns followed by permuted copies, and the name of
# the random stream to the feature's context.
ContextOf = Callable[[Columns, Feature, Sequence[Columns], tuple[str | int, ...]], Columns]
# From the columns and response of a repeat, and its number, to what predicts with candidates beside
# all other columns without a context being made.
ClosedForm = Callable[[Columns, Target, int], LinearContest]


def compare_in_context(
    problem: Problem,
    context_of: ContextOf,
    protocol: ProtocolName,
    scored: Sequence[int],
    *,
    test: Callable[[], None] | None = None,
    closed_form: ClosedForm | None = None,
) -> ImportanceResult:
    """Return the importance of each feature when it is added to a context of other columns.

    Parameters
    ----------
    problem : Problem
    context_of : callable
    protocol : {"one-fit", "matched", "paper"}
    scored : sequence of int
        The features that are scored; others repeat one of them and get its scores.
    test : callable, optional
        Computes what the tests of all features need.
    closed_form : callable, optional
        Predicts with candidates without a context.
    """

    def work(name: TaskName) -> dict[int, dict[str, Any]]:
        index, repeat = int(name[0]), int(name[1])
        columns, target = problem.rows_of(repeat)
        feature = problem.features[index]
        if protocol == "paper":
            pair = _score_as_paper(problem, context_of, columns, target, feature, repeat)
        else:
            found = compare(problem, context_of, protocol, columns, target, feature, repeat)
            pair = ScorePair.from_comparison(found)
        return {index: {"importance": pair.to_plain()}}

    if closed_form is None:
        return run_scores(problem, work, scored, test=test)
    blocks = {
        scored[first]: scored[first : first + FEATURES_PER_BLOCK]
        for first in range(0, len(scored), FEATURES_PER_BLOCK)
    }
    block_work = _score_blocks(problem, closed_form, protocol, blocks)
    return run_scores(
        problem, block_work, list(blocks), test=test, n_features_each=FEATURES_PER_BLOCK
    )


def run_scores(
    problem: Problem,
    work: Work,
    scored: Sequence[int],
    *,
    test: Callable[[], None] | None = None,
    n_features_each: int = 1,
) -> ImportanceResult:
    """Return the result of scoring and testing features.

    Every feature is scored once before any is tested, and the other repeats come last: when time is
    short, it goes to the features that are not yet decided.

    Parameters
    ----------
    problem : Problem
    work : callable
        From (index, repeat) to the scores of each part of the importance, by index.
    scored : sequence of int
        The indices that name tasks.
    test : callable, optional
    n_features_each : int
        How many features a task scores: from the one it is named by.
    """

    def run(repeats: Iterable[int], *, is_one_due: bool = False) -> None:
        problem.run(
            SCORES,
            work,
            [(index, repeat) for repeat in repeats for index in scored],
            label_of=lambda name: problem.describe_task(SCORES, int(name[0]), int(name[1])),
            owner_of=lambda name: int(name[0]) // n_features_each,
            is_one_due=is_one_due,
        )

    problem.runner.plan(SCORES, problem.repeats * len(scored))
    run([0], is_one_due=True)
    if test is not None:
        test()
    run(range(problem.repeats))
    return problem.assemble()


def _score_blocks(
    problem: Problem,
    closed_form: ClosedForm,
    protocol: ProtocolName,
    blocks: Mapping[int, Sequence[int]],
) -> Work:
    """Return what scores features block by block, in closed form."""

    def work(name: TaskName) -> dict[int, dict[str, Any]]:
        block, repeat = blocks[int(name[0])], int(name[1])
        features = [problem.features[index] for index in block]
        found = compare_in_closed_form(problem, closed_form, protocol, features, repeat)
        return {
            index: {"importance": ScorePair.from_comparison(one).to_plain()}
            for index, one in zip(block, found, strict=True)
        }

    return work


def compare_in_closed_form(
    problem: Problem,
    closed_form: ClosedForm,
    protocol: ProtocolName,
    features: Sequence[Feature],
    repeat: int,
) -> list[Comparison]:
    """Return the two scores of each feature in one repeat, in closed form."""
    columns, target = problem.rows_of(repeat)
    contests = [
        make_candidates(problem, columns, feature, repeat, protocol) for feature in features
    ]
    measure = _measure_of(problem, target)
    return [
        compare_averages(measure, averages, target)
        for averages in closed_form(columns, target, repeat).average_out(contests)
    ]


def _measure_of(problem: Problem, target: Target) -> str:
    power = problem.power
    measure = power.measure if isinstance(power, PredictingPower) else None
    return find_measure(measure, target.task)


def compare(
    problem: Problem,
    context_of: ContextOf,
    protocol: ProtocolName,
    columns: Columns,
    target: Target,
    feature: Feature,
    repeat: int,
) -> Comparison:
    """Return the two scores of one feature in one repeat, and what each row contributes.

    The permuted copy and the seed of the fits are those of the feature and repeat, whatever the
    context: the scores of one feature in several contexts differ in nothing else.
    """
    power, stream = problem.power, (feature.name, repeat)
    seed = problem.streams.seed(*stream, "power")
    candidates = make_candidates(problem, columns, feature, repeat, protocol)
    context = context_of(columns, feature, candidates, stream)
    if feature.is_constant:
        score = problem.score(context, target, *stream, "power")
        return Comparison(score, score, np.zeros(target.n_rows))
    if not isinstance(power, PredictingPower):
        score_with, score_without = (
            problem.score(context.prepend(candidate), target, *stream, "power")
            for candidate in candidates
        )
        return Comparison(score_with, score_without)
    measure = _measure_of(problem, target)
    if protocol == "one-fit":
        own = candidates[0]
        rows = find_donors(context, own, problem.streams.seed(*stream, "donors")).rows
        if rows is not None:
            # Copies that depend on the context as the feature does: each row has the value of one
            # of its donors.
            rng = problem.streams.generator(*stream, "donors of copies")
            permutations = [
                rows[np.arange(len(rows)), rng.integers(rows.shape[1], size=len(rows))]
                for _ in candidates[1:]
            ]
            candidates = with_copies(own, permutations)
        averages = power.average_out(context, candidates, target, seed, donors=rows)
        return compare_averages(measure, averages, target)
    of_own, of_copy = (
        power.predict(context.prepend(candidate), target, seed) for candidate in candidates
    )
    return compare_answers(measure, of_own, of_copy, target)


def _score_as_paper(
    problem: Problem,
    context_of: ContextOf,
    columns: Columns,
    target: Target,
    feature: Feature,
    repeat: int,
) -> ScorePair:
    """Return the two scores of one feature as the authors' package has them."""
    stream = (feature.name, repeat)
    own = columns.select(feature.positions)
    context = context_of(columns, feature, [own], stream)
    score_without = problem.score(context, target, *stream, "power without")
    if feature.is_constant:
        return ScorePair.difference(score_without, score_without)
    score_with = problem.score(context.prepend(own), target, *stream, "power")
    floor = PAPER_FLOORS.get(problem.settings["measure"], -np.inf)
    floored_with, floored_without = max(score_with, floor), max(score_without, floor)
    return ScorePair(floored_with, floored_without, max(floored_with - floored_without, 0.0))


def make_candidates(
    problem: Problem, columns: Columns, feature: Feature, repeat: int, protocol: ProtocolName
) -> list[Columns]:
    """Return the feature's columns, and permuted copies of them where the protocol has any."""
    rng = problem.streams.generator(feature.name, repeat, "permutation", 0)
    permutations = [rng.permutation(columns.n_rows) for _ in range(N_COPIES[protocol])]
    return with_copies(columns.select(feature.positions), permutations)


def check_groups(groups: Groups | None, protocol: ProtocolName | None) -> None:
    """Raise if groups are asked for where the paper has none."""
    if protocol == "paper" and groups is not None:
        raise InputError("The paper protocol has no groups: leave protocol out.")
