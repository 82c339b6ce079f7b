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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.importance.features import ContextOf, Feature, with_copies
from umfi.importance.result import ImportanceResult
from umfi.importance.specification import AnswersOf, Assembler, ScorePair, Specification, Undone
from umfi.importance.study import Recent, Study
from umfi.importance.testing import SCORES, FeatureTests, assemble_tests, note_tests, run_tests
from umfi.power import (
    Comparison,
    LinearClosedForm,
    LinearPower,
    PredictingPower,
    compare_averages,
    compare_predictions,
)
from umfi.power.measures import find_measure
from umfi.removal import find_donors

__all__ = [
    "FEATURES_PER_BLOCK",
    "LinearFits",
    "ScoreTask",
    "assemble_scores",
    "collect_scores",
    "compare",
    "compare_in_closed_form",
    "make_candidates",
    "score_and_test",
    "score_block",
    "score_feature",
]

# The authors floor accuracy at a half whatever the classes; for comparison with their package.
PAPER_FLOORS = {"R²": 0.0, "accuracy": 0.5}
# Two make half of the noise of one, and cost the fit little: benchmarks/one_fit.py.
N_COPIES = {"one-fit": 2, "matched": 1, "paper": 0}
# Enough for one matrix product to be worth its while, few enough for a progress bar.
FEATURES_PER_BLOCK = 64


class ScoreTask(NamedTuple):
    """A task: the scores of a feature, or of the block that begins with it, in one repeat."""

    feature: int
    repeat: int


@dataclass(frozen=True)
class LinearFits:
    """Fits in closed form: candidates beside all other columns that are used, without contexts."""

    power: LinearPower
    is_used: NDArray[np.bool_]
    fitted: Recent = field(default_factory=Recent, init=False)

    def fit(self, study: Study, repeat: int) -> LinearClosedForm:
        """Return the fit to the rows of one repeat."""
        columns, target = study.rows_of(repeat)
        used = np.flatnonzero(self.is_used)
        return self.fitted.get(
            repeat if study.is_sampled(repeat) else -1,
            lambda: LinearClosedForm(self.power, columns.select(used), target),
        )


def score_and_test(
    study: Study,
    work: Callable[[ScoreTask], Any],
    tests: Sequence[FeatureTests],
    *,
    assembler: Assembler | None = None,
    block_size: int = 1,
) -> ImportanceResult:
    """Return the result of scoring and testing features.

    The work of a task gives the scores of each part of the importance, for each feature of a block
    by its index. Every feature is scored once before any is tested, and the other repeats come
    last: when time is short, it goes to the features that are not yet decided.
    """
    if study.settings["test"] is not None:
        study = study.with_facts(notes=note_tests(study, tests))
    firsts = study.scored[::block_size]

    def run(repeats: Sequence[int], *, is_one_due: bool = False) -> None:
        study.run(
            SCORES,
            work,
            [ScoreTask(index, repeat) for repeat in repeats for index in firsts],
            owner_of=lambda task: task.feature // block_size,
            is_one_due=is_one_due,
        )

    with study:
        study.runner.plan(SCORES, study.repeats * len(firsts))
        run([0], is_one_due=True)
        for of_part in tests:
            run_tests(study, of_part)
        run(range(study.repeats))
        return study.finish(assembler or assemble_scores)


def score_feature(
    study: Study, context_of: ContextOf, task: ScoreTask
) -> dict[int, dict[str, Any]]:
    """Return the scores of one feature in one repeat, in its context."""
    feature, columns = study.features[task.feature], study.rows_of(task.repeat)[0]
    candidates = make_candidates(study, feature, task.repeat)
    context = context_of(columns, feature, candidates, (feature.name, task.repeat))
    if study.protocol == "paper":
        pair = _score_as_paper(study, context, feature, task.repeat)
    else:
        comparison = compare(study, context, candidates, feature, task.repeat)
        pair = ScorePair.difference(*comparison)
    return {task.feature: {"importance": pair}}


def score_block(study: Study, linear: LinearFits, task: ScoreTask) -> dict[int, dict[str, Any]]:
    """Return the scores of a block of features in one repeat, in closed form."""
    first = study.scored.index(task.feature)
    block = study.scored[first : first + FEATURES_PER_BLOCK]
    features = [study.features[index] for index in block]
    found = compare_in_closed_form(study, linear, features, task.repeat)
    return {
        index: {"importance": ScorePair.difference(*one)}
        for index, one in zip(block, found, strict=True)
    }


def compare_in_closed_form(
    study: Study, linear: LinearFits, features: Sequence[Feature], repeat: int
) -> list[Comparison]:
    """Return the two scores of each feature in one repeat, in closed form."""
    target = study.rows_of(repeat)[1]
    candidates = [make_candidates(study, feature, repeat) for feature in features]
    measure = find_measure(linear.power.measure, target.task)
    return [
        compare_averages(measure, averages, target)
        for averages in linear.fit(study, repeat).average_out(candidates)
    ]


def compare(
    study: Study,
    context: Columns,
    candidates: Sequence[Columns],
    feature: Feature,
    repeat: int,
) -> Comparison:
    """Return the two scores of one feature in one repeat, and what each row contributes.

    The permuted copies and the seed of the fits are those of the feature and repeat, whatever the
    context: the scores of one feature in several contexts differ in nothing else.
    """
    power, stream, target = study.power, (feature.name, repeat), study.rows_of(repeat)[1]
    seed = study.streams.seed(*stream, "power")
    if feature.is_constant:
        score = study.score(context, target, *stream, "power")
        return Comparison(score, score, np.zeros(target.n_rows))
    if not isinstance(power, PredictingPower):
        score_with, score_without = (
            study.score(context.prepend(candidate), target, *stream, "power")
            for candidate in candidates
        )
        return Comparison(score_with, score_without)
    measure = find_measure(power.measure, target.task)
    if study.protocol == "one-fit":
        own = candidates[0]
        rows = find_donors(context, own, study.streams.seed(*stream, "donors")).rows
        if rows is not None:
            # Copies that depend on the context as the feature does: each row has the value of one
            # of its donors.
            rng = study.streams.generator(*stream, "donors of copies")
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
    return compare_predictions(measure, of_own, of_copy, target)


def _score_as_paper(study: Study, context: Columns, feature: Feature, repeat: int) -> ScorePair:
    """Return the two scores of one feature as the authors' package has them."""
    stream, (columns, target) = (feature.name, repeat), study.rows_of(repeat)
    score_without = study.score(context, target, *stream, "power without")
    if feature.is_constant:
        return ScorePair.difference(score_without, score_without)
    own = columns.select(feature.positions)
    score_with = study.score(context.prepend(own), target, *stream, "power")
    floor = PAPER_FLOORS.get(study.settings["measure"], -np.inf)
    floored_with, floored_without = max(score_with, floor), max(score_without, floor)
    return ScorePair(floored_with, floored_without, max(floored_with - floored_without, 0.0))


def make_candidates(study: Study, feature: Feature, repeat: int) -> list[Columns]:
    """Return the feature's columns, and permuted copies of them where the protocol has any."""
    columns = study.rows_of(repeat)[0]
    rng = study.streams.generator(feature.name, repeat, "permutation", 0)
    permutations = [rng.permutation(columns.n_rows) for _ in range(N_COPIES[study.protocol])]
    return with_copies(columns.select(feature.positions), permutations)


def collect_scores(
    specification: Specification, answers_of: AnswersOf
) -> list[tuple[int, int, dict[str, ScorePair]]]:
    """Return (feature index, repeat, scores of each part) of all that is known."""
    scores = {
        (int(index), task[1]): {part: ScorePair(*pair) for part, pair in of_parts.items()}
        for task, answer in answers_of(SCORES).items()
        for index, of_parts in answer.items()
    }
    return [
        (feature, repeat, scores[index, repeat])
        for repeat in range(specification.repeats)
        for feature, index in enumerate(specification.representatives)
        if (index, repeat) in scores
    ]


def assemble_scores(
    specification: Specification, answers_of: AnswersOf
) -> tuple[ImportanceResult, list[Undone]]:
    """Return the result of methods that score features one by one, and what is undone."""
    undone: list[Undone] = []
    found = collect_scores(specification, answers_of)
    result = specification.result(
        (feature, repeat, of_parts["importance"]) for feature, repeat, of_parts in found
    )
    tests = assemble_tests(specification, answers_of, "importance", result.importances, undone)
    return replace(result, tests=tests), undone
