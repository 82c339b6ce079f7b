"""A sequential test is decided by what its batches gave, however they came."""

import numpy as np
import pytest

from umfi.importance.features import Feature
from umfi.inference.sequential import MAX_COPIES, MAX_REFITS, MIN_COPIES, Plan, Trial

FEATURE = Feature("x", (0,), is_constant=False, n_directions=1)
NULLS = np.random.default_rng(0).normal(size=400)


def make_trial(**settings):
    plan = Plan(199, 0.05, **{"is_sequential": True, **settings})
    return Trial(plan, 1000, FEATURE, 0)


def make_batch(number, n_copies, own):
    scores = NULLS[number * MAX_COPIES :][:n_copies].tolist()
    return {"scores": [own, *scores] if number == 0 else scores}


def answer(trial, own, n_ahead=1):
    """Give a trial what it wants until it wants no more; return the numbers of its batches."""
    answers, numbers = {}, []
    while wanted := trial.next_batches(n_ahead):
        for name in wanted:
            numbers.append(name[1])
            answers[name] = make_batch(*name[1:], own)
        trial.advance(answers)
    return numbers


@pytest.mark.parametrize("own", [40.0, 0.0], ids=["clear relation", "like its copies"])
def test_what_is_clear_is_decided_by_one_batch(own):
    trial = make_trial()
    assert answer(trial, own) == [0]
    assert trial.outcome.is_tail == (own > 1.0)
    assert trial.outcome.n_permutations <= MAX_COPIES


def test_what_is_unclear_gets_all_its_copies():
    trial = make_trial()
    assert answer(trial, own=2.2) == list(range(len(trial.sizes)))
    assert trial.outcome.n_permutations == sum(trial.sizes) == 199


def test_what_cannot_be_called_related_gets_as_many_copies_as_show_leakage():
    plan = Plan(199, 0.05, is_sequential=True)
    trial = Trial(plan, 1000, FEATURE, 0, is_decided=True)
    assert answer(trial, own=40.0) == [0]
    assert trial.sizes == [MIN_COPIES]
    full = Trial(Plan(199, 0.05, is_sequential=False), 1000, FEATURE, 0, is_decided=True)
    assert sum(full.sizes) == 199


def test_a_full_test_never_stops_early():
    trial = make_trial(is_sequential=False)
    assert answer(trial, own=40.0) == list(range(len(trial.sizes)))


def test_batches_ahead_change_no_conclusion():
    trial, ahead = make_trial(), make_trial()
    answer(trial, own=2.2)
    answer(ahead, own=2.2, n_ahead=4)
    assert ahead.outcome == trial.outcome


@pytest.mark.parametrize(
    ("protocol", "part", "most"),
    [
        ("one-fit", "importance", MAX_COPIES),
        ("one-fit", "alone", MAX_COPIES),
        ("one-fit", "irreplaceable", MAX_REFITS),
        ("matched", "importance", MAX_REFITS),
    ],
)
def test_one_fit_has_more_copies_than_refitting(protocol, part, most):
    settings = {"test": "permutation", "max_permutations": 199, "alpha": 0.05, "n_features": 4}
    plan = Plan.from_settings(settings | {"protocol": protocol}, part)
    assert max(Trial(plan, 1000, FEATURE, 0).sizes) == most
