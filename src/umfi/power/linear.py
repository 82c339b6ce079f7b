"""The leave-one-out score of a linear model, in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns
from umfi.errors import InputError
from umfi.power.measures import (
    STATISTICS,
    Answers,
    check_measure,
    class_rates,
    find_measure,
    measures_of,
    needs_shares,
    score_answers,
    score_nothing,
)
from umfi.power.points import distinct_numbers, to_unit_variance
from umfi.target import Target, centred_responses

__all__ = ["LinearContest", "LinearPower"]

# Penalties that are tried beside none, in units of the mean size of the columns' directions.
PENALTIES = np.logspace(-3.0, 4.0, 15)
# Directions smaller than this beside columns of unit size are rounding.
NEGLIGIBLE_SIZE = 1e-7


@dataclass(frozen=True)
class LinearPower:
    """Leave-one-out score of a linear model: R² or accuracy, in closed form.

    Ridge regression with the penalty that predicts best, none among them, leaving out one row
    after the other. Classes are told by the largest of the fits to their indicators.

    Parameters
    ----------
    penalty : float, optional
        Of the squared coefficients of columns of unit variance; 0 is least squares. Chosen by
        default.
    measure : str, optional
        What the score is; see :class:`umfi.ForestPower`.

    Notes
    -----
    With M the matrix that turns a response into the residuals of its fit, what is left of row i
    when it is predicted without itself is (M y)_i / M_ii, so that no model is ever fitted twice.

    It sees nothing but straight lines: for Gaussian data that is all there is (Theorem 3.1), and
    with ``remover="linear"`` the importance of a feature is its squared correlation with the
    response as it would show in rows not yet seen. In :func:`umfi.ultra_marginal` M then changes
    by a few directions from one feature to the next, so that thousands of columns take seconds.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> round(umfi.predictive_power(X[["x1", "x2"]], y, power="linear"), 6)
    1.0
    """

    penalty: float | None = None
    measure: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be fitted."""
        is_number = isinstance(self.penalty, Real) and not isinstance(self.penalty, bool)
        if self.penalty is not None and not (is_number and 0.0 <= self.penalty < np.inf):
            raise InputError(
                f"penalty={self.penalty!r} is not valid: pass a number from 0 up, or None."
            )
        check_measure(self.measure)

    @property
    def measures(self) -> dict[str, str]:
        """What the score is, by task."""
        return measures_of(self.measure)

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return the leave-one-out score of the columns, or the chance level of none."""
        measure = find_measure(self.measure, target.task)
        if columns.n_columns == 0:
            return score_nothing(measure, target)
        response = centred_responses(target)
        fit = _fit(_standardise(columns), response, self.penalty)
        told = response - _leave_out(fit.residuals, fit.diagonal, response)
        return score_answers(measure, _make_answers(told, measure, target), target)

    def statistic(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return what a test compares: R², or the score of the fits to indicators."""
        return replace(self, measure=STATISTICS[target.task]).score(columns, target, seed)


class LinearContest:
    """Scores of candidates beside what linear removal of them leaves of a table, in closed form.

    Each row is predicted by a model that has not seen it, and from columns that were removed
    without it. Removal by all rows would leave columns that are orthogonal to the candidates in
    these very rows, so that a model fitted to some of them would tell the others wrong.

    Parameters
    ----------
    power : LinearPower
    columns : Columns
        All columns of the table, those of features that are to be candidates among them.
    target : Target

    Notes
    -----
    A linear model of what is left beside all candidates is a linear model of the columns as they
    are beside all candidates, because removal only moves shares of the candidates' coefficients.
    Its matrix M is that of the table without M C (Cᵀ M C)⁻¹ Cᵀ M, with C the candidates, which are
    not penalised. What is left of the columns is orthogonal to the candidates, so it tells what the
    whole model tells less what the candidates tell without it; and one candidate beside it adds
    what it tells alone.

    For a linear model, columns that are uncorrelated have nothing in common, so booleans and
    categories are removed as the numbers they are.

    Examples
    --------
    >>> import numpy as np
    >>> import umfi
    >>> from umfi.reading import read_table
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> columns, target, _ = read_table(X, y)
    >>> contest = LinearContest(LinearPower(), columns, target)
    >>> own = columns.select([1])
    >>> copy = own.take_rows(np.random.default_rng(0).permutation(200))
    >>> [[with_own, with_copy]] = contest.score([[own, copy]])
    >>> bool(0.3 < with_own - with_copy < 0.7)
    True
    """

    def __init__(self, power: LinearPower, columns: Columns, target: Target) -> None:
        self._power, self._target = power, target
        self._response = centred_responses(target)
        self._fit = _fit(_standardise(columns), self._response, power.penalty)

    def score(self, contests: Sequence[Sequence[Columns]]) -> list[list[float]]:
        """Return the score of each candidate of each contest.

        Parameters
        ----------
        contests : sequence of sequences of Columns
            The candidates that are removed together, a feature and copies of it.
        """
        measure = find_measure(self._power.measure, self._target.task)
        scores: list[list[float]] = [[] for _ in contests]
        for places, values, widths in _stack(contests):
            for told in self._predict(values, widths):
                for place, one in zip(places, told, strict=True):
                    answers = _make_answers(one, measure, self._target)
                    scores[place].append(score_answers(measure, answers, self._target))
        return scores

    def statistics(self, contests: Sequence[Sequence[Columns]]) -> list[list[float]]:
        """Return what a test compares: how much each candidate explains of what the rest does not.

        As the cube root of the squares, because sums of squares of few columns lean far to the
        right, and their cube roots are all but normal (Wilson and Hilferty 1931).
        """
        total = float(np.sum(self._response**2))
        found: list[list[float]] = [[] for _ in contests]
        for places, values, widths in _stack(contests):
            unexplained = self._response - self._tell_rest(values)
            for block in _blocks(values, widths):
                projected = block.transpose(0, 2, 1) @ unexplained
                explained = projected * (_invert(block.transpose(0, 2, 1) @ block) @ projected)
                for place, one in zip(places, explained.sum(axis=(1, 2)), strict=True):
                    found[place].append(float(np.cbrt(max(one, 0.0) / total)))
        return found

    def _predict(
        self, values: NDArray[np.float64], widths: Sequence[int]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield what each candidate tells beside the rest, (n_contests, n_rows, n_responses)."""
        rest = self._tell_rest(values)
        for block in _blocks(values, widths):
            yield rest + _tell_alone(block, self._response)

    def _tell_rest(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what removal of all candidates leaves tells of each row without it."""
        whole = self._response - _leave_out(*self._fit.beside(values), self._response)
        return whole - _tell_alone(values, self._response)


def _stack(
    contests: Sequence[Sequence[Columns]],
) -> Iterator[tuple[list[int], NDArray[np.float64], tuple[int, ...]]]:
    """Yield contests of one shape together, so that matrices are read from memory once for all.

    Yields
    ------
    places : list of int
        Which contests they are.
    values : ndarray, shape (n_contests, n_rows, n_columns)
        The candidates of each beside each other.
    widths : tuple of int
        How many columns each candidate has.
    """
    blocks = [[_standardise(candidate) for candidate in candidates] for candidates in contests]
    shapes = [tuple(block.shape[1] for block in own) for own in blocks]
    for shape in dict.fromkeys(shapes):
        places = [place for place, own_shape in enumerate(shapes) if own_shape == shape]
        yield places, np.stack([np.concatenate(blocks[place], axis=1) for place in places]), shape


def _blocks(values: NDArray[np.float64], widths: Sequence[int]) -> Iterator[NDArray[np.float64]]:
    """Yield the columns of one candidate after the other."""
    for width, end in zip(widths, np.cumsum(widths), strict=True):
        yield values[:, :, end - width : end]


class _Fit(NamedTuple):
    """A fit to centred responses: M = 1 - B W Bᵀ turns these into residuals.

    Attributes
    ----------
    residuals : ndarray, shape (n_rows, n_responses)
        M y.
    diagonal : ndarray, shape (n_rows,)
        Of M.
    basis : ndarray, shape (n_rows, rank)
        B, orthonormal directions of the columns.
    weights : ndarray, shape (rank,)
        W: 1 for least squares, less for directions that are shrunken.
    """

    residuals: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    basis: NDArray[np.float64]
    weights: NDArray[np.float64]

    def beside(
        self, values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return residuals and diagonals with more columns, which are not penalised.

        Parameters
        ----------
        values : ndarray, shape (n_contests, n_rows, n_more)

        Returns
        -------
        residuals : ndarray, shape (n_contests, n_rows, n_responses)
        diagonals : ndarray, shape (n_contests, n_rows)
        """
        n_contests, n_rows, n_more = values.shape
        side_by_side = np.moveaxis(values, 0, 1).reshape(n_rows, -1)
        shrunken = self.weights[:, np.newaxis] * (self.basis.T @ side_by_side)
        images = (side_by_side - self.basis @ shrunken).reshape(n_rows, n_contests, n_more)
        images = np.moveaxis(images, 0, 1)
        weights = images @ _invert(values.transpose(0, 2, 1) @ images)
        residuals = self.residuals - weights @ (values.transpose(0, 2, 1) @ self.residuals)
        return residuals, self.diagonal - np.einsum("cij,cij->ci", weights, images)


def _fit(values: NDArray[np.float64], response: NDArray[np.float64], penalty: float | None) -> _Fit:
    """Return the fit to standardised columns, with the best penalty if none is given."""
    n_rows = len(values)
    basis, sizes = _find_directions(values)
    told = basis.T @ response

    def fit(tried: float) -> _Fit:
        weights = sizes / (sizes + tried)
        residuals = response - basis @ (weights[:, np.newaxis] * told)
        return _Fit(residuals, 1.0 - basis**2 @ weights, basis, weights)

    def squared_errors(made: _Fit) -> float:
        return float(np.sum(_leave_out(made.residuals, made.diagonal, response) ** 2))

    is_saturated = len(sizes) >= n_rows - 1
    if penalty is not None:
        if penalty == 0.0 and is_saturated:
            raise InputError(
                f"penalty=0 fits {n_rows} rows with as many directions and leaves nothing to "
                "predict: pass a larger penalty, or None."
            )
        return fit(penalty)
    tried = (sizes.mean() if len(sizes) else 1.0) * PENALTIES
    return min(map(fit, tried if is_saturated else [0.0, *tried]), key=squared_errors)


def _find_directions(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return orthonormal directions of the columns, and the squares of their sizes."""
    n_rows, n_columns = values.shape
    if n_columns == 0:
        return np.zeros((n_rows, 0)), np.zeros(0)
    if n_columns <= n_rows:
        basis, roots, _ = np.linalg.svd(values, full_matrices=False)
        sizes = roots**2
    else:
        sizes, basis = np.linalg.eigh(values @ values.T)
    is_real = sizes > NEGLIGIBLE_SIZE * n_rows
    return basis[:, is_real], sizes[is_real]


def _standardise(columns: Columns) -> NDArray[np.float64]:
    """Return distinct columns that vary as numbers of mean 0 and variance 1."""
    return to_unit_variance(distinct_numbers(columns))


def _tell_alone(values: NDArray[np.float64], response: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what least squares on these columns tells of each row without it.

    Parameters
    ----------
    values : ndarray, shape (n_contests, n_rows, n_columns)

    Returns
    -------
    ndarray, shape (n_contests, n_rows, n_responses)
    """
    weights = values @ _invert(values.transpose(0, 2, 1) @ values)
    residuals = response - values @ (weights.transpose(0, 2, 1) @ response)
    diagonals = 1.0 - np.einsum("cij,cij->ci", weights, values)
    return response - _leave_out(residuals, diagonals, response)


def _invert(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return inverses of positive matrices, of columns as long as the table has rows.

    Directions whose size is rounding beside that, as of columns that lie in the span of others
    already, are left out.
    """
    if matrices.shape[-1] == 0:
        return matrices
    sizes, directions = np.linalg.eigh(matrices)
    is_real = sizes > NEGLIGIBLE_SIZE * np.maximum(sizes[..., -1:], 1.0)
    inverses = np.where(is_real, 1.0 / np.where(is_real, sizes, 1.0), 0.0)
    return np.asarray((directions * inverses[..., np.newaxis, :]) @ directions.swapaxes(-1, -2))


def _leave_out(
    residuals: NDArray[np.float64], diagonal: NDArray[np.float64], response: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what is left of each row when it is predicted without itself.

    Parameters
    ----------
    residuals : ndarray, shape (..., n_rows, n_responses)
    diagonal : ndarray, shape (..., n_rows)
        Of M, before the intercept.
    response : ndarray, shape (n_rows, n_responses)
    """
    n_rows = len(response)
    diagonal = diagonal - 1.0 / n_rows
    # A row that alone decides its own fit is told by the mean of the others.
    is_own = diagonal <= NEGLIGIBLE_SIZE * np.maximum(diagonal.mean(axis=-1, keepdims=True), 0.0)
    left_out = residuals / np.where(is_own, 1.0, diagonal)[..., np.newaxis]
    if not is_own.any():
        return left_out
    return np.where(is_own[..., np.newaxis], response * n_rows / (n_rows - 1.0), left_out)


def _make_answers(told: NDArray[np.float64], measure: str, target: Target) -> Answers:
    """Return predictions of the response from those of its deviations from the mean."""
    if target.task == "regression":
        return Answers(target.unstandardise(told[:, 0]))
    told = told + class_rates(target)
    if not needs_shares(measure, target.task):
        return Answers(told.argmax(axis=1).astype(np.float64))
    shares = np.clip(told, 0.0, 1.0)
    return Answers(shares / shares.sum(axis=1, keepdims=True), n_voices=target.n_rows)
