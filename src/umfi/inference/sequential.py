"""The sequential permutation test of one candidate: copies come in batches until it is decided.

What a test concludes depends on the scores alone, never on when they came, so that a run that was
stopped early concludes the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from umfi.errors import InputError, check_count, check_level, unknown_name
from umfi.inference.p_values import PermutationTest, is_settled, permutation_test

__all__ = ["TESTS", "SequentialDesign", "SequentialTest", "check_test", "count_test_rows"]

# By name: whether a candidate that is decided gets no more copies.
TESTS = {"permutation": True, "full-permutation": False}
# Every copy costs S what it says by chance about that copy; fewer have no spread. In one forest
# nineteen take little longer than nine and show a tail at once: benchmarks/one_fit.py.
MIN_COPIES = 3
MAX_COPIES, MAX_REFITS = 19, 9
ROWS_PER_COPY = 15
# A forest scores no more rows than these, so more would not make its test more powerful.
MAX_TEST_ROWS = 100_000
# A p-value as good as zero: far below what any correction for the number of features asks for.
SETTLED_P_VALUE = 1e-4
SETTLED_MARGIN = 10.0


@dataclass(frozen=True)
class SequentialDesign:
    """How candidates are tested."""

    max_permutations: int
    alpha: float
    is_sequential: bool  # A candidate that is decided gets no more copies.
    n_candidates: int = 1  # Over which p-values will be adjusted.
    is_one_fit: bool = True  # A batch is one fit, and not one for each copy.

    @property
    def settled_p_value(self) -> float:
        """A p-value at or below is as good as zero."""
        strictest = self.alpha / max(1, self.n_candidates)
        return min(SETTLED_P_VALUE, strictest / SETTLED_MARGIN)

    @property
    def note(self) -> str | None:
        """What a reader should know of a test with few permutations."""
        smallest = 1.0 / (1 + self.max_permutations)
        if smallest <= self.alpha:
            return None
        n_needed = math.ceil(1.0 / self.alpha) - 1
        return (
            f"With at most {self.max_permutations} permutations no p-value is below "
            f"{smallest:.2g}: at least {n_needed} are needed at the level {self.alpha:g}."
        )

    def batch_sizes(self, n_rows: int, n_directions: int) -> list[int]:
        """Return the number of copies in each batch, as equal as can be.

        Candidates are of a table of this many rows, and stand for this many columns of numbers.
        """
        n_fitting = count_test_rows(n_rows) // (ROWS_PER_COPY * n_directions) - 1
        n_most = int(np.clip(n_fitting, MIN_COPIES, MAX_COPIES if self.is_one_fit else MAX_REFITS))
        n_batches = math.ceil(self.max_permutations / n_most)
        return [len(part) for part in np.array_split(np.arange(self.max_permutations), n_batches)]


class SequentialTest:
    """The test of one candidate, as far as its batches are known.

    Parameters
    ----------
    design : SequentialDesign
    n_rows, n_directions : int
        See :meth:`SequentialDesign.batch_sizes`.
    is_hopeless : bool
        Whether the p-value is 1 whatever the copies do. A sequential test then has only as many as
        show what removal leaves of the candidate.

    Examples
    --------
    >>> test = SequentialTest(SequentialDesign(9, 0.05, is_sequential=True), 1000, 1)
    >>> test.next_batches(2)
    [(0, 9)]
    >>> test.add([0.25, 0.1, 0.3, 0.2, 0.4, 0.0, 0.2, 0.3, 0.1, 0.2])
    >>> test.next_batches(2), test.outcome.p_value
    ([], 0.4)
    """

    def __init__(
        self, design: SequentialDesign, n_rows: int, n_directions: int, *, is_hopeless: bool = False
    ) -> None:
        self.design = design
        self.sizes = design.batch_sizes(n_rows, n_directions)
        if is_hopeless and design.is_sequential:
            self.sizes = [min(MIN_COPIES, design.max_permutations)]
        self.own = float("nan")
        self.nulls: list[NDArray[np.float64]] = []
        self.is_decided = False

    def next_batches(self, n_batches: int = 1) -> list[tuple[int, int]]:
        """Return number and size of at most so many batches that are wanted next."""
        if self.is_decided:
            return []
        n_known = len(self.nulls)
        return list(enumerate(self.sizes))[n_known : n_known + n_batches]

    def add(self, scores: Sequence[float]) -> None:
        """Take in the next batch; the first has the candidate's own score before its copies'."""
        nulls = np.array(scores)
        if not self.nulls:
            self.own, nulls = float(nulls[0]), nulls[1:]
        self.nulls.append(nulls)
        self.is_decided = self.design.is_sequential and is_settled(
            self.own, self.nulls, self.design.settled_p_value
        )

    @property
    def outcome(self) -> PermutationTest:
        """The p-value by the batches so far; 1 without any."""
        if not self.nulls:
            return PermutationTest(1.0, 0, False)
        return permutation_test(self.own, self.nulls, is_sequential=self.design.is_sequential)


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
            "leave protocol out.",
            argument="test",
        )


def count_test_rows(n_rows: int) -> int:
    """Return how many rows of a table a test takes."""
    return min(n_rows, MAX_TEST_ROWS)
