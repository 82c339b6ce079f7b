"""The checkerboard estimate of zeta_1."""

import numpy as np
import pandas as pd
import pytest

import umfi
from tests.naive.dependence import zeta_1, zeta_1_of_classes
from umfi.data.frames import read_columns
from umfi.data.target import Target, read_target
from umfi.errors import InputError
from umfi.power.qmd import QmdPower

TASKS = pytest.mark.parametrize("task", ["regression", "classification"])


def score(X, y, *, resolution=None, task="regression"):
    columns, target = read_columns(X), read_target(y, task=task)
    return QmdPower(resolution).score(columns, target, np.random.SeedSequence(0))


def table(n_columns, n_rows, *, has_ties=False, seed=0):
    """Return columns, a response that depends on the first, and classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, 0] + 0.5 * rng.normal(size=n_rows)
    if has_ties:  # One column of 3 levels, one of 5 and so on.
        X = np.round(X * np.arange(1, n_columns + 1))
        y = np.round(3.0 * y)
    return X, y, np.digitize(y, [-1.0, 0.5])


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize(
    ("n_columns", "n_rows", "resolution"),
    # Numbers of rows that bins divide and do not; the last three have the default resolution.
    [
        (1, 23, 4),
        (1, 24, 6),
        (1, 21, 20),
        (2, 25, 4),
        (3, 30, 3),
        (1, 25, 5),
        (2, 30, 3),
        (3, 30, 2),
    ],
)
def test_score_is_the_definition(n_columns, n_rows, resolution, has_ties):
    X, y, labels = table(n_columns, n_rows, has_ties=has_ties)
    expected = zeta_1(X.tolist(), y.tolist(), resolution)
    assert score(X, y, resolution=resolution) == pytest.approx(expected, abs=1e-12)
    expected = zeta_1_of_classes(X.tolist(), labels.tolist(), resolution)
    found = score(X, labels, resolution=resolution, task="classification")
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "resolution"),
    [(24, 1, 4), (25, 1, 5), (63, 2, 3), (64, 2, 4), (63, 4, 2)],
)
def test_default_resolution_is_the_largest_whose_cells_rows_could_fill(
    n_rows, n_columns, resolution
):
    # 64^(1/3) is 4 but comes out as 3.9999999999999996.
    X, y, _ = table(n_columns, n_rows)
    assert score(X, y) == score(X, y, resolution=resolution)


def test_score_gives_the_figures_of_the_authors_package():
    # The functions of R package qmd (ECBC in C++, local_kernel_integral) run in R 4.2.2.
    i = np.arange(1, 61)
    X = np.column_stack([np.sin(i), 2.0 * np.cos(3 * i), np.sin(i * i)])
    y = X[:, 0] * X[:, 1] + X[:, 2] / 5.0
    for n_columns, figure in ((1, 0.311432923352014), (2, 0.583333333333333), (3, 0.65)):
        assert score(X[:, :n_columns], y) == pytest.approx(figure, abs=1e-12)
    tied = np.column_stack([37 * i % 61, 17 * i * i % 61, i % 4]) * 1.0
    response = (37 * i % 61) * (i % 4) % 53 * 1.0
    assert score(tied, response) == pytest.approx(0.3, abs=1e-12)
    found = score(tied[:, [0, 2]], response, resolution=5)
    assert found == pytest.approx(0.67359421852279, abs=1e-12)


@pytest.mark.parametrize("resolution", [2, 3, 6, 30])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_monotone_function_scores_one_less_half_a_bin(resolution, direction):
    # Responses of cell i are even over [a, b] = [(i - 1) / N, i / N]: below a and above b, |K - y|
    # is y and 1 - y, and between it falls from a to 0 and rises to 1 - b. All in all
    # (a² + (1 - b)²) / (2 (1 - 1 / N)), in the mean over cells (2 N - 1) / (6 N), times 3.
    x = np.arange(60.0)
    found = score(x[:, np.newaxis], np.exp(direction * x / 60.0), resolution=resolution)
    assert found == pytest.approx(1.0 - 0.5 / resolution, abs=1e-12)


@pytest.mark.parametrize("resolution", [4, 6, 30])
def test_a_function_of_two_branches_scores_one_less_a_bin(resolution):
    # Rows of a cell are even over two bins of the response: as above with N / 2 for N.
    x = np.arange(120)
    y = np.where(x < 60, 2 * x, 2 * (x - 60) + 1) * 1.0
    found = score(x[:, np.newaxis] * 1.0, y, resolution=resolution)
    assert found == pytest.approx(1.0 - 1.0 / resolution, abs=1e-12)


@pytest.mark.parametrize("resolution", [2, 3, 5])
def test_all_combinations_of_levels_score_zero(resolution):
    x, z, y = (level.ravel() for level in np.indices((3, 4, 6)))
    X = np.column_stack([x, z]) * 1.0
    assert score(X, y * 1.0, resolution=resolution) == pytest.approx(0.0, abs=1e-12)
    found = score(X, y, resolution=resolution, task="classification")
    assert found == pytest.approx(0.0, abs=1e-12)


def test_two_columns_that_tell_only_together():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))
    y = X.sum(axis=1) % 1.0
    # N = 15: a cell spreads y over a triangle two bins wide. Alone, N = 63 and 63 rows to a cell.
    assert score(X, y) > 0.85
    assert score(X[:, :1], y) < 0.15


def test_unrelated_columns_score_less_the_more_rows_there_are():
    rng = np.random.default_rng(0)
    small, large = (score(rng.random((n, 1)), rng.random(n)) for n in (100, 10_000))
    # Means over 20 draws were 0.27 and 0.09, standard deviations at most 0.032.
    assert large < 0.12 < 0.16 < small


def test_pure_cells_score_one_and_half_turned_classes_one_half():
    coin = np.repeat([0.0, 1.0], 200)
    assert score(coin[:, np.newaxis], coin.astype(int), task="classification") == pytest.approx(1.0)
    # A quarter of each side is turned: 3/4 and 1/4 around 1/2. N = 20 bins part the coins.
    turned = np.where(np.arange(400) % 4 == 0, 1.0 - coin, coin).astype(int)
    assert score(coin[:, np.newaxis], turned, task="classification") == pytest.approx(0.5)


@TASKS
def test_no_column_and_constant_ones_score_zero(task):
    X, y, labels = table(2, 40)
    target = read_target(labels if task == "classification" else y, task=task)
    columns, seed = read_columns(X), np.random.SeedSequence(0)
    assert QmdPower().score(columns.select([]), target, seed) == 0.0
    assert QmdPower().score(columns.with_changed(np.ones((40, 2))), target, seed) == 0.0
    constant = Target(task, np.zeros(40), classes=("a",) if task == "classification" else ())
    assert QmdPower().score(columns, constant, seed) == pytest.approx(0.0, abs=1e-12)


@TASKS
def test_copies_constants_and_units_change_nothing(task):
    X, y, labels = table(2, 40, has_ties=True)
    response = labels if task == "classification" else y
    expected = score(X, response, task=task)
    padded = np.column_stack([X, np.ones(40), X[:, 0], X])
    assert score(padded, response, task=task) == expected
    assert score(X * [1e-200, 1e150], response, task=task) == expected
    assert score(np.exp(X), response, task=task) == expected


def test_a_category_counts_as_its_indicators():
    rng = np.random.default_rng(0)
    soil = rng.choice(["clay", "sand", "silt"], size=300)
    y = rng.normal(size=300) + 3.0 * (soil == "silt")
    indicators = pd.DataFrame({level: (soil == level) * 1.0 for level in np.unique(soil)})
    # Codes of two levels may be turned round, which changes the order of sums.
    expected = pytest.approx(score(indicators, y), abs=1e-12)
    assert score(pd.DataFrame({"soil": soil}), y) == expected


@TASKS
def test_inputs_stay_as_they_are(task):
    X, y, labels = table(2, 40)
    columns = read_columns(X)
    target = read_target(labels if task == "classification" else y, task=task)
    before = columns.values.copy(), target.values.copy()
    QmdPower().score(columns, target, np.random.SeedSequence(0))
    np.testing.assert_array_equal(columns.values, before[0])
    np.testing.assert_array_equal(target.values, before[1])


def test_more_columns_than_rows_can_fill_are_refused():
    X, y, _ = table(5, 63)
    with pytest.raises(
        InputError, match=r"at most 4 columns with 63 rows.* and got 5: drop columns"
    ):
        score(X, y)
    assert score(np.vstack([X, X[:1] + 1.0]), np.append(y, 9.0)) > 0.0  # 64 = 2^6 rows.
    with pytest.raises(InputError, match="more cells of 5 columns than there are rows, 63"):
        score(X, y, resolution=3)


@pytest.mark.parametrize("resolution", [1, 2.5, True, "ten"])
def test_resolutions_that_cannot_be_are_refused(resolution):
    with pytest.raises(InputError, match="whole number from 2 up"):
        QmdPower(resolution)


@pytest.mark.parametrize("method", [umfi.ultra_marginal, umfi.ablation, umfi.decompose])
def test_too_many_columns_are_refused_before_anything_runs(method, monkeypatch):
    monkeypatch.setattr("umfi.execution.runner.schedule", None)
    X = np.random.default_rng(0).normal(size=(130, 6))
    with pytest.raises(umfi.InputError, match="can use at most 5 columns with 65 rows"):
        method(X, X.sum(axis=1), power="qmd", subsample=0.5, repeats=20)
