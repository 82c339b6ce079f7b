"""Columns as numbers in which distances are measured and lines are fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind

__all__ = ["MAX_TREE_COLUMNS", "distinct_numbers", "row_blocks", "to_unit_variance"]

# In more columns than this a tree looks at nearly every row anyway.
MAX_TREE_COLUMNS = 8
# So many distances are found at once: 4 MB, which stay in the processor's cache.
MAX_BLOCK_CELLS = 500_000


def distinct_numbers(columns: Columns) -> NDArray[np.float64]:
    """Return the columns as numbers, without constant ones and repeats; shape (n_rows, any)."""
    numbers = columns.to_numbers()
    n_numbers = numbers.shape[1]
    if n_numbers == 1:
        return numbers[:, np.any(numbers != numbers[:1], axis=0)]
    table = Columns(numbers, tuple(map(str, range(n_numbers))), (Kind.CONTINUOUS,) * n_numbers)
    is_first = table.first_copies() == np.arange(n_numbers)
    return numbers[:, is_first & ~table.is_constant()]


def to_unit_variance(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns with mean 0 and variance 1; none of them may be constant."""
    deviations = values - values.mean(axis=0)
    deviations /= np.abs(deviations).max(axis=0)  # Squares can neither under- nor overflow.
    scaled: NDArray[np.float64] = deviations / deviations.std(axis=0)
    return scaled


def row_blocks(rows: NDArray[np.intp], n_points: int) -> list[NDArray[np.intp]]:
    """Return the rows in blocks whose distances to all points fit into memory."""
    return np.array_split(rows, 1 + len(rows) * n_points // MAX_BLOCK_CELLS)
