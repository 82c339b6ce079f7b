"""The leave-one-out score of a linear model, in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from umfi.target import Target

__all__ = ["LinearContest", "LinearPower"]

# Least squares needs so many rows for each column; with fewer, shrinking predicts better.
ROWS_PER_COLUMN = 3
# Penalties that are tried, beside the mean size of the table's directions.
PENALTIES = np.logspace(-3.0, 4.0, 15)
# Directions smaller than this beside columns of unit size are rounding.
NEGLIGIBLE_SIZE = 1e-7


@dataclass(frozen=True)
class LinearPower:
    """Leave-one-out score of a linear model: R² or accuracy, in closed form.

    Least squares where there are three rows a column, otherwise ridge regression with the penalty
    that predicts best, leaving out one row after the other. Classes are told by the largest of
    the fits to their indicators.

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
    response as it would show in rows not yet seen. Then M changes by a few directions from one
    feature to the next, so that tables of tens of thousands of columns take seconds.

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
        is_number = isinstance(self.penalty, int | float) and not isinstance(self.penalty, bool)
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
        response = _centred_response(target)
        maker = _residual_maker(_standardise(columns), response, self.penalty)
        told = response - _leave_out(maker.residuals, maker.diagonal, response)
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
        self._response = _centred_response(target)
        self._maker = _residual_maker(_standardise(columns), self._response, power.penalty)

    def score(
        self, contests: Sequence[Sequence[Columns]], *, is_test: bool = False
    ) -> list[list[float]]:
        """Return the score of each candidate of each contest.

        Parameters
        ----------
        contests : sequence of sequences of Columns
            The candidates that are removed together, a feature and copies of it.
        is_test : bool
            Whether what a test compares is scored instead of the power's measure.
        """
        task = self._target.task
        measure = STATISTICS[task] if is_test else find_measure(self._power.measure, task)
        blocks = [[_standardise(candidate) for candidate in candidates] for candidates in contests]
        scores: list[list[float]] = [[] for _ in contests]
        # Contests of one shape go together: a matrix is then read from memory once for them all.
        shapes = [tuple(block.shape[1] for block in own) for own in blocks]
        for shape in dict.fromkeys(shapes):
            places = [place for place, own_shape in enumerate(shapes) if own_shape == shape]
            values = np.stack([np.concatenate(blocks[place], axis=1) for place in places])
            for told in self._predict(values, shape):
                for place, one in zip(places, told, strict=True):
                    answers = _make_answers(one, measure, self._target)
                    scores[place].append(score_answers(measure, answers, self._target))
        return scores

    def _predict(
        self, values: NDArray[np.float64], widths: Sequence[int]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield what each candidate tells beside the rest.

        Parameters
        ----------
        values : ndarray, shape (n_contests, n_rows, n_columns)
            All candidates of each contest beside each other.
        widths : sequence of int
            How many columns each candidate has.

        Yields
        ------
        ndarray, shape (n_contests, n_rows, n_responses)
        """
        response = self._response
        whole = response - _leave_out(*self._maker.beside(values), response)
        rest = whole - _predict_alone(values, response)
        ends = np.cumsum(widths)
        for width, end in zip(widths, ends, strict=True):
            yield rest + _predict_alone(values[:, :, end - width : end], response)


class _ResidualMaker(NamedTuple):
    """The matrix M that turns centred responses into residuals.

    Attributes
    ----------
    residuals : ndarray, shape (n_rows, n_responses)
        M y.
    diagonal : ndarray, shape (n_rows,)
    penalty : float
    matrix : ndarray
        For least squares an orthonormal basis Q of the columns, shape (n_rows, rank), and M is
        1 - Q Qᵀ; for ridge regression M itself, shape (n_rows, n_rows).
    """

    residuals: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    penalty: float
    matrix: NDArray[np.float64]

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
        if self.penalty > 0.0:
            images = self.matrix @ side_by_side
        else:
            images = side_by_side - self.matrix @ (self.matrix.T @ side_by_side)
        images = np.moveaxis(images.reshape(n_rows, n_contests, n_more), 0, 1)
        weights = images @ _invert(values.transpose(0, 2, 1) @ images)
        residuals = self.residuals - weights @ (values.transpose(0, 2, 1) @ self.residuals)
        return residuals, self.diagonal - np.einsum("cij,cij->ci", weights, images)


def _residual_maker(
    values: NDArray[np.float64], response: NDArray[np.float64], penalty: float | None
) -> _ResidualMaker:
    """Return M for standardised columns, with the best penalty if none is given."""
    n_rows, n_columns = values.shape
    if penalty is None and n_rows >= ROWS_PER_COLUMN * n_columns:
        penalty = 0.0
    if penalty == 0.0:
        basis = _orthonormal(values / np.sqrt(n_rows))
        residuals = response - basis @ (basis.T @ response)
        return _ResidualMaker(residuals, 1.0 - _squared_rows(basis), 0.0, basis)
    makers = _ridge_makers(values, response, penalty)
    return min(
        makers,
        key=lambda made: float(np.sum(_leave_out(made.residuals, made.diagonal, response) ** 2)),
    )


def _ridge_makers(
    values: NDArray[np.float64], response: NDArray[np.float64], penalty: float | None = None
) -> Iterator[_ResidualMaker]:
    """Yield M of ridge regression, for one penalty or for all that are tried."""
    sizes, directions = np.linalg.eigh(values @ values.T)
    sizes = np.maximum(sizes, 0.0)
    for tried in [penalty] if penalty is not None else sizes.mean() * PENALTIES:
        matrix = (directions * (tried / (sizes + tried))) @ directions.T
        yield _ResidualMaker(matrix @ response, np.diagonal(matrix).copy(), float(tried), matrix)


def _standardise(columns: Columns) -> NDArray[np.float64]:
    """Return distinct columns that vary as numbers of mean 0 and variance 1."""
    return to_unit_variance(distinct_numbers(columns))


def _centred_response(target: Target) -> NDArray[np.float64]:
    """Return the response, or the indicators of its classes, as deviations from the mean."""
    if target.task == "regression":
        return target.standardise(target.values)[:, np.newaxis]
    indicators = np.eye(len(target.classes))[target.labels]
    return indicators - indicators.mean(axis=0)


def _orthonormal(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an orthonormal basis of columns of about unit size, shape (n_rows, rank)."""
    if values.shape[1] == 0:
        return values
    left, sizes, _ = np.linalg.svd(values, full_matrices=False)
    return left[:, sizes > NEGLIGIBLE_SIZE]


def _squared_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->i", values, values))


def _predict_alone(
    values: NDArray[np.float64], response: NDArray[np.float64]
) -> NDArray[np.float64]:
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
    is_own = diagonal <= NEGLIGIBLE_SIZE
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
