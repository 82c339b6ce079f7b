"""A table and its response together: what can only be checked of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umfi.data.columns import Columns
from umfi.data.frames import drop_incomplete_rows, read_columns
from umfi.data.target import Target, read_target, refuse_mismatch

__all__ = ["read_table"]


def read_table(
    X: Any,
    y: Any,
    *,
    task: str = "auto",
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
) -> tuple[Columns, Target, int]:
    """Return the checked columns, the checked response and how many rows were dropped.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(30.0)[:, np.newaxis]
    >>> columns, target, n_dropped = read_table(X, np.where(X[:, 0] < 3, np.nan, 1.0 * X[:, 0]),
    ...                                         missing="drop")
    >>> columns.n_rows, target.n_rows, n_dropped
    (27, 27, 3)
    """
    if isinstance(y, str):
        read_target(y)  # Before all that may be wrong with X: it refuses a name.
    n_dropped = 0
    if missing == "drop":
        complete, response = drop_incomplete_rows(X, y)
        refuse_mismatch(X, y)  # Of what was given: rows that are taken out are copies.
        n_dropped = len(X) - len(complete)
        X, y = complete, response
    columns = read_columns(X, kinds=kinds, missing=missing)
    return columns, read_target(y, task=task, X=X), n_dropped
