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

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from umfi.columns import Columns
from umfi.contracts import ProtocolName
from umfi.errors import InputError
from umfi.methods.features import Feature, Groups, find_representatives, with_copies
from umfi.methods.problem import Problem, ScorePair
from umfi.power import LinearContest
from umfi.result import ImportanceResult
from umfi.target import Target
from umfi.tasks import TaskName

__all__ = [
    "ClosedForm",
    "ContextOf",
    "check_groups",
    "compare_in_context",
    "make_candidates",
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
    tests: pd.DataFrame | None = None,
    closed_form: ClosedForm | None = None,
) -> ImportanceResult:
    """Return the importance of each feature when it is added to a context of other columns.

    Parameters
    ----------
    problem : Problem
    context_of : callable
    protocol : {"matched", "paper"}
    tests : DataFrame, optional
        Outcomes of the test of each feature, for the result.
    closed_form : callable, optional
        Scores candidates without a context.

    Notes
    -----
    A feature that repeats another gets the scores of its original, so that copies come out equal.
    """
    if closed_form is not None:
        return _compare_in_closed_form(problem, closed_form, protocol, tests)

    def work(columns: Columns, target: Target, feature: Feature, repeat: int) -> ScorePair:
        return score_pair(problem, context_of, protocol, columns, target, feature, repeat)

    return problem.run_features(
        work, find_representatives(problem.columns, problem.features), tests
    )


def _compare_in_closed_form(
    problem: Problem,
    closed_form: ClosedForm,
    protocol: ProtocolName,
    tests: pd.DataFrame | None,
) -> ImportanceResult:
    """Return the same, block by block of features."""
    representatives = find_representatives(problem.columns, problem.features)
    scored = sorted(set(representatives))

    def work(name: TaskName) -> dict[int, ScorePair]:
        first, repeat = int(name[0]), int(name[1])
        block = scored[first : first + FEATURES_PER_BLOCK]
        columns, target = problem.rows_of(repeat)
        contests = [
            make_candidates(problem, columns, problem.features[index], repeat, protocol)
            for index in block
        ]
        scores = closed_form(columns, target, repeat).score(contests)
        return {
            index: ScorePair.difference(*pair) for index, pair in zip(block, scores, strict=True)
        }

    names = [
        (first, repeat)
        for repeat in problem.runs
        for first in range(0, len(scored), FEATURES_PER_BLOCK)
    ]
    pairs: dict[tuple[int, int], ScorePair] = {
        (index, int(repeat)): pair
        for (_, repeat), block in problem.run(work, names).items()
        for index, pair in block.items()
    }
    return problem.result(
        (
            (feature, repeat, pairs[index, repeat])
            for repeat in problem.runs
            for feature, index in enumerate(representatives)
        ),
        tests=tests,
    )


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
