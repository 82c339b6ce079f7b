"""Columns that hold the same value many times: removal by ranks that are random among equals.

Among rows with equal values a regression residual is a function of the protected column alone, so
it would give away what it should hide. Such columns are not regressed themselves; instead rows
with equal values are ranked at random, which hides the ties (the randomised distributional
transform of Johndrow and Lum 2019).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.removal.protected import guides_of, order_levels
from umfi.removal.regression import centre

__all__ = ["linear_conditional_ranks", "order_categories", "ordered_values", "random_ranks"]

# How finely the conditional distribution is followed.
MAX_BINS = 60


def order_categories(
    columns: Columns, position: int | np.intp, guides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a column whose values have an order, shape (n_rows,).

    Levels of categories need some order, and it must not come from their names. They are put in the
    order in which they go along with the guides, the numbers of the protected columns, shape
    (n_rows, n_guides), so that ranks given these shift as little as they can.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from umfi.data.frames import read_columns
    >>> soils = pd.DataFrame({"soil": ["silt", "clay", "sand", "clay"] * 5})
    >>> wetness = np.array([[0.3], [0.9], [0.1], [0.7]] * 5)
    >>> order_categories(read_columns(soils), 0, wetness)[:4]
    array([1., 2., 0., 2.])
    """
    column = columns.values[:, position]
    if columns.kinds[position] is not Kind.CATEGORICAL:
        return column
    codes = column.astype(np.intp)
    order = order_levels(codes, guides)
    position_of_level = np.empty(len(order))
    position_of_level[order] = np.arange(len(order))
    return position_of_level[codes]


def ordered_values(
    columns: Columns, positions: NDArray[np.intp], protected: Sequence[Columns]
) -> NDArray[np.float64]:
    """Return columns whose values all have an order, shape (n_rows, n_positions)."""
    values = columns.values[:, positions]
    is_categorical = [columns.kinds[position] is Kind.CATEGORICAL for position in positions]
    if any(is_categorical):
        guides = guides_of(protected, columns)
        for number in np.flatnonzero(is_categorical):
            values[:, number] = order_categories(columns, positions[number], guides)
    return values


def random_ranks(
    values: NDArray[np.float64], tie_breaks: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the rank of each value in its column, from 1; equal values in the order of breaks.

    All of shape (n_rows, n_columns).
    """
    order = np.lexsort((tie_breaks, values), axis=0)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, len(values) + 1.0)[:, np.newaxis], axis=0)
    return ranks


def linear_conditional_ranks(
    column: NDArray[np.float64], directions: NDArray[np.float64], tie_breaks: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a column as its conditional rank, the distribution being linear in the protected ones.

    The chance that the column is at most v is regressed on the protected columns, for each of up
    to 60 values v (distribution regression); a row's rank is drawn between the chances of its own
    value and of the one before. It is independent of the protected columns where that chance is
    linear in them.

    Ranks are between 0 and 1. Tie breaks, shape (n_rows,), are independent and uniform; directions,
    shape (n_directions, n_rows), are the protected columns, made uncorrelated.
    """
    n_rows = len(column)
    _, value_of_row, counts = np.unique(column, return_inverse=True, return_counts=True)
    n_bins = min(len(counts), MAX_BINS)
    middles = np.cumsum(counts) - counts / 2.0
    bin_of_value = (
        np.arange(len(counts))
        if len(counts) <= MAX_BINS
        else np.unique(np.floor(middles * n_bins / n_rows), return_inverse=True)[1]
    )
    bins = bin_of_value[value_of_row]
    units = np.stack([centre(direction) for direction in directions])
    sizes_of_units = np.maximum(np.sum(units**2, axis=1), np.finfo(float).tiny)
    # Both ends of each row's own bin, from the lowest bin to the highest.
    low, high = np.zeros(n_rows), np.ones(n_rows)
    below = np.zeros(n_rows)
    for edge in range(bins.max()):
        is_below = (bins <= edge).astype(np.float64)
        chance = is_below.mean() + (units @ is_below / sizes_of_units) @ units
        below = np.maximum(below, np.clip(chance, 0.0, 1.0))
        high[bins == edge] = below[bins == edge]
        low[bins == edge + 1] = below[bins == edge + 1]
    # Where a row stands inside its bin, by value and then at random.
    order = np.lexsort((tie_breaks, column))
    starts = np.searchsorted(bins[order], np.arange(bins.max() + 1))
    sizes = np.bincount(bins)
    inside = np.empty(n_rows)
    inside[order] = (np.arange(n_rows) - starts[bins[order]] + 0.5) / sizes[bins[order]]
    return low + inside * (high - low)
