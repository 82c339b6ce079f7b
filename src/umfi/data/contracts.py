"""The interfaces on one page: what a remover and a power must offer.

Methods know nothing else about them, so a new one needs no change anywhere but its own file and
the table of names beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, cast, get_args, runtime_checkable

import numpy as np

from umfi.data.columns import Columns
from umfi.data.target import Target, Task
from umfi.errors import unknown_name

__all__ = [
    "PROTOCOLS",
    "DependenceRemover",
    "PredictivePower",
    "ProtocolName",
    "check_protocol",
    "measure_of",
]

ProtocolName = Literal["one-fit", "matched", "paper"]
PROTOCOLS: tuple[str, ...] = get_args(ProtocolName)


@runtime_checkable
class DependenceRemover(Protocol):
    """Turns columns into S, which carries no information about the protected ones."""

    def remove(
        self,
        columns: Columns,
        protected: Sequence[Columns],
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S: the columns transformed, in their old order.

        Parameters
        ----------
        columns : Columns
            What is transformed; the protected columns are not among them.
        protected : sequence of Columns, at least one
            First a feature, or the columns of a group of features, about which S must carry no
            information jointly. Then permuted copies of it, if any. All are to be treated alike:
            what S loses by chance when the feature is removed, it must lose for each copy too, or
            a test would take that loss for a relation. The paper protocol has no copies. A column
            that repeats a protected one, in any unit, becomes constant and draws no random numbers,
            so that it changes no other column.
        """


@runtime_checkable
class PredictivePower(Protocol):
    """Measures how well a set of columns predicts the response: nu of equation 1."""

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return nu(columns); larger is better.

        Must depend on nothing but its arguments, accept a set of no columns, and release the GIL
        where it takes long. If it has an attribute ``measures``, that says what the score is, such
        as ``"R²"``; see :func:`measure_of`. If it has a method ``refuse_columns(columns,
        n_rows)``, methods that score all columns at once call it before any long work, for it to
        raise if it has no room for them. A power that predicts rows it was not fitted to is a
        :class:`umfi.power.PredictingPower`, which has one fit, and intervals, where others refit.
        """


def measure_of(power: PredictivePower, task: Task) -> str:
    """Return what a power measures, in a word: "R²", "accuracy", or "score" if it does not say."""
    measures = getattr(power, "measures", None)
    return str(measures[task]) if measures else "score"


def check_protocol(protocol: str | None) -> ProtocolName | None:
    """Return the protocol if it is one; None, the default, fits the power."""
    if protocol is not None and protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    return cast(ProtocolName | None, protocol)
