"""How the two scores of an importance are made comparable: the matched and the paper protocol.

matched
    ``score_without`` keeps a permuted copy of the feature in its place, with the same seed, so
    that the two fits differ in nothing but the information in the feature. If the context is
    independent of the feature, an unrelated feature has mean importance zero.
paper
    ``score_without`` drops the feature, as the authors' package does: seeds and number of columns
    tried differ, scores are floored and importances clipped at zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from umfi.columns import Columns
from umfi.contracts import ProtocolName
from umfi.methods.problem import Problem, ScorePair
from umfi.power import score_permuted
from umfi.result import ImportanceResult
from umfi.target import Target

__all__ = ["compare_in_context"]

# The authors floor accuracy at a half whatever the classes; kept for comparison with their package.
PAPER_FLOORS = {"R²": 0.0, "accuracy": 0.5}


def compare_in_context(
    problem: Problem,
    context_of: Callable[[Columns, int, int], Columns],
    protocol: ProtocolName,
) -> ImportanceResult:
    """Return the importance of each feature when it is added to a context of other columns.

    Parameters
    ----------
    problem : Problem
    context_of : callable
        From the columns of a repeat, a feature's index and the repeat to the feature's context.
    protocol : {"matched", "paper"}

    Notes
    -----
    A feature that repeats another gets the scores of its original, so that copies come out equal.
    """
    is_constant = problem.columns.is_constant()

    def work(columns: Columns, target: Target, index: int, repeat: int) -> ScorePair:
        context = context_of(columns, index, repeat)
        if is_constant[index]:
            score = problem.score(context, target, columns.names[index], repeat, "power")
            return ScorePair.no_difference(score)
        return _score_pair(problem, context, columns.select([index]), target, repeat, protocol)

    return problem.run_features(work, problem.columns.first_copies().tolist())


def _score_pair(
    problem: Problem,
    context: Columns,
    feature: Columns,
    target: Target,
    repeat: int,
    protocol: ProtocolName,
) -> ScorePair:
    """Return the power of context and feature together, and of the context alone.

    Parameters
    ----------
    context : Columns
        What the feature is added to; may be empty.
    feature : Columns
        The one column whose importance is measured.
    target : Target
        The response of the same rows.
    """
    name = feature.names[0]
    together = context.prepend(feature)
    if protocol == "matched":
        rng = problem.streams.generator(name, repeat, "permutation", 0)
        score_with, score_permuted_copy = score_permuted(
            problem.power,
            together,
            0,
            [rng.permutation(target.n_rows)],
            target,
            problem.streams.seed(name, repeat, "power"),
        )
        return ScorePair.difference(score_with, score_permuted_copy)
    score_with = problem.score(together, target, name, repeat, "power")
    score_without = problem.score(context, target, name, repeat, "power without")
    floor = PAPER_FLOORS.get(problem.settings["measure"], -np.inf)
    floored_with, floored_without = max(score_with, floor), max(score_without, floor)
    return ScorePair(floored_with, floored_without, max(floored_with - floored_without, 0.0))
