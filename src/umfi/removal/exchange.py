"""Joint removal from discrete columns: some rows exchange their values.

Let p(g | s) be how common a level g of the protected column is among rows whose other columns have
the values s, and r(g) how common it is in the table. Values s belong to too many rows of g where
p(g | s) > r(g). If each of these rows gives them away with the chance 1 - r(g) / p(g | s), and
takes values that are too rare in g instead, then s is as common in g as in the table: what stays is
the smaller one of the two distributions, and what moves is as little as can be. Values are
exchanged between rows, so that every column keeps its distribution, and as many columns as possible
keep how they go together.

p(g | s) comes from out-of-bag predictions of a forest, in rounds, until these predict the level no
better than permuted levels. Only columns that depended on the protected one, and their partners,
are exchanged. Others stay as they are in every row: if it depended on the protected value where
their relation to the response is broken, the protected column would look related to the response.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from umfi.data.columns import Columns, Kind, middle_ranks
from umfi.removal.leakage import predict_levels
from umfi.removal.protected import Binning, bin_protected

__all__ = [
    "DEPENDENCE_LEVEL",
    "exchange_values",
    "find_dependence",
    "find_dependent",
    "find_discrete",
]

# Columns of more values are distinguished by their ranks, and move smoothly.
MAX_VALUES = 12
# Halves of a column of many values are halved again while they have so many rows.
ROWS_PER_HALF = 60
# Columns depend on the level if chance alone shows so much less often than this.
DEPENDENCE_LEVEL = 0.003
# Bins of a column of many values, for this question.
N_BINS = 4
# Indicators of all columns are multiplied for so many rows at a time.
ROWS_PER_PRODUCT = 10_000
# From so much more R² than of permuted levels on, forests have found more than single columns show.
# Then columns that make up so much of what they predict are exchanged too.
JOINT_EXCESS, JOINT_PART = 0.02, 0.1
# After so many rounds that left more than this part of an excess, columns that depend on exchanged
# ones are exchanged with them if it is still stubborn; all columns if it is hidden in whole rows.
MAX_IN_VAIN, ENOUGH_PROGRESS, STUBBORN_EXCESS, HIDDEN_EXCESS = 2, 0.9, 0.04, 0.1
# Permuted levels that show what forests find by chance.
N_PERMUTED = 2
# Out-of-bag probabilities are drawn in; no more than this is made up for in one round.
MAX_STRETCH = 3.0
# Rows that exchange their values are matched in blocks, whose cost grows with the cube.
MAX_MATCHED_ROWS = 500
# Far beyond all distances between rows.
FORBIDDEN = 1e3
TINY = 1e-12


def find_discrete(columns: Columns) -> NDArray[np.bool_]:
    """Return a mask, shape (n_columns,): columns of so few values that rows can exchange them."""
    return np.array(
        [
            kind in (Kind.BOOLEAN, Kind.CATEGORICAL) or len(np.unique(column)) <= MAX_VALUES
            for kind, column in zip(columns.kinds, columns.values.T, strict=True)
        ],
        dtype=bool,
    )


def find_dependent(columns: Columns, feature: Columns) -> NDArray[np.bool_]:
    """Return a mask, shape (n_columns,): columns that depend on a feature one by one."""
    levels = []
    for binning in bin_protected(feature, columns, max(ROWS_PER_HALF, columns.n_rows // N_BINS)):
        level_of_row = np.empty(columns.n_rows, dtype=np.intp)
        for level, rows in enumerate(binning.bins):
            level_of_row[rows] = level
        levels.append(level_of_row)
    is_dependent: NDArray[np.bool_] = np.any(find_dependence(_find_codes(columns), levels), axis=1)
    return is_dependent


def _find_codes(columns: Columns) -> list[NDArray[np.intp]]:
    """Return for each column the number of each row's level, or of its bin along many values."""
    found = []
    for kind, column in zip(columns.kinds, columns.values.T, strict=True):
        values, codes = np.unique(column, return_inverse=True)
        if kind is not Kind.CATEGORICAL and len(values) > MAX_VALUES:
            codes = np.minimum((middle_ranks(column) * N_BINS).astype(np.intp), N_BINS - 1)
        found.append(codes)
    return found


def find_dependence(
    codes: Sequence[NDArray[np.intp]], others: Sequence[NDArray[np.intp]]
) -> NDArray[np.bool_]:
    """Return which discrete columns depend on which others, by Pearson's chi-squared.

    A mask of shape (n_codes, n_others).
    """
    sizes, other_sizes = ([int(one.max()) + 1 for one in part] for part in (codes, others))
    n_rows = len(others[0])
    # All tables of counts at once, as a product of indicators.
    counts = np.zeros((sum(sizes), sum(other_sizes)))
    for start in range(0, n_rows, ROWS_PER_PRODUCT):
        rows = slice(start, start + ROWS_PER_PRODUCT)
        counts += _indicate(codes, sizes, rows).T @ _indicate(others, other_sizes, rows)
    starts, other_starts = np.cumsum([0, *sizes[:-1]]), np.cumsum([0, *other_sizes[:-1]])
    margins = np.add.reduceat(counts, other_starts, axis=1)[:, :1]
    other_margins = np.add.reduceat(counts, starts, axis=0)[:1]
    terms = n_rows * counts**2 / np.maximum(margins * other_margins, 1.0)
    statistics = np.add.reduceat(np.add.reduceat(terms, starts, axis=0), other_starts, axis=1)
    n_levels = np.add.reduceat(np.sign(margins[:, 0]), starts)
    n_other_levels = np.add.reduceat(np.sign(other_margins[0]), other_starts)
    freedom = np.outer(n_levels - 1, n_other_levels - 1)
    least = special.chdtri(np.maximum(freedom, 1), DEPENDENCE_LEVEL)
    return (freedom > 0) & (statistics - n_rows > least)


def _indicate(
    codes: Sequence[NDArray[np.intp]], sizes: Sequence[int], rows: slice
) -> NDArray[np.float64]:
    """Return indicators of the levels of all columns side by side, shape (n_rows, n_levels)."""
    return np.concatenate(
        [np.eye(size)[one[rows]] for one, size in zip(codes, sizes, strict=True)], axis=1
    )


def exchange_values(
    columns: Columns,
    protected: Sequence[Columns],
    is_dependent: NDArray[np.bool_],
    tolerance: float,
    max_rounds: int,
    rng: np.random.Generator,
) -> Columns:
    """Return the columns after as few exchanges as leave forests nothing to find of the feature.

    Permuted copies of a feature are independent of everything, so nothing needs to be removed of
    them; they show what forests find of a column that was removed in these very rows.

    What each of the columns carries by itself has been removed; a mask says which of them depended
    on the feature before. Levels may be predicted better than permuted ones by the tolerance, in
    R². The protected blocks are a feature or group, and then copies if there are any.
    """
    own, *copies = (
        bin_protected(block, columns, ROWS_PER_HALF) for block in protected[: 1 + N_PERMUTED]
    )
    for number, binning in enumerate(own):
        of_copies = [copy[number] for copy in copies if number < len(copy)]
        # Values of many rows are levels; all others are one, which is halved again and again.
        levels, rest = _find_levels(binning)
        every_row = np.arange(columns.n_rows)
        parts = [
            (every_row, levels, [_find_levels(copy)[0] for copy in of_copies]),
            *(
                (rows, halves, [_find_halves(copy.protected[rows]) for copy in of_copies])
                for rows, halves in _halve(rest, binning.protected[rest])
            ),
        ]
        for rows, part, permuted in parts:
            if part.max() == 0:
                continue
            permuted = permuted or [rng.permutation(part) for _ in range(N_PERMUTED)]
            exchanged = _exchange(
                columns.take_rows(rows), part, permuted, is_dependent, tolerance, max_rounds, rng
            )
            values = columns.values.copy(order="F")
            values[rows] = exchanged.values
            columns = replace(columns, values=values)
    return columns


def _find_levels(binning: Binning) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the level of each row, and the rows that lie along the column."""
    levels = np.zeros(len(binning.protected), dtype=np.intp)
    for level, rows in enumerate(binning.bins[: binning.n_own], start=int(len(binning.rest) > 0)):
        levels[rows] = level
    return levels, binning.rest


def _find_halves(column: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return 1 for the upper half of a column, and 0 for the lower one."""
    is_upper = middle_ranks(column) > 0.5
    if not is_upper.any():  # Equal values in the middle.
        is_upper = column == column.max()
    return is_upper.astype(np.intp)


def _halve(
    rows: NDArray[np.intp], column: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the rows with the half that each lies in, then the same of both halves, and so on.

    Exchanges inside a half do not undo those between halves.
    """
    if len(rows) < 2 * ROWS_PER_HALF:
        return
    halves = _find_halves(column)
    if halves.all():
        return
    yield rows, halves
    for part in (halves == 0, halves == 1):
        yield from _halve(rows[part], column[part])


class _Prediction(NamedTuple):
    """What a forest predicts of levels, out of bag: probabilities less rates, (n_rows, n_levels).

    By the slope the levels themselves deviate where predictions deviate by 1.
    """

    deviations: NDArray[np.float64]
    r2: float
    slope: float


def _exchange(
    columns: Columns,
    levels: NDArray[np.intp],
    permuted: Sequence[NDArray[np.intp]],
    is_dependent: NDArray[np.bool_],
    tolerance: float,
    max_rounds: int,
    rng: np.random.Generator,
) -> Columns:
    """Return the columns after exchanges for the levels of one protected column."""
    rates = np.bincount(levels) / len(levels)
    by_chance = [_predict(columns, one, rng) for one in permuted]
    r2_by_chance = float(np.mean([one.r2 for one in by_chance]))
    slope_by_chance = float(np.mean([one.slope for one in by_chance]))
    is_exchanged = is_dependent.copy()
    least_excess, n_in_vain = np.inf, 0
    for _ in range(max_rounds):
        found = _predict(columns, levels, rng)
        excess = found.r2 - r2_by_chance
        if excess <= tolerance:
            break
        if excess > JOINT_EXCESS:
            n_in_vain = 0 if excess < ENOUGH_PROGRESS * least_excess else n_in_vain + 1
            least_excess = min(excess, least_excess)
            is_in_vain = n_in_vain >= MAX_IN_VAIN
            is_exchanged = _add_partners(
                columns, is_exchanged, found.deviations, excess, is_in_vain=is_in_vain
            )
        stretch = float(np.clip(found.slope - slope_by_chance, 0.0, MAX_STRETCH))
        probabilities = np.maximum(rates + stretch * found.deviations, TINY)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        givers, takers = _match_rows(columns, levels, probabilities, rates, rng)
        if len(givers) == 0 or not is_exchanged.any():
            break
        values = columns.values.copy(order="F")
        chosen = np.flatnonzero(is_exchanged)
        values[np.ix_(takers, chosen)] = columns.values[np.ix_(givers, chosen)]
        columns = replace(columns, values=values)
    return columns


def _predict(columns: Columns, levels: NDArray[np.intp], rng: np.random.Generator) -> _Prediction:
    seed = np.random.SeedSequence(int(rng.integers(2**63)))
    rates = np.bincount(levels) / len(levels)
    deviations = predict_levels(columns, levels, seed) - rates
    truth = np.eye(len(rates))[levels] - rates
    total, predicted = np.sum(truth**2), np.sum(deviations**2)
    common = np.sum(truth * deviations)
    return _Prediction(
        deviations=deviations,
        r2=float((2.0 * common - predicted) / total),
        slope=float(common / max(predicted, TINY)),
    )


def _add_partners(
    columns: Columns,
    is_exchanged: NDArray[np.bool_],
    deviations: NDArray[np.float64],
    excess: float,
    *,
    is_in_vain: bool,
) -> NDArray[np.bool_]:
    """Return a mask of the exchanged columns and of those that have to move along with them.

    That is those without which forests would not predict what they do and that depend on exchanged
    ones, such as the other parents of a common child; where this is not enough, all that depend on
    exchanged ones, because a column that stays where its companion left shows who moved.

    Forests predict these deviations, by this excess of R² better than by chance; in vain means that
    the last exchanges have left as much as there was.
    """
    codes = _find_codes(columns)
    is_used = _find_used(codes, deviations)
    is_extended = is_exchanged | (is_used & _find_linked(codes, is_exchanged))
    if not is_in_vain and is_extended.any():
        return is_extended
    if excess > STUBBORN_EXCESS:
        moving = is_extended if is_extended.any() else is_used
        is_extended = moving | _find_linked(codes, moving)
    # Of two coins that decide together forests use neither by itself.
    return is_extended | (excess > HIDDEN_EXCESS)


def _find_used(
    codes: Sequence[NDArray[np.intp]], deviations: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return a mask: columns without which forests would not predict what they do."""
    total = np.sum(deviations**2)
    is_used = np.zeros(len(codes), dtype=bool)
    for position, one in enumerate(codes):
        sums = np.stack([np.bincount(one, weights=column) for column in deviations.T], axis=1)
        explained = np.sum(sums**2 / np.maximum(np.bincount(one), 1)[:, np.newaxis])
        is_used[position] = explained > JOINT_PART * total
    return is_used


def _find_linked(
    codes: Sequence[NDArray[np.intp]], is_exchanged: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return a mask: other columns that depend on exchanged ones."""
    is_linked = np.zeros(len(codes), dtype=bool)
    if is_exchanged.any() and not is_exchanged.all():
        exchanged = [one for one, is_moved in zip(codes, is_exchanged, strict=True) if is_moved]
        rest = [one for one, is_moved in zip(codes, is_exchanged, strict=True) if not is_moved]
        is_linked[~is_exchanged] = find_dependence(rest, exchanged).any(axis=1)
    return is_linked


def _match_rows(
    columns: Columns,
    levels: NDArray[np.intp],
    probabilities: NDArray[np.float64],
    rates: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows that give their values, and for each the row that takes them.

    Each row that gives values away takes those of another such row, of a level in which these are
    too rare, and the most alike in all columns that can be had. The probabilities, shape
    (n_rows, n_levels), are those of each level among rows like this one.
    """
    surplus = probabilities / rates
    own = np.maximum(surplus[np.arange(len(levels)), levels], 1.0)
    moving = rng.permutation(np.flatnonzero(rng.random(len(levels)) < 1.0 - 1.0 / own))
    if len(moving) < 2:
        return moving[:0], moving[:0]
    points = _find_points(columns)
    givers, takers = [], []
    for rows in np.array_split(moving, -(-len(moving) // MAX_MATCHED_ROWS)):
        # The level that takes each row's values, drawn by how rare they are in it.
        lack = np.maximum(1.0 - surplus[rows], 0.0) * rates
        lack[lack.sum(axis=1) == 0.0] = rates
        steps = np.cumsum(lack / lack.sum(axis=1, keepdims=True), axis=1)
        wanted = (rng.random((len(rows), 1)) > steps[:, :-1]).sum(axis=1)
        here = points[rows]
        lengths = np.sum(here**2, axis=1)
        costs = lengths[:, np.newaxis] + lengths - 2.0 * here @ here.T
        costs += FORBIDDEN * costs.max() * (levels[rows] != wanted[:, np.newaxis])
        giving, taking = optimize.linear_sum_assignment(costs)
        givers.append(rows[giving])
        takers.append(rows[taking])
    return np.concatenate(givers), np.concatenate(takers)


def _find_points(columns: Columns) -> NDArray[np.float64]:
    """Return rows as points: ranks of ordered columns and indicators of categories, of one size."""
    parts = []
    for kind, column in zip(columns.kinds, columns.values.T, strict=True):
        if kind is Kind.CATEGORICAL:
            codes = np.unique(column, return_inverse=True)[1]
            parts.append(np.eye(codes.max() + 1)[codes])
        else:
            parts.append(middle_ranks(column)[:, np.newaxis])
    points = np.concatenate(parts, axis=1)
    points -= points.mean(axis=0)
    sizes = points.std(axis=0)
    return points / np.where(sizes > 0.0, sizes, 1.0)
