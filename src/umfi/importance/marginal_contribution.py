"""Marginal contribution feature importance, MCI (Catav et al. 2021; equation 2 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import Any

from umfi.errors import InputError, is_whole_number
from umfi.execution import TaskName
from umfi.importance.assembly import SUBSETS
from umfi.importance.features import Groups
from umfi.importance.options import with_common_parameters
from umfi.importance.result import ImportanceResult
from umfi.importance.study import Problem

__all__ = ["marginal_contribution"]

# Beyond this many subsets a run is a mistake rather than a plan.
MAX_SUBSETS = 5_000_000


@with_common_parameters
def marginal_contribution(
    X: Any,
    y: Any,
    *,
    max_context: int | None = 2,
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
    """Return the most that each feature adds to any set of others.

    I(x) = max over S of nu(S and x) - nu(S). The score of each set is computed once. By equation
    1 no set is worth less than nothing, so a score below that of no columns counts as that score;
    without this, forests on noise, which score below chance, would make every feature important.
    A maximum over noisy scores is still biased upwards: unrelated features come out above zero.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    max_context : int, optional
        The largest number of features in S; None for all subsets, which takes 2ᵖ forests.
    {groups_parameter}
    {common_parameters}
        Its scores have one more column, ``context``: the set S that gave the maximum.

    Notes
    -----
    Columns that repeat another are set aside and get the scores of their original.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("nonlinear_interactions", n=200, random_state=0)
    >>> result = umfi.marginal_contribution(X, y, max_context=1, random_state=0)
    >>> max(len(context) for context in result.scores["context"])
    1
    """
    if max_context is not None and (not is_whole_number(max_context) or max_context < 0):
        raise InputError(
            f"max_context={max_context!r} is not valid: pass a whole number from 0 up, or None "
            "for all subsets."
        )
    problem = Problem.check(
        "marginal_contribution",
        X,
        y,
        max_context=max_context,
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
    features = problem.features
    used = [index for index in problem.outline.scored if not features[index].is_constant]
    largest_context = len(used) - 1 if max_context is None else min(max_context, len(used) - 1)
    n_subsets = sum(comb(len(used), size) for size in range(largest_context + 2))
    if n_subsets > MAX_SUBSETS:
        raise InputError(
            f"{len(used)} features have {n_subsets:,} sets to score: lower max_context."
        )

    def work(name: TaskName) -> float:
        repeat, *subset = (int(part) for part in name)
        sampled, target = problem.rows_of(repeat)
        context = sampled.select([place for index in subset for place in features[index].positions])
        return problem.score(context, target, "subset", repeat, *context.names)

    def label(name: TaskName) -> str:
        names = ", ".join(features[int(index)].name for index in name[1:])
        return f"marginal_contribution of {names or 'nothing'}, repeat {name[0]}"

    with problem:
        names: list[TaskName] = [
            (repeat, *subset)
            for repeat in range(problem.repeats)
            for size in range(largest_context + 2)
            for subset in combinations(used, size)
        ]
        problem.run(SUBSETS, work, names, label_of=label, is_one_due=True)
        return problem.assemble()
