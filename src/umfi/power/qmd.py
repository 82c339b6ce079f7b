"""How far the response given the columns is from the response at large: the measure zeta_1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.target import Target
from umfi.errors import InputError, is_whole_number
from umfi.power.points import distinct_numbers

__all__ = ["QmdPower"]


@dataclass(frozen=True)
class QmdPower:
    """ζ₁: 0 if the columns say nothing about the response, 1 if it is a function of them.

    Nothing is fitted: rows are put into cells by the ranks of their columns, and the responses in
    each cell are compared with all.

    Parameters
    ----------
    resolution : int, optional
        Number N of bins of each column and of the response. By default the largest with
        N^(d + 1) ≤ n for d columns and n rows. There may be no more cells of the columns than rows.

    Notes
    -----
    With all variables as ranks on [0, 1] and K(x, y) the proportion of responses up to y given x,

        ζ₁ = 3 ∫∫ |K(x, y) - y| dy dμ(x)

    (Griessenberger, Junker and Trutschnig 2022, On a multivariate copula-based dependence measure
    and its estimation, Electronic Journal of Statistics 16, 2206-2251). The estimate takes K from
    the empirical checkerboard: each row is spread evenly over its rank in every variable, over all
    ranks of its ties where there are any, and every cell is even inside.

    The estimate is positive where nothing is related, the more the fewer rows a cell has, and at
    most 1 - 1 / (2 N). A response with ties cannot reach that. Every column counts as a dimension,
    an indicator of a level too: of n rows no more than log₂(n) - 1 columns can be used.

    With classes, the response is the indicator of a class, which needs no bins. For a proportion p
    of rows in the class, ζ₁ of the indicator is 3 p (1 - p) at most. The score is the mean over
    classes of ζ₁ by that maximum, weighted by p (1 - p): with a proportion s of the class in a
    cell,

        Σ ∫ |s(x) - p| dμ(x) / (2 Σ p (1 - p))

    which is 1 if all cells are pure.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> bool(umfi.predictive_power(X, y, power=umfi.QmdPower()) > 0.3)
    True
    """

    measures: ClassVar[dict[str, str]] = {"regression": "ζ₁", "classification": "ζ₁"}

    resolution: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers of bins that distinguish nothing."""
        bins = self.resolution
        if bins is not None and not (is_whole_number(bins) and bins >= 2):
            raise InputError(f"resolution={bins!r} is not valid: pass a whole number from 2 up.")

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return ζ₁ of the columns, 0 for none; nothing is drawn from the seed."""
        numbers = distinct_numbers(columns)
        n_rows, n_columns = numbers.shape
        if n_columns == 0:
            return 0.0
        n_bins = self._count_bins(n_rows, n_columns)
        variables = [_rank(values) for values in (*numbers.T, target.values)]
        if target.task == "classification":
            rates = np.diff(variables[-1].last_rank, prepend=0) / n_rows
            return _class_distance(_spread_rows(variables, n_columns, n_bins), rates)
        return 3.0 * _distance(_spread_rows(variables, n_columns + 1, n_bins), n_bins)

    def refuse_columns(self, columns: Columns, n_rows: int) -> None:
        """Raise if so many rows leave no room for these columns."""
        self._count_bins(n_rows, max(1, distinct_numbers(columns).shape[1]))

    def _count_bins(self, n_rows: int, n_columns: int) -> int:
        if self.resolution is None:
            n_bins = 1
            while (n_bins + 1) ** (n_columns + 1) <= n_rows:  # A power of 1 / (d + 1) may round.
                n_bins += 1
            if n_bins >= 2:
                return n_bins
            raise InputError(
                f"QmdPower can use at most {n_rows.bit_length() - 2} columns with {n_rows} rows, "
                f"each level of a category counted as one, and got {n_columns}: drop columns, or "
                "pass another power, such as 'forest'."
            )
        if self.resolution**n_columns > n_rows:
            raise InputError(
                f"resolution={self.resolution} makes more cells of {n_columns} columns than there "
                f"are rows, {n_rows}: lower it, drop columns, or pass another power."
            )
        return self.resolution


class _Ranked(NamedTuple):
    """A variable: the level of each row, and the last rank of each level."""

    levels: NDArray[np.intp]
    last_rank: NDArray[np.intp]


class _Parts(NamedTuple):
    """Parts of rows in cells: their bins or levels, shape (n_parts, d + 1), and their mass."""

    cells: NDArray[np.intp]
    mass: NDArray[np.float64]


def _rank(values: NDArray[np.float64]) -> _Ranked:
    _, levels, n_tied = np.unique(values, return_inverse=True, return_counts=True)
    return _Ranked(levels, np.cumsum(n_tied))


def _merge(cells: NDArray[np.intp], mass: NDArray[np.float64]) -> _Parts:
    """Return parts of which no two are in the same cell, sorted by cell."""
    distinct, cell_of_part = np.unique(cells, axis=0, return_inverse=True)
    return _Parts(distinct, np.bincount(cell_of_part.reshape(-1), weights=mass).astype(np.float64))


def _spread_rows(variables: list[_Ranked], n_spread: int, n_bins: int) -> _Parts:
    """Return all rows in parts, with a bin of each of the first variables, a level of the rest."""
    cells = np.column_stack([variable.levels for variable in variables])
    parts = _merge(cells, np.full(len(cells), 1.0 / len(cells)))
    # Ties spread over many bins: after variables without them, few different parts are left.
    for position in sorted(range(n_spread), key=lambda one: -len(variables[one].last_rank)):
        parts = _spread(parts, position, variables[position], n_bins)
    return parts


def _spread(parts: _Parts, position: int, variable: _Ranked, n_bins: int) -> _Parts:
    """Return parts with the bins of a variable in place of its level."""
    # In units of a rank by the number of bins all borders are whole numbers.
    levels, n_rows = parts.cells[:, position], int(variable.last_rank[-1])
    low = np.append(0, variable.last_rank)[levels] * n_bins
    high = variable.last_rank[levels] * n_bins
    first_bin, n_covered = low // n_rows, (high - 1) // n_rows - low // n_rows + 1
    source = np.repeat(np.arange(len(levels)), n_covered)
    bins = first_bin[source] + np.arange(len(source)) - (np.cumsum(n_covered) - n_covered)[source]
    overlap = np.minimum(high[source], (bins + 1) * n_rows) - np.maximum(low[source], bins * n_rows)
    cells = parts.cells[source]
    cells[:, position] = bins
    return _merge(cells, parts.mass[source] * overlap / (high - low)[source])


def _cells(parts: _Parts) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether a part is the first of its cell, and the mass of the cell it is in."""
    is_first = np.ones(len(parts.mass), dtype=bool)
    is_first[1:] = np.any(np.diff(parts.cells[:, :-1], axis=0) != 0, axis=1)
    cell = np.cumsum(is_first) - 1
    return is_first, np.bincount(cell, weights=parts.mass)[cell]


def _class_distance(parts: _Parts, rates: NDArray[np.float64]) -> float:
    is_first, cell_mass = _cells(parts)
    expected = cell_mass * rates[parts.cells[:, -1]]
    # Classes that a cell lacks are missed by what was expected of them.
    distance = np.abs(parts.mass - expected).sum() + cell_mass[is_first].sum() - expected.sum()
    return float(distance / (2.0 * np.sum(rates * (1.0 - rates)))) if len(rates) > 1 else 0.0


def _distance(parts: _Parts, n_bins: int) -> float:
    """Return the integral of |K(x, y) - y|, cell by cell and multiplied by the cell's mass.

    Of a cell with its parts in a few bins, K is level between these and rises evenly in them.
    """
    is_first, cell_mass = _cells(parts)
    start = parts.cells[:, -1] / n_bins
    end = start + 1.0 / n_bins
    end_before = np.where(is_first, 0.0, np.append(0.0, end[:-1]))
    after = np.cumsum(parts.mass)
    after -= (after - parts.mass)[is_first][np.cumsum(is_first) - 1]
    before = after - parts.mass
    at_start, at_end = before - cell_mass * start, after - cell_mass * end
    level = _area(start - end_before, before - cell_mass * end_before, at_start)
    rise = _area(end - start, at_start, at_end)
    rest = _area(1.0 - end, at_end, np.zeros(len(end)))[np.append(is_first[1:], True)]
    return float(level.sum() + rise.sum() + rest.sum())


def _area(
    width: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the area between 0 and a straight line from left to right, which may cross 0."""
    height = np.abs(left) + np.abs(right)
    crosses = left * right < 0.0
    height[crosses] = (left[crosses] ** 2 + right[crosses] ** 2) / height[crosses]
    return width * height / 2.0
