"""Bivariate association: what one feature says alone (supplement B)."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from umfi.data.columns import Columns
from umfi.importance.options import OptionsWithTest, with_options
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import score_and_test, score_feature
from umfi.importance.study import Study
from umfi.importance.testing import FeatureTests

__all__ = ["bivariate", "no_others"]


@with_options(OptionsWithTest)
def bivariate(
    X: Any, y: Any, *, protocol: str | None = None, **options: Unpack[OptionsWithTest]
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
    {common_parameters}

    Returns
    -------
    ImportanceResult

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> umfi.bivariate(X, y, random_state=0).table["feature"].iloc[-1]
    'x4'
    """
    study = Study.prepare("bivariate", X, y, {"protocol": protocol}, options)
    # There is no context that could leak.
    tests = [FeatureTests(no_others, is_leakage_measured=False)]
    return score_and_test(study, partial(score_feature, study, no_others), tests)


def no_others(columns: Columns, *_: Any) -> Columns:
    """Return the context of bivariate association: no columns."""
    return columns.select([])
