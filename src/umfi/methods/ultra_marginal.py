"""Ultra-marginal feature importance: definition 2 and algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns
from umfi.contracts import DependenceRemover, check_protocol
from umfi.errors import InputError
from umfi.methods.features import Feature, Groups, find_representatives, with_copies
from umfi.methods.problem import Problem, with_common_parameters
from umfi.methods.protocols import check_groups, compare_in_context
from umfi.methods.testing import check_test, run_test
from umfi.removal import AutoRemover, find_remover, refuse_levels
from umfi.result import ImportanceResult
from umfi.tasks import TaskName

__all__ = ["ultra_marginal"]

# A group and the three copies that a test needs at least must leave more than half of S.
ROWS_PER_MEMBER = 8


@with_common_parameters
def ultra_marginal(
    X: Any,
    y: Any,
    *,
    remover: str | DependenceRemover = "transport",
    protocol: str = "matched",
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
    executor: str | None = None,
    progress: bool | None = None,
) -> ImportanceResult:
    """Return by how much each feature raises the power of what the others say without it.

    For each feature x, all other features are turned into S, which carries no information about
    x; the importance is nu(S and x) - nu(S) (equation 5). Correlated features keep their full
    importance, interactions count, and features not related to the response get zero.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    remover : {"linear", "transport", "sliced", "chained", "auto"} or object
        What turns the other features into S: by regression, pair by pair, or jointly in rounds;
        ``"auto"`` takes for each feature the gentlest of linear, transport and sliced that leaves
        no leakage, and the table says which.
    protocol : {"matched", "paper"}
        How the two scores are made comparable. ``"matched"`` replaces x by a permuted copy for
        the second score; ``"paper"`` drops it, as the authors' package does.
    {test_parameters}
    {groups_parameter}
    {common_parameters}

    Notes
    -----
    A column that repeats another gets the scores of its original. With the matched protocol copies
    change nothing else either: they are set aside, and what removal leaves of a feature is dropped
    where it is constant.

    The score of a permuted copy can lie below the chance level, most of all in tables of few
    columns, so an importance can exceed the power of all features together.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("blood_relation", n=300, random_state=0)
    >>> result = umfi.ultra_marginal(X, y, remover="linear", random_state=0)
    >>> result.table["feature"].tolist()[:2]
    ['x4', 'x3']
    """
    checked_protocol = check_protocol(protocol)
    check_groups(groups, checked_protocol)
    checked_test = check_test(test, max_permutations, alpha, checked_protocol)
    chosen = find_remover(remover, checked_protocol)
    problem = Problem.check(
        "ultra_marginal",
        X,
        y,
        remover=remover,
        protocol=protocol,
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
    )
    refuse_levels(problem.columns, checked_protocol)
    _refuse_large_groups(problem)
    is_used = np.ones(problem.columns.n_columns, dtype=bool)
    if checked_protocol == "matched":
        is_original = problem.columns.first_copies() == np.arange(problem.columns.n_columns)
        is_used = is_original & ~problem.columns.is_constant()

    def others_of(columns: Columns, feature: Feature) -> Columns:
        is_other = is_used.copy()
        is_other[list(feature.positions)] = False
        return columns.select(np.flatnonzero(is_other))

    representatives = find_representatives(problem.columns, problem.features)
    removers = {feature.name: chosen for feature in problem.features}
    if isinstance(chosen, AutoRemover):
        problem, removers = _choose_removers(problem, chosen, representatives, others_of)

    def unrelated_context(
        columns: Columns,
        feature: Feature,
        candidates: Sequence[Columns],
        stream: tuple[str | int, ...],
    ) -> Columns:
        unrelated = removers[feature.name].remove(
            others_of(columns, feature),
            candidates,
            protocol=checked_protocol,
            rng=problem.streams.generator(*stream, "removal"),
        )
        if checked_protocol == "paper":
            return unrelated
        return unrelated.select(np.flatnonzero(~unrelated.is_constant()))

    def contest(
        feature: Feature, number: int, permutations: Sequence[NDArray[np.intp]]
    ) -> tuple[Columns, list[Columns]]:
        stream = (feature.name, "test", number)
        candidates = with_copies(problem.columns.select(feature.positions), permutations)
        return unrelated_context(problem.columns, feature, candidates, stream), candidates

    tests = None
    if checked_test is not None:
        tests = run_test(problem, checked_test, contest, representatives)
    return compare_in_context(problem, unrelated_context, checked_protocol, tests)


def _choose_removers(
    problem: Problem,
    chooser: AutoRemover,
    representatives: Sequence[int],
    others_of: Callable[[Columns, Feature], Columns],
) -> tuple[Problem, dict[str, DependenceRemover]]:
    """Return the problem with the choices among its settings, and each feature's remover."""

    def work(name: TaskName) -> tuple[str, DependenceRemover]:
        feature = problem.features[int(name[0])]
        return chooser.choose(
            others_of(problem.columns, feature),
            problem.columns.select(feature.positions),
            problem.streams.generator(feature.name, "choice of remover"),
        )

    indices = sorted(set(representatives))
    answers = problem.run(work, [(index,) for index in indices], title="choice of removers")
    choices = {
        feature.name: answers[index,]
        for feature, index in zip(problem.features, representatives, strict=True)
    }
    names = {name: choice for name, (choice, _) in choices.items()}
    problem = replace(problem, settings=problem.settings | {"removers": names})
    return problem, {name: remover for name, (_, remover) in choices.items()}


def _refuse_large_groups(problem: Problem) -> None:
    """Raise where removing a group and its copies would leave nothing of the other columns."""
    n_rows = problem.n_sampled_rows or problem.columns.n_rows
    n_most = n_rows // ROWS_PER_MEMBER
    for feature in problem.features:
        if len(feature.positions) > 1 and feature.n_directions > n_most:
            raise InputError(
                f"Group {feature.name!r} has {feature.n_directions} columns, counting levels and "
                f"gaps, too many for {n_rows} rows: {n_most} at most can be protected jointly."
            )
