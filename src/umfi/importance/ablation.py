"""Ablation: what is lost when one feature is taken away from all (supplement B)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.data.contracts import ProtocolName, check_protocol
from umfi.errors import UntestableError
from umfi.importance.features import Feature, Groups
from umfi.importance.options import with_common_parameters
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import check_groups, compare_in_context
from umfi.importance.study import Problem
from umfi.importance.testing import Contest, run_test
from umfi.inference.sequential import check_test
from umfi.removal.regression import centre

__all__ = ["ablation", "all_others", "make_contest", "refuse_test"]

# Fewer leave too little of a feature that the others do not tell by chance.
ROWS_PER_COLUMN = 4
# A rest this small beside the column is rounding.
NEGLIGIBLE_SHARE = 1e-8


@with_common_parameters
def ablation(
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
    """Return what each feature adds to all others: nu(F) - nu(F without x).

    Features that others can replace get no importance.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    protocol : {"one-fit", "matched", "paper"}, optional
        ``"one-fit"``, the default wherever the power predicts, takes both scores from one fit: the
        second one is averaged over the values that the feature has in rows whose other features
        predict about the same of it. ``"matched"`` puts a permuted copy in the feature's place for
        the second score; ``"paper"`` drops it.
    {test_parameters}
    {groups_parameter}
    {common_parameters}

    Notes
    -----
    The test asks whether the feature adds anything once the others are known, so its copies must
    stand to the others as the feature does: what they tell linearly about the feature is kept,
    and only the rest is permuted. A feature that others tell in full gets the p-value 1; what they
    tell beyond the linear part is measured as leakage. The test needs four rows for each column.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.ablation(X, y, random_state=0).table["feature"][0]
    'x2'
    """
    checked_protocol = check_protocol(protocol)
    check_groups(groups, checked_protocol)
    check_test(test, max_permutations, alpha, checked_protocol)
    problem = Problem.check(
        "ablation",
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
        problem.refuse_columns()
        if test is not None:
            refuse_test(problem.columns)

        def run_tests() -> None:
            if test is None:
                return
            # Copies of a column are told by each other, so each is tested for itself.
            sampled = problem.take_test_rows()
            run_test(sampled, make_contest(sampled), range(len(problem.features)))

        scored = problem.outline.scored
        settled: ProtocolName = problem.settings["protocol"]
        return compare_in_context(problem, all_others, settled, scored, test=run_tests)


def all_others(columns: Columns, feature: Feature, *_: Any) -> Columns:
    """Return the context of ablation: all other columns as they are."""
    return columns.without(feature.positions)


def make_contest(problem: Problem) -> Contest:
    """Return what the test of ablation compares: a feature and conditional copies of it."""

    def contest(
        feature: Feature, _: int, permutations: Sequence[NDArray[np.intp]]
    ) -> tuple[Columns, list[Columns]]:
        own = problem.columns.select(feature.positions)
        others = all_others(problem.columns, feature)
        return others, [own, *_conditional_copies(own, others, permutations)]

    return contest


def refuse_test(columns: Columns) -> None:
    """Raise where no copies can be made that stand to the others as a feature does."""
    for name, kind in zip(columns.names, columns.kinds, strict=True):
        if kind is Kind.CATEGORICAL:
            raise UntestableError(
                f"Column {name!r} is categorical, and what is added to categories cannot be "
                "tested: leave the column out, pass test=None, or test with umfi.ultra_marginal."
            )
    n_numbers = columns.to_numbers().shape[1]
    if columns.n_rows < ROWS_PER_COLUMN * n_numbers:
        raise UntestableError(
            f"The test of ablation needs {ROWS_PER_COLUMN} rows for each column, and X has "
            f"{columns.n_rows} rows and {n_numbers} columns: leave columns out, pass test=None, or "
            "test with umfi.ultra_marginal."
        )


def _conditional_copies(
    feature: Columns, others: Columns, permutations: Sequence[NDArray[np.intp]]
) -> list[Columns]:
    """Return copies that stand to the other columns as the feature does, if that is linear.

    A copy is what the others tell about the feature plus the permuted rest. The rest is made
    uncorrelated with the others again and stretched to its old size, as the feature's own is and
    has; then the copy's values give way to the feature's own in the same order.
    """
    basis = _find_basis(others)
    centred = np.stack([centre(column) for column in feature.values.T], axis=1)
    told = basis @ (basis.T @ centred)
    rest = centred - told
    sizes = np.linalg.norm(rest, axis=0)
    sizes[sizes <= NEGLIGIBLE_SHARE * np.linalg.norm(centred, axis=0)] = 0.0
    own_values = np.sort(feature.values, axis=0)
    copies = []
    for rows in permutations:
        permuted = rest[rows]
        permuted -= permuted.mean(axis=0)
        permuted -= basis @ (basis.T @ permuted)
        new_sizes = np.linalg.norm(permuted, axis=0)
        permuted *= np.divide(sizes, new_sizes, out=np.zeros_like(sizes), where=new_sizes > 0.0)
        ranks = np.argsort(np.argsort(told + permuted, axis=0, kind="stable"), axis=0)
        values = np.take_along_axis(own_values, ranks, axis=0)
        values[:, sizes == 0.0] = feature.values[:, sizes == 0.0]
        copies.append(replace(feature, values=np.asfortranarray(values)))
    return copies


def _find_basis(columns: Columns) -> NDArray[np.float64]:
    """Return orthonormal directions that span the columns, shape (n_rows, n_directions)."""
    if columns.n_columns == 0:
        return np.zeros((columns.n_rows, 0))
    centred = np.stack([centre(column) for column in columns.to_numbers().T], axis=1)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, sizes > NEGLIGIBLE_SHARE * sizes[0]]
