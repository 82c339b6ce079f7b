"""What a feature is added to: the other columns without what they tell about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns
from umfi.contracts import DependenceRemover, ProtocolName
from umfi.errors import InputError
from umfi.methods.features import Feature, find_representatives, with_copies
from umfi.methods.problem import Problem
from umfi.methods.protocols import ClosedForm
from umfi.power import LinearContest, LinearPower
from umfi.removal import AutoRemover, LinearRemover, find_remover, refuse_levels
from umfi.target import Target
from umfi.tasks import TaskName

__all__ = ["UnrelatedContexts", "default_remover", "refuse_large_groups"]

# A group and the three copies that a test needs at least must leave more than half of S.
ROWS_PER_MEMBER = 8


def default_remover(power: Any) -> str:
    """Return the name of the remover that fits a power."""
    is_linear = isinstance(power, LinearPower) or (isinstance(power, str) and power == "linear")
    return "linear" if is_linear else "transport"


@dataclass(frozen=True)
class UnrelatedContexts:
    """Makes S for each feature of a problem.

    Attributes
    ----------
    problem : Problem
        With the removers that were chosen among its settings.
    protocol : {"matched", "paper"}
    removers : dict
        The remover of each feature, by name.
    is_used : ndarray of bool, shape (n_columns,)
        Columns that S is made of; the matched protocol sets copies and constants aside.
    representatives : list of int
        For each feature the one whose scores it gets.
    """

    problem: Problem
    protocol: ProtocolName
    removers: dict[str, DependenceRemover]
    is_used: NDArray[np.bool_]
    representatives: list[int]

    @classmethod
    def prepare(
        cls, problem: Problem, remover: str | DependenceRemover, protocol: ProtocolName
    ) -> UnrelatedContexts:
        """Return the contexts of a problem, with a remover chosen for each feature if asked for."""
        refuse_levels(problem.columns, protocol)
        refuse_large_groups(problem)
        problem.refuse_columns()
        chosen = find_remover(remover, protocol)
        is_used = np.ones(problem.columns.n_columns, dtype=bool)
        if protocol == "matched":
            is_original = problem.columns.first_copies() == np.arange(problem.columns.n_columns)
            is_used = is_original & ~problem.columns.is_constant()
        contexts = cls(
            problem=problem,
            protocol=protocol,
            removers={feature.name: chosen for feature in problem.features},
            is_used=is_used,
            representatives=find_representatives(problem.columns, problem.features),
        )
        return contexts._choose_removers(chosen) if isinstance(chosen, AutoRemover) else contexts

    def others_of(self, columns: Columns, feature: Feature) -> Columns:
        """Return the columns that S is made of."""
        is_other = self.is_used.copy()
        is_other[list(feature.positions)] = False
        return columns.select(np.flatnonzero(is_other))

    def make(
        self,
        columns: Columns,
        feature: Feature,
        candidates: Sequence[Columns],
        stream: tuple[str | int, ...],
    ) -> Columns:
        """Return S, of which the candidates were removed: a feature's columns, then copies."""
        unrelated = self.removers[feature.name].remove(
            self.others_of(columns, feature),
            candidates,
            protocol=self.protocol,
            rng=self.problem.streams.generator(*stream, "removal"),
        )
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

    def find_closed_form(self) -> ClosedForm | None:
        """Return what scores features without making S, where power and removers are linear."""
        problem, power = self.problem, self.problem.power
        is_linear = all(isinstance(one, LinearRemover) for one in self.removers.values())
        if not isinstance(power, LinearPower) or not is_linear or self.protocol != "matched":
            return None
        lock = Lock()
        made: dict[int, LinearContest] = {}

        def contest_of(columns: Columns, target: Target, repeat: int) -> LinearContest:
            run = repeat if problem.n_sampled_rows and repeat < problem.repeats else -1
            with lock:
                if run not in made:
                    # One repeat follows the other, so two at most are under way.
                    for old in sorted(made)[:-1]:
                        del made[old]
                    used = columns.select(np.flatnonzero(self.is_used))
                    made[run] = LinearContest(power, used, target)
                return made[run]

        return contest_of

    def _choose_removers(self, chooser: AutoRemover) -> UnrelatedContexts:
        """Return the contexts with a remover for each feature, named in the settings."""
        problem = self.problem

        def work(name: TaskName) -> tuple[str, DependenceRemover]:
            feature = problem.features[int(name[0])]
            return chooser.choose(
                self.others_of(problem.columns, feature),
                problem.columns.select(feature.positions),
                problem.streams.generator(feature.name, "choice of remover"),
            )

        indices = sorted(set(self.representatives))
        answers = problem.run(work, [(index,) for index in indices], title="choice of removers")
        choices = {
            feature.name: answers[index,]
            for feature, index in zip(problem.features, self.representatives, strict=True)
        }
        names = {name: choice for name, (choice, _) in choices.items()}
        return replace(
            self,
            problem=replace(problem, settings=problem.settings | {"removers": names}),
            removers={name: remover for name, (_, remover) in choices.items()},
        )


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
