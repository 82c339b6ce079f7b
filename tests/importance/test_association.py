"""Shares that features explain of each other, against SciPy's."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from umfi.data.frames import read_columns
from umfi.importance.pairs import associate

RNG = np.random.default_rng(0)
N_ROWS = 200
LATENT = RNG.normal(size=N_ROWS)
FRAME = pd.DataFrame(
    {
        "number": LATENT,
        "steps": np.round(2 * (LATENT + RNG.normal(size=N_ROWS))),
        "soil": np.array(list("abcd"))[np.digitize(LATENT + RNG.normal(size=N_ROWS), [-1, 0, 1])],
        "rock": np.array(list("xyz"))[np.digitize(LATENT - RNG.normal(size=N_ROWS), [-0.5, 0.5])],
    }
)
NAMES = list(FRAME)


def less_chance(fraction, size):
    chance = size / (N_ROWS - 1)
    return (fraction - chance) / (1 - chance)


@pytest.fixture(scope="module")
def shares():
    return pd.DataFrame(associate(read_columns(FRAME)), NAMES, NAMES)


def test_two_numbers_have_their_squared_rank_correlation(shares):
    rho = stats.spearmanr(FRAME["number"], FRAME["steps"]).statistic
    assert shares.loc["number", "steps"] == pytest.approx(less_chance(rho**2, 1), abs=1e-12)


def test_two_categories_have_the_squared_v_of_cramer(shares):
    counts = pd.crosstab(FRAME["soil"], FRAME["rock"]).to_numpy()
    v = stats.contingency.association(counts, method="cramer")
    assert shares.loc["soil", "rock"] == pytest.approx(less_chance(v**2, 3), abs=1e-12)


def test_a_number_and_categories_have_the_variance_of_ranks_between_them(shares):
    ranks = stats.rankdata(FRAME["number"])
    means = pd.Series(ranks).groupby(FRAME["soil"]).transform("mean")
    eta_squared = np.var(means) / np.var(ranks)
    assert shares.loc["soil", "number"] == pytest.approx(less_chance(eta_squared, 3), abs=1e-12)


def test_shares_are_symmetric_and_between_nothing_and_all(shares):
    assert np.array_equal(shares, shares.T)
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    assert (np.diag(shares) == 1).all()


def test_constants_tell_nothing_and_copies_everything():
    table = np.column_stack([LATENT, np.ones(N_ROWS), np.exp(LATENT)])
    shares = associate(read_columns(table))
    assert shares[0, 2] == pytest.approx(1.0)
    assert shares[0, 1] == shares[1, 2] == 0.0
