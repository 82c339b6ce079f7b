"""What an importance consists of: alone and together, irreplaceable and replaceable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from umfi.data.columns import Columns
from umfi.data.contracts import DependenceRemover
from umfi.errors import InputError
from umfi.importance import scoring
from umfi.importance.ablation import all_others, conditional_candidates, refuse_test
from umfi.importance.bivariate import no_others
from umfi.importance.display import TESTED_PARTS
from umfi.importance.features import Feature
from umfi.importance.options import OptionsWithTest, with_options
from umfi.importance.result import SCORE_COLUMNS, ImportanceResult
from umfi.importance.specification import AnswersOf, ScorePair, Specification, Undone
from umfi.importance.study import Study
from umfi.importance.testing import FeatureTests, assemble_tests
from umfi.importance.ultra_marginal import UnrelatedContexts
from umfi.power import Comparison

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["assemble_parts", "decompose"]


@with_options(OptionsWithTest)
def decompose(
    X: Any,
    y: Any,
    *,
    remover: str | DependenceRemover | None = None,
    **options: Unpack[OptionsWithTest],
) -> ImportanceResult:
    """Return the ultra-marginal importance of each feature and what it consists of.

    ``alone``: what the feature says by itself. ``together``: what it says only beside others, the
    importance less ``alone``. ``irreplaceable``: what it adds to all others as they are.
    ``replaceable``: what others could say in its place, the importance less ``irreplaceable``.
    Each has a 95 % interval, from the rows of the same fits.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    remover : {"joint", "linear", "transport", "chained"} or object, optional
        As for :func:`umfi.ultra_marginal`.
    {common_parameters}

    Returns
    -------
    ImportanceResult

    Notes
    -----
    ``alone`` has the rows of S, what removal leaves of the other features, shuffled, so that S says
    nothing: the same number of columns, each as it is distributed, as against nu(x) - nu(nothing),
    which a forest on a single column misses by far. Both it and the importance come from one fit
    (or, for powers that only score, from two with the same seed). ``irreplaceable`` has all other
    features as they are instead of S; these are not independent of x, so the fit is averaged over
    the distribution of x given them. A linear power needs no columns beside x to say what x
    says alone.

    A test gives p-values to the importance, to ``alone`` and to ``irreplaceable``; those of the
    parts are not adjusted for the number of features.

    Negative estimates are shown as they are. Where S is independent of x, ``together`` cannot be
    negative for the information in an ideal power; in a table it is where a model learns less of x
    beside other informative columns. ``replaceable`` is negative where x explains what in the other
    features is not about the response, as behind a collider.

    Examples
    --------
    >>> import numpy as np
    >>> import umfi
    >>> coins = np.random.default_rng(0).integers(0, 2, (400, 2))
    >>> result = umfi.decompose(coins, coins[:, 0] != coins[:, 1], random_state=0)
    >>> table = result.table.set_index("feature")
    >>> bool(abs(table.loc["x1", "alone"]) < 0.1), bool(table.loc["x1", "together"] > 0.3)
    (True, True)
    """
    study = Study.prepare("decompose", X, y, {"remover": remover, "protocol": None}, options)
    contexts = UnrelatedContexts.prepare(study)
    linear = contexts.find_linear_fits(study)
    # Neither no context nor a shuffled one can leak.
    context_alone = no_others if linear is not None else partial(make_shuffled, contexts)
    tests = [
        FeatureTests(contexts.make, linear=linear),
        FeatureTests(context_alone, part="alone", is_leakage_measured=False),
    ]
    if options["test"] is not None:
        try:
            refuse_test(study.columns)
        except InputError as error:
            study = study.with_facts(
                notes=[f"No p-values of irreplaceable. {error}"],
                extra={"untested": ["irreplaceable"]},
            )
        else:
            tests.append(FeatureTests(all_others, "irreplaceable", conditional_candidates))
    work = partial(score_parts, study, contexts, linear)
    return scoring.score_and_test(study, work, tests, assembler=assemble_parts)


def make_shuffled(
    contexts: UnrelatedContexts,
    columns: Columns,
    feature: Feature,
    candidates: Sequence[Columns],
    stream: tuple[str | int, ...],
) -> Columns:
    """Return S with its rows shuffled, which carries no information about anything."""
    unrelated = contexts.make(columns, feature, candidates, stream)
    return _shuffle(unrelated, contexts.streams.generator(*stream, "context"))


def _shuffle(columns: Columns, rng: np.random.Generator) -> Columns:
    return columns.take_rows(rng.permutation(columns.n_rows))


def score_parts(
    study: Study,
    contexts: UnrelatedContexts,
    linear: scoring.LinearFits | None,
    task: scoring.ScoreTask,
) -> dict[int, dict[str, Any]]:
    """Return the scores of a feature in one repeat: in S, in S shuffled, among all others."""
    feature, columns = study.features[task.feature], study.rows_of(task.repeat)[0]
    stream = (feature.name, task.repeat)
    candidates = scoring.make_candidates(study, feature, task.repeat)

    def compare_in(context: Columns) -> Comparison:
        return scoring.compare(study, context, candidates, feature, task.repeat)

    if linear is None:
        unrelated = contexts.make(columns, feature, candidates, stream)
        importance = compare_in(unrelated)
        rng = study.streams.generator(*stream, "context")
        alone = compare_in(_shuffle(unrelated, rng))
    else:
        [importance] = scoring.compare_in_closed_form(study, linear, [feature], task.repeat)
        alone = compare_in(no_others(columns))
    irreplaceable = compare_in(all_others(columns, feature))
    parts = {
        "importance": importance,
        "alone": alone,
        "together": _subtract(importance, alone),
        "irreplaceable": irreplaceable,
        "replaceable": _subtract(importance, irreplaceable),
    }
    return {task.feature: {part: ScorePair.difference(*one) for part, one in parts.items()}}


def _subtract(whole: Comparison, part: Comparison) -> Comparison:
    """Return what is left of a difference of scores without a part of it."""
    influences = None
    if whole.influences is not None and part.influences is not None:
        influences = whole.influences - part.influences
    return Comparison(
        whole.score_with - whole.score_without, part.score_with - part.score_without, influences
    )


def assemble_parts(
    specification: Specification, answers_of: AnswersOf
) -> tuple[ImportanceResult, list[Undone]]:
    """Return the result with the scores and tests of the parts of its importances."""
    import pandas as pd

    result, undone = scoring.assemble_scores(specification, answers_of)
    rows = [
        (part, specification.features[feature].name, repeat, *pair)
        for feature, repeat, of_parts in scoring.collect_scores(specification, answers_of)
        for part, pair in of_parts.items()
        if part != "importance"
    ]
    part_scores = pd.DataFrame(rows, columns=["part", *SCORE_COLUMNS])
    estimates = part_scores.groupby(["part", "feature"])["importance"].mean()
    frames: list[pd.DataFrame] = []
    for part in TESTED_PARTS:
        if part not in specification.extra.get("untested", []):
            own = estimates.get(part, pd.Series(dtype=float))
            frame = assemble_tests(specification, answers_of, part, own, undone)
            if frame is not None:
                frames.append(frame.assign(part=part))
    part_tests = pd.concat(frames, ignore_index=True) if frames else None
    return replace(result, part_scores=part_scores, part_tests=part_tests), undone
