"""The gentlest remover that leaves no leakage, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from umfi.columns import Columns
from umfi.contracts import DependenceRemover, ProtocolName
from umfi.power import find_leakage
from umfi.removal.joint import check_rounds
from umfi.removal.linear import LinearRemover
from umfi.removal.sliced import SlicedRemover
from umfi.removal.transport import TransportRemover

__all__ = ["AutoRemover"]


@dataclass(frozen=True)
class AutoRemover:
    """Chooses for each feature the gentlest remover that leaves no leakage.

    Linear removal is tried first, then pairwise transport, and sliced transport is what remains.
    The choice looks at the features alone, never at the response, and at forests of its own; so it
    cannot favour what makes a feature look important.

    Parameters
    ----------
    tolerance : float
        Leakage that passes: the out-of-bag R² with which extremely randomised trees tell the
        feature from what a remover leaves.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> result = umfi.ultra_marginal(X, y, remover="auto", random_state=0)
    >>> result.table["remover"].tolist()
    ['linear', 'linear', 'linear', 'linear']
    """

    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a tolerance that is no R²."""
        check_rounds(self.tolerance, 1)

    @property
    def removers(self) -> dict[str, DependenceRemover]:
        """What is chosen from, by name, gentlest first."""
        return {
            "linear": LinearRemover(),
            "transport": TransportRemover(),
            "sliced": SlicedRemover(tolerance=self.tolerance),
        }

    def choose(
        self, columns: Columns, feature: Columns, rng: np.random.Generator
    ) -> tuple[str, DependenceRemover]:
        """Return the name of the gentlest remover that passes, and the remover.

        Parameters
        ----------
        columns : Columns
            The other columns.
        feature : Columns
            The protected feature or group.
        """
        *gentle, strongest = self.removers.items()
        for name, remover in gentle:
            unrelated = remover.remove(columns, [feature], protocol="matched", rng=rng)
            told = unrelated.select(np.flatnonzero(~unrelated.is_constant()))
            seed = np.random.SeedSequence(int(rng.integers(2**63)))
            if find_leakage(told, feature, seed, enough=self.tolerance) <= self.tolerance:
                return name, remover
        return strongest

    def remove(
        self,
        columns: Columns,
        protected: Sequence[Columns],
        *,
        protocol: ProtocolName,
        rng: np.random.Generator,
    ) -> Columns:
        """Return S as the remover chosen for the feature leaves it."""
        _, chosen = self.choose(columns, protected[0], rng)
        return chosen.remove(columns, protected, protocol=protocol, rng=rng)
