"""Columns that hold the same value many times: removal by steps of their distribution.

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
from umfi.removal.levels import order_levels
from umfi.removal.protected import guides_of
from umfi.removal.regression import centre

__all__ = ["linear_step_ranks", "random_ranks", "stack_steps", "step_values"]

# How finely the conditional distribution is followed.
MAX_STEPS = 60


def step_values(
    columns: Columns, position: int | np.intp, guides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the column that is stepped along, shape (n_rows,).

    Levels of categories need some order, and it must not come from their names. They are put in the
    order in which they go along with the protected columns, so that ranks given these shift as
    little as they can.

    Parameters
    ----------
    columns : Columns
    position : int
    guides : ndarray, shape (n_rows, n_guides)
        Numbers of the protected columns.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from umfi.data.frames import read_columns
    >>> soils = pd.DataFrame({"soil": ["silt", "clay", "sand", "clay"] * 5})
    >>> wetness = np.array([[0.3], [0.9], [0.1], [0.7]] * 5)
    >>> step_values(read_columns(soils), 0, wetness)[:4]
    array([1., 2., 0., 2.])
    """
    column = columns.values[:, position]
    if columns.kinds[position] is not Kind.CATEGORICAL:
        return column
    codes = column.astype(np.intp)
    order = order_levels(codes, guides)
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    return place[codes]


def stack_steps(
    columns: Columns, positions: NDArray[np.intp], protected: Sequence[Columns]
) -> NDArray[np.float64]:
    """Return the columns that are stepped along, shape (n_rows, n_positions)."""
    stepped = columns.values[:, positions]
    categorical = [
        place
        for place, position in enumerate(positions)
        if columns.kinds[position] is Kind.CATEGORICAL
    ]
    if categorical:
        guides = guides_of(protected, columns)
        for place in categorical:
            stepped[:, place] = step_values(columns, positions[place], guides)
    return stepped


def random_ranks(
    values: NDArray[np.float64], tie_breaks: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the rank of each value in its column, from 1; equal values in the order of breaks.

    Parameters
    ----------
    values, tie_breaks : shape (n_rows, n_columns)
    """
    order = np.lexsort((tie_breaks, values), axis=0)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, len(values) + 1.0)[:, np.newaxis], axis=0)
    return ranks


def linear_step_ranks(
    column: NDArray[np.float64],
    directions: NDArray[np.float64],
    tie_breaks: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return a column as its conditional rank, the distribution being linear in the protected ones.

    The chance that the column is at most v is regressed on the protected columns, for each of up
    to 60 values v (distribution regression); a row's rank is drawn between its two steps. It is
    independent of the protected columns where that chance is linear in them.

    Parameters
    ----------
    column, tie_breaks : shape (n_rows,)
        Tie breaks are independent and uniform.
    directions : shape (n_directions, n_rows)
        The protected columns, made uncorrelated.

    Returns
    -------
    ndarray, shape (n_rows,), between 0 and 1
    """
    n_rows = len(column)
    _, value_of_row, counts = np.unique(column, return_inverse=True, return_counts=True)
    n_steps = min(len(counts), MAX_STEPS)
    middles = np.cumsum(counts) - counts / 2.0
    step_of_value = (
        np.arange(len(counts))
        if len(counts) <= MAX_STEPS
        else np.unique(np.floor(middles * n_steps / n_rows), return_inverse=True)[1]
    )
    step = step_of_value[value_of_row]
    units = np.stack([centre(direction) for direction in directions])
    sizes_of_units = np.maximum(np.sum(units**2, axis=1), np.finfo(float).tiny)
    # Both ends of each row's own step, from the lowest step to the highest.
    low, high = np.zeros(n_rows), np.ones(n_rows)
    below = np.zeros(n_rows)
    for edge in range(step.max()):
        is_below = (step <= edge).astype(np.float64)
        chance = is_below.mean() + (units @ is_below / sizes_of_units) @ units
        below = np.maximum(below, np.clip(chance, 0.0, 1.0))
        high[step == edge] = below[step == edge]
        low[step == edge + 1] = below[step == edge + 1]
    # Where a row stands inside its step, by value and then at random.
    order = np.lexsort((tie_breaks, column))
    starts = np.searchsorted(step[order], np.arange(step.max() + 1))
    sizes = np.bincount(step)
    inside = np.empty(n_rows)
    inside[order] = (np.arange(n_rows) - starts[step[order]] + 0.5) / sizes[step[order]]
    return low + inside * (high - low)
