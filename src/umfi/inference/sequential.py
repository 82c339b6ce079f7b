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
from umfi.importance.features import Feature
from umfi.inference import PermutationTest, is_settled, permutation_test

__all__ = ["Plan", "Trial", "check_test", "count_test_rows"]

# By name: whether a feature that is decided gets no more copies.
TESTS = {"permutation": True, "full-permutation": False}
# Every copy costs S what it tells by chance about that copy; fewer have no spread. In one forest
# nineteen take little longer than nine and tell a tail at once: benchmarks/one_fit.py.
MIN_COPIES = 3
MAX_COPIES, MAX_REFITS = 19, 9
ROWS_PER_COPY = 15
# A forest scores no more rows than these, so more would not make its test more powerful.
MAX_TEST_ROWS = 100_000
# A p-value as good as zero: far below what any correction for the number of features asks for.
SETTLED_P_VALUE = 1e-4
SETTLED_MARGIN = 10.0


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
    is_one_fit : bool
        Whether a batch is one fit, and not one for each copy.
    """

    max_permutations: int
    alpha: float
    is_sequential: bool
    n_features: int = 1
    is_one_fit: bool = True

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], part: str) -> Plan | None:
        """Return the plan for a part of the importance, None if nothing is tested."""
        test = settings.get("test")
        if test is None:
            return None
        return cls(
            settings["max_permutations"],
            settings["alpha"],
            TESTS[test],
            settings["n_features"],
            # What others cannot replace is added to others that are not independent of it.
            is_one_fit=settings["protocol"] == "one-fit"
            and part != "irreplaceable"
            and settings.get("method") != "ablation",
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


def check_test(test: str | None, max_permutations: int, alpha: float, protocol: str | None) -> None:
    """Raise before anything long starts if features cannot be tested so."""
    check_count("max_permutations", max_permutations)
    check_level("alpha", alpha)
    if test is None:
        return
    if not isinstance(test, str) or test not in TESTS:
        raise unknown_name("test", test, TESTS)
    if protocol == "paper":
        raise InputError(
            f"test={test!r} compares with permuted copies, which protocol='paper' does not have: "
            "leave protocol out."
        )


class Trial:
    """The test of one feature, as far as its batches are known.

    Parameters
    ----------
    plan : Plan
    n_rows : int
    feature : Feature
    index : int
        Of the feature.
    is_decided : bool
        Whether the p-value is 1 whatever the copies do. A sequential test then has only as many as
        show what removal leaves of the feature.
    """

    def __init__(
        self, plan: Plan, n_rows: int, feature: Feature, index: int, *, is_decided: bool = False
    ) -> None:
        self.plan = plan
        self.index = index
        self.sizes = _batch_sizes(plan, n_rows, feature)
        if is_decided and plan.is_sequential:
            self.sizes = [min(MIN_COPIES, plan.max_permutations)]
        self.n_batches = 0
        self.own = float("nan")
        self.nulls: list[NDArray[np.float64]] = []
        self.is_decided = False

    @property
    def next_batch(self) -> tuple[int, int, int] | None:
        """The name of the batch that is wanted next: feature, number, copies; None if none is."""
        return next(iter(self.next_batches(1)), None)

    def next_batches(self, n_batches: int) -> list[tuple[int, int, int]]:
        """Return the names of so many batches that are wanted next."""
        if self.is_decided:
            return []
        numbers = range(self.n_batches, min(self.n_batches + n_batches, len(self.sizes)))
        return [(self.index, number, self.sizes[number]) for number in numbers]

    def advance(self, answers: Mapping[tuple[str | int, ...], Any]) -> None:
        """Take in the batches that are known, one after the other, until it is decided."""
        while self.next_batch is not None and self.next_batch in answers:
            scores = np.array(answers[self.next_batch]["scores"])
            # The first batch has the feature's own score before those of its copies.
            if self.n_batches == 0:
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


def count_test_rows(n_rows: int) -> int:
    """Return how many rows of a table a test takes."""
    return min(n_rows, MAX_TEST_ROWS)


def _batch_sizes(plan: Plan, n_rows: int, feature: Feature) -> list[int]:
    """Return the numbers of copies, batch after batch, as equal as can be."""
    n_fitting = count_test_rows(n_rows) // (ROWS_PER_COPY * feature.n_directions) - 1
    n_most = int(np.clip(n_fitting, MIN_COPIES, MAX_COPIES if plan.is_one_fit else MAX_REFITS))
    n_batches = math.ceil(plan.max_permutations / n_most)
    return [len(part) for part in np.array_split(np.arange(plan.max_permutations), n_batches)]
