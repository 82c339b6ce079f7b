"""Pairwise optimal transport: each other column gives way to its conditional rank (E.1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns, Kind
from umfi.contracts import ProtocolName
from umfi.errors import InputError
from umfi.forest import order_rows
from umfi.jit import kernel
from umfi.removal.regression import regress
from umfi.removal.steps import random_ranks

__all__ = ["TransportRemover"]

# The authors' choice (section F).
DEFAULT_ROWS_PER_BIN = 150
MIN_ROWS_PER_BIN = 5


def _paper_bins(protected: NDArray[np.float64], rows_per_bin: int) -> list[NDArray[np.intp]]:
    """Return the rows of each bin between quantiles; bins share the rows on their common edge."""
    n_edges = int(np.ceil(len(protected) / rows_per_bin))
    if n_edges < 2:
        return [np.arange(len(protected))]
    edges = np.quantile(protected, np.linspace(0.0, 1.0, n_edges))
    return [
        np.flatnonzero((protected >= low) & (protected <= high)) for low, high in pairwise(edges)
    ]


def _equal_count_bins(protected: NDArray[np.float64], rows_per_bin: int) -> list[NDArray[np.intp]]:
    """Return the rows of each of about equally full bins; equal values share a bin."""
    n_rows = len(protected)
    n_bins = max(1, round(n_rows / rows_per_bin))
    _, value_of_row, counts = np.unique(protected, return_inverse=True, return_counts=True)
    # A value belongs to the bin in which the middle of its rows falls.
    middles = np.cumsum(counts) - counts / 2.0
    bin_of_row = np.floor(middles * n_bins / n_rows).astype(np.intp)[value_of_row]
    return _rows_by_label(bin_of_row)


def _value_bins(protected: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Return the rows of each distinct value."""
    return _rows_by_label(np.unique(protected, return_inverse=True)[1])


def _rows_by_label(labels: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return list(np.split(order, starts))


@dataclass(frozen=True)
class TransportRemover:
    """Replaces each value by the rank of its residual among rows with a similar protected value.

    The protected column is cut into bins. Inside a bin every other column is regressed on the
    protected one and transported to the uniform distribution, so that its distribution is the
    same in all bins (Johndrow and Lum 2019; algorithms 2 and 3 of the paper).

    Parameters
    ----------
    rows_per_bin : int
        About how many rows a bin holds. Smaller bins remove more and keep less.

    Notes
    -----
    A boolean protected column has one bin for each of its two values. A boolean column, or another
    one that holds the same values many times, is not regressed when it is transported, and its rows
    are ranked at random among equals: equal ranks would differ from bin to bin and so give the bin
    away.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> S = umfi.remove_dependence(X, "x1", remover=umfi.TransportRemover(rows_per_bin=30))
    >>> float(S["x3"].mean())
    0.5
    """

    rows_per_bin: int = DEFAULT_ROWS_PER_BIN

    def __post_init__(self) -> None:
        """Refuse bins too small to regress in."""
        is_whole = isinstance(self.rows_per_bin, int | np.integer)
        if not is_whole or self.rows_per_bin < MIN_ROWS_PER_BIN:
            raise InputError(
                f"rows_per_bin={self.rows_per_bin!r} is too small: pass a whole number from "
                f"{MIN_ROWS_PER_BIN} up."
            )
        object.__setattr__(self, "rows_per_bin", int(self.rows_per_bin))

    def remove(
        self,
        columns: Columns,
        feature_index: int,
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S: conditional ranks between 0 and 1."""
        protected = columns.values[:, feature_index]
        others = columns.without(feature_index)
        if protocol == "paper":
            transported = self._paper_ranks(others.values, protected)
        else:
            is_boolean = columns.kinds[feature_index] is Kind.BOOLEAN
            bins = (
                _value_bins(protected)
                if is_boolean
                else _equal_count_bins(protected, self.rows_per_bin)
            )
            transported = _conditional_ranks(others, protected, bins, rng)
        return others.with_changed(transported.T)

    def _paper_ranks(
        self, values: NDArray[np.float64], protected: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return average ranks divided by the bin's size; later bins overwrite shared edges."""
        transported = values.T.copy()
        for rows in _paper_bins(protected, self.rows_per_bin):
            _transport(values.T, protected, rows, 0.0, transported)
        return transported


def _conditional_ranks(
    others: Columns,
    protected: NDArray[np.float64],
    bins: list[NDArray[np.intp]],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return mid-ranks (rank - 1/2) / (rows of the bin), shape (n_columns, n_rows)."""
    is_stepped = others.has_heavy_ties
    columns = others.values.T
    stepped = others.values[:, is_stepped]
    tie_breaks = rng.random(stepped.shape)
    smooth = columns[~is_stepped] if is_stepped.any() else columns
    transported = np.empty(columns.shape)
    smooth_transported = np.empty(smooth.shape) if is_stepped.any() else transported
    for rows in bins:
        _transport(smooth, protected, rows, 0.5, smooth_transported)
        if is_stepped.any():
            ranks = random_ranks(stepped[rows], tie_breaks[rows])
            transported[np.ix_(is_stepped, rows)] = (ranks.T - 0.5) / len(rows)
    if is_stepped.any():
        transported[~is_stepped] = smooth_transported
    return transported


def _transport(
    columns: NDArray[np.float64],
    protected: NDArray[np.float64],
    rows: NDArray[np.intp],
    offset: float,
    transported: NDArray[np.float64],
) -> None:
    """Write (rank - offset) / (number of rows) of the residuals of these rows."""
    residuals = regress(np.take(columns, rows, axis=1), protected[rows]).residuals
    _write_ranks(residuals, order_rows(residuals), rows, offset, transported)


@kernel
def _write_ranks(
    columns: NDArray[np.float64],
    order: NDArray[np.int32],
    rows: NDArray[np.intp],
    offset: float,
    transported: NDArray[np.float64],
) -> None:
    """Write ranks from 1 up, less the offset and as shares; equal values share their mean rank."""
    n_columns, n_rows = columns.shape
    for column in range(n_columns):
        start = 0
        while start < n_rows:
            value = columns[column, order[column, start]]
            stop = start + 1
            while stop < n_rows and columns[column, order[column, stop]] == value:
                stop += 1
            share = (0.5 * (start + 1 + stop) - offset) / n_rows
            for slot in range(start, stop):
                transported[column, rows[order[column, slot]]] = share
            start = stop
