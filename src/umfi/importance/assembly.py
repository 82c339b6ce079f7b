"""From the answers of a run to its result: of one that is complete, broken off, or going on.

Only answers and an outline are needed, so that a checkpoint can be read without the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from umfi.errors import InputError, listed
from umfi.importance.parts import TESTED_PARTS
from umfi.importance.result import SCORE_COLUMNS, ImportanceResult
from umfi.importance.specification import Outline, ScorePair
from umfi.inference import PermutationTest
from umfi.inference.sequential import Plan, Trial
from umfi.removal import Leakage, leakage_limit

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SCORES",
    "SUBSETS",
    "TREES",
    "AnswersOf",
    "assemble",
    "find_decided",
    "test_stage",
]

# Stages of runs, by what their tasks answer.
SCORES = "scores"
SUBSETS = "subsets"
TREES = "trees"

# From a stage to its answers by the names of the tasks.
AnswersOf = Callable[[str], Mapping[tuple[str | int, ...], Any]]


def test_stage(part: str) -> str:
    """Return the stage in which a part of importances is tested."""
    return f"test of {part}"


def find_decided(outline: Outline, answers_of: AnswersOf, part: str) -> set[int]:
    """Return the features whose p-value is 1 whatever their copies do, by index.

    Those whose estimate is not above zero: what predicts no better with a feature is no evidence
    of a relation, and to say so only makes a p-value larger. Of several repeats the others may
    still raise the mean.
    """
    if outline.repeats > 1:
        return set()
    estimates = {
        int(index): ScorePair.from_plain(of_parts[part]).importance
        for name, answer in answers_of(SCORES).items()
        for index, of_parts in answer.items()
        if int(name[1]) == 0
    }
    return {
        feature
        for feature, source in enumerate(outline.representatives)
        if not estimates.get(source, 1.0) > 0.0
    }


def assemble(
    outline: Outline, answers_of: AnswersOf, reason: str | None = None
) -> ImportanceResult:
    """Return the result of what has been answered.

    Parameters
    ----------
    outline : Outline
    answers_of : callable
    reason : str, optional
        Why answers may be missing, as the beginning of a sentence.

    Raises
    ------
    InputError
        If no feature has an importance yet.
    """
    result, undone = ASSEMBLERS[outline.method](outline, answers_of)
    n_repeats = result.scores.groupby("feature")["repeat"].nunique()
    if n_repeats.empty:
        if reason is not None and reason.startswith("This is share"):
            raise InputError(
                f"{reason}, which has no whole feature: what it did is kept, so merge the files."
            )
        raise InputError(
            f"{reason or 'The run was broken off'} before any feature had its importance: allow "
            "more time."
        )
    notes = [*_note_missing(outline, result, n_repeats), *undone]
    if not notes:
        return result
    note = f"{reason or 'The run is not complete'}: {'; '.join(notes)}."
    settings = result.settings | {
        "notes": [*result.settings["notes"], note],
        "stopped": reason or "The run is not complete",
    }
    return replace(result, settings=settings)


def _note_missing(outline: Outline, result: ImportanceResult, n_repeats: pd.Series) -> list[str]:
    """Return what there is less of than was asked for."""
    notes = []
    names = [feature.name for feature in outline.features]
    missing = [name for name in names if name not in n_repeats.index]
    if missing:
        notes.append(f"there is no importance of {listed(missing)}")
    least, most = int(n_repeats.min()), int(n_repeats.max())
    if least < outline.repeats:
        n_done = f"{least}" if least == most else f"{least} to {most}"
        notes.append(f"{n_done} of {outline.repeats} repeats are done")
    return notes


# A result, and what there is less of than was asked for.
_Assembled = tuple[ImportanceResult, list[str]]


def _assemble_scores(outline: Outline, answers_of: AnswersOf) -> _Assembled:
    """Return the result of methods that score features one by one, and of their parts."""
    scores: dict[tuple[int, int], dict[str, list[float]]] = {
        (int(index), int(name[1])): of_parts
        for name, answer in answers_of(SCORES).items()
        for index, of_parts in answer.items()
    }
    found = [
        (feature, run, scores[index, run])
        for run in range(outline.repeats)
        for feature, index in enumerate(outline.representatives)
        if (index, run) in scores
    ]
    undone: list[str] = []
    pairs = [
        (feature, run, ScorePair.from_plain(of_parts["importance"]))
        for feature, run, of_parts in found
    ]
    result = outline.result(pairs)
    tests = _assemble_tests(outline, answers_of, "importance", result.importances, undone)
    result = replace(result, tests=tests)
    if outline.method == "decompose":
        result = _add_parts(result, outline, answers_of, found, undone)
    return result, undone


def _add_parts(
    result: ImportanceResult,
    outline: Outline,
    answers_of: AnswersOf,
    found: list[tuple[int, int, dict[str, list[float]]]],
    undone: list[str],
) -> ImportanceResult:
    """Return the result with the scores and tests of the parts of its importances."""
    import pandas as pd

    rows = [
        (part, outline.features[feature].name, run, *ScorePair.from_plain(of_parts[part]))
        for feature, run, of_parts in found
        for part in of_parts
        if part != "importance"
    ]
    part_scores = pd.DataFrame(rows, columns=["part", *SCORE_COLUMNS])
    estimates = part_scores.groupby(["part", "feature"])["importance"].mean()
    tests = {
        part: _assemble_tests(outline, answers_of, part, estimates[part], undone)
        for part in TESTED_PARTS
        if part not in outline.extra.get("untested", [])
    }
    frames = [frame.assign(part=part) for part, frame in tests.items() if frame is not None]
    part_tests = pd.concat(frames, ignore_index=True) if frames else None
    return replace(result, part_scores=part_scores, part_tests=part_tests)


def _assemble_tests(
    outline: Outline,
    answers_of: AnswersOf,
    part: str,
    estimates: pd.Series,
    undone: list[str],
) -> pd.DataFrame | None:
    """Return a row for each feature: ``feature, p_value, tail, n_permutations, leakage, leaks``.

    None if nothing is tested.

    Features without a batch have p = 1, which is valid whatever they are. So have those whose
    estimate is not above zero, see :func:`find_decided`.
    """
    import pandas as pd

    plan = Plan.from_settings(outline.settings, part)
    if plan is None:
        return None
    answers = answers_of(test_stage(part))
    # Copies of a column are told by each other, so each is tested for itself.
    is_for_itself = outline.method == "ablation" or part == "irreplaceable"
    sources = range(len(outline.features)) if is_for_itself else outline.representatives
    decided = find_decided(outline, answers_of, part)
    leakages: dict[int, list[Leakage]] = {}
    outcomes: dict[int, PermutationTest] = {}
    n_undecided = 0
    for index in sorted(set(sources)):
        outcomes[index] = PermutationTest(1.0, 0, False)
        feature = outline.features[index]
        if feature.is_constant:
            continue
        trial = Trial(plan, outline.n_rows, feature, index, is_decided=index in decided)
        first = trial.next_batch
        if first is not None and first in answers:
            leakages[index] = [
                Leakage(own, tuple(copies), flag)
                for own, copies, flag in answers[first]["leakages"]
            ]
        trial.advance(answers)
        n_undecided += trial.next_batch is not None
        outcomes[index] = trial.outcome
    limit = leakage_limit([one for of_feature in leakages.values() for one in of_feature])
    if n_undecided:
        what = "" if part == "importance" else f" of {part}"
        plural = "s are" if n_undecided > 1 else " is"
        undone.append(f"{n_undecided} feature{plural} undecided, which shows in the p-values{what}")
    rows = []
    for feature, index in zip(outline.features, sources, strict=True):
        # A constant has nothing to leak; others without a batch were not measured.
        is_known = index in leakages or feature.is_constant
        leakage = _worst_leakage(leakages.get(index, []), limit) if is_known else float("nan")
        is_above = bool(estimates.get(feature.name, 0.0) > 0.0)
        rows.append(
            {
                "feature": feature.name,
                "p_value": outcomes[index].p_value if is_above else 1.0,
                "tail": outcomes[index].is_tail and is_above,
                "n_permutations": outcomes[index].n_permutations,
                "leakage": leakage,
                "leaks": bool(leakage > limit),
            }
        )
    return pd.DataFrame(rows)


def _worst_leakage(leakages: list[Leakage], limit: float) -> float:
    """Return the leakage of a feature's values, or of distances where that is beyond the limit."""
    values = [leakage.excess for leakage in leakages if not leakage.is_distance]
    others = [leakage.excess for leakage in leakages if leakage.excess > limit]
    return max([*values, *others], default=0.0)


def _assemble_trees(outline: Outline, answers_of: AnswersOf) -> _Assembled:
    """Return the result of methods that shuffle features tree by tree: means over the trees."""
    sums: dict[int, Any] = {}
    n_trees: dict[int, int] = {}
    # In the order of the trees, so that it rounds the same.
    for name, answer in sorted(answers_of(TREES).items()):
        run = int(name[0])
        if run >= outline.repeats:
            continue
        sums[run] = sums.get(run, 0.0) + np.array(answer["sums"])
        n_trees[run] = n_trees.get(run, 0) + int(answer["n_trees"])
    means = {run: total / n_trees[run] for run, total in sorted(sums.items())}
    result = outline.result(
        (feature, run, ScorePair.difference(float(of_run[0]), float(of_run[1 + feature])))
        for run, of_run in means.items()
        for feature in range(len(outline.features))
    )
    n_least = min(n_trees.values(), default=0)
    if n_least == outline.extra["n_trees"]:
        return result, []
    return result, [f"a repeat has {n_least} of {outline.extra['n_trees']} trees"]


def _assemble_subsets(outline: Outline, answers_of: AnswersOf) -> _Assembled:
    """Return the result of marginal contribution: the most that a feature adds to any set.

    Of a run that was broken off, the repeats that are complete; and if there is none, the first
    one with sets as large as are complete.
    """
    scores = answers_of(SUBSETS)
    used = [index for index in outline.scored if not outline.features[index].is_constant]
    asked = outline.settings["max_context"]
    largest = len(used) - 1 if asked is None else min(asked, len(used) - 1)

    def is_complete(run: int, size: int) -> bool:
        return all((run, *subset) in scores for subset in combinations(used, size))

    def largest_context(run: int) -> int:
        """Return how large contexts can be for all sets to be known, -2 if none are."""
        sizes = (size for size in range(largest + 2) if not is_complete(run, size))
        return next(sizes, largest + 2) - 2

    undone = []
    contexts = {run: largest_context(run) for run in range(outline.repeats)}
    runs = [run for run, context in contexts.items() if context == largest]
    context = largest
    if not runs and contexts[0] >= 0:
        runs, context = [0], contexts[0]
        size = "one feature" if context == 1 else f"{context} features"
        undone.append(f"sets S of at most {size} were looked at")

    def best(feature: int, run: int) -> tuple[tuple[int, ...], ScorePair]:
        source = outline.representatives[feature]
        nothing = scores[run,]
        if outline.features[feature].is_constant:
            return (), ScorePair.difference(nothing, nothing)
        pairs = []
        for subset in _contexts(used, source, context):
            score_with = scores[run, *sorted((*subset, source))]
            score_without = scores[run, *subset]
            gain = max(score_with, nothing) - max(score_without, nothing)
            pairs.append((subset, ScorePair(score_with, score_without, gain)))
        return max(pairs, key=lambda pair: pair[1].importance)

    rows = [
        (feature, run, *best(feature, run))
        for run in runs
        for feature in range(len(outline.features))
    ]
    result = outline.result(
        ((feature, run, pair) for feature, run, _, pair in rows),
        extra={"context": [[outline.features[index].name for index in row[2]] for row in rows]},
    )
    return result, undone


def _contexts(used: list[int], feature: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield every set of other features of at most this size, smallest first."""
    others = [index for index in used if index != feature]
    for size in range(largest + 1):
        yield from combinations(others, size)


ASSEMBLERS: dict[str, Callable[[Outline, AnswersOf], _Assembled]] = {
    "ultra_marginal": _assemble_scores,
    "ablation": _assemble_scores,
    "bivariate": _assemble_scores,
    "decompose": _assemble_scores,
    "permutation": _assemble_trees,
    "conditional_permutation": _assemble_trees,
    "marginal_contribution": _assemble_subsets,
}
