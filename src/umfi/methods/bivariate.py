"""Bivariate association: what one feature says alone (supplement B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umfi.contracts import check_protocol
from umfi.methods.features import Groups
from umfi.methods.problem import Problem, with_common_parameters
from umfi.methods.protocols import check_groups, compare_in_context
from umfi.result import ImportanceResult

__all__ = ["bivariate"]


@with_common_parameters
def bivariate(
    X: Any,
    y: Any,
    *,
    protocol: str = "matched",
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
    """Return what each feature says alone: nu(x) - nu(nothing).

    Interactions with other features do not count. Forests on a single column are noisy and score
    far below chance where the column is noise: average over repeats, and compare features of the
    same kind.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    protocol : {"matched", "paper"}
        ``"matched"`` takes the score of a permuted copy of the feature as that of nothing, because
        a forest on one column of noise scores below chance; ``"paper"`` takes the chance level.
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
    problem = Problem.check(
        "bivariate",
        X,
        y,
        protocol=protocol,
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
    return compare_in_context(problem, lambda columns, *_: columns.select([]), checked_protocol)
