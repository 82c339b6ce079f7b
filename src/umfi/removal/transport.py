"""Pairwise optimal transport: each other column gives way to its conditional rank (E.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns, Kind
from umfi.contracts import ProtocolName
from umfi.errors import InputError, is_whole_number
from umfi.forest import order_rows
from umfi.jit import kernel
from umfi.removal.regression import find_directions, regress
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
    Several protected columns are taken one after the other, each as its residual on those of the
    same group before it.

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
        if not is_whole_number(self.rows_per_bin) or self.rows_per_bin < MIN_ROWS_PER_BIN:
            raise InputError(
                f"rows_per_bin={self.rows_per_bin!r} is too small: pass a whole number from "
                f"{MIN_ROWS_PER_BIN} up."
            )
        object.__setattr__(self, "rows_per_bin", int(self.rows_per_bin))

    def remove(
        self,
        columns: Columns,
        protected: Sequence[Columns],
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S: conditional ranks between 0 and 1."""
        if protocol == "paper":
            transported = self._paper_ranks(columns.values, protected[0].values[:, 0])
        else:
            cuts = [cut for block in protected for cut in self._cut(block)]
            transported = _conditional_ranks(columns, cuts, rng)
        return columns.with_changed(transported.T)

    def _cut(self, block: Columns) -> list[_Cut]:
        """Return the bins along each column of a group."""
        # Booleans first: their residuals on each other still take few values, one for each cell.
        is_boolean = np.array([kind is Kind.BOOLEAN for kind in block.kinds])
        order = np.argsort(~is_boolean, kind="stable")
        directions, positions = find_directions(block.values.T[order])
        return [
            _Cut(
                direction,
                _value_bins(direction)
                if is_boolean[order][position]
                else _equal_count_bins(direction, self.rows_per_bin),
            )
            for direction, position in zip(directions, positions, strict=True)
        ]

    def _paper_ranks(
        self, values: NDArray[np.float64], protected: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return average ranks divided by the bin's size; later bins overwrite shared edges."""
        transported = values.T.copy()
        for rows in _paper_bins(protected, self.rows_per_bin):
            _transport(values.T, protected, rows, 0.0, transported)
        return transported


class _Cut(NamedTuple):
    """A protected column, shape (n_rows,), and the rows of each of its bins."""

    protected: NDArray[np.float64]
    bins: list[NDArray[np.intp]]


def _conditional_ranks(
    columns: Columns, cuts: list[_Cut], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return mid-ranks (rank - 1/2) / (rows of the bin), shape (n_columns, n_rows).

    Between two cuts the ranks are read on the scale of the first cut's residuals. On the scale of
    the ranks themselves the later cuts would cost S less than the first one did, and the feature
    would seem to know more than its copies: an unrelated one by half a standard deviation
    (measured), instead of by nothing.
    """
    is_stepped = columns.has_heavy_ties
    values = columns.values.T
    ranks = np.empty(values.shape)
    residuals = np.empty(values.shape)
    scale = np.empty(values.shape)
    for place, (protected, bins) in enumerate(cuts):
        if place > 0:
            values = np.empty(values.shape)
            _read_scale(ranks, scale, values)
        is_smooth = ~is_stepped if place == 0 else np.ones(len(values), dtype=bool)
        smooth = values if is_smooth.all() else values[is_smooth]
        smooth_ranks = ranks if is_smooth.all() else np.empty(smooth.shape)
        for rows in bins:
            residuals_there = _transport(smooth, protected, rows, 0.5, smooth_ranks)
            if place == 0 and len(cuts) > 1:
                residuals[np.ix_(is_smooth, rows)] = residuals_there
        if not is_smooth.all():
            ranks[is_smooth] = smooth_ranks
            _rank_steps(columns.values[:, is_stepped], bins, rng, ranks, is_stepped)
        if place == 0 and len(cuts) > 1:
            scale[is_smooth] = np.sort(residuals[is_smooth], axis=1)
            scale[is_stepped] = (np.arange(columns.n_rows) + 0.5) / columns.n_rows
    return ranks


def _rank_steps(
    stepped: NDArray[np.float64],
    bins: list[NDArray[np.intp]],
    rng: np.random.Generator,
    ranks: NDArray[np.float64],
    is_stepped: NDArray[np.bool_],
) -> None:
    """Write the ranks of columns with heavy ties, at random among equals."""
    tie_breaks = rng.random(stepped.shape)
    for rows in bins:
        drawn = random_ranks(stepped[rows], tie_breaks[rows])
        ranks[np.ix_(is_stepped, rows)] = (drawn.T - 0.5) / len(rows)


def _transport(
    columns: NDArray[np.float64],
    protected: NDArray[np.float64],
    rows: NDArray[np.intp],
    offset: float,
    transported: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Write (rank - offset) / (number of rows) of the residuals of these rows; return these."""
    residuals = regress(np.take(columns, rows, axis=1), protected[rows]).residuals
    _write_ranks(residuals, order_rows(residuals), rows, offset, transported)
    return residuals


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


@kernel
def _read_scale(
    shares: NDArray[np.float64], scale: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    """Write the value that stands at each share of a column's scale, between two of it linearly.

    Parameters
    ----------
    shares : shape (n_columns, n_rows), between 0 and 1
    scale : shape (n_columns, n_rows), ascending in each column
    values : shape (n_columns, n_rows), written
    """
    n_columns, n_rows = shares.shape
    for column in range(n_columns):
        for row in range(n_rows):
            place = min(max(shares[column, row] * n_rows - 0.5, 0.0), n_rows - 1.0)
            below = min(int(place), n_rows - 2)
            low, high = scale[column, below], scale[column, below + 1]
            values[column, row] = low + (high - low) * (place - below)
