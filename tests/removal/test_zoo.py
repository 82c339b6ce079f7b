"""Every kind of column as protected and as transformed: what depended on it no longer does."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.data.frames import read_columns
from umfi.removal import find_leakage

N_ROWS = 1000
# R² of columns that are independent of each other varies by 0.01 at this size (measured); beyond
# four of these is no chance.
MAX_LEAKAGE = 0.04


def by_quantiles(latent, n_levels):
    return np.digitize(latent, np.quantile(latent, np.arange(1, n_levels) / n_levels))


def make_labels(latent, n_levels):
    """Return names of levels in an order that has nothing to do with them."""
    names = np.random.default_rng(n_levels).permutation([f"level {n}" for n in range(n_levels)])
    return names[by_quantiles(latent, n_levels)]


KINDS = {
    "continuous": lambda latent: latent,
    "skewed": lambda latent: np.exp(2.0 * latent),
    "ties": lambda latent: np.round(latent),
    "zero-inflated": lambda latent: np.maximum(latent, 0.3),
    "boolean": lambda latent: latent > 0.5,
    "ordinal": lambda latent: pd.Categorical.from_codes(
        by_quantiles(latent, 5), list("abcde"), ordered=True
    ),
    "few levels": lambda latent: make_labels(latent, 4),
    "fifty levels": lambda latent: make_labels(latent, 50),
    "missing": lambda latent: np.where(latent > 0.8, np.nan, latent),
}
PAIRS = [
    pytest.param(protected, other, id=f"{protected} in {other}")
    for protected in KINDS
    for other in KINDS
]


def make_pair(protected, other, seed=0):
    rng = np.random.default_rng(seed)
    latent, noise, more_noise, apart = rng.normal(size=(4, N_ROWS))
    return pd.DataFrame(
        {
            "protected": KINDS[protected](latent),
            "other": KINDS[other](0.85 * latent + 0.53 * noise),
            "sum": 0.7 * latent + more_noise,
            "apart": apart,
        }
    )


def leakage(S, X):
    """Return how well S predicts the protected column."""
    protected = read_columns(X[["protected"]], missing="level")
    context = read_columns(S, missing="level")
    return find_leakage(context, protected, np.random.SeedSequence(1), n_trees=200)


@pytest.mark.parametrize("remover", ["transport", "joint"])
@pytest.mark.parametrize(("protected", "other"), PAIRS)
def test_nothing_of_any_kind_is_left_in_any_other(protected, other, remover):
    X = make_pair(protected, other)
    S = umfi.remove_dependence(X, "protected", remover=remover, missing="level", random_state=0)
    if protected == "fifty levels":  # A forest separates levels of twenty rows only by their order.
        names = np.random.default_rng(50).permutation([f"level {n}" for n in range(50)])
        X = X.assign(protected=np.argsort(names)[np.searchsorted(np.sort(names), X["protected"])])
    assert leakage(X.drop(columns="protected"), X) > 0.05
    assert leakage(S, X) < MAX_LEAKAGE


@pytest.mark.parametrize("remover", ["linear", "chained"])
@pytest.mark.parametrize("protected", ["boolean", "few levels", "zero-inflated", "missing"])
def test_other_removers_leave_nothing_of_other_kinds_either(protected, remover):
    X = make_pair(protected, "few levels")
    S = umfi.remove_dependence(X, "protected", remover=remover, missing="level", random_state=0)
    assert leakage(S, X) < MAX_LEAKAGE


@pytest.mark.parametrize("other", ["skewed", "boolean", "ordinal", "few levels", "fifty levels"])
@pytest.mark.parametrize("remover", ["transport", "joint", "chained"])
def test_what_is_not_about_the_protected_column_is_retained(other, remover):
    """The response is what the other column carries beside the protected one, of any kind."""
    rng = np.random.default_rng(2)
    latent, noise = rng.normal(size=(2, N_ROWS))
    own = 0.6 * latent + 0.8 * noise
    X = pd.DataFrame({"protected": latent, "other": KINDS[other](own)})
    y = own - 0.6 * latent
    S = umfi.remove_dependence(X, "protected", remover=remover, random_state=0)
    before = umfi.predictive_power(X, y, random_state=0)
    after = umfi.predictive_power(S.assign(protected=X["protected"]), y, random_state=0)
    # A boolean's rank is drawn from half of all ranks, which leaves the least of it.
    assert after > (0.65 if other == "boolean" else 0.8) * before


@pytest.mark.parametrize("remover", ["linear", "transport", "joint", "chained"])
@pytest.mark.parametrize("feature", ["protected", "sum"])
def test_names_of_levels_do_not_matter(remover, feature):
    X = make_pair("few levels", "fifty levels")
    renamed = X.assign(
        protected=X["protected"].map(lambda name: name[::-1]),
        other=pd.Categorical(X["other"].map(lambda name: f"{hash(name) % 10**9} {name}")),
    )
    first, second = (
        umfi.remove_dependence(table, feature, remover=remover, random_state=0)
        for table in (X, renamed)
    )
    for name in first:
        if first[name].dtype == object:  # Levels of independent columns keep their names.
            of_level = dict(zip(X[name], renamed[name], strict=True))
            first[name] = first[name].map(of_level)
        assert first[name].tolist() == second[name].tolist()


def test_importances_do_not_depend_on_names_of_levels_either():
    X = make_pair("few levels", "fifty levels")
    y = X["sum"] + (X["protected"] == "level 2") + X["other"].str.len()
    renamed = X.assign(**{name: X[name].map(lambda level: level[::-1]) for name in X.columns[:2]})
    first, second = (
        umfi.ultra_marginal(table, y, remover="joint", random_state=0).scores
        for table in (X, renamed)
    )
    pd.testing.assert_frame_equal(first, second, check_exact=True)
