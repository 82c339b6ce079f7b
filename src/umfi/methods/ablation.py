"""Ablation: what is lost when one feature is taken away from all (supplement B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umfi.contracts import check_protocol
from umfi.methods.problem import Problem, with_common_parameters
from umfi.methods.protocols import compare_in_context
from umfi.result import ImportanceResult

__all__ = ["ablation"]


@with_common_parameters
def ablation(
    X: Any,
    y: Any,
    *,
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
    """Return what each feature adds to all others: nu(F) - nu(F without x).

    Features that others can replace get no importance.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    protocol : {"matched", "paper"}
        ``"matched"`` puts a permuted copy in the feature's place for the second score;
        ``"paper"`` drops it.
    {common_parameters}

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.ablation(X, y, random_state=0).table["feature"][0]
    'x2'
    """
    checked_protocol = check_protocol(protocol)
    problem = Problem.check(
        "ablation",
        X,
        y,
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
    return compare_in_context(
        problem, lambda columns, index, _: columns.without(index), checked_protocol
    )
