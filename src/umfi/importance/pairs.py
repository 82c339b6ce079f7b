"""Pairs of features: their association, what they have in common, what they say only together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from umfi.data.columns import Columns, Kind
from umfi.data.contracts import DependenceRemover
from umfi.data.target import Target, centred_responses
from umfi.importance.features import drop_constant, find_distinct, with_copies
from umfi.importance.study import Study
from umfi.power import score_columns
from umfi.power.points import to_unit_variance

__all__ = ["PairEffects", "PairTask", "associate", "find_pair_effects"]

# Smaller than this is rounding.
ROUNDING = 1e-10
# Of longer tables rows at even distances are taken: enough for two digits.
MAX_ASSOCIATED_ROWS = 5000

# What a column says by itself is fitted by straight lines between quantiles, fewer where there are
# few rows for each of all the lines that are fitted.
KNOTS = np.array([0.5, 0.25, 0.75, 0.1, 0.9, 0.03, 0.97, 0.375, 0.625, 0.01, 0.99])
ROWS_PER_KNOT = 10
# In ranks from 0 to 1: far more than the distance of neighbours, little beside all there is to say.
BLUR = 0.02


class PairEffects(NamedTuple):
    """What was found of a pair in one repeat, in R².

    The feature says that much less without what the partner says about it, and both say that much
    more together than the sum of what each says without the other.
    """

    sharing: float
    interaction: float


class PairTask(NamedTuple):
    """A task: what two features have in common and say together, in the rows of one repeat."""

    feature: int
    partner: int
    repeat: int


def find_pair_effects(study: Study, remover: DependenceRemover, task: PairTask) -> PairEffects:
    """Return what is found of a pair in one repeat.

    All that is compared comes in two: with the partner, and with a permuted copy of it.
    """
    feature, partner = study.features[task.feature], study.features[task.partner]
    columns, target = study.rows_of(task.repeat)
    responses = centred_responses(target)
    if not responses.any():  # A subsample may miss all variation.
        return PairEffects(0.0, 0.0)
    pair = _Pair(study, remover, (feature.name, partner.name, task.repeat))
    own = columns.select(feature.positions)
    rows = pair.generator("permutation").permutation(columns.n_rows)
    candidates = with_copies(columns.select(partner.positions), [rows])
    is_used = find_distinct(columns)
    is_used[columns.first_copies()[[*feature.positions, *partner.positions]]] = False
    others = columns.select(np.flatnonzero(is_used))
    both = [candidate.prepend(own) for candidate in candidates]
    context = drop_constant(pair.remove(others, both, "others"))
    without_partner, without_copy = (
        pair.score(context.prepend(_blur(pair, pair.remove(own, [one], "own"))), responses)
        for one in candidates
    )
    sharing = without_copy - without_partner
    originals = study.columns.first_copies()
    is_copy = set(originals[list(partner.positions)]) <= set(originals[list(feature.positions)])
    interaction = 0.0 if is_copy else _find_interaction(pair, context, own, candidates, responses)
    return PairEffects(sharing, interaction)


class _Pair(NamedTuple):
    """How the columns of one pair and repeat are transformed and scored."""

    study: Study
    remover: DependenceRemover
    stream: tuple[str | int, ...]

    def generator(self, what: str) -> np.random.Generator:
        return self.study.streams.generator(*self.stream, what)

    def remove(self, columns: Columns, protected: Sequence[Columns], what: str) -> Columns:
        # The same random numbers for partner and copy, so that they differ in nothing else.
        rng = self.generator(f"removal, {what}")
        return self.remover.remove(columns, protected, protocol="matched", rng=rng)

    def score(self, columns: Columns, responses: NDArray[np.float64]) -> float:
        """Return R² over all responses."""
        seed = self.study.streams.seed(*self.stream, "power")
        sizes = np.sum(responses**2, axis=0)
        scores = [
            score_columns(self.study.power, columns, Target("regression", response), seed)
            for response, size in zip(responses.T, sizes, strict=True)
            if size > 0.0
        ]
        return float(np.dot(sizes[sizes > 0.0], scores) / sizes.sum())


def _blur(pair: _Pair, columns: Columns) -> Columns:
    """Return columns as ranks with some noise.

    What removal leaves of a column is spread too evenly over the protected one: next to a row of
    one value lies a row of another, so that neighbours predict the partner upside down.
    """
    from scipy.stats import rankdata

    ranks = rankdata(columns.values, axis=0) / columns.n_rows
    noise = pair.generator("blur").normal(0.0, BLUR, ranks.shape)
    return columns.with_changed(np.where(columns.is_constant(), columns.values, ranks + noise))


def _find_interaction(
    pair: _Pair,
    context: Columns,
    own: Columns,
    candidates: Sequence[Columns],
    responses: NDArray[np.float64],
) -> float:
    """Return how much more the feature says beside the partner, main effects set aside."""
    rest = responses - _fit_main_effects([own, *candidates], responses)
    fraction = np.sum(rest**2) / np.sum(responses**2)
    if fraction < np.finfo(float).eps:  # Main effects are all there is.
        return 0.0
    copy = own.take_rows(pair.generator("copy of the feature").permutation(own.n_rows))
    beside_partner, beside_copy = (
        pair.score(context.prepend(one).prepend(own), rest)
        - pair.score(context.prepend(one).prepend(copy), rest)
        for one in (pair.remove(candidate, [own], "candidate") for candidate in candidates)
    )
    return float(fraction * (beside_partner - beside_copy))


def _fit_main_effects(
    blocks: Sequence[Columns], responses: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what columns say each by itself, fitted to all of them at once.

    A partner and its copy are fitted alike, so that what is lost by chance is lost to both.
    """
    n_rows = len(responses)
    n_columns = sum(block.n_columns for block in blocks)
    n_knots = int(np.clip(n_rows // (ROWS_PER_KNOT * n_columns) - 2, 1, len(KNOTS)))
    effects = [
        _main_effects(block.values[:, position], block.kinds[position], KNOTS[:n_knots])
        for block in blocks
        for position in range(block.n_columns)
    ]
    basis = np.concatenate([np.ones((n_rows, 1)), *effects], axis=1)
    return np.asarray(basis @ np.linalg.lstsq(basis, responses, rcond=None)[0])


def _main_effects(
    values: NDArray[np.float64], kind: Kind, knots: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a function of a column is made of, shape (n_rows, any).

    Indicators of levels where there are few, otherwise straight lines that bend at quantiles.
    """
    from scipy.stats import rankdata

    levels = np.unique(values)
    if kind in (Kind.CATEGORICAL, Kind.BOOLEAN) or len(levels) <= len(knots) + 2:
        return (values[:, np.newaxis] == levels[:-1]).astype(np.float64)
    scaled = to_unit_variance(values[:, np.newaxis])
    bends = np.maximum(scaled - np.quantile(scaled, knots), 0.0)
    ranks = ((rankdata(values) - 0.5) / len(values))[:, np.newaxis]
    # Curves as well: what lies beyond the last bend is where curves are steepest.
    return np.column_stack([scaled, scaled**2, ranks, ndtri(ranks), bends])


def associate(columns: Columns) -> NDArray[np.float64]:
    """Return the fraction of each feature that each other one explains, shape (p, p).

    Of two numbers the squared rank correlation (Spearman), of a number and categories the fraction
    of the ranks' variance between the categories, of two categories the squared V (Cramér); each
    less what independent features would show. These are one formula: with an orthonormal basis for
    what a feature says, ranks or indicators of levels, it is the squared Frobenius norm of the
    products of two bases, divided by the smaller number of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from umfi.data.frames import read_columns
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> associate(read_columns(np.column_stack([x, np.exp(x[:, 0])]))).round(1)[0]
    array([1., 0., 1.])
    """
    step = -(-columns.n_rows // MAX_ASSOCIATED_ROWS)
    if step > 1:
        columns = columns.take_rows(np.arange(0, columns.n_rows, step))
    bases = [
        _basis(column, is_labels=kind is Kind.CATEGORICAL)
        for column, kind in zip(columns.values.T, columns.kinds, strict=True)
    ]
    sizes = np.array([basis.shape[1] for basis in bases])
    products = np.concatenate(bases, axis=1)
    # A constant has no basis, and says nothing.
    starts = np.cumsum(sizes) - sizes
    squares = np.zeros((len(sizes), len(sizes)))
    varying = np.flatnonzero(sizes)
    if len(varying) > 0:
        blocks = np.add.reduceat((products.T @ products) ** 2, starts[varying], axis=0)
        squares[np.ix_(varying, varying)] = np.add.reduceat(blocks, starts[varying], axis=1)
    fewer = np.maximum(np.minimum.outer(sizes, sizes), 1)
    by_chance = np.minimum(
        np.maximum.outer(sizes, sizes) / max(columns.n_rows - 1, 1), 1.0 - ROUNDING
    )
    fractions = np.clip((squares / fewer - by_chance) / (1.0 - by_chance), 0.0, 1.0)
    np.fill_diagonal(fractions, 1.0)
    return (fractions + fractions.T) / 2.0  # Sums differ in their last bit.


def _basis(column: NDArray[np.float64], *, is_labels: bool) -> NDArray[np.float64]:
    """Return orthonormal vectors without mean for what a feature says, shape (n_rows, d)."""
    levels, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(levels) < 2:
        return np.empty((len(column), 0))
    if not is_labels:
        middle_ranks = np.cumsum(counts) - (counts - 1) / 2.0
        ranks = middle_ranks[codes] - middle_ranks[codes].mean()
        return (ranks / np.linalg.norm(ranks))[:, np.newaxis]
    indicators = (codes[:, np.newaxis] == np.arange(1, len(levels))).astype(np.float64)
    return np.linalg.qr(indicators - indicators.mean(axis=0))[0]
