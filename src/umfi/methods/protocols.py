"""How the two scores of an importance are made comparable: the matched and the paper protocol.

matched
    ``score_without`` keeps a permuted copy of the feature in its place, with the same seed, so
    that the two fits differ in nothing but the information in the feature. If the context is
    independent of both alike, an unrelated feature has mean importance zero.
paper
    ``score_without`` drops the feature, as the authors' package does: seeds and number of columns
    tried differ, scores are floored and importances clipped at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from umfi.columns import Columns
from umfi.contracts import ProtocolName
from umfi.errors import InputError
from umfi.methods.assembly import SCORES
from umfi.methods.features import Feature, Groups, with_copies
from umfi.methods.outline import ScorePair
from umfi.methods.problem import Problem
from umfi.power import LinearContest
from umfi.result import ImportanceResult
from umfi.target import Target
from umfi.tasks import TaskName, Work

__all__ = [
    "ClosedForm",
    "ContextOf",
    "check_groups",
    "compare_in_context",
    "make_candidates",
    "run_scores",
    "score_pair",
]

# The authors floor accuracy at a half whatever the classes; kept for comparison with their package.
PAPER_FLOORS = {"R²": 0.0, "accuracy": 0.5}
# Enough for one matrix product to be worth its while, few enough for a progress bar.
FEATURES_PER_BLOCK = 64


# From the columns of a repeat, a feature, its columns followed by permuted copies, and the name of
# the random stream to the feature's context.
ContextOf = Callable[[Columns, Feature, Sequence[Columns], tuple[str | int, ...]], Columns]
# From the columns and response of a repeat, and its number, to what scores candidates beside all
# other columns without a context being made.
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
    protocol : {"matched", "paper"}
    scored : sequence of int
        The features that are scored; others repeat one of them and get its scores.
    test : callable, optional
        Computes what the tests of all features need.
    closed_form : callable, optional
        Scores candidates without a context.
    """

    def work(name: TaskName) -> dict[int, dict[str, ScorePair]]:
        index, repeat = int(name[0]), int(name[1])
        columns, target = problem.rows_of(repeat)
        feature = problem.features[index]
        pair = score_pair(problem, context_of, protocol, columns, target, feature, repeat)
        return {index: {"importance": pair}}

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

    def run(stage: str, repeats: Iterable[int], *, is_one_due: bool = False) -> None:
        problem.run(
            stage,
            work,
            [(index, repeat) for repeat in repeats for index in scored],
            label_of=lambda name: problem.describe_task(stage, int(name[0]), int(name[1])),
            owner_of=lambda name: int(name[0]) // n_features_each,
            is_one_due=is_one_due,
        )

    stages = problem.outline.split_runs(SCORES)
    for stage, repeats in stages:
        problem.runner.plan(stage, len(repeats) * len(scored))
    run(SCORES, [0], is_one_due=True)
    if test is not None:
        test()
    for stage, repeats in stages:
        run(stage, repeats)
    return problem.assemble()


def _score_blocks(
    problem: Problem,
    closed_form: ClosedForm,
    protocol: ProtocolName,
    blocks: Mapping[int, Sequence[int]],
) -> Work:
    """Return what scores features block by block, in closed form."""

    def work(name: TaskName) -> dict[int, dict[str, ScorePair]]:
        block, repeat = blocks[int(name[0])], int(name[1])
        columns, target = problem.rows_of(repeat)
        contests = [
            make_candidates(problem, columns, problem.features[index], repeat, protocol)
            for index in block
        ]
        scores = closed_form(columns, target, repeat).score(contests)
        return {
            index: {"importance": ScorePair.difference(*map(float, pair))}
            for index, pair in zip(block, scores, strict=True)
        }

    return work


def score_pair(
    problem: Problem,
    context_of: ContextOf,
    protocol: ProtocolName,
    columns: Columns,
    target: Target,
    feature: Feature,
    repeat: int,
) -> ScorePair:
    """Return the two scores of one feature in one repeat.

    The permuted copy and the seed of the fits are those of the feature and repeat, whatever the
    context: the scores of one feature in several contexts differ in nothing else.
    """
    stream = (feature.name, repeat)
    candidates = make_candidates(problem, columns, feature, repeat, protocol)
    context = context_of(columns, feature, candidates, stream)
    if feature.is_constant:
        return ScorePair.no_difference(problem.score(context, target, *stream, "power"))
    score_with, *of_copies = (
        problem.score(context.prepend(candidate), target, *stream, "power")
        for candidate in candidates
    )
    if protocol == "matched":
        return ScorePair.difference(score_with, of_copies[0])
    score_without = problem.score(context, target, *stream, "power without")
    floor = PAPER_FLOORS.get(problem.settings["measure"], -np.inf)
    floored_with, floored_without = max(score_with, floor), max(score_without, floor)
    return ScorePair(floored_with, floored_without, max(floored_with - floored_without, 0.0))


def make_candidates(
    problem: Problem, columns: Columns, feature: Feature, repeat: int, protocol: ProtocolName
) -> list[Columns]:
    """Return the feature's columns and, for the matched protocol, a permuted copy of them."""
    permutations = []
    if protocol == "matched":
        rng = problem.streams.generator(feature.name, repeat, "permutation", 0)
        permutations = [rng.permutation(columns.n_rows)]
    return with_copies(columns.select(feature.positions), permutations)


def check_groups(groups: Groups | None, protocol: ProtocolName) -> None:
    """Raise if groups are asked for where the paper has none."""
    if protocol == "paper" and groups is not None:
        raise InputError("The paper protocol has no groups: pass protocol='matched'.")
