"""What a feature is added to: the other columns without what they tell about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.data.contracts import DependenceRemover, ProtocolName
from umfi.data.ranked import rank_in_blocks
from umfi.data.target import Target
from umfi.errors import InputError
from umfi.execution import one_blas_thread
from umfi.importance.features import Feature, with_copies
from umfi.importance.scoring import ClosedForm
from umfi.importance.study import Problem
from umfi.importance.testing import run_test
from umfi.power import ForestPower, LinearContest, LinearPower
from umfi.removal import LinearRemover, TransportRemover, find_remover, refuse_levels

__all__ = ["UnrelatedContexts", "default_remover", "refuse_large_groups"]

# A group and the three copies that a test needs at least must leave more than half of S.
ROWS_PER_MEMBER = 8


def default_remover(power: Any, protocol: ProtocolName | None = None) -> str:
    """Return the name of the remover that fits a power and a protocol."""
    if protocol == "paper":
        return "transport"
    is_linear = isinstance(power, LinearPower) or (isinstance(power, str) and power == "linear")
    return "linear" if is_linear else "joint"


@dataclass(frozen=True)
class UnrelatedContexts:
    """Makes S for each feature of a problem.

    Attributes
    ----------
    problem : Problem
    protocol : {"one-fit", "matched", "paper"}
    remover : DependenceRemover
    is_used : ndarray of bool, shape (n_columns,)
        Columns that S is made of; all but the paper protocol set copies and constants aside.
    """

    problem: Problem
    protocol: ProtocolName
    remover: DependenceRemover
    is_used: NDArray[np.bool_]

    @classmethod
    def prepare(
        cls, problem: Problem, remover: str | DependenceRemover, protocol: ProtocolName
    ) -> UnrelatedContexts:
        """Return the contexts of a problem, or raise if removal cannot make them."""
        refuse_levels(problem.columns, protocol)
        refuse_large_groups(problem)
        problem.refuse_columns()
        chosen = find_remover(remover, protocol)
        is_used = np.ones(problem.columns.n_columns, dtype=bool)
        if protocol != "paper":
            is_original = problem.columns.first_copies() == np.arange(problem.columns.n_columns)
            is_used = is_original & ~problem.columns.is_constant()
        return cls(problem=problem, protocol=protocol, remover=chosen, is_used=is_used)

    @property
    def scored(self) -> list[int]:
        """Indices of the features that stand for themselves."""
        return self.problem.outline.scored

    def others_of(self, columns: Columns, feature: Feature) -> Columns:
        """Return the columns that S is made of."""
        return columns.select(self._find_others(feature))

    def _find_others(self, feature: Feature) -> NDArray[np.intp]:
        is_other = self.is_used.copy()
        is_other[list(feature.positions)] = False
        return np.flatnonzero(is_other)

    def _needs_ranks_only(self, columns: Columns) -> bool:
        """Return whether S can be made column by column, and nobody will ask for its values.

        Forests look at ranks. Removal pair by pair does not look at other columns, and draws random
        numbers only where values are levels.
        """
        return (
            self.protocol != "paper"
            and isinstance(self.problem.power, ForestPower)
            and isinstance(self.remover, LinearRemover | TransportRemover)
            and set(columns.kinds) == {Kind.CONTINUOUS}
            and not columns.missing
            and not columns.is_stepped.any()
        )

    def make(
        self,
        columns: Columns,
        feature: Feature,
        candidates: Sequence[Columns],
        stream: tuple[str | int, ...],
    ) -> Columns:
        """Return S, of which the candidates were removed: a feature's columns, then copies."""

        def remove(others: Columns) -> Columns:
            rng = self.problem.streams.generator(*stream, "removal")
            return self.remover.remove(others, candidates, protocol=self.protocol, rng=rng)

        if self._needs_ranks_only(columns):
            others = self._find_others(feature)
            # One fit has all candidates in front, others have one after the other.
            n_together = len(candidates) if self.protocol == "one-fit" else 1
            n_front = n_together * candidates[0].n_columns
            return rank_in_blocks(columns, others, remove, n_front=n_front)
        unrelated = remove(self.others_of(columns, feature))
        if self.protocol == "paper":
            return unrelated
        return unrelated.select(np.flatnonzero(~unrelated.is_constant()))

    def contest(
        self, feature: Feature, number: int, permutations: Sequence[NDArray[np.intp]]
    ) -> tuple[Columns, list[Columns]]:
        """Return S and what a batch of a test adds to it, on all rows."""
        columns = self.problem.columns
        candidates = with_copies(columns.select(feature.positions), permutations)
        return self.make(columns, feature, candidates, (feature.name, "test", number)), candidates

    def test(self, closed_form: ClosedForm | None) -> None:
        """Compute what the tests of all features need, if they are to be tested."""
        problem = self.problem
        if problem.settings["test"] is None:
            return
        if closed_form is not None:
            with one_blas_thread():  # As on workers, or sums would differ in their last digits.
                linear = closed_form(problem.columns, problem.target, problem.repeats)
            run_test(problem, self.contest, self.scored, closed_form=linear)
        else:
            sampled = self.take_test_rows()
            run_test(sampled.problem, sampled.contest, self.scored)

    def take_test_rows(self) -> UnrelatedContexts:
        """Return the contexts of no more rows than a test takes."""
        return replace(self, problem=self.problem.take_test_rows())

    def find_closed_form(self) -> ClosedForm | None:
        """Return what scores features without making S, where power and removers are linear."""
        problem, power = self.problem, self.problem.power
        is_linear = isinstance(self.remover, LinearRemover)
        if not isinstance(power, LinearPower) or not is_linear or self.protocol == "paper":
            return None
        return _LinearContests(problem, power, self.is_used)


@dataclass(frozen=True)
class _LinearContests:
    """Contests of the rows of each repeat, made when they are first needed."""

    problem: Problem
    power: LinearPower
    is_used: NDArray[np.bool_]
    made: dict[int, LinearContest] = field(default_factory=dict, init=False)
    lock: Any = field(default_factory=Lock, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"made": {}, "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=Lock())

    def __call__(self, columns: Columns, target: Target, repeat: int) -> LinearContest:
        problem = self.problem
        run = repeat if problem.n_sampled_rows and repeat < problem.repeats else -1
        with self.lock:
            if run not in self.made:
                # One repeat follows the other, so two at most are under way.
                for old in sorted(self.made)[:-1]:
                    del self.made[old]
                used = columns.select(np.flatnonzero(self.is_used))
                self.made[run] = LinearContest(self.power, used, target)
            return self.made[run]


def refuse_large_groups(problem: Problem) -> None:
    """Raise where removing a group and its copies would leave nothing of the other columns."""
    n_rows = problem.n_sampled_rows or problem.columns.n_rows
    n_most = n_rows // ROWS_PER_MEMBER
    for feature in problem.features:
        if len(feature.positions) > 1 and feature.n_directions > n_most:
            raise InputError(
                f"Group {feature.name!r} has {feature.n_directions} columns, counting levels and "
                f"gaps, too many for {n_rows} rows: {n_most} at most can be protected jointly."
            )
