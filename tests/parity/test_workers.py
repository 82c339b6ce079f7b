"""One worker or several, in any order: the same numbers to the bit, on the right feature."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.importance import METHODS as REGISTERED

METHODS = {name: {} for name in REGISTERED} | {
    "ultra_marginal": {"repeats": 2, "subsample": 0.8},
    "ablation": {"repeats": 2},
    "bivariate": {},
    "marginal_contribution": {"max_context": 1},
    "permutation": {"repeats": 2},
    "conditional_permutation": {},
    "decompose": {"repeats": 2},
}
POWER = umfi.ForestPower(n_trees=25)


@pytest.fixture(scope="module")
def table():
    X, y = umfi.datasets.simulate("correlation", n=120, random_state=1)
    return X.assign(flag=X["x2"] > 0), y


@pytest.mark.parametrize("method", METHODS)
def test_results_are_equal_to_the_bit_for_any_number_of_workers(method, table):
    run = getattr(umfi, method)
    results = [
        run(
            *table, power=POWER, random_state=5, n_jobs=n_jobs, executor=executor, **METHODS[method]
        )
        for n_jobs, executor in [(1, None), (2, None), (5, "threads"), (None, None), (2, "serial")]
    ]
    for other in results[1:]:
        pd.testing.assert_frame_equal(results[0].scores, other.scores, check_exact=True)
        assert results[0].settings == other.settings


@pytest.mark.parametrize("method", METHODS)
def test_classification_too(method, table):
    X, y = table
    labels = np.where(y > y.median(), "high", "low")
    run = getattr(umfi, method)
    first, second = (
        run(X, labels, power=POWER, random_state=5, n_jobs=n_jobs, **METHODS[method])
        for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(first.scores, second.scores, check_exact=True)


@pytest.mark.parametrize("method", METHODS)
def test_settings_reproduce_the_result(method, table):
    run = getattr(umfi, method)
    first = run(*table, power="forest", **METHODS[method])  # no seed: one is drawn
    names = ("power", "kinds", "repeats", "subsample", "random_state", "task")
    again = run(*table, **{**METHODS[method], **{name: first.settings[name] for name in names}})
    pd.testing.assert_frame_equal(first.scores, again.scores, check_exact=True)


def test_one_forest_is_the_same_for_any_number_of_workers(table):
    scores = {
        umfi.predictive_power(
            *table, power=umfi.ForestPower(n_trees=35), random_state=1, n_jobs=n_jobs
        )
        for n_jobs in (1, 2, 7, None)
    }
    assert len(scores) == 1


def test_seeds_mean_what_users_expect(table):
    def run(random_state):
        return umfi.bivariate(*table, power=POWER, random_state=random_state).scores

    assert run(3).equals(run(3))
    assert run(np.random.SeedSequence(3)).equals(run(np.random.SeedSequence(3)))
    assert not run(3).equals(run(4))
    assert not run(None).equals(run(None))
    generator = np.random.default_rng(0)
    first, second = run(generator), run(generator)
    assert not first.equals(second)
    assert run(np.random.default_rng(0)).equals(first)
    assert run(np.random.RandomState(0)).equals(run(np.random.RandomState(0)))


def test_repeats_extend_a_run_without_changing_what_was_there(table):
    two = umfi.ultra_marginal(*table, power=POWER, random_state=5, repeats=2, subsample=100)
    three = umfi.ultra_marginal(*table, power=POWER, random_state=5, repeats=3, subsample=100)
    shared = three.scores[three.scores["repeat"] < 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(two.scores, shared, check_exact=True)
    assert three.scores.groupby("repeat")["importance"].sum().nunique() == 3
