"""Powers that look at nearest rows: T of Azadkia and Chatterjee, mutual information."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from tests.naive.dependence import (
    azadkia_chatterjee,
    indicators,
    mutual_information,
    nearest_others,
    scaled,
)
from umfi.data.frames import read_columns
from umfi.data.target import Target, read_target
from umfi.errors import InputError
from umfi.power.foci import MAX_TREE_COLUMNS, FociPower, nearest_rows
from umfi.power.knn import KnnPower

MANY = MAX_TREE_COLUMNS + 3  # Distances are then found without a tree.
BOTH = pytest.mark.parametrize("power", [FociPower(), KnnPower()], ids=["foci", "knn"])
TASKS = pytest.mark.parametrize("task", ["regression", "classification"])


def score(power, X, y, *, task="regression", seed=0):
    columns, target = read_columns(X), read_target(y, task=task)
    return power.score(columns, target, np.random.SeedSequence(seed))


def table(n_columns, n_rows=40, *, n_levels=None, seed=0):
    """Return columns and a response that depends on the first, of whole numbers if in levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, 0] + 0.5 * rng.normal(size=n_rows)
    if n_levels is None:
        return X, y
    return (
        np.clip(np.round(X), 0, n_levels - 1),
        np.clip(np.round(2.0 * y), -2, 2),
    )


def response_for(task, y):
    return np.round(np.clip(y, -1.0, 1.0)).astype(int) if task == "classification" else y


# T


@TASKS
@pytest.mark.parametrize("n_columns", [1, 3, MANY])
@pytest.mark.parametrize("scale", [True, False])
def test_foci_is_the_formula_of_the_paper(n_columns, scale, task):
    X, y = table(n_columns)
    X *= np.arange(1, n_columns + 1)
    y = response_for(task, y)
    rows = scaled(X.tolist()) if scale else X.tolist()
    responses = indicators(y.tolist()) if task == "classification" else [y.tolist()]
    expected = azadkia_chatterjee(rows, responses)
    assert score(FociPower(scale=scale), X, y, task=task) == pytest.approx(expected, abs=1e-12)


@TASKS
@pytest.mark.parametrize("n_columns", [1, 2, MANY])
def test_foci_of_ties_is_in_the_mean_that_over_all_nearest_rows(n_columns, task):
    X, y = table(n_columns, n_levels=5, seed=1)
    y = response_for(task, y)
    responses = indicators(y.tolist()) if task == "classification" else [y.tolist()]
    expected = azadkia_chatterjee(scaled(X.tolist()), responses)
    scores = [score(FociPower(), X, y, task=task, seed=seed) for seed in range(225)]
    assert np.mean(scores) == pytest.approx(expected, abs=4.0 * np.std(scores) / 15.0)


@pytest.mark.parametrize("n_columns", [2, MANY])
def test_every_nearest_row_is_drawn_equally_often(n_columns):
    # Rows alone with several nearest places, of one row or of two, and rows with copies.
    corner = [[3, 0], [4, 0], [3, 1], [3, 1], [2, 0], [8, 5], [8, 5], [8, 5], [12, 0]]
    points = np.zeros((len(corner), n_columns))
    points[:, :2] = corner
    points *= 0.1  # Steps that differ by rounding: 0.4 - 0.3 is less than 0.3 - 0.2.
    rng, n_draws = np.random.default_rng(0), 3000
    counts = np.zeros((len(points), len(points)))
    for _ in range(n_draws):
        counts[np.arange(len(points)), nearest_rows(points, rng)] += 1
    for row, nearest in enumerate(nearest_others(points.tolist())):
        assert set(np.flatnonzero(counts[row])) == set(nearest)
        # Five standard deviations of a count of draws with equal chances.
        slack = 5.0 * math.sqrt(n_draws / len(nearest))
        assert counts[row, nearest] == pytest.approx(n_draws / len(nearest), abs=slack)


def test_foci_gives_the_figures_of_other_implementations():
    # R 4.2.2 with RANN 2.6.1 (neighbours) and the formula; xicorpy 0.6 from PyPI gives the same.
    # Both take columns in their units.
    i = np.arange(1, 61)
    X = np.column_stack([np.sin(i), 2.0 * np.cos(3 * i), np.sin(i * i)])
    y = X[:, 0] * X[:, 1] + X[:, 2] / 5.0
    for n_columns, figure in ((1, -0.198666296193387), (2, 0.723256460127814)):
        found = score(FociPower(scale=False), X[:, :n_columns], y)
        assert found == pytest.approx(figure, abs=1e-12)
    assert score(FociPower(scale=False), X, y) == pytest.approx(0.706585162545152, abs=1e-12)
    # R's scale() first; not in xicorpy.
    assert score(FociPower(), X, y) == pytest.approx(0.723256460127814, abs=1e-12)


# What three editions of the vignette "codec" of the authors' R package FOCI print for columns 1, 2,
# 3, the first two and all three, drawn anew for each.
PUBLISHED = [
    (-0.00225687, 0.01326747, 0.00130965, -0.00191775, 0.8649652),
    (0.01437267, -0.01015683, 0.00413001, 0.00666201, 0.8649315),
    (0.00032847, -0.01867527, -0.01617087, -0.00863463, 0.8753648),
]


def test_foci_agrees_with_the_authors_examples_of_a_sum_modulo_one():
    subsets = [[0], [1], [2], [0, 1], [0, 1, 2]]
    found = []
    for seed in range(5):
        x = np.random.default_rng(seed).random((10_000, 3))
        y = x.sum(axis=1) % 1.0
        found.append([score(FociPower(scale=False), x[:, subset], y) for subset in subsets])
    # Standard deviations over 40 draws, rounded up; the means were -0.004 to 0.002 and 0.869.
    spread = np.array([0.011, 0.011, 0.011, 0.010, 0.0055])
    difference = np.abs(np.mean(found, axis=0) - np.array(PUBLISHED))
    assert np.all(difference < 3.0 * spread * math.sqrt(1.0 + 1.0 / 5.0))


def test_foci_agrees_with_the_authors_example_of_distance_and_angle():
    x = np.random.default_rng(0).normal(size=(1000, 2))
    found = score(FociPower(scale=False), np.arctan(x[:, :1] / x[:, 1:]), (x**2).sum(axis=1))
    # Independent: the standard deviation over 40 draws was 0.034. The vignette prints -0.06764107.
    assert abs(found) < 3.0 * 0.034
    assert abs(found + 0.06764107) < 3.0 * 0.034 * math.sqrt(2.0)


def test_foci_of_boolean_columns_is_that_of_their_cells():
    # y is the sum of two fair coins and a uniform. T = 1 - (variance of [y > t] given the coins) /
    # (its whole variance, 1/6), both in the mean over t drawn as y. For t in the range of a sum of
    # chance p only the rows of that sum vary: p/6 in the mean. T = 1 - (1/16 + 1/4 + 1/16) = 5/8.
    rng = np.random.default_rng(0)
    coins = rng.integers(0, 2, size=(10_000, 2)) * 1.0
    y = coins.sum(axis=1) + rng.random(10_000)
    # The standard deviation over 40 draws was 0.005, their mean 0.624.
    assert score(FociPower(), coins, y) == pytest.approx(0.625, abs=0.02)


def test_foci_of_pure_neighbourhoods_is_one():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=90)
    X = 10.0 * np.column_stack([labels == 1, labels == 2]) + rng.random((90, 2))
    # s = p for every class: p (p - p²) above is p² (1 - p) below.
    assert score(FociPower(), X, labels, task="classification") == pytest.approx(1.0, abs=1e-12)


# Mutual information


@TASKS
@pytest.mark.parametrize("n_columns", [1, 3, MANY])
@pytest.mark.parametrize("n_levels", [None, 3])
@pytest.mark.parametrize("k", [1, 3])
def test_knn_is_the_formula_of_the_papers(n_columns, n_levels, k, task):
    X, y = table(n_columns, n_levels=n_levels)
    if n_columns == 3 and n_levels is not None:
        X[:, 2] += np.random.default_rng(2).random(len(X)) * (X[:, 0] > 0)  # Ties in some rows.
    y = response_for(task, y)
    has_classes = task == "classification"
    response = y.tolist() if has_classes else [row[0] for row in scaled(y[:, None].tolist())]
    expected = mutual_information(scaled(X.tolist()), response, k, has_classes=has_classes)
    assert score(KnnPower(k), X, y, task=task) == pytest.approx(expected, abs=1e-12)


@TASKS
def test_knn_of_one_column_is_that_of_scikit_learn(task):
    X, y = table(1, n_rows=300)
    y = response_for(task, y)
    reference = mutual_info_classif if task == "classification" else mutual_info_regression
    # scikit-learn adds noise of 1e-10 against ties, so distances that differ by less may swap.
    expected = reference(X, y, n_neighbors=3, random_state=0)[0]
    assert score(KnnPower(), X, y, task=task) == pytest.approx(expected, abs=1e-9)


def mean_score(draw, n_draws=10):
    return np.mean([score(KnnPower(), *draw(np.random.default_rng(s))) for s in range(n_draws)])


# Standard deviations of one score over 40 draws: 0.017, 0.026, 0.034. Four of the mean of ten.
@pytest.mark.parametrize(("rho", "slack"), [(0.0, 0.022), (0.6, 0.033), (0.9, 0.043)])
def test_knn_tells_the_information_of_a_normal_pair(rho, slack):
    def draw(rng):
        z = rng.normal(size=(1000, 2))
        return z[:, :1], rho * z[:, 0] + math.sqrt(1.0 - rho**2) * z[:, 1]

    assert mean_score(draw) == pytest.approx(-0.5 * math.log(1.0 - rho**2), abs=slack)


def test_knn_tells_the_information_of_two_normal_columns():
    def draw(rng):
        z = rng.normal(size=(1000, 3))
        return z[:, :2], z.sum(axis=1)

    # R² = 2/3. The standard deviation over 40 draws was 0.031.
    assert mean_score(draw) == pytest.approx(0.5 * math.log(3.0), abs=4.0 * 0.031 / math.sqrt(10))


def test_knn_tells_the_information_of_a_normal_column_about_two_classes():
    rng, scores = np.random.default_rng(0), []
    for _ in range(10):
        labels = rng.integers(0, 2, size=1000)
        X = rng.normal(size=(1000, 1)) + 2.0 * labels[:, np.newaxis]
        scores.append(score(KnnPower(), X, labels, task="classification"))
    # By numerical integration: two unit normals two apart. Standard deviation over 40 draws 0.018.
    assert np.mean(scores) == pytest.approx(0.336831, abs=4.0 * 0.018 / math.sqrt(10))


@TASKS
def test_knn_tells_the_information_of_whole_numbers(task):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, size=2000)
    y = (x + rng.integers(0, 2, size=2000)) % 4
    # Two of four answers are left: log 4 - log 2. Standard deviations over 40 draws with 1000 rows
    # were 0.0012, and 0.0025 of none.
    found = score(KnnPower(), x[:, np.newaxis] * 1.0, y, task=task)
    assert found == pytest.approx(math.log(2.0), abs=0.005)
    unrelated = rng.integers(0, 4, size=2000)
    assert abs(score(KnnPower(), x[:, np.newaxis] * 1.0, unrelated, task=task)) < 0.01


@TASKS
def test_knn_finds_that_two_coins_tell_only_together_whether_they_agree(task):
    coins = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (250, 1))
    agree = (coins[:, 0] == coins[:, 1]).astype(int)
    # By hand: ψ(1000) + ψ(250) - ψ(250) - ψ(500), and with one coin ψ(500) for ψ(250) once more.
    # ψ(m) is log(m) - 1 / (2 m) - 1 / (12 m²), to 1e-11 here.
    together = math.log(2.0) + 0.5 / 1000 + 0.25e-6
    assert score(KnnPower(), coins, agree, task=task) == pytest.approx(together, abs=1e-9)
    alone = score(KnnPower(), coins[:, :1], agree, task=task)
    assert alone == pytest.approx(-0.5 / 1000 - 0.75e-6, abs=1e-9)


def test_knn_leaves_out_rows_alone_in_their_class():
    X, y = table(2)
    labels = response_for("classification", y)
    columns = read_columns(np.vstack([X, [[9.0, 9.0]]]))
    target = Target("classification", np.append(labels + 1.0, 9.0))
    with_lonely = KnnPower().score(columns, target, np.random.SeedSequence(0))
    # Units change with the row, distances to it do not matter: standardise as it does.
    spread = columns.values.std(axis=0)
    expected = mutual_information((X / spread).tolist(), labels.tolist(), 3, has_classes=True)
    assert with_lonely == pytest.approx(expected, abs=1e-12)
    only_lonely = Target("classification", np.arange(41.0))
    assert KnnPower().score(columns, only_lonely, np.random.SeedSequence(0)) == 0.0


# Both


@BOTH
@TASKS
def test_no_column_and_constant_ones_score_zero(power, task):
    X, y = table(2)
    y = response_for(task, y)
    columns, target = read_columns(X), read_target(y, task=task)
    seed = np.random.SeedSequence(0)
    assert power.score(columns.select([]), target, seed) == 0.0
    assert power.score(columns.with_changed(np.ones((40, 2))), target, seed) == 0.0
    constant = Target(task, np.zeros(40), classes=("a",) if task == "classification" else ())
    assert power.score(columns, constant, seed) == 0.0


@BOTH
@TASKS
def test_copies_and_constants_change_nothing(power, task):
    X, y = table(3)
    y = response_for(task, y)
    padded = np.column_stack([X, X[:, 0], np.ones(40), X])
    assert score(power, padded, y, task=task) == score(power, X, y, task=task)


@BOTH
@TASKS
@pytest.mark.parametrize("n_levels", [None, 5])
def test_units_change_nothing(power, task, n_levels):
    X, y = table(3, n_levels=n_levels)
    y = response_for(task, y)
    other = X * [1e-200, 1.0, 1e150] + [0.0, 1e3, 0.0]
    response = y if task == "classification" else 7.3 * y + 11.0
    expected = score(power, X, y, task=task)
    assert score(power, other, response, task=task) == pytest.approx(expected, abs=1e-12)


@BOTH
def test_a_category_counts_as_its_indicators(power):
    rng = np.random.default_rng(0)
    soil = rng.choice(["clay", "sand", "silt"], size=200)
    rain = rng.normal(size=200)
    y = rain + (soil == "silt")
    by_level = {level: (soil == level) * 1.0 for level in np.unique(soil)}
    with_category = pd.DataFrame({"soil": soil, "rain": rain})
    with_indicators = pd.DataFrame({**by_level, "rain": rain})
    assert score(power, with_category, y) == score(power, with_indicators, y)
    assert score(power, with_category, y) > score(power, with_category[["rain"]], y)


@BOTH
@TASKS
def test_inputs_stay_as_they_are_and_the_seed_decides(power, task):
    X, y = table(2, n_levels=3)
    columns, target = read_columns(X), read_target(response_for(task, y), task=task)
    before = columns.values.copy(), target.values.copy()
    first, again = (power.score(columns, target, np.random.SeedSequence(5)) for _ in range(2))
    assert first == again
    np.testing.assert_array_equal(columns.values, before[0])
    np.testing.assert_array_equal(target.values, before[1])


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="n_neighbours=0 is not valid"):
        KnnPower(0)
    with pytest.raises(InputError, match="scale='yes' is not valid"):
        FociPower(scale="yes")
