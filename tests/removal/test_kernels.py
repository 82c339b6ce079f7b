"""The kernels of removal, small enough to run without the JIT compiler as well."""

import numpy as np
import pytest
from scipy import stats

from umfi.data.frames import read_columns
from umfi.forest import order_rows
from umfi.removal.grid import equalise_covariances, protected_columns, shrink_moves
from umfi.removal.regression import centre, find_directions, regress, residuals_on
from umfi.removal.transport import _write_ranks, interpolate_quantiles


@pytest.mark.parametrize("value", [0.0, 0.1, 1e300, -3e-310])
def test_a_constant_column_has_no_residuals(value):
    constant = np.full(2000, value)
    found = regress(constant[np.newaxis], np.random.default_rng(0).normal(size=2000))
    assert (found.residuals == 0.0).all()
    assert found.slopes[0] == found.statistics[0] == 0.0


@pytest.mark.parametrize("n_rows", [20, 127, 128, 1001])
def test_regression_equals_numpy(n_rows):
    rng = np.random.default_rng(n_rows)
    protected = rng.normal(size=n_rows)
    columns = rng.normal(size=(3, n_rows)) + 5.0 * protected
    found = regress(columns, protected)
    for column, residuals, slope in zip(columns, found.residuals, found.slopes, strict=True):
        expected = np.polynomial.Polynomial.fit(protected, column, 1)
        np.testing.assert_allclose(residuals, column - expected(protected), atol=1e-12)
        assert slope == pytest.approx(expected.convert().coef[1])


@pytest.mark.parametrize("n_rows", [20, 127, 1001])
def test_residuals_on_directions_are_those_of_one_regression_after_the_other(n_rows):
    rng = np.random.default_rng(n_rows)
    offsets = np.array([0.0, 1e6, 0.0, 3.0])
    directions, _ = find_directions(rng.normal(size=(4, n_rows)) + offsets[:, np.newaxis])
    columns = rng.normal(size=(3, n_rows)) + 5.0 * directions[:3]
    columns[1] = 2.0 * directions[1] - directions[3]
    expected = columns
    for direction in directions:
        expected = regress(expected, direction).residuals
    residuals = residuals_on(columns, directions)
    np.testing.assert_allclose(residuals, expected, atol=1e-8)
    assert (residuals[1] == 0.0).all()
    assert np.abs(residuals @ (directions - directions.mean(axis=1, keepdims=True)).T).max() < 1e-8

    design = np.vstack([np.ones(n_rows), directions - directions.mean(axis=1, keepdims=True)]).T
    fitted = design @ np.linalg.lstsq(design, columns.T, rcond=None)[0]
    np.testing.assert_allclose(residuals, columns - fitted.T, atol=1e-8)


def test_constant_columns_and_directions_leave_zero_and_everything():
    rng = np.random.default_rng(0)
    columns = np.vstack([rng.normal(size=50), np.full(50, 0.1)])
    residuals = residuals_on(columns, np.full((1, 50), 3.0))
    np.testing.assert_allclose(residuals[0], columns[0] - columns[0].mean(), atol=1e-15)
    assert (residuals[1] == 0.0).all()


def test_centred_columns_have_mean_zero_and_largest_deviation_one():
    centred = centre(np.array([1e300, 2e300, 6e300, -1e300]))
    assert centred.max() == 1.0
    assert centred.sum() == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_ranks_are_written_to_their_rows(offset):
    columns = np.random.default_rng(0).normal(size=(3, 40)).round(1)
    rows = np.arange(10, 50)
    transported = np.full((3, 60), -1.0)
    starts = np.array([0, 40])
    _write_ranks(columns, order_rows(columns), rows, starts, offset, transported)
    expected = (stats.rankdata(columns, axis=1) - offset) / 40
    np.testing.assert_allclose(transported[:, 10:50], expected)
    assert (transported[:, :10] == -1.0).all()
    assert (transported[:, 50:] == -1.0).all()


def test_a_scale_is_read_like_numpy_does():
    rng = np.random.default_rng(0)
    ranks, scale = rng.random((3, 40)), np.sort(rng.normal(size=(3, 40)), axis=1)
    ranks[0, :3] = [0.0, 1.0, 0.5]
    values = np.empty((3, 40))
    interpolate_quantiles(ranks, scale, values)
    grid = (np.arange(40) + 0.5) / 40
    expected = [np.interp(rank, grid, of) for rank, of in zip(ranks, scale, strict=True)]
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_directions_are_uncorrelated_and_span_the_columns():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(4, 50))
    columns[2] = 3.0 * columns[0] - columns[1]
    directions, positions = find_directions(columns)
    assert positions == [0, 1, 3]
    np.testing.assert_array_equal(directions[0], columns[0])
    products = np.corrcoef(directions) - np.eye(3)
    assert np.abs(products).max() < 1e-12
    design = np.column_stack([np.ones(50), *directions])
    fitted = design @ np.linalg.lstsq(design, columns.T, rcond=None)[0]
    np.testing.assert_allclose(fitted, columns.T, atol=1e-12)


def test_moves_shrink_by_how_much_of_them_is_chance():
    # The factor of James and Stein, column by column.
    rng = np.random.default_rng(3)
    columns, ranks = rng.normal(size=(4, 90)), rng.random((4, 90))
    columns[3] = 0.0  # Removal has made it constant, and it stays where it is put.
    ranks[2] = stats.norm.cdf((columns[2] - columns[2].mean()) / columns[2].std()) + 1e-4
    moved = shrink_moves(columns, ranks, 0.04, 1.5)
    for column, rank, found in zip(columns[:3], ranks[:3], moved[:3], strict=True):
        before = stats.norm.cdf((column - column.mean()) / column.std())
        factor = max(0.0, 1.0 - 1.5 * 0.04 / np.mean((rank - before) ** 2))
        np.testing.assert_allclose(found, before + factor * (rank - before), atol=1e-12)
    np.testing.assert_array_equal(moved[3], ranks[3])
    np.testing.assert_allclose(shrink_moves(columns, ranks, 0.04, 0.0), ranks, atol=1e-12)


@pytest.mark.parametrize("is_chained", [False, True])
def test_covariance_becomes_the_same_along_the_protected_column(is_chained):
    rng = np.random.default_rng(6)
    n_rows = 3000
    position = np.arange(n_rows) / n_rows
    first, second = rng.normal(size=(2, n_rows))
    columns = np.stack([first, np.where(position < 0.5, 0.8, -0.8) * first + 0.6 * second])
    protected = read_columns(position[:, np.newaxis])
    (column,) = protected_columns(protected, read_columns(columns.T), 100)
    moved = equalise_covariances(columns, column.narrow_grid, 0.0, is_chained)
    before, after = (
        [np.corrcoef(of[:, rows])[0, 1] for rows in (position < 0.4, position > 0.6)]
        for of in (columns, moved)
    )
    assert before[0] - before[1] > 1.5
    # Interpolation between grid points, and for the shortest map its approximation, remain.
    assert abs(after[0] - after[1]) < 0.2 * (before[0] - before[1])
