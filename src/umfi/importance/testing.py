"""The permutation test: a feature among permuted copies of it.

A copy has the feature's own values in another order, so it stands to the context as the feature
does if that is unrelated: then all statistics of a batch are exchangeable, and the rank of the
feature's own is all that a p-value needs. In the one-fit protocol a batch is a single fit on the
context, the feature and its copies, and the statistic of each is what the fit gains by it; others
fit once for each of them, and compare scores. The test looks at all rows, whatever the repeats do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.execution import count_workers, one_blas_thread
from umfi.importance.features import ContextOf, Feature, with_copies
from umfi.importance.specification import AnswersOf, ScorePair, Specification, Undone
from umfi.importance.study import Study
from umfi.inference import PermutationTest
from umfi.inference.sequential import TESTS, SequentialDesign, SequentialTest, count_test_rows
from umfi.power import LinearClosedForm, PredictingPower, score_columns
from umfi.removal import Leakage, leakage_limit, measure_leakages

if TYPE_CHECKING:
    import pandas as pd

    from umfi.importance.scoring import LinearFits

__all__ = ["SCORES", "FeatureTests", "assemble_tests", "note_tests", "run_tests"]

# The stage in which features are scored.
SCORES = "scores"
# Leakage is measured beside these copies.
N_LEAKAGE_COPIES = 3


class Batch(NamedTuple):
    """A task: the statistics of so many copies, and in the first batch of the feature itself."""

    feature: int
    number: int
    n_copies: int


def permuted_candidates(
    columns: Columns, feature: Feature, permutations: Sequence[NDArray[np.intp]]
) -> list[Columns]:
    """Return a feature's columns and a copy for each permutation of its rows."""
    return with_copies(columns.select(feature.positions), permutations)


@dataclass(frozen=True)
class FeatureTests:
    """How a part of the importances is tested: which candidates are added to which context.

    Candidates are a feature and its copies, made from columns, the feature and permutations of the
    rows. Linear fits score them without a context, so that nothing can leak.
    """

    context_of: ContextOf
    part: str = "importance"
    candidates_of: Callable[[Columns, Feature, Sequence[NDArray[np.intp]]], list[Columns]] = (
        permuted_candidates
    )
    linear: LinearFits | None = None
    is_leakage_measured: bool = True


def find_design(settings: Mapping[str, Any], part: str) -> SequentialDesign | None:
    """Return how a part of the importance is tested, None if nothing is."""
    test = settings.get("test")
    if test is None:
        return None
    return SequentialDesign(
        settings["max_permutations"],
        settings["alpha"],
        TESTS[test],
        settings["n_features"],
        # Others as they are depend on the feature, so that averaging over it would not do.
        is_one_fit=settings["protocol"] == "one-fit" and not _is_among_others(settings, part),
    )


def _is_among_others(settings: Mapping[str, Any], part: str) -> bool:
    """Return whether features are added to all others as they are."""
    return part == "irreplaceable" or settings.get("method") == "ablation"


def note_tests(study: Study, tests: Sequence[FeatureTests]) -> list[str]:
    """Return what a reader should know of the tests."""
    notes = []
    n_rows = study.columns.n_rows
    n_tested = count_test_rows(n_rows)
    if n_tested < n_rows and any(one.linear is None for one in tests):
        notes.append(f"Tests take {n_tested:,} of the {n_rows:,} rows, drawn at random.")
    designs = (find_design(study.settings, one.part) for one in tests)
    return notes + [design.note for design in designs if design is not None and design.note]


def run_tests(study: Study, tests: FeatureTests) -> None:
    """Compute what the test of each feature needs, batch after batch."""
    design = find_design(study.settings, tests.part)
    if design is None:
        return
    linear = None
    if tests.linear is None:
        study = study.take_test_rows()
    else:
        with one_blas_thread():  # As on workers, or sums would differ in their last digits.
            linear = tests.linear.fit(study, study.repeats)
    work = partial(score_batch, study, tests, design.is_one_fit, linear)
    undecided = _follow_tests(study, study.runner.answers_of, tests.part)
    n_workers = count_workers(study.runner.n_jobs)
    for number in range(1, 1 + max((len(test.sizes) for test in undecided.values()), default=0)):
        undecided = {index: test for index, test in undecided.items() if test.next_batches()}
        if not undecided:
            break
        # Several of each if few are left: those beyond what decides a test are not looked at, and
        # would have cost an idle worker.
        n_each = max(1, n_workers // len(undecided))
        wanted = [
            Batch(index, *batch)
            for index, test in undecided.items()
            for batch in test.next_batches(n_each)
        ]
        title = f"test, round {number}"
        answers = study.run(_stage_of(tests.part), work, wanted, title=title)
        for index, test in undecided.items():
            _advance(test, index, answers)


def score_batch(
    study: Study,
    tests: FeatureTests,
    is_one_fit: bool,
    linear: LinearClosedForm | None,
    batch: Batch,
) -> dict[str, Any]:
    """Return the statistics of the feature, in the first batch, and of its copies."""
    columns, target, power = study.columns, study.target, study.power
    feature = study.features[batch.feature]
    stream = (feature.name, "test", batch.number)
    rng = study.streams.generator(*stream, "permutations")
    permutations = [rng.permutation(columns.n_rows) for _ in range(batch.n_copies)]
    candidates = tests.candidates_of(columns, feature, permutations)
    leakages: list[Leakage] = []
    if linear is not None:
        [scores] = linear.statistics([candidates])
    else:
        context = tests.context_of(columns, feature, candidates, stream)
        seed = study.streams.seed(*stream, "power")
        if batch.number == 0 and tests.is_leakage_measured:
            own, *copies = candidates
            leakages = measure_leakages(context, own, copies[:N_LEAKAGE_COPIES], seed)
        if is_one_fit and isinstance(power, PredictingPower):
            averages = power.average_out(context, candidates, target, seed, is_test=True)
            scores = averages.statistics(target)
        else:
            if isinstance(power, PredictingPower):
                power = power.with_measure("r2")  # It says more of a fit than others do.
            scores = [
                score_columns(power, context.prepend(candidate), target, seed)
                for candidate in candidates
            ]
    return {
        "scores": scores[0 if batch.number == 0 else 1 :],
        "leakages": leakages,
    }


def _stage_of(part: str) -> str:
    return f"test of {part}"


def _follow_tests(
    specification: Specification, answers_of: AnswersOf, part: str
) -> dict[int, SequentialTest]:
    """Return the tests of a part by feature, as far as the answers go; constants have none."""
    design = find_design(specification.settings, part)
    if design is None:
        return {}
    answers = answers_of(_stage_of(part))
    hopeless = find_hopeless(specification, answers_of, part)
    tests = {}
    for index in sorted(set(_find_tested(specification, part))):
        feature = specification.features[index]
        if not feature.is_constant:
            n_rows, is_hopeless = specification.settings["n_rows"], index in hopeless
            test = SequentialTest(design, n_rows, feature.n_directions, is_hopeless=is_hopeless)
            _advance(test, index, answers)
            tests[index] = test
    return tests


def _advance(test: SequentialTest, index: int, answers: Mapping[tuple[Any, ...], Any]) -> None:
    """Let a test take in the batches that are known, one after the other."""
    while batches := test.next_batches():
        batch = Batch(index, *batches[0])
        if batch not in answers:
            return
        test.add(answers[batch]["scores"])


def _find_tested(specification: Specification, part: str) -> Sequence[int]:
    """Return for each feature the index of the one whose test it gets.

    Copies of a column predict each other, so that beside all others each is tested for itself.
    """
    if _is_among_others(specification.settings, part):
        return range(len(specification.features))
    return specification.representatives


def find_hopeless(specification: Specification, answers_of: AnswersOf, part: str) -> set[int]:
    """Return the features whose p-value is 1 whatever their copies do, by index.

    Those whose estimate is not above zero: what predicts no better with a feature is no evidence
    of a relation, and to say so only makes a p-value larger. Of several repeats the others may
    still raise the mean.
    """
    if specification.repeats > 1:
        return set()
    estimates = {
        int(index): ScorePair(*of_parts[part]).importance
        for (_, repeat), answer in answers_of(SCORES).items()
        for index, of_parts in answer.items()
        if repeat == 0
    }
    return {
        feature
        for feature, source in enumerate(specification.representatives)
        if not estimates.get(source, 1.0) > 0.0
    }


def assemble_tests(
    specification: Specification,
    answers_of: AnswersOf,
    part: str,
    estimates: pd.Series,
    undone: list[Undone],
) -> pd.DataFrame | None:
    """Return the tests of a part, one row per feature, None if nothing is tested.

    What is not decided is added to what is undone. Features without a batch have p = 1, which is
    valid whatever they are. So have those whose estimate is not above zero, see ``find_hopeless``.
    """
    import pandas as pd

    if find_design(specification.settings, part) is None:
        return None
    tests = _follow_tests(specification, answers_of, part)
    answers = answers_of(_stage_of(part))
    leakages = {
        index: [Leakage(*one) for one in answers[Batch(index, 0, test.sizes[0])]["leakages"]]
        for index, test in tests.items()
        if test.nulls
    }
    limit = leakage_limit([one for of_feature in leakages.values() for one in of_feature])
    n_undecided = sum(bool(test.next_batches()) for test in tests.values())
    if n_undecided:
        what = "" if part == "importance" else f" of {part}"
        plural = "s are" if n_undecided > 1 else " is"
        text = f"{n_undecided} feature{plural} undecided, which shows in the p-values{what}"
        undone.append(Undone(text, n_undecided))
    rows = []
    sources = _find_tested(specification, part)
    for feature, index in zip(specification.features, sources, strict=True):
        outcome = tests[index].outcome if index in tests else PermutationTest(1.0, 0, False)
        # A constant has nothing to leak; others without a batch were not measured.
        is_known = index in leakages or feature.is_constant
        leakage = _worst_leakage(leakages.get(index, []), limit) if is_known else float("nan")
        is_above = bool(estimates.get(feature.name, 0.0) > 0.0)
        rows.append(
            {
                "feature": feature.name,
                "p_value": outcome.p_value if is_above else 1.0,
                "tail": outcome.is_tail and is_above,
                "n_permutations": outcome.n_permutations,
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
