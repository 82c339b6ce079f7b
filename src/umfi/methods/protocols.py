"""How the two scores of an importance are made comparable: the matched and the paper protocol.

matched
    ``score_without`` keeps a permuted copy of the feature in its place, with the same seed, so
    that the two fits differ in nothing but the information in the feature. An unrelated feature
    has mean importance zero.
paper
    ``score_without`` drops the feature, as the authors' package does: seeds and number of columns
    tried differ, scores are floored and importances clipped at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from umfi.columns import Columns
from umfi.contracts import ProtocolName
from umfi.methods.problem import Problem, ScorePair
from umfi.result import ImportanceResult
from umfi.target import Target

__all__ = ["compare_in_context"]

# The authors floor accuracy here whatever the classes; kept for comparison with their package.
PAPER_FLOOR = {"regression": 0.0, "classification": 0.5}


def compare_in_context(
    problem: Problem,
    context_of: Callable[[Columns, int, int], Columns],
    protocol: ProtocolName,
    *,
    representatives: Sequence[int] | None = None,
) -> ImportanceResult:
    """Return the importance of each feature when it is added to a context of other columns.

    Parameters
    ----------
    problem : Problem
    context_of : callable
        From the columns of a repeat, a feature's index and the repeat to the feature's context.
    protocol : {"matched", "paper"}
    representatives : sequence of int, optional
        For each feature the index of the feature whose scores it gets; its own by default.
    """
    is_constant = problem.columns.is_constant()

    def work(columns: Columns, target: Target, index: int, repeat: int) -> ScorePair:
        context = context_of(columns, index, repeat)
        if is_constant[index]:
            seed = problem.streams.seed(columns.names[index], repeat, "power")
            return ScorePair.no_difference(problem.power.score(context, target, seed))
        return _score_pair(problem, context, columns.select([index]), target, repeat, protocol)

    return problem.run_features(work, representatives=representatives)


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
    power, streams = problem.power, problem.streams
    seed = streams.seed(name, repeat, "power")
    together = context.prepend(feature)
    score_with = power.score(together, target, seed)
    if protocol == "matched":
        rng = streams.generator(name, repeat, "permutation", 0)
        permuted = together.with_rows_permuted(0, rng.permutation(target.n_rows))
        return ScorePair.difference(score_with, power.score(permuted, target, seed))
    score_without = power.score(context, target, streams.seed(name, repeat, "power without"))
    floor = PAPER_FLOOR[target.task]
    floored_with, floored_without = max(score_with, floor), max(score_without, floor)
    return ScorePair(floored_with, floored_without, max(floored_with - floored_without, 0.0))
