"""Bivariate association: what one feature says alone (supplement B)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.contracts import ProtocolName, check_protocol
from umfi.importance.features import Feature, Groups, with_copies
from umfi.importance.options import with_common_parameters
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import check_groups, compare_in_context
from umfi.importance.study import Problem
from umfi.importance.testing import Contest, run_test
from umfi.inference.sequential import check_test

__all__ = ["bivariate", "make_contest", "no_others"]


@with_common_parameters
def bivariate(
    X: Any,
    y: Any,
    *,
    protocol: str | None = None,
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
    """Return what each feature says alone: nu(x) - nu(nothing).

    Interactions with other features do not count.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    protocol : {"one-fit", "matched", "paper"}, optional
        What the score of nothing is: that of the same fit averaged over the feature (the default
        wherever the power predicts), that of a fit to a permuted copy, or the chance level.
    {test_parameters}
    {groups_parameter}
    {common_parameters}

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.bivariate(X, y, random_state=0).table["feature"].iloc[-1]
    'x4'
    """
    checked_protocol = check_protocol(protocol)
    check_groups(groups, checked_protocol)
    check_test(test, max_permutations, alpha, checked_protocol)
    problem = Problem.check(
        "bivariate",
        X,
        y,
        protocol=checked_protocol,
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
        scored = problem.outline.scored

        def run_tests() -> None:
            if test is None:
                return
            # There is no context that could leak.
            sampled = problem.take_test_rows()
            run_test(sampled, make_contest(sampled), scored, is_leakage_found=False)

        settled: ProtocolName = problem.settings["protocol"]
        return compare_in_context(problem, no_others, settled, scored, test=run_tests)


def no_others(columns: Columns, *_: Any) -> Columns:
    """Return the context of bivariate association: no columns."""
    return columns.select([])


def make_contest(problem: Problem) -> Contest:
    """Return what the test of bivariate association compares: a feature and permuted copies."""

    def contest(
        feature: Feature, _: int, permutations: Sequence[NDArray[np.intp]]
    ) -> tuple[Columns, list[Columns]]:
        own = problem.columns.select(feature.positions)
        return no_others(problem.columns), with_copies(own, permutations)

    return contest
