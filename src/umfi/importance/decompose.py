"""What an importance consists of: alone and together, irreplaceable and replaceable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.contracts import DependenceRemover, ProtocolName
from umfi.errors import InputError
from umfi.execution import TaskName, Work
from umfi.importance.ablation import all_others, refuse_test
from umfi.importance.ablation import make_contest as make_ablation_contest
from umfi.importance.bivariate import make_contest as make_bivariate_contest
from umfi.importance.bivariate import no_others
from umfi.importance.contexts import UnrelatedContexts, default_remover
from umfi.importance.features import Feature, Groups
from umfi.importance.options import with_common_parameters
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import (
    ClosedForm,
    ContextOf,
    compare,
    compare_in_closed_form,
    run_scores,
)
from umfi.importance.specification import ScorePair
from umfi.importance.study import Problem
from umfi.importance.testing import run_test
from umfi.inference.sequential import check_test
from umfi.power import Comparison
from umfi.removal import find_remover

__all__ = ["decompose"]


@with_common_parameters
def decompose(
    X: Any,
    y: Any,
    *,
    remover: str | DependenceRemover | None = None,
    test: str | None = None,
    max_permutations: int = 199,
    alpha: float = 0.05,
    groups: Groups | None = None,
    task: str = "auto",
    power: Any = "forest",
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    repeats: int = 1,
    subsample: int | float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool | None = None,
    checkpoint: Any = None,
    time_limit: float | str | None = None,
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
    {test_parameters}
    {groups_parameter}
    {common_parameters}

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
    beside other informative columns. ``replaceable`` is negative where x tells what in the other
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
    check_test(test, max_permutations, alpha, None)
    remover = default_remover(power) if remover is None else remover
    find_remover(remover)
    problem = Problem.check(
        "decompose",
        X,
        y,
        remover=remover,
        protocol=None,
        test=test,
        max_permutations=max_permutations,
        alpha=alpha,
        groups=groups,
        task=task,
        power=power,
        kinds=kinds,
        missing=missing,
        repeats=repeats,
        subsample=subsample,
        random_state=random_state,
        n_jobs=n_jobs,
        executor=executor,
        progress=progress,
        checkpoint=checkpoint,
        time_limit=time_limit,
    )
    with problem:
        if test is not None:
            _note_untested(problem)  # Before anything is kept, of which it is a part.
        contexts = UnrelatedContexts.prepare(problem, remover, problem.settings["protocol"])
        closed_form = contexts.find_closed_form()
        return run_scores(
            problem,
            _score_parts(contexts, closed_form),
            contexts.scored,
            test=lambda: _run_tests(contexts, closed_form),
        )


def _score_parts(contexts: UnrelatedContexts, closed_form: ClosedForm | None) -> Work:
    """Return what scores a feature in one run, in the three contexts."""
    problem = contexts.problem

    def work(name: TaskName) -> dict[int, dict[str, Any]]:
        index, repeat = int(name[0]), int(name[1])
        feature = problem.features[index]
        columns, target = problem.rows_of(repeat)
        made: list[Columns] = []

        def unrelated(*arguments: Any) -> Columns:
            if not made:
                made.append(contexts.make(*arguments))
            return made[0]

        def shuffled(*arguments: Any) -> Columns:
            rng = problem.streams.generator(feature.name, repeat, "context")
            return unrelated(*arguments).take_rows(rng.permutation(columns.n_rows))

        def compare_in(context_of: ContextOf, protocol: ProtocolName) -> Comparison:
            return compare(problem, context_of, protocol, columns, target, feature, repeat)

        own = contexts.protocol
        if closed_form is None:
            importance, alone = compare_in(unrelated, own), compare_in(shuffled, own)
        else:
            [importance] = compare_in_closed_form(problem, closed_form, own, [feature], repeat)
            alone = compare_in(no_others, own)
        irreplaceable = compare_in(all_others, own)
        parts = {
            "importance": importance,
            "alone": alone,
            "together": _subtract(importance, alone),
            "irreplaceable": irreplaceable,
            "replaceable": _subtract(importance, irreplaceable),
        }
        pairs = {part: ScorePair.from_comparison(one) for part, one in parts.items()}
        return {index: {part: pair.to_plain() for part, pair in pairs.items()}}

    return work


def _subtract(whole: Comparison, part: Comparison) -> Comparison:
    """Return what is left of a difference of scores without a part of it."""
    influences = None
    if whole.influences is not None and part.influences is not None:
        influences = whole.influences - part.influences
    return Comparison(
        whole.score_with - whole.score_without, part.score_with - part.score_without, influences
    )


def _note_untested(problem: Problem) -> None:
    """Note it if no copies can be made that test what is irreplaceable."""
    try:
        refuse_test(problem.columns)
    except InputError as error:
        problem.settings["notes"].append(f"No p-values of irreplaceable. {error}")
        problem.outline.extra["untested"] = ["irreplaceable"]


def _run_tests(contexts: UnrelatedContexts, closed_form: ClosedForm | None) -> None:
    """Compute what the tests of the importances need, and those of the parts."""
    if contexts.problem.settings["test"] is None:
        return
    contexts.test(closed_form)
    contexts = contexts.take_test_rows()
    problem = contexts.problem

    def contest_alone(
        feature: Feature, number: int, permutations: Sequence[NDArray[np.intp]]
    ) -> tuple[Columns, list[Columns]]:
        context, candidates = contexts.contest(feature, number, permutations)
        rng = problem.streams.generator(feature.name, "test", number, "context")
        return context.take_rows(rng.permutation(context.n_rows)), candidates

    # Neither no context nor a shuffled one can leak.
    contest = contest_alone if closed_form is None else make_bivariate_contest(problem)
    run_test(problem, contest, contexts.scored, part="alone", is_leakage_found=False)
    if "untested" not in problem.outline.extra:
        contest = make_ablation_contest(problem)
        run_test(problem, contest, range(len(problem.features)), part="irreplaceable")
