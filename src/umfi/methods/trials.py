"""The test of one feature, batch after batch, from the scores that batches gave.

What a test concludes depends on the scores alone, never on when they came, so that a run that was
broken off concludes the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError, check_count, check_level, unknown_name
from umfi.inference import PermutationTest, is_settled, permutation_test
from umfi.methods.features import Feature

__all__ = ["FIRST_LOOK", "Plan", "Trial", "check_test", "most_copies"]

# By name: whether a feature that is decided gets no more copies.
TESTS = {"permutation": True, "full-permutation": False}
# Every copy costs S what it tells by chance about that copy; fewer have no spread.
MIN_COPIES, MAX_COPIES = 3, 9
ROWS_PER_COPY = 15
# A p-value as good as zero: far below what any correction for the number of features asks for.
SETTLED_P_VALUE = 1e-4
SETTLED_MARGIN = 10.0
# A first look at what is clear: two batches are enough for a fitted tail, and of forests that are
# grown larger for tests, a third of the trees.
N_SCREENED_BATCHES = 2
SCREENED_POWERS = ("forest", "extra-trees")
# The number of its first batch; -1 is that of leakage.
FIRST_LOOK = -1 - N_SCREENED_BATCHES


@dataclass(frozen=True)
class Plan:
    """How features are tested.

    Attributes
    ----------
    max_permutations : int
    alpha : float
    is_sequential : bool
        Whether a feature that is decided gets no more copies.
    n_features : int
        Over how many features p-values will be adjusted.
    is_screened : bool
        Whether a first look with smaller forests decides what is clear.
    """

    max_permutations: int
    alpha: float
    is_sequential: bool
    n_features: int = 1
    is_screened: bool = False

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Plan | None:
        """Return the plan of a run, None if nothing is tested."""
        test = settings.get("test")
        if test is None:
            return None
        return cls(
            settings["max_permutations"],
            settings["alpha"],
            TESTS[test],
            settings["n_features"],
            is_screened=TESTS[test] and settings["power"] in SCREENED_POWERS,
        )

    @property
    def settled_p_value(self) -> float:
        """A p-value at or below is as good as zero."""
        strictest = self.alpha / max(1, self.n_features)
        return min(SETTLED_P_VALUE, strictest / SETTLED_MARGIN)

    @property
    def note(self) -> str | None:
        """What a reader should know of a test with few permutations."""
        smallest = 1.0 / (1 + self.max_permutations)
        if smallest <= self.alpha:
            return None
        n_needed = math.ceil(1.0 / self.alpha) - 1
        return (
            f"With max_permutations={self.max_permutations} no p-value is below {smallest:.2g}: "
            f"pass {n_needed} at least for alpha={self.alpha:g}."
        )


def check_test(test: str | None, max_permutations: int, alpha: float, protocol: str) -> None:
    """Raise before anything long starts if features cannot be tested so."""
    check_count("max_permutations", max_permutations)
    check_level("alpha", alpha)
    if test is None:
        return
    if not isinstance(test, str) or test not in TESTS:
        raise unknown_name("test", test, TESTS)
    if protocol != "matched":
        raise InputError(
            f"test={test!r} compares with permuted copies, which protocol={protocol!r} does not "
            "have: pass protocol='matched'."
        )


class Trial:
    """The test of one feature, as far as its batches are known.

    Where features are screened, the first batches are a test of their own. What it leaves open is
    tested anew, with other copies and more trees. An unrelated feature is called related if either
    test errs: the second at its level, the first only at that of what is as good as zero.

    Parameters
    ----------
    plan : Plan
    n_rows : int
    feature : Feature
    index : int
        Of the feature.
    """

    def __init__(self, plan: Plan, n_rows: int, feature: Feature, index: int) -> None:
        self.plan = plan
        self.index = index
        self.sizes = _batch_sizes(plan.max_permutations, n_rows, feature)
        n_copies = most_copies(n_rows, feature)
        self.n_screened = 0
        if plan.is_screened and n_copies == MAX_COPIES and len(self.sizes) > N_SCREENED_BATCHES:
            self.n_screened = N_SCREENED_BATCHES
            self.sizes = [n_copies] * N_SCREENED_BATCHES + self.sizes
        self.n_batches = 0
        self.own = float("nan")
        self.nulls: list[NDArray[np.float64]] = []
        self.is_decided = False

    @property
    def next_batch(self) -> tuple[int, int, int] | None:
        """The name of the batch that is wanted next: feature, number, copies; None if none is."""
        return next(iter(self.next_batches(1)), None)

    def next_batches(self, n_batches: int) -> list[tuple[int, int, int]]:
        """Return the names of so many batches that are wanted next, of one look at most."""
        if self.is_decided:
            return []
        is_first_look = self.n_batches < self.n_screened
        end = self.n_screened if is_first_look else len(self.sizes)
        numbers = range(self.n_batches, min(self.n_batches + n_batches, end))
        return [(self.index, self._number_of(number), self.sizes[number]) for number in numbers]

    def _number_of(self, batch: int) -> int:
        """Return the number by which a batch is known.

        Batches of the first look are below zero, so that those of the test itself have the same
        names, and give the same answers, whether there was a first look or not.
        """
        if batch < self.n_screened:
            return FIRST_LOOK + batch
        return batch - self.n_screened

    def advance(self, answers: Mapping[tuple[str | int, ...], Any]) -> None:
        """Take in the batches that are known, one after the other, until it is decided."""
        while self.next_batch is not None and self.next_batch in answers:
            scores = np.array(answers[self.next_batch])
            # The first batch of each test has the feature's own score before those of its copies.
            if self.n_batches in (0, self.n_screened):
                self.nulls = []
                self.own, scores = float(scores[0]), scores[1:]
            self.n_batches += 1
            self.nulls.append(scores)
            self.is_decided = self.plan.is_sequential and is_settled(
                self.own, self.nulls, self.plan.settled_p_value
            )

    @property
    def outcome(self) -> PermutationTest:
        """The p-value by the batches so far; 1 without any."""
        if not self.nulls:
            return PermutationTest(1.0, 0, False)
        return permutation_test(self.own, self.nulls, is_sequential=self.plan.is_sequential)


def _batch_sizes(n_permutations: int, n_rows: int, feature: Feature) -> list[int]:
    """Return the numbers of copies, batch after batch, as equal as can be."""
    n_batches = math.ceil(n_permutations / most_copies(n_rows, feature))
    return [len(part) for part in np.array_split(np.arange(n_permutations), n_batches)]


def most_copies(n_rows: int, feature: Feature) -> int:
    """Return how many copies of a feature can stand beside it."""
    n_fitting = n_rows // (ROWS_PER_COPY * feature.n_directions) - 1
    return int(np.clip(n_fitting, MIN_COPIES, MAX_COPIES))
