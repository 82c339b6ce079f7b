"""Levels of categories: an order that does not come from their names, and small ones merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind

__all__ = ["count_levels", "merge_small_levels", "order_levels"]


def order_levels(codes: NDArray[np.intp], guides: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the levels in the order in which they go along with the guides.

    That is the first axis of a correspondence analysis: the combination of guides whose means
    differ most between levels. Without guides the commonest come first.

    Parameters
    ----------
    codes : ndarray of int, shape (n_rows,)
    guides : ndarray, shape (n_rows, n_guides)

    Examples
    --------
    >>> import numpy as np
    >>> order_levels(np.array([0, 1, 2, 1]), np.array([[0.3], [0.9], [0.1], [0.7]]))
    array([2, 0, 1])
    """
    counts = np.bincount(codes)
    spread = guides.std(axis=0)
    units = (guides - guides.mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0]
    if units.shape[1] == 0:
        return np.argsort(-counts, kind="stable")
    sums = np.stack([np.bincount(codes, weights=unit) for unit in units.T], axis=1)
    # Sums over roots of counts are means that weigh as much as they are known.
    weighed = sums / np.sqrt(np.maximum(counts, 1))[:, np.newaxis]
    axis = np.linalg.eigh(weighed.T @ weighed)[1][:, -1]
    axis *= np.sign(axis[np.argmax(np.abs(axis))])
    return np.lexsort((-counts, (sums @ axis) / np.maximum(counts, 1)))


def count_levels(codes: NDArray[np.intp], min_rows: int) -> int:
    """Return how many levels there are after small ones are merged."""
    counts = np.bincount(codes)
    small = counts[(counts < min_rows) & (counts > 0)].sum()
    return int(np.sum(counts >= min_rows) + -(-small // min_rows))


def merge_small_levels(block: Columns, others: Columns, min_rows: int) -> Columns:
    """Return a block in which levels of fewer rows are joined with those most like them.

    Parameters
    ----------
    block : Columns
    others : Columns
        What likeness is judged by.
    min_rows : int

    Examples
    --------
    >>> import pandas as pd
    >>> from umfi.data.frames import read_columns
    >>> sites = pd.DataFrame({"site": list("aaaaaaaaaabbbccddeee"), "height": range(20)})
    >>> columns = read_columns(sites)
    >>> merge_small_levels(columns.select([0]), columns.select([1]), 5).values[9:, 0]
    array([0., 1., 1., 1., 1., 1., 2., 2., 2., 2., 2.])
    """
    values = block.values
    guides = None
    for position, kind in enumerate(block.kinds):
        if kind is not Kind.CATEGORICAL:
            continue
        codes = block.values[:, position].astype(np.intp)
        counts = np.bincount(codes)
        if not np.any((counts < min_rows) & (counts > 0)):
            continue
        if guides is None:
            is_ordered = [kind is not Kind.CATEGORICAL for kind in others.kinds]
            guides = others.ranks.positions[np.array(is_ordered, dtype=bool)].T.astype(np.float64)
            values = values.copy(order="F")
        values[:, position] = _merge(codes, order_levels(codes, guides), min_rows)
    return block if guides is None else replace(block, values=values)


def _merge(codes: NDArray[np.intp], order: NDArray[np.intp], min_rows: int) -> NDArray[np.float64]:
    """Return the number of each row's level after small neighbours in this order are joined."""
    counts = np.bincount(codes)
    new_code = np.zeros(len(counts))
    n_new = 0
    n_waiting = 0
    waiting: list[int] = []
    for level in order:
        if counts[level] >= min_rows:
            new_code[level] = n_new
            n_new += 1
            continue
        waiting.append(level)
        n_waiting += counts[level]
        if n_waiting >= min_rows:
            new_code[waiting] = n_new
            n_new += 1
            waiting, n_waiting = [], 0
    # The last few join those before them.
    new_code[waiting] = max(n_new - 1, 0)
    return new_code[codes]
