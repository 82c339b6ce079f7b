"""Jointly Gaussian tables, where every quantity has a closed form (Theorem 3.1)."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import umfi

N_ROWS = 20_000
# Three standard errors of an R² at 20,000 rows: 2 (1 - R²) sqrt(R² / n) is at most 0.0055.
TOLERANCE = 3 * 0.0055

COVARIANCE = np.array(
    [
        [1.0, 0.6, 0.0, 0.3],
        [0.6, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.5],
        [0.3, 0.0, 0.5, 1.0],
    ]
)
WEIGHTS = np.array([1.0, -0.5, 0.7, 0.0])
NOISE_VARIANCE = 0.5


@pytest.fixture(scope="module")
def gaussian_table():
    rng = np.random.default_rng(8)
    values = rng.multivariate_normal(np.zeros(4), COVARIANCE, N_ROWS)
    X = pd.DataFrame(values, columns=["a", "b", "c", "d"])
    y = values @ WEIGHTS + rng.normal(0.0, np.sqrt(NOISE_VARIANCE), N_ROWS)
    return X, pd.Series(y, name="y")


def r_squared(covariance, with_response, variance):
    return with_response @ np.linalg.solve(covariance, with_response) / variance


def exact_importance(index):
    """Return R²(S and x) - R²(S) for S the residuals on x, from the covariance matrix."""
    others = [k for k in range(4) if k != index]
    with_y = COVARIANCE @ WEIGHTS
    variance = WEIGHTS @ COVARIANCE @ WEIGHTS + NOISE_VARIANCE
    slopes = COVARIANCE[others, index] / COVARIANCE[index, index]
    residual_covariance = COVARIANCE[np.ix_(others, others)] - np.outer(
        slopes, COVARIANCE[index, others]
    )
    residual_with_y = with_y[others] - slopes * with_y[index]
    everything = r_squared(COVARIANCE, with_y, variance)
    return everything - r_squared(residual_covariance, residual_with_y, variance)


def test_importance_equals_the_closed_form(gaussian_table):
    X, y = gaussian_table
    result = umfi.ultra_marginal(X, y, remover="linear", power=LinearRegression(), random_state=0)
    expected = [exact_importance(index) for index in range(4)]
    np.testing.assert_allclose(result.importances, expected, atol=TOLERANCE)


def test_importance_of_a_gaussian_feature_is_its_squared_correlation(gaussian_table):
    # Without interactions what S and x say adds up, so the importance is what x says alone.
    for index in range(4):
        with_y = (COVARIANCE @ WEIGHTS)[index]
        variance = WEIGHTS @ COVARIANCE @ WEIGHTS + NOISE_VARIANCE
        assert exact_importance(index) == pytest.approx(with_y**2 / variance)


def test_linear_removal_leaves_zero_covariance_and_keeps_all_information(gaussian_table):
    X, y = gaussian_table
    for feature in X:
        S = umfi.remove_dependence(X, feature, remover="linear")
        assert np.abs(np.cov(S.T, X[feature])[-1, :-1]).max() < 1e-12
        kept = umfi.predictive_power(S.assign(x=X[feature]), y, power=LinearRegression())
        everything = umfi.predictive_power(X, y, power=LinearRegression())
        assert kept == pytest.approx(everything, abs=1e-3)


def test_ablation_and_bivariate_equal_their_closed_forms(gaussian_table):
    X, y = gaussian_table
    with_y = COVARIANCE @ WEIGHTS
    variance = WEIGHTS @ COVARIANCE @ WEIGHTS + NOISE_VARIANCE
    everything = r_squared(COVARIANCE, with_y, variance)
    ablation = umfi.ablation(X, y, power=LinearRegression(), random_state=0).importances
    bivariate = umfi.bivariate(X, y, power=LinearRegression(), random_state=0).importances
    for index, feature in enumerate(X):
        others = [k for k in range(4) if k != index]
        rest = r_squared(COVARIANCE[np.ix_(others, others)], with_y[others], variance)
        assert ablation[feature] == pytest.approx(everything - rest, abs=TOLERANCE)
        assert bivariate[feature] == pytest.approx(with_y[index] ** 2 / variance, abs=TOLERANCE)


@pytest.mark.parametrize("feature", ["a", "d"])
def test_linear_removal_leaves_no_covariance_and_keeps_all_information(gaussian_table, feature):
    """Theorem 3.1: of Gaussian columns, uncorrelated means independent, and nothing is lost."""
    X, y = gaussian_table
    S = umfi.remove_dependence(X, feature, remover="linear")
    # Rounding of sums over 20,000 rows of numbers of size 1.
    np.testing.assert_allclose(
        S.to_numpy().T @ (X[feature] - X[feature].mean()) / N_ROWS, 0, atol=1e-12
    )
    together = S.assign(**{feature: X[feature]})
    everything = LinearRegression().fit(X, y).score(X, y)
    kept = LinearRegression().fit(together, y).score(together, y)
    assert kept == pytest.approx(everything, abs=1e-12)
    # The information that the two shares of the table have about y adds up: R² of Gaussians.
    alone = np.corrcoef(X[feature], y)[0, 1] ** 2
    assert LinearRegression().fit(S, y).score(S, y) + alone == pytest.approx(everything, abs=1e-10)


@pytest.mark.parametrize("remover", ["transport", "joint", "chained"])
def test_other_removers_keep_most_of_what_gaussian_columns_tell(gaussian_table, remover):
    X, y = (part.head(2000) for part in gaussian_table)
    S = umfi.remove_dependence(X, "a", remover=remover, random_state=0)
    together = S.assign(a=X["a"])
    everything = LinearRegression().fit(X, y).score(X, y)
    # Ranks bend the tails of a linear relation.
    assert LinearRegression().fit(together, y).score(together, y) > 0.9 * everything
    assert np.abs(np.corrcoef(S.T, X["a"])[-1, :-1]).max() < 0.03
