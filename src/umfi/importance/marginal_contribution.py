"""Marginal contribution feature importance, MCI (Catav et al. 2021; equation 2 of the paper)."""

from __future__ import annotations

from functools import partial
from itertools import chain, combinations
from math import comb
from typing import Any, Unpack

from umfi.errors import InputError, is_whole_number
from umfi.importance.options import CommonOptions, with_options
from umfi.importance.result import ImportanceResult
from umfi.importance.specification import AnswersOf, ScorePair, Specification, Undone
from umfi.importance.study import Study

__all__ = ["assemble_subsets", "marginal_contribution"]

SUBSETS = "subsets"
# Beyond this many subsets a run is a mistake rather than a plan.
MAX_SUBSETS = 5_000_000

# A task: a repeat, then the indices of the features whose set is scored.
SubsetTask = tuple[int, ...]


@with_options(CommonOptions)
def marginal_contribution(
    X: Any, y: Any, *, max_context: int | None = 2, **options: Unpack[CommonOptions]
) -> ImportanceResult:
    """Return the most that each feature adds to any set of others.

    I(x) = max over S of nu(S and x) - nu(S). The score of each set is computed once. By equation
    1 no set is worth less than nothing, so a score below that of no columns counts as that score;
    without this, forests on noise, which score below chance, would make every feature important.
    A maximum over noisy scores is still biased upwards: unrelated features come out above zero.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    max_context : int, optional
        The largest number of features in S; None for all subsets, which takes 2ᵖ forests.
    {common_parameters}

    Returns
    -------
    ImportanceResult
        Its scores have one more column, ``context``: the set S that gave the maximum.

    Notes
    -----
    Columns that repeat another are set aside and get the scores of their original.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("nonlinear_interactions", n=200, random_state=0)
    >>> result = umfi.marginal_contribution(X, y, max_context=1, random_state=0)
    >>> max(len(context) for context in result.scores["context"])
    1
    """
    if max_context is not None and (not is_whole_number(max_context) or max_context < 0):
        raise InputError(
            "is not valid: pass a whole number from 0 up, or None for all subsets.",
            argument="max_context",
            value=max_context,
        )
    study = Study.prepare("marginal_contribution", X, y, {"max_context": max_context}, options)
    used, largest = _find_used(study)
    n_subsets = sum(comb(len(used), size) for size in range(largest + 2))
    if n_subsets > MAX_SUBSETS:
        raise InputError(
            f"{len(used)} features have {n_subsets:,} sets to score: lower max_context.",
            argument="max_context",
        )
    tasks = [
        (repeat, *subset)
        for repeat in range(study.repeats)
        for size in range(largest + 2)
        for subset in combinations(used, size)
    ]
    label = partial(_label, study)
    with study:
        study.run(SUBSETS, partial(score_subset, study), tasks, label_of=label, is_one_due=True)
        return study.finish(assemble_subsets)


def score_subset(study: Study, task: SubsetTask) -> float:
    """Return nu of a set of features in one repeat."""
    repeat, *subset = task
    sampled, target = study.rows_of(repeat)
    context = sampled.select([one for index in subset for one in study.features[index].positions])
    return study.score(context, target, "subset", repeat, *context.names)


def _label(study: Study, task: SubsetTask) -> str:
    """Return what dashboards show of a task."""
    names = ", ".join(study.features[index].name for index in task[1:])
    return f"marginal_contribution of {names or 'nothing'}, repeat {task[0]}"


def _find_used(specification: Specification) -> tuple[list[int], int]:
    """Return the features that sets are made of, and the largest size of S."""
    used = [one for one in specification.scored if not specification.features[one].is_constant]
    asked = specification.settings["max_context"]
    return used, len(used) - 1 if asked is None else min(asked, len(used) - 1)


def assemble_subsets(
    specification: Specification, answers_of: AnswersOf
) -> tuple[ImportanceResult, list[Undone]]:
    """Return the result, the most that a feature adds to any set, and what is undone.

    Of a run that was stopped early, the repeats that are complete; and if there is none, the first
    one with sets as large as are complete.
    """
    scores = answers_of(SUBSETS)
    used, largest = _find_used(specification)

    def is_complete(repeat: int, size: int) -> bool:
        return all((repeat, *subset) in scores for subset in combinations(used, size))

    def largest_context(repeat: int) -> int:
        """Return how large contexts can be for all sets to be known, -2 if none are."""
        sizes = (size for size in range(largest + 2) if not is_complete(repeat, size))
        return next(sizes, largest + 2) - 2

    undone: list[Undone] = []
    contexts = {repeat: largest_context(repeat) for repeat in range(specification.repeats)}
    repeats = [repeat for repeat, context in contexts.items() if context == largest]
    context = largest
    if not repeats and contexts[0] >= 0:
        repeats, context = [0], contexts[0]
        size = "one feature" if context == 1 else f"{context} features"
        undone.append(Undone(f"sets S of at most {size} were looked at"))

    def best(feature: int, repeat: int) -> tuple[tuple[int, ...], ScorePair]:
        source = specification.representatives[feature]
        nothing = scores[repeat,]
        if specification.features[feature].is_constant:
            return (), ScorePair.difference(nothing, nothing)
        pairs = []
        others = [index for index in used if index != source]
        for subset in chain.from_iterable(
            combinations(others, size) for size in range(context + 1)
        ):
            score_with = scores[repeat, *sorted((*subset, source))]
            score_without = scores[repeat, *subset]
            gain = max(score_with, nothing) - max(score_without, nothing)
            pairs.append((subset, ScorePair(score_with, score_without, gain)))
        return max(pairs, key=lambda pair: pair[1].importance)

    rows = [
        (feature, repeat, *best(feature, repeat))
        for repeat in repeats
        for feature in range(len(specification.features))
    ]
    names = [feature.name for feature in specification.features]
    result = specification.result(
        ((feature, repeat, pair) for feature, repeat, _, pair in rows),
        columns={"context": [[names[index] for index in context] for _, _, context, _ in rows]},
    )
    return result, undone
