"""Joint removal: what columns carry together, and when it stops."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.data.frames import read_columns
from umfi.errors import InputError
from umfi.removal import find_leakage, grid, rounds


@pytest.fixture
def twisted():
    """Two columns that are each independent of x, and correlated where x is large."""
    rng = np.random.default_rng(0)
    x, first, second = rng.normal(size=(3, 800))
    second = np.where(x > 0.0, first + 0.3 * second, -first + 0.3 * second)
    return pd.DataFrame({"x": x, "first": first, "second": second, "apart": rng.normal(size=800)})


def leakage(S, X, feature="x"):
    context = read_columns(S)
    own = read_columns(X[[feature]])
    return find_leakage(context, own, np.random.SeedSequence(3), n_trees=200)


def test_what_columns_carry_together_escapes_pairwise_transport_alone(twisted):
    left = {
        remover: leakage(
            umfi.remove_dependence(twisted, "x", remover=remover, random_state=0), twisted
        )
        for remover in ("linear", "transport", "joint", "chained")
    }
    assert left["linear"] > 0.3
    assert left["transport"] > 0.3
    assert left["joint"] < 0.03
    assert left["chained"] < 0.03


@pytest.mark.parametrize("remover", ["joint", "chained"])
def test_rounds_stop_as_soon_as_leakage_is_tolerated(monkeypatch, twisted, remover):
    leakages = iter([0.5, 0.2, 0.04, 0.0])
    monkeypatch.setattr(rounds, "find_leakage", lambda *_, **__: next(leakages))
    remover = {"joint": umfi.JointRemover, "chained": umfi.ChainedRemover}[remover]
    umfi.remove_dependence(twisted, "x", remover=remover(tolerance=0.05), random_state=0)
    assert list(leakages) == [0.0]


def test_no_more_rounds_than_allowed(monkeypatch, twisted):
    asked = []
    monkeypatch.setattr(rounds, "find_leakage", lambda *_, **__: asked.append(1) or 1.0)
    for max_rounds in (1, 2, 5):
        asked.clear()
        remover = umfi.JointRemover(max_rounds=max_rounds)
        umfi.remove_dependence(twisted, "x", remover=remover, random_state=0)
        assert len(asked) == max_rounds


def test_gentle_rounds_are_enough_for_independent_columns(monkeypatch):
    """Then S is nearly what the columns were: ranks of the same order."""
    X = pd.DataFrame(np.random.default_rng(4).normal(size=(500, 3)), columns=["x", "a", "b"])
    S = umfi.remove_dependence(X, "x", remover="joint", random_state=0)
    assert S["a"].corr(X["a"], method="spearman") > 0.97


@pytest.mark.parametrize("remover", ["joint", "chained"])
def test_a_column_in_other_units_leaves_nothing(remover):
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    X = pd.DataFrame({"x": x, "log": np.exp(-3.0 * x), "apart": rng.normal(size=300)})
    S = umfi.remove_dependence(X, "x", remover=remover, random_state=0)
    assert (S["log"] == 0.0).all()
    assert S["apart"].std() > 0.5


@pytest.mark.parametrize("remover", ["joint", "chained"])
def test_nothing_but_other_units_leaves_constants(remover):
    x = np.random.default_rng(12).normal(size=60)
    X = pd.DataFrame({"x": x, "cube": x**3, "minus": -x})
    S = umfi.remove_dependence(X, "x", remover=remover, random_state=0)
    assert S.shape == (60, 2)
    result = umfi.ultra_marginal(X, x + 1.0, remover=remover, random_state=0)
    assert result.importances.min() > 0.5


@pytest.mark.parametrize("remover", ["joint", "chained"])
def test_collinear_constant_and_many_columns_are_no_trouble(remover):
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.normal(size=(120, 130)), columns=[f"c{n}" for n in range(130)])
    X["sum"] = X["c1"] + X["c2"] + X["c3"]
    X["constant"] = 1.0
    chosen = {"joint": umfi.JointRemover, "chained": umfi.ChainedRemover}[remover]
    eager = chosen(tolerance=-0.99, max_rounds=5)  # Never satisfied.
    S = umfi.remove_dependence(X, "c1", remover=eager, random_state=0)
    assert np.isfinite(S.to_numpy()).all()
    assert S["constant"].std() == 0.0


@pytest.mark.parametrize("remover", ["linear", "transport", "joint", "chained"])
def test_a_one_hot_block_is_removed_like_the_categories_it_stands_for(remover):
    rng = np.random.default_rng(7)
    soil = rng.choice(["clay", "sand", "silt"], 600, p=[0.5, 0.3, 0.2])
    moisture = pd.Series(soil).map({"clay": 1.5, "sand": -1.0, "silt": 0.0}) + rng.normal(size=600)
    X = pd.get_dummies(pd.Series(soil)).assign(moisture=moisture, apart=rng.normal(size=600))
    S = umfi.remove_dependence(X, ["clay", "sand", "silt"], remover=remover, random_state=0)
    own = read_columns(pd.DataFrame({"soil": soil}))
    seed = np.random.SeedSequence(0)
    assert find_leakage(read_columns(X[["moisture", "apart"]]), own, seed) > 0.2
    assert find_leakage(read_columns(S), own, seed, n_trees=200) < 0.02


@pytest.mark.parametrize("remover", ["linear", "transport", "joint", "chained"])
def test_groups_are_protected_jointly_by_every_remover(remover):
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 600))
    follower = a + b + 0.5 * rng.normal(size=600)
    X = pd.DataFrame({"a": a, "b": b, "follower": follower, "apart": rng.normal(size=600)})
    S = umfi.remove_dependence(X, ["a", "b"], remover=remover, random_state=0)
    assert max(leakage(S, X, "a"), leakage(S, X, "b")) < 0.03
    result = umfi.ultra_marginal(
        X, follower, remover=remover, groups={"both": ["a", "b"]}, random_state=0
    )
    assert result.importances["both"] > 0.5


@pytest.mark.parametrize("remover", ["joint", "chained"])
def test_the_paper_protocol_has_no_joint_removal(remover):
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    with pytest.raises(InputError, match="linear and transport removal only"):
        umfi.remove_dependence(X, "x1", remover=remover, protocol="paper")
    with pytest.raises(InputError, match="linear and transport removal only"):
        umfi.ultra_marginal(X, y, remover=remover, protocol="paper")


@pytest.mark.parametrize("tolerance", ["much", 1.0, -1.0, True, None])
def test_a_tolerance_is_an_r_squared(tolerance):
    for remover in (umfi.JointRemover, umfi.ChainedRemover):
        with pytest.raises(InputError, match="is not valid: pass an R²"):
            remover(tolerance=tolerance)


def test_a_number_of_rounds_is_a_count():
    with pytest.raises(InputError, match="max_rounds=0"):
        umfi.JointRemover(max_rounds=0)


def test_short_tables_of_levels_are_not_left_as_they_are():
    """A table that fills one bin: levels follow the protected column inside it."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=150)
    X = pd.DataFrame({"x": x, "rounded": np.round(x + 0.5 * rng.normal(size=150)), "gap": x})
    X["gap"] += 0.5 * rng.normal(size=150)
    X.loc[3, "gap"] = np.nan
    S = umfi.remove_dependence(X, "x", missing="level", random_state=0)
    # Left as they are they would have 0.88; chances are linear in x only nearly.
    assert abs(S["rounded"].corr(X["x"])) < 0.35
    assert abs(S["gap"].corr(X["x"])) < 0.35


@pytest.mark.parametrize("remover", ["linear", "transport", "joint", "chained"])
def test_rare_levels_are_removed_with_those_like_them(remover):
    rng = np.random.default_rng(10)
    site = rng.integers(0, 200, 1000)
    height = rng.normal(size=200)[site]
    X = pd.DataFrame({"site": site.astype(str), "height": height + 0.05 * rng.normal(size=1000)})
    X["apart"] = rng.normal(size=1000)
    S = umfi.remove_dependence(X, "site", remover=remover, random_state=0)
    assert S["height"].corr(pd.Series(height)) ** 2 < 0.05
    note = umfi.bivariate(X, height, power=umfi.ForestPower(n_trees=2)).settings["notes"][0]
    assert "Levels of fewer than 10 rows in 'site'" in note


@pytest.mark.parametrize("remover", ["joint", "chained"])
def test_long_tables_are_fitted_from_some_of_their_rows(monkeypatch, remover):
    monkeypatch.setattr(grid, "MAX_FITTED_ROWS", 500)
    monkeypatch.setattr(grid, "MAX_FITTED_OF_BIN", 100)
    rng = np.random.default_rng(11)
    x = np.where(rng.random(4000) < 0.4, 0.0, rng.normal(size=4000))
    X = pd.DataFrame({"x": x, "a": x + rng.normal(size=4000), "b": x**2 + rng.normal(size=4000)})
    X.loc[:4, "x"] = np.nan
    S = umfi.remove_dependence(X, "x", remover=remover, missing="level", random_state=0)
    assert S.abs().max().max() < 6.0
    own = read_columns(X[["x"]], missing="level")
    assert find_leakage(read_columns(S), own, np.random.SeedSequence(0)) < 0.02


def test_a_subsample_without_gaps_has_none():
    X = pd.DataFrame({"x": [np.nan, *np.zeros(100), *np.arange(1.0, 100.0)]})
    columns = read_columns(X, missing="level")
    assert columns.is_missing(0).sum() == 1
    assert not columns.take_rows(np.arange(1, 200)).is_missing(0).any()


def test_codes_of_categories_are_no_copies_of_numbers():
    X = pd.DataFrame({"code": np.tile([0.0, 1.0, 2.0], 20), "text": np.tile(list("abc"), 20)})
    assert read_columns(X).first_copies().tolist() == [0, 1]
