"""Ultra-marginal feature importance: definition 2 and algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umfi.data.contracts import DependenceRemover, ProtocolName, check_protocol
from umfi.importance.contexts import UnrelatedContexts, default_remover
from umfi.importance.features import Groups
from umfi.importance.options import with_common_parameters
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import check_groups, compare_in_context
from umfi.importance.study import Problem
from umfi.inference.sequential import check_test
from umfi.removal import find_remover

__all__ = ["ultra_marginal"]


@with_common_parameters
def ultra_marginal(
    X: Any,
    y: Any,
    *,
    remover: str | DependenceRemover | None = None,
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
    """Return by how much each feature raises the power of what the others say without it.

    For each feature x, all other features are turned into S, which carries no information about
    x; the importance is nu(S and x) - nu(S) (equation 5). Correlated features keep their full
    importance, interactions count, and features not related to the response get zero.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    remover : {"joint", "linear", "transport", "chained"} or object, optional
        What turns the other features into S. ``"joint"``, the default, starts gently and removes
        more only while forests still find x in the other features together. ``"linear"`` and
        ``"transport"`` take them one by one, as the paper does. By default ``"linear"`` if the
        power is linear, which sees nothing else, and ``"transport"`` in the paper protocol.
    protocol : {"one-fit", "matched", "paper"}, optional
        How the two scores are made comparable. ``"one-fit"`` takes both from one fit on S and x:
        with x known, and averaged over x. It is the default wherever the power predicts.
        ``"matched"`` fits again with a permuted copy of x, for powers that only score; ``"paper"``
        drops x, as the authors' package does.
    {test_parameters}
    {groups_parameter}
    {common_parameters}

    Notes
    -----
    S is independent of x, so E[y | S] is the mean of E[y | S, x] over all of x: one fit gives both
    scores, and what is chance in the fit is in both and cancels. The importance is a mean over
    rows, from which its interval is made; see docs/inference.md.

    A column that repeats another gets the scores of its original. But in the paper protocol, copies
    change nothing else either: they are set aside, and what removal leaves of a feature is dropped
    where it is constant.

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
    check_test(test, max_permutations, alpha, checked_protocol)
    remover = default_remover(power, checked_protocol) if remover is None else remover
    find_remover(remover, checked_protocol or "one-fit")
    problem = Problem.check(
        "ultra_marginal",
        X,
        y,
        remover=remover,
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
        settled: ProtocolName = problem.settings["protocol"]
        contexts = UnrelatedContexts.prepare(problem, remover, settled)
        closed_form = contexts.find_closed_form()
        return compare_in_context(
            problem,
            contexts.make,
            settled,
            contexts.scored,
            test=lambda: contexts.test(closed_form),
            closed_form=closed_form,
        )
