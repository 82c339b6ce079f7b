"""A sequential test is decided by what its batches gave, however they came."""

import numpy as np
import pytest

from umfi.importance.testing import find_design
from umfi.inference.sequential import (
    MAX_COPIES,
    MAX_REFITS,
    MIN_COPIES,
    SequentialDesign,
    SequentialTest,
)

NULLS = np.random.default_rng(0).normal(size=400)


def make_test(*, is_hopeless=False, **settings):
    design = SequentialDesign(199, 0.05, **{"is_sequential": True, **settings})
    return SequentialTest(design, 1000, 1, is_hopeless=is_hopeless)


def make_batch(number, n_copies, own):
    scores = NULLS[number * MAX_COPIES :][:n_copies].tolist()
    return [own, *scores] if number == 0 else scores


def answer(test, own, n_ahead=1):
    """Give a test what it wants until it wants no more; return the numbers of its batches."""
    answers, numbers = {}, []
    while wanted := test.next_batches(n_ahead):
        for batch in wanted:
            numbers.append(batch[0])
            answers[batch] = make_batch(*batch, own)
        while (batches := test.next_batches()) and batches[0] in answers:
            test.add(answers[batches[0]])
    return numbers


@pytest.mark.parametrize("own", [40.0, 0.0], ids=["clear relation", "like its copies"])
def test_what_is_clear_is_decided_by_one_batch(own):
    test = make_test()
    assert answer(test, own) == [0]
    assert test.outcome.is_tail == (own > 1.0)
    assert test.outcome.n_permutations <= MAX_COPIES


def test_what_is_unclear_gets_all_its_copies():
    test = make_test()
    assert answer(test, own=2.2) == list(range(len(test.sizes)))
    assert test.outcome.n_permutations == sum(test.sizes) == 199


def test_what_cannot_be_called_related_gets_as_many_copies_as_show_leakage():
    test = make_test(is_hopeless=True)
    assert answer(test, own=40.0) == [0]
    assert test.sizes == [MIN_COPIES]
    assert sum(make_test(is_hopeless=True, is_sequential=False).sizes) == 199


def test_a_full_test_never_stops_early():
    test = make_test(is_sequential=False)
    assert answer(test, own=40.0) == list(range(len(test.sizes)))


def test_batches_ahead_change_no_conclusion():
    test, ahead = make_test(), make_test()
    answer(test, own=2.2)
    answer(ahead, own=2.2, n_ahead=4)
    assert ahead.outcome == test.outcome


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
    design = find_design(settings | {"protocol": protocol}, part)
    assert max(SequentialTest(design, 1000, 1).sizes) == most
