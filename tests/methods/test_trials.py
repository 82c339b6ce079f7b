"""The first look of a test decides what is clear, and the rest is tested anew."""

import numpy as np
import pytest

import umfi
from umfi.methods.features import Feature
from umfi.methods.trials import FIRST_LOOK, MAX_COPIES, Plan, Trial

FEATURE = Feature("x", (0,), is_constant=False, n_directions=1)
NULLS = np.random.default_rng(0).normal(size=400)


def make_trial(max_permutations=199, *, n_rows=1000, **settings):
    plan = Plan(max_permutations, 0.05, **{"is_sequential": True, "is_screened": True, **settings})
    return Trial(plan, n_rows, FEATURE, 0)


def answer(trial, own):
    """Give a trial what it wants until it wants no more; return the numbers of its batches."""
    answers, numbers = {}, []
    while trial.next_batch is not None:
        _, number, n_copies = trial.next_batch
        numbers.append(number)
        start = (number - FIRST_LOOK) * MAX_COPIES
        scores = NULLS[start : start + n_copies].tolist()
        is_first = number in (0, FIRST_LOOK)
        answers[trial.next_batch] = [own, *scores] if is_first else scores
        trial.advance(answers)
    return numbers


def test_a_clear_relation_is_decided_by_the_first_look():
    trial = make_trial()
    assert answer(trial, own=40.0) == [FIRST_LOOK, FIRST_LOOK + 1]
    assert trial.outcome.is_tail
    assert trial.outcome.n_permutations == 2 * MAX_COPIES


def test_a_feature_like_its_copies_is_decided_by_the_first_look():
    trial = make_trial()
    assert max(answer(trial, own=0.0)) < 0
    assert trial.outcome.p_value > 0.2


def test_what_is_unclear_is_tested_anew_with_all_its_copies():
    trial = make_trial()
    numbers = answer(trial, own=2.2)
    assert numbers == [FIRST_LOOK, FIRST_LOOK + 1, *range(len(trial.sizes) - 2)]
    own_copies = trial.outcome.n_permutations
    assert own_copies == sum(trial.sizes[2:]) == 199


@pytest.mark.parametrize(
    "settings",
    [
        {"is_screened": False},
        {"n_rows": 100},
        {"max_permutations": 18},
        {"is_screened": False, "is_sequential": False},
    ],
)
def test_there_is_no_first_look_where_it_could_not_decide(settings):
    trial = make_trial(**settings)
    assert trial.n_screened == 0
    assert sum(trial.sizes) == settings.get("max_permutations", 199)


def test_a_full_test_and_other_powers_have_no_first_look():
    X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    for power in (umfi.ForestPower(n_trees=10), "linear"):
        result = umfi.bivariate(X, y, power=power, test="permutation", random_state=0)
        assert not Plan.from_settings(result.settings).is_screened
    settings = {"max_permutations": 99, "alpha": 0.05, "n_features": 4, "power": "forest"}
    assert Plan.from_settings(settings | {"test": "permutation"}).is_screened
    assert not Plan.from_settings(settings | {"test": "full-permutation"}).is_screened


def test_batches_ahead_stay_within_a_look_and_change_no_conclusion():
    trial, ahead = make_trial(), make_trial()
    assert [number for _, number, _ in ahead.next_batches(9)] == [FIRST_LOOK, FIRST_LOOK + 1]
    answer(trial, own=2.2)
    answers = {}
    while wanted := ahead.next_batches(4):
        for name in wanted:
            start = (name[1] - FIRST_LOOK) * MAX_COPIES
            scores = NULLS[start : start + name[2]].tolist()
            answers[name] = [2.2, *scores] if name[1] in (0, FIRST_LOOK) else scores
        ahead.advance(answers)
    assert ahead.outcome == trial.outcome
