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
from umfi.result import ImportanceResult
from umfi.target import Target

__all__ = ["check_groups", "compare_in_context"]

# The authors floor accuracy at a half whatever the classes; kept for comparison with their package.
PAPER_FLOORS = {"R²": 0.0, "accuracy": 0.5}


# From the columns of a repeat, a feature, its columns followed by permuted copies, and the name of
# the random stream to the feature's context.
ContextOf = Callable[[Columns, Feature, Sequence[Columns], tuple[str | int, ...]], Columns]


def compare_in_context(
    problem: Problem,
    context_of: ContextOf,
    protocol: ProtocolName,
    tests: pd.DataFrame | None = None,
) -> ImportanceResult:
    """Return the importance of each feature when it is added to a context of other columns.

    Parameters
    ----------
    problem : Problem
    context_of : callable
    protocol : {"matched", "paper"}
    tests : DataFrame, optional
        Outcomes of the test of each feature, for the result.

    Notes
    -----
    A feature that repeats another gets the scores of its original, so that copies come out equal.
    """

    def work(columns: Columns, target: Target, feature: Feature, repeat: int) -> ScorePair:
        stream = (feature.name, repeat)
        permutations = []
        if protocol == "matched":
            rng = problem.streams.generator(*stream, "permutation", 0)
            permutations = [rng.permutation(target.n_rows)]
        candidates = with_copies(columns.select(feature.positions), permutations)
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

    return problem.run_features(
        work, find_representatives(problem.columns, problem.features), tests
    )


def check_groups(groups: Groups | None, protocol: ProtocolName) -> None:
    """Raise if groups are asked for where the paper has none."""
    if protocol == "paper" and groups is not None:
        raise InputError("The paper protocol has no groups: pass protocol='matched'.")
