from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import umfi
from umfi.data.frames import read_columns
from umfi.removal.protected import bin_protected

N_ROWS = 600


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    a = rng.normal(size=N_ROWS)
    return pd.DataFrame(
        {
            "a": a,
            "square": a**2 + 0.3 * rng.normal(size=N_ROWS),
            "cube": a**3 + 0.3 * rng.normal(size=N_ROWS),
            "wide": a * rng.normal(size=N_ROWS),
            "flag": rng.random(N_ROWS) < 1 / (1 + np.exp(-3 * a)),
            "noise": rng.normal(size=N_ROWS),
        }
    )


def naive_transport(X, feature, rows_per_bin):
    """Bin by sorted order, regress, rank: the matched protocol for a column of distinct values."""
    order = np.argsort(X[feature].to_numpy())
    n_bins = max(1, round(len(X) / rows_per_bin))
    expected = pd.DataFrame(index=X.index, columns=X.columns.drop(feature), dtype=float)
    for number in range(n_bins):
        rows = [
            row for place, row in enumerate(order) if int((place + 0.5) * n_bins / len(X)) == number
        ]
        for name in expected:
            fit = stats.linregress(X[feature].iloc[rows], X[name].iloc[rows])
            residual = X[name].iloc[rows] - fit.intercept - fit.slope * X[feature].iloc[rows]
            expected.loc[rows, name] = (stats.rankdata(residual) - 0.5) / len(rows)
    return expected


@pytest.mark.parametrize("rows_per_bin", [30, 150, 1000])
def test_ranks_equal_the_naive_twin(table, rows_per_bin):
    X = table.drop(columns="flag")
    remover = umfi.TransportRemover(rows_per_bin=rows_per_bin)
    S = umfi.remove_dependence(X, "a", remover=remover)
    pd.testing.assert_frame_equal(S, naive_transport(X, "a", rows_per_bin), check_exact=True)


def test_every_bin_has_the_same_distribution(table):
    S = umfi.remove_dependence(table, "a", remover=umfi.TransportRemover(rows_per_bin=60))
    bins = pd.qcut(table["a"], 10, labels=False)
    for name in S:
        for _, ranks in S[name].groupby(bins):
            np.testing.assert_allclose(np.sort(ranks), (np.arange(60) + 0.5) / 60)


def test_dependence_that_linear_removal_leaves_is_removed(table):
    def leakage(remover):
        S = umfi.remove_dependence(table, "a", remover=remover, random_state=0)
        return umfi.predictive_power(S, table["a"], random_state=0)

    assert leakage("linear") > 0.3
    assert leakage(umfi.TransportRemover(rows_per_bin=30)) < 0.1


def test_few_rows_are_transported_too():
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    X = pd.DataFrame({"a": a, "b": a + 0.1 * rng.normal(size=60)})
    S = umfi.remove_dependence(X, "a", remover="transport")
    assert abs(S["b"].corr(X["a"])) < 0.1


def test_every_row_is_transported(table):
    S = umfi.remove_dependence(table, "a", remover="transport")
    assert ((S > 0.0) & (S < 1.0)).all().all()
    assert S["noise"].nunique() == 150


def test_a_boolean_protected_column_has_a_bin_for_each_value():
    rng = np.random.default_rng(0)
    flag = rng.random(300) < 0.1
    X = pd.DataFrame({"flag": flag, "b": np.where(flag, 5.0, 1.0) * rng.normal(size=300)})
    S = umfi.remove_dependence(X, "flag", remover="transport")
    n_true = int(flag.sum())
    # Drawn between neighbours, because mid-ranks would distinguish the smaller bin from the larger.
    steps = (np.sort(S["b"][flag]) * n_true).astype(int)
    assert steps.tolist() == list(range(n_true))


def test_a_boolean_column_keeps_its_order_and_hides_the_bin(table):
    S = umfi.remove_dependence(table, "a", remover=umfi.TransportRemover(60), random_state=0)
    bins = pd.qcut(table["a"], 10, labels=False)
    for _, rows in table.groupby(bins):
        ranks, flags = S.loc[rows.index, "flag"], rows["flag"].astype(bool)
        if flags.any() and not flags.all():
            assert ranks[flags].min() > ranks[~flags].max()
    again = umfi.remove_dependence(table, "a", remover=umfi.TransportRemover(60), random_state=0)
    other = umfi.remove_dependence(table, "a", remover=umfi.TransportRemover(60), random_state=1)
    pd.testing.assert_frame_equal(S, again)
    assert not S["flag"].equals(other["flag"])
    pd.testing.assert_frame_equal(S.drop(columns="flag"), other.drop(columns="flag"))


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_copies_in_any_unit_become_constant(table, unit):
    X = table.assign(copy=unit * table["a"] + unit)
    S = umfi.remove_dependence(X, "a", remover="transport")
    assert (S["copy"] == 0.5).all()


def test_a_constant_protected_column_only_ranks():
    X = pd.DataFrame({"constant": 3.0, "b": np.arange(40.0) ** 3})
    for protocol, first in (("matched", 0.5 / 40), ("paper", 1 / 40)):
        S = umfi.remove_dependence(X, "constant", remover="transport", protocol=protocol)
        np.testing.assert_allclose(S["b"], first + np.arange(40) / 40)


@pytest.mark.parametrize("n_distinct", [1, 2, 5, 50, 600])
def test_bins_keep_equal_values_together_and_are_about_equally_full(n_distinct):
    rng = np.random.default_rng(n_distinct)
    protected = rng.integers(0, n_distinct, N_ROWS).astype(float)
    columns = read_columns(np.column_stack([protected, rng.random(N_ROWS)]))
    (binning,) = bin_protected(columns.select([0]), columns.select([1]), 60)
    bins = binning.bins
    assert sorted(np.concatenate(bins)) == list(range(N_ROWS))
    for first, second in pairwise(bins):
        assert protected[first].max() < protected[second].min()
    largest_tie = np.unique(protected, return_counts=True)[1].max()
    assert max(map(len, bins)) <= 60 + largest_tie


def test_an_object_of_the_users_own_is_a_remover(table):
    class Forget:
        def remove(self, columns, protected, *, protocol, rng):
            return columns.select([])

    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    power = umfi.ForestPower(n_trees=20)
    forgetful = umfi.ultra_marginal(X, y, remover=Forget(), power=power, random_state=0)
    bivariate = umfi.bivariate(X, y, power=power, random_state=0)
    pd.testing.assert_series_equal(forgetful.importances, bivariate.importances)


def naive_sequence(values, blocks, rows_per_bin):
    """Take one protected column after the other, on the scale of the first one's residuals."""
    n_rows = len(values)
    scale = None
    for protected in blocks:
        n_bins = max(1, round(n_rows / rows_per_bin))
        bins = np.array_split(np.argsort(protected, kind="stable"), n_bins)
        ranks, residuals = np.empty(n_rows), np.empty(n_rows)
        for rows in bins:
            slope, level = np.polyfit(protected[rows], values[rows], 1)
            residuals[rows] = values[rows] - level - slope * protected[rows]
            ranks[rows] = (stats.rankdata(residuals[rows]) - 0.5) / len(rows)
        if scale is None:
            scale = np.sort(residuals)
        values = np.interp(ranks, (np.arange(n_rows) + 0.5) / n_rows, scale)
    return ranks


def test_copies_are_taken_one_after_the_other_on_the_scale_of_the_residuals():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    values = 2.0 * x + rng.exponential(size=120)
    columns = read_columns(np.column_stack([x, values]))
    own = columns.select([0])
    permutations = [rng.permutation(120) for _ in range(3)]
    removed = umfi.TransportRemover(rows_per_bin=30).remove(
        columns.select([1]),
        [own, *(own.take_rows(rows) for rows in permutations)],
        protocol="matched",
        rng=rng,
    )
    expected = naive_sequence(values, [x, *(x[rows] for rows in permutations)], 30)
    np.testing.assert_allclose(removed.values[:, 0], expected, atol=1e-12)
