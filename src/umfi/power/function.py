"""Any function as a power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.target import Target

__all__ = ["CallablePower"]


@dataclass(frozen=True)
class CallablePower:
    """Any function ``f(columns, y, rng) -> float`` as a power.

    It is given the columns as an array of shape (n_rows, n_columns), the response as an array of
    shape (n_rows,) (class codes for classification) and a NumPy generator. Arrays are read-only
    views or copies; n_columns may be 0, for the power of knowing nothing. Categories are codes
    0, 1, ... that mean nothing but themselves.
    """

    function: Callable[[NDArray[np.float64], NDArray[Any], np.random.Generator], float]

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return what the function returns."""
        values = columns.values.view()
        values.flags.writeable = False
        response = target.labels if target.task == "classification" else target.values.view()
        response.flags.writeable = False
        return self.function(values, response, np.random.default_rng(seed))

    def __repr__(self) -> str:
        """Return the function's name."""
        return getattr(self.function, "__qualname__", repr(self.function))
