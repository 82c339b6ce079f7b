"""The leave-one-out score of a linear model, in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.target import Target, centred_responses
from umfi.errors import InputError
from umfi.power.measures import Predictions, check_measure, class_rates
from umfi.power.points import distinct_numbers, to_unit_variance
from umfi.power.predicting import Averages, PredictingPower

__all__ = ["LinearClosedForm", "LinearPower"]

# Penalties that are tried beside none, in units of the mean size of the columns' directions.
PENALTIES = np.logspace(-3.0, 4.0, 15)
# Directions smaller than this beside columns of unit size are rounding.
NEGLIGIBLE_SIZE = 1e-7


@dataclass(frozen=True)
class LinearPower(PredictingPower):
    """Leave-one-out score of a linear model: R² or any other measure, in closed form.

    Ridge regression with the penalty that predicts best, none among them, leaving out one row
    after the other. Classes are predicted by the largest of the fits to their indicators.

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

    def average_out(
        self,
        context: Columns,
        candidates: Sequence[Columns],
        target: Target,
        seed: np.random.SeedSequence,
        *,
        is_test: bool = False,
        donors: NDArray[np.intp] | None = None,
    ) -> Averages:
        """Return leave-one-out predictions, and how they change without each candidate.

        Over all of a candidate a linear fit averages to that at the candidate's mean, so no donors
        are needed: with b the candidate's coefficients in the fit without row i, its values x_i,
        which have mean zero, change the prediction by -x_i b. Where donors are given, it is how far
        x_i is from their mean.
        """
        response = centred_responses(target)
        blocks = [_standardise(candidate) for candidate in candidates]
        values = np.concatenate([*blocks, _standardise(context)], axis=1)
        fit = _fit(values, response, self.penalty)
        errors = _leave_out(fit.residuals, fit.diagonal, response)
        predicted = response - errors
        known = _to_predictions(predicted, target)
        changes = np.empty((len(blocks), *known.values.shape))
        for candidate, block in enumerate(blocks):
            # A row that is left out moves the coefficients G y by G_i times its error.
            moved = block if donors is None else block - block[donors].mean(axis=1)
            coefficients = (block.T @ fit.basis * (fit.weights / fit.sizes)) @ fit.basis.T
            own = np.einsum("ij,ji->i", moved, coefficients)[:, np.newaxis]
            by_block = moved @ (coefficients @ response) - own * errors
            changes[candidate] = _to_predictions(predicted - by_block, target).values - known.values
        return Averages(known, changes)


class LinearClosedForm:
    """Predictions by candidates and what linear removal of them leaves, in closed form.

    Each row is predicted by a model that has not seen it, and from columns that were removed
    without it. Removal by all rows would leave columns that are orthogonal to the candidates in
    these very rows, so that a model fitted to some of them would predict the others wrong.

    Parameters
    ----------
    power : LinearPower
    columns : Columns
        All columns of the table, those of features that are to be candidates among them.
    target : Target

    Notes
    -----
    A linear model of what is left beside all candidates is a linear model of the columns as they
    are beside all candidates, because removal only changes the candidates' coefficients.
    Its matrix M is that of the table without M C (Cᵀ M C)⁻¹ Cᵀ M, with C the candidates, which are
    not penalised. What is left of the columns is orthogonal to the candidates, so it predicts what
    the whole model predicts less what the candidates predict without it; and one candidate beside
    it adds what it predicts alone.

    For a linear model, columns that are uncorrelated have nothing in common, so booleans and
    categories are removed as the numbers they are.

    Examples
    --------
    >>> import umfi
    >>> from umfi.power.measures import score_predictions
    >>> from umfi.data.reading import read_table
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> columns, target, _ = read_table(X, y)
    >>> closed_form = LinearClosedForm(LinearPower(), columns, target)
    >>> [found] = closed_form.average_out([[columns.select([1])]])
    >>> [round(score_predictions("r2", one, target), 1) for one in (found.known, found.without(0))]
    [1.0, 0.6]
    """

    def __init__(self, power: LinearPower, columns: Columns, target: Target) -> None:
        self._power, self._target = power, target
        self._response = centred_responses(target)
        self._fit = _fit(_standardise(columns), self._response, power.penalty)

    def average_out(self, candidates: Sequence[Sequence[Columns]]) -> list[Averages]:
        """Return what a fit on what is left and all candidates predicts, with and without each.

        Each of the sequences holds candidates that are removed together, a feature and copies of
        it.
        """
        found: dict[int, Averages] = {}
        for numbers, values, widths in _stack(candidates):
            # What is left is orthogonal to all candidates, so each adds what it predicts alone.
            alone = [_predict_alone(block, self._response) for block in _blocks(values, widths)]
            whole = self._predict_from_rest(values) + np.sum(alone, axis=0)
            for position, number in enumerate(numbers):
                known = _to_predictions(whole[position], self._target)
                without = [
                    _to_predictions(whole[position] - one[position], self._target) for one in alone
                ]
                changes = np.array([one.values - known.values for one in without])
                found[number] = Averages(known, changes)
        return [found[number] for number in range(len(candidates))]

    def statistics(self, candidates: Sequence[Sequence[Columns]]) -> list[list[float]]:
        """Return what a test compares: how much each candidate explains of what the rest does not.

        As the cube root of the squares, because sums of squares of few columns lean far to the
        right, and their cube roots are all but normal (Wilson and Hilferty 1931).
        """
        total = float(np.sum(self._response**2))
        found: list[list[float]] = [[] for _ in candidates]
        for numbers, values, widths in _stack(candidates):
            unexplained = self._response - self._predict_from_rest(values)
            for block in _blocks(values, widths):
                projected = block.transpose(0, 2, 1) @ unexplained
                explained = projected * (_invert(block.transpose(0, 2, 1) @ block) @ projected)
                for number, one in zip(numbers, explained.sum(axis=(1, 2)), strict=True):
                    found[number].append(float(np.cbrt(max(one, 0.0) / total)))
        return found

    def _predict_from_rest(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is predicted of each row without it from what removal leaves."""
        whole = self._response - _leave_out(*self._fit.beside(values), self._response)
        return whole - _predict_alone(values, self._response)


def _stack(
    candidates: Sequence[Sequence[Columns]],
) -> Iterator[tuple[list[int], NDArray[np.float64], tuple[int, ...]]]:
    """Yield candidates of one shape together, so that matrices are read from memory once for all.

    That is which they are; their values beside each other, shape (n_alike, n_rows, n_columns); and
    how many columns each candidate has.
    """
    blocks = [[_standardise(candidate) for candidate in together] for together in candidates]
    shapes = [tuple(block.shape[1] for block in own) for own in blocks]
    for shape in dict.fromkeys(shapes):
        numbers = [number for number, own_shape in enumerate(shapes) if own_shape == shape]
        values = np.stack([np.concatenate(blocks[number], axis=1) for number in numbers])
        yield numbers, values, shape


def _blocks(values: NDArray[np.float64], widths: Sequence[int]) -> Iterator[NDArray[np.float64]]:
    """Yield the columns of one candidate after the other."""
    for width, end in zip(widths, np.cumsum(widths), strict=True):
        yield values[:, :, end - width : end]


class _Fit(NamedTuple):
    """A fit to centred responses: M = 1 - B W Bᵀ turns these into residuals."""

    residuals: NDArray[np.float64]  # M y, (n_rows, n_responses).
    diagonal: NDArray[np.float64]  # Of M, (n_rows,).
    basis: NDArray[np.float64]  # B, orthonormal directions of the columns, (n_rows, rank).
    weights: NDArray[np.float64]  # W, (rank,): 1 for least squares, less where it is shrunken.
    sizes: NDArray[np.float64]  # Squared sizes of the directions, (rank,).

    def beside(
        self, values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return residuals and diagonals with more columns, which are not penalised.

        Values have shape (n_alike, n_rows, n_more), residuals (n_alike, n_rows, n_responses), and
        diagonals (n_alike, n_rows).
        """
        n_alike, n_rows, n_more = values.shape
        side_by_side = np.moveaxis(values, 0, 1).reshape(n_rows, -1)
        shrunken = self.weights[:, np.newaxis] * (self.basis.T @ side_by_side)
        images = (side_by_side - self.basis @ shrunken).reshape(n_rows, n_alike, n_more)
        images = np.moveaxis(images, 0, 1)
        weights = images @ _invert(values.transpose(0, 2, 1) @ images)
        residuals = self.residuals - weights @ (values.transpose(0, 2, 1) @ self.residuals)
        return residuals, self.diagonal - np.einsum("cij,cij->ci", weights, images)


def _fit(values: NDArray[np.float64], response: NDArray[np.float64], penalty: float | None) -> _Fit:
    """Return the fit to standardised columns, with the best penalty if none is given."""
    n_rows = len(values)
    basis, sizes = _find_directions(values)
    projected = basis.T @ response

    def fit(tried: float) -> _Fit:
        weights = sizes / (sizes + tried)
        residuals = response - basis @ (weights[:, np.newaxis] * projected)
        return _Fit(residuals, 1.0 - basis**2 @ weights, basis, weights, sizes)

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


def _predict_alone(
    values: NDArray[np.float64], response: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what least squares on these columns predicts of each row without it.

    Values have shape (n_alike, n_rows, n_columns), predictions (n_alike, n_rows, n_responses).
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

    Residuals have shape (..., n_rows, n_responses); the diagonal, shape (..., n_rows), is that of M
    before the intercept.
    """
    n_rows = len(response)
    diagonal = diagonal - 1.0 / n_rows
    # A row that alone decides its own fit is predicted by the mean of the others.
    is_own = diagonal <= NEGLIGIBLE_SIZE * np.maximum(diagonal.mean(axis=-1, keepdims=True), 0.0)
    left_out = residuals / np.where(is_own, 1.0, diagonal)[..., np.newaxis]
    if not is_own.any():
        return left_out
    return np.where(is_own[..., np.newaxis], response * n_rows / (n_rows - 1.0), left_out)


def _to_predictions(deviations: NDArray[np.float64], target: Target) -> Predictions:
    """Return predictions of the response from those of its deviations from the mean."""
    if target.task == "regression":
        return Predictions(target.unstandardise(deviations[:, 0]))
    rates = np.clip(deviations + class_rates(target), 0.0, 1.0)
    return Predictions(rates / rates.sum(axis=1, keepdims=True), n_votes=target.n_rows)
