"""Ultra-marginal feature importance: definition 2 and algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from umfi.columns import Columns
from umfi.contracts import DependenceRemover, check_protocol
from umfi.methods.problem import Problem, with_common_parameters
from umfi.methods.protocols import compare_in_context
from umfi.removal import find_remover
from umfi.result import ImportanceResult

__all__ = ["ultra_marginal"]


@with_common_parameters
def ultra_marginal(
    X: Any,
    y: Any,
    *,
    remover: str | DependenceRemover = "transport",
    protocol: str = "matched",
    task: str = "auto",
    power: Any = "forest",
    kinds: Mapping[str, str] | None = None,
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
    remover : {"linear", "transport"} or object
        What turns the other features into S.
    protocol : {"matched", "paper"}
        How the two scores are made comparable. ``"matched"`` replaces x by a permuted copy for
        the second score; ``"paper"`` drops it, as the authors' package does.
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
    chosen = find_remover(remover)
    problem = Problem.check(
        "ultra_marginal",
        X,
        y,
        remover=remover,
        protocol=protocol,
        task=task,
        power=power,
        kinds=kinds,
        repeats=repeats,
        subsample=subsample,
        random_state=random_state,
        n_jobs=n_jobs,
        executor=executor,
        progress=progress,
    )
    places = np.arange(problem.columns.n_columns)
    is_used = np.ones(len(places), dtype=bool)
    if checked_protocol == "matched":
        is_original = problem.columns.first_copies() == places
        is_used = is_original & ~problem.columns.is_constant()

    def unrelated_context(columns: Columns, index: int, repeat: int) -> Columns:
        feature = columns.names[index]
        used = columns.select(np.flatnonzero(is_used | (places == index)))
        unrelated = chosen.remove(
            used,
            used.index(feature),
            protocol=checked_protocol,
            rng=problem.streams.generator(feature, repeat, "removal"),
        )
        if checked_protocol == "paper":
            return unrelated
        return unrelated.select(np.flatnonzero(~unrelated.is_constant()))

    return compare_in_context(problem, unrelated_context, checked_protocol)
