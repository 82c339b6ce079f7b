"""Methods run again and again on other rows of one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reproduction.session import Session

__all__ = ["run_iterations"]


def run_iterations(
    session: Session,
    X: pd.DataFrame,
    y: pd.Series,
    methods: Mapping[str, Mapping[str, Any]],
    n_iterations: Mapping[str, int],
    *,
    rows_name: str,
    n_rows: int,
) -> pd.DataFrame:
    """Return importances: ``method, iteration, feature, importance``.

    Parameters
    ----------
    session : Session
    X, y
        The table and its response.
    methods : dict
        From the name that is shown to ``method`` and its settings.
    n_iterations : dict
        By the same names.
    rows_name : str
        What rows are called; an iteration has the same ones for all methods.
    n_rows : int
        How many of them an iteration draws.
    """
    found = []
    for number, (name, settings) in enumerate(methods.items()):
        own = dict(settings)
        method = str(own.pop("method"))
        steps = range(n_iterations[name])
        for iteration in session.track(steps, name, n_parts=len(methods) - number):
            rng = np.random.default_rng(session.seed_of(rows_name, iteration))
            drawn = np.sort(rng.choice(len(X), min(n_rows, len(X)), replace=False))
            importances = session.run(method, X.iloc[drawn], y.iloc[drawn], name, iteration, **own)
            found += [(name, iteration, feature, value) for feature, value in importances.items()]
    return pd.DataFrame(found, columns=["method", "iteration", "feature", "importance"])
