"""How much features tell of each other, pair by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind

__all__ = ["associate"]

# Smaller than this is rounding.
TINY = 1e-10
# Of longer tables rows at even distances are taken: enough for two digits.
MAX_ROWS = 5000


def associate(columns: Columns) -> NDArray[np.float64]:
    """Return the share of each feature that each other one explains, shape (p, p).

    Of two numbers the squared rank correlation (Spearman), of a number and categories the share of
    the ranks' variance between the categories, of two categories the squared V (Cramér); each less
    what independent features would show. These are one formula: with an orthonormal basis for what
    a feature can tell, ranks or indicators of levels, it is the squared Frobenius norm of the
    products of two bases, divided by the smaller number of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> associate(read_columns(np.column_stack([x, np.exp(x[:, 0])]))).round(1)[0]
    array([1., 0., 1.])
    """
    step = -(-columns.n_rows // MAX_ROWS)
    if step > 1:
        columns = columns.take_rows(np.arange(0, columns.n_rows, step))
    bases = [
        _basis(column, is_labels=kind is Kind.CATEGORICAL)
        for column, kind in zip(columns.values.T, columns.kinds, strict=True)
    ]
    sizes = np.array([basis.shape[1] for basis in bases])
    products = np.concatenate(bases, axis=1)
    # A constant has no basis, and tells nothing.
    starts = np.cumsum(sizes) - sizes
    squares = np.zeros((len(sizes), len(sizes)))
    told = np.flatnonzero(sizes)
    if len(told) > 0:
        blocks = np.add.reduceat((products.T @ products) ** 2, starts[told], axis=0)
        squares[np.ix_(told, told)] = np.add.reduceat(blocks, starts[told], axis=1)
    fewer = np.maximum(np.minimum.outer(sizes, sizes), 1)
    by_chance = np.minimum(np.maximum.outer(sizes, sizes) / max(columns.n_rows - 1, 1), 1.0 - TINY)
    shares = np.clip((squares / fewer - by_chance) / (1.0 - by_chance), 0.0, 1.0)
    np.fill_diagonal(shares, 1.0)
    return (shares + shares.T) / 2.0  # Sums differ in their last bit.


def _basis(column: NDArray[np.float64], *, is_labels: bool) -> NDArray[np.float64]:
    """Return orthonormal vectors without mean for what a feature can tell, shape (n_rows, d)."""
    levels, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(levels) < 2:
        return np.empty((len(column), 0))
    if not is_labels:
        middle_ranks = np.cumsum(counts) - (counts - 1) / 2.0
        ranks = middle_ranks[codes] - middle_ranks[codes].mean()
        return (ranks / np.linalg.norm(ranks))[:, np.newaxis]
    indicators = (codes[:, np.newaxis] == np.arange(1, len(levels))).astype(np.float64)
    return np.linalg.qr(indicators - indicators.mean(axis=0))[0]
