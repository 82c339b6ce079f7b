"""Pairwise optimal transport: each other column gives way to its conditional rank (E.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.contracts import ProtocolName
from umfi.errors import InputError, is_whole_number
from umfi.forest import order_rows
from umfi.jit import kernel
from umfi.removal.protected import Binning, bin_protected
from umfi.removal.regression import regress_in_parts
from umfi.removal.ties import linear_conditional_ranks, ordered_values, random_ranks

__all__ = ["TransportRemover", "interpolate_quantiles", "rank_in_bins"]

# The authors' choice (section F).
DEFAULT_ROWS_PER_BIN = 150
MIN_ROWS_PER_BIN = 5
# Columns with ties are not regressed, so they need more bins in short tables, of enough rows.
MIN_BINS_OF_TIES, MIN_ROWS_OF_TIES = 5, 30
# With so few bins the protected column moves inside them.
MAX_WIDE_BINS = 5


def _paper_bins(protected: NDArray[np.float64], rows_per_bin: int) -> list[NDArray[np.intp]]:
    """Return the rows of each bin between quantiles; rows on an edge are in both of its bins."""
    n_edges = int(np.ceil(len(protected) / rows_per_bin))
    if n_edges < 2:
        return [np.arange(len(protected))]
    edges = np.quantile(protected, np.linspace(0.0, 1.0, n_edges))
    return [
        np.flatnonzero((protected >= low) & (protected <= high)) for low, high in pairwise(edges)
    ]


@dataclass(frozen=True)
class TransportRemover:
    """Replaces each value by the rank of its residual among rows with a similar protected value.

    The protected column is divided into bins. Inside a bin every other column is regressed on the
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

    Booleans and categories have a bin for each level, rare ones together; so have other values that
    many rows hold, and missing values. Where bins differ in size, ranks are drawn between their
    neighbours.

    A column of levels, or another one that holds the same values many times, is not regressed when
    it is transported, and its rows are ranked at random among equals: equal ranks would differ from
    bin to bin and so identify the bin.

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
            n_rows = self.rows_per_bin
            binnings = [
                binning for block in protected for binning in bin_protected(block, columns, n_rows)
            ]
            n_rows = min(n_rows, max(MIN_ROWS_OF_TIES, columns.n_rows // MIN_BINS_OF_TIES))
            of_ties = bin_protected(protected[0], columns, n_rows)[0]
            transported = _conditional_ranks(columns, binnings, of_ties, protected, rng)
        return columns.with_changed(transported.T)

    def _paper_ranks(
        self, values: NDArray[np.float64], protected: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return average ranks divided by the bin's size; later bins overwrite shared edges."""
        transported = values.T.copy()
        for rows in _paper_bins(protected, self.rows_per_bin):
            _transport(values.T, protected, [rows], 0.0, transported)
        return transported


def _conditional_ranks(
    columns: Columns,
    binnings: list[Binning],
    of_ties: Binning,
    protected: Sequence[Columns],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return mid-ranks (rank - 1/2) / (rows of the bin), shape (n_columns, n_rows).

    Between two binnings the ranks are read on the scale of the first one's residuals. On the scale
    of the ranks themselves the later ones would cost S less than the first one did, and the feature
    would seem to know more than its copies: an unrelated one by half a standard deviation
    (measured), instead of by nothing.
    """
    has_ties = columns.is_stepped
    tied = ordered_values(columns, np.flatnonzero(has_ties), protected)
    values = columns.values.T
    ranks, scale = np.empty(values.shape), np.empty(values.shape)
    for number, binning in enumerate(binnings):
        if number > 0:
            values = np.empty(values.shape)
            interpolate_quantiles(ranks, scale, values)
        is_smooth = ~has_ties if number == 0 else np.ones(len(values), dtype=bool)
        if is_smooth.all():
            ranks, residuals = rank_in_bins(values, binning, rng)
        else:
            ranks[is_smooth], residuals = rank_in_bins(values[is_smooth], binning, rng)
            ranks[has_ties] = _rank_ties(tied, of_ties, rng)
        if number == 0 and len(binnings) > 1:
            scale[is_smooth] = np.sort(residuals, axis=1)
            scale[has_ties] = (np.arange(columns.n_rows) + 0.5) / columns.n_rows
    return ranks


def rank_in_bins(
    columns: NDArray[np.float64], binning: Binning, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return relative ranks of residuals in their bin, and the residuals, (n_columns, n_rows).

    Where bins differ in size each rank is drawn between its two neighbours, or the distance of
    ranks would identify a bin. What removal has made constant stays so.
    """
    ranks = np.empty(columns.shape)
    residuals = _transport(columns, binning.protected, binning.bins, 0.5, ranks)
    if binning.is_uneven():
        is_left = residuals.any(axis=1)
        noise = rng.random((int(is_left.sum()), columns.shape[1])) - 0.5
        sizes = np.empty(columns.shape[1])
        for rows in binning.bins:
            sizes[rows] = len(rows)
        ranks[is_left] += noise / sizes
    return ranks, residuals


def _rank_ties(
    tied: NDArray[np.float64], binning: Binning, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the ranks, (n_columns, n_rows), of columns (n_rows, n_columns), random among equals.

    Where there are few bins the protected column moves inside them, and values are taken by their
    chances given it; with more bins that would remove little and cost more.
    """
    ranks = np.empty(tied.shape[::-1])
    tie_breaks = rng.random(tied.shape)
    offsets = rng.random(tied.shape) if binning.is_uneven() else np.full(tied.shape, 0.5)
    for number, rows in enumerate(binning.bins):
        values = tied[rows]
        if number >= binning.n_own and len(binning.bins) - binning.n_own <= MAX_WIDE_BINS:
            direction = binning.protected[np.newaxis, rows]
            for column in range(values.shape[1]):
                values[:, column] = linear_conditional_ranks(
                    values[:, column], direction, tie_breaks[rows, column]
                )
        drawn = random_ranks(values, tie_breaks[rows])
        ranks[:, rows] = (drawn - offsets[rows]).T / len(rows)
    return ranks


def _transport(
    columns: NDArray[np.float64],
    protected: NDArray[np.float64],
    bins: list[NDArray[np.intp]],
    offset: float,
    transported: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Write (rank - offset) / (rows of the bin) of the residuals in bins; return these.

    All bins at once: with a hundred rows each, calls would take longer than what they do.
    """
    rows = np.concatenate(bins)
    starts = np.cumsum([0, *map(len, bins)])
    residuals = regress_in_parts(columns, protected, rows, starts)
    _write_ranks(residuals, order_rows(residuals, starts), rows, starts, offset, transported)
    return residuals


@kernel
def _write_ranks(
    columns: NDArray[np.float64],
    order: NDArray[np.int32],
    rows: NDArray[np.intp],
    starts: NDArray[np.intp],
    offset: float,
    transported: NDArray[np.float64],
) -> None:
    """Write (rank - offset) / (rows of the part), ranks from 1 up and equal values at their mean.

    Columns and their order in each part have shape (n_columns, n_taken); rows, (n_taken,), say
    where each is written.
    """
    for column in range(columns.shape[0]):
        for part in range(starts.shape[0] - 1):
            first, end = starts[part], starts[part + 1]
            start = first
            while start < end:
                value = columns[column, order[column, start]]
                stop = start + 1
                while stop < end and columns[column, order[column, stop]] == value:
                    stop += 1
                rank = (0.5 * (start + 1 + stop) - first - offset) / (end - first)
                for slot in range(start, stop):
                    transported[column, rows[order[column, slot]]] = rank
                start = stop


@kernel
def interpolate_quantiles(
    ranks: NDArray[np.float64], scale: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    """Write the value of a column's scale at each relative rank, between two of it linearly.

    All have shape (n_columns, n_rows), or the ascending scale (1, n_rows) for all columns.
    """
    n_columns, n_rows = ranks.shape
    for column in range(n_columns):
        of_column = scale[min(column, scale.shape[0] - 1)]
        for row in range(n_rows):
            position = min(max(ranks[column, row] * n_rows - 0.5, 0.0), n_rows - 1.0)
            below = min(int(position), n_rows - 2)
            low, high = of_column[below], of_column[below + 1]
            values[column, row] = low + (high - low) * (position - below)
