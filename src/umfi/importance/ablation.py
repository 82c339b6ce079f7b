"""Ablation: what is lost when one feature is taken away from all (supplement B)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.errors import UntestableError
from umfi.importance.features import Feature
from umfi.importance.options import OptionsWithTest, with_options
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import score_and_test, score_feature
from umfi.importance.study import Study
from umfi.importance.testing import FeatureTests
from umfi.removal.regression import centre

__all__ = ["ablation", "all_others", "conditional_candidates", "refuse_test"]

# Fewer leave too little of a feature that the others do not predict by chance.
ROWS_PER_COLUMN = 4
# A rest this small beside the column is rounding.
NEGLIGIBLE_FRACTION = 1e-8


@with_options(OptionsWithTest)
def ablation(
    X: Any, y: Any, *, protocol: str | None = None, **options: Unpack[OptionsWithTest]
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
    {common_parameters}

    Returns
    -------
    ImportanceResult

    Notes
    -----
    The test asks whether the feature adds anything once the others are known, so its copies must
    stand to the others as the feature does: what they predict linearly of the feature stays,
    and only the rest is permuted. A feature that others predict in full gets the p-value 1; what
    they predict beyond the linear part is measured as leakage. The test needs four rows for each
    column.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.ablation(X, y, random_state=0).table["feature"][0]
    'x2'
    """
    study = Study.prepare("ablation", X, y, {"protocol": protocol}, options)
    study.refuse_columns()
    if options["test"] is not None:
        refuse_test(study.columns)
    tests = [FeatureTests(all_others, candidates_of=conditional_candidates)]
    return score_and_test(study, partial(score_feature, study, all_others), tests)


def all_others(columns: Columns, feature: Feature, *_: Any) -> Columns:
    """Return the context of ablation: all other columns as they are."""
    return columns.without(feature.positions)


def refuse_test(columns: Columns) -> None:
    """Raise where no copies can be made that stand to the others as a feature does."""
    for name, kind in zip(columns.names, columns.kinds, strict=True):
        if kind is Kind.CATEGORICAL:
            raise UntestableError(
                f"Column {name!r} is categorical, and what is added to categories cannot be "
                "tested: leave the column out, run without a test, or test with ultra_marginal.",
                argument="test",
            )
    n_numbers = columns.to_numbers().shape[1]
    if columns.n_rows < ROWS_PER_COLUMN * n_numbers:
        raise UntestableError(
            f"The test of ablation needs {ROWS_PER_COLUMN} rows for each column, and X has "
            f"{columns.n_rows} rows and {n_numbers} columns: leave columns out, run without a "
            "test, or test with ultra_marginal.",
            argument="test",
        )


def conditional_candidates(
    columns: Columns, feature: Feature, permutations: Sequence[NDArray[np.intp]]
) -> list[Columns]:
    """Return a feature and copies that stand to the others as it does, if that is linear.

    A copy is what the others predict linearly of the feature plus the permuted rest. The rest is
    made uncorrelated with the others again and stretched to its old size, as the feature's own is
    and has; then the copy's values give way to the feature's own in the same order.
    """
    own, others = columns.select(feature.positions), all_others(columns, feature)
    basis = _find_basis(others)
    centred = np.stack([centre(column) for column in own.values.T], axis=1)
    predicted = basis @ (basis.T @ centred)
    rest = centred - predicted
    sizes = np.linalg.norm(rest, axis=0)
    sizes[sizes <= NEGLIGIBLE_FRACTION * np.linalg.norm(centred, axis=0)] = 0.0
    own_values = np.sort(own.values, axis=0)
    copies = []
    for rows in permutations:
        permuted = rest[rows]
        permuted -= permuted.mean(axis=0)
        permuted -= basis @ (basis.T @ permuted)
        new_sizes = np.linalg.norm(permuted, axis=0)
        permuted *= np.divide(sizes, new_sizes, out=np.zeros_like(sizes), where=new_sizes > 0.0)
        ranks = np.argsort(np.argsort(predicted + permuted, axis=0, kind="stable"), axis=0)
        values = np.take_along_axis(own_values, ranks, axis=0)
        values[:, sizes == 0.0] = own.values[:, sizes == 0.0]
        copies.append(replace(own, values=np.asfortranarray(values)))
    return [own, *copies]


def _find_basis(columns: Columns) -> NDArray[np.float64]:
    """Return orthonormal directions that span the columns, shape (n_rows, n_directions)."""
    if columns.n_columns == 0:
        return np.zeros((columns.n_rows, 0))
    centred = np.stack([centre(column) for column in columns.to_numbers().T], axis=1)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, sizes > NEGLIGIBLE_FRACTION * sizes[0]]
