"""Ultra-marginal feature importance: definition 2 and algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns, Kind
from umfi.data.contracts import DependenceRemover, ProtocolName
from umfi.data.ranked import rank_in_blocks
from umfi.errors import InputError
from umfi.execution import Streams
from umfi.importance.features import Feature, drop_constant, find_distinct
from umfi.importance.options import OptionsWithTest, with_options
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import (
    FEATURES_PER_BLOCK,
    LinearFits,
    score_and_test,
    score_block,
    score_feature,
)
from umfi.importance.study import Study
from umfi.importance.testing import FeatureTests
from umfi.power import ForestPower, LinearPower
from umfi.removal import LinearRemover, TransportRemover, find_remover, refuse_levels

__all__ = ["UnrelatedContexts", "refuse_large_groups", "ultra_marginal"]

# A group and the three copies that a test needs at least must leave more than half of S.
ROWS_PER_MEMBER = 8


@with_options(OptionsWithTest)
def ultra_marginal(
    X: Any,
    y: Any,
    *,
    remover: str | DependenceRemover | None = None,
    protocol: str | None = None,
    **options: Unpack[OptionsWithTest],
) -> ImportanceResult:
    """Return by how much each feature raises the power of what the others say without it.

    For each feature x, all other features are turned into S, which carries no information about
    x; the importance is nu(S and x) - nu(S) (equation 5). Correlated features keep their full
    importance, interactions count, and features not related to the response get zero.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    remover : {"joint", "linear", "transport", "chained"} or object, optional
        What turns the other features into S. ``"joint"``, the default, starts gently and removes
        more only while forests still find x in the other features together. ``"linear"`` and
        ``"transport"`` take them one by one, as the paper does. By default ``"linear"`` if the
        power is linear, which sees nothing else, and ``"transport"`` in the paper protocol.
    protocol : {"one-fit", "matched", "paper"}, optional
        How the two scores are made comparable. ``"one-fit"`` takes both from one fit on S and x:
        with x known, and averaged over x. It is the default wherever the power predicts.
        ``"matched"`` fits again with a permuted copy of x, for powers that only score; ``"paper"``
        drops x, as the authors' package does.
    {common_parameters}

    Returns
    -------
    ImportanceResult

    Notes
    -----
    S is independent of x, so E[y | S] is the mean of E[y | S, x] over all of x: one fit gives both
    scores, and what is chance in the fit is in both and cancels. The importance is a mean over
    rows, from which its interval is made; see docs/inference.md.

    A column that repeats another gets the scores of its original. But in the paper protocol, copies
    change nothing else either: they are set aside, and what removal leaves of a feature is dropped
    where it is constant.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("blood_relation", n=300, random_state=0)
    >>> result = umfi.ultra_marginal(X, y, remover="linear", random_state=0)
    >>> result.table["feature"].tolist()[:2]
    ['x4', 'x3']
    """
    own = {"remover": remover, "protocol": protocol}
    study = Study.prepare("ultra_marginal", X, y, own, options)
    contexts = UnrelatedContexts.prepare(study)
    linear = contexts.find_linear_fits(study)
    tests = [FeatureTests(contexts.make, linear=linear)]
    if linear is not None:
        work = partial(score_block, study, linear)
        return score_and_test(study, work, tests, block_size=FEATURES_PER_BLOCK)
    return score_and_test(study, partial(score_feature, study, contexts.make), tests)


@dataclass(frozen=True, eq=False)
class UnrelatedContexts:
    """Makes S for each feature of a study: the other columns without information about it.

    All but the paper protocol use no copies and constants. Where the power takes only ranks, and
    removal goes column by column, S need not hold values.
    """

    streams: Streams
    protocol: ProtocolName
    remover: DependenceRemover
    is_used: NDArray[np.bool_]
    needs_ranks_only: bool

    @classmethod
    def prepare(cls, study: Study) -> UnrelatedContexts:
        """Return the contexts of a study, or raise if removal cannot make them."""
        columns, protocol = study.columns, study.protocol
        refuse_levels(columns, protocol)
        refuse_large_groups(study)
        study.refuse_columns()
        chosen = find_remover(study.arguments["remover"], protocol)
        is_used = find_distinct(columns)
        if protocol == "paper":
            is_used = np.ones(columns.n_columns, dtype=bool)
        # Forests look at ranks, and removal pair by pair at no other column.
        needs_ranks_only = (
            protocol != "paper"
            and isinstance(study.power, ForestPower)
            and isinstance(chosen, LinearRemover | TransportRemover)
        )
        return cls(study.streams, protocol, chosen, is_used, needs_ranks_only)

    def make(
        self,
        columns: Columns,
        feature: Feature,
        candidates: Sequence[Columns],
        stream: tuple[str | int, ...],
    ) -> Columns:
        """Return S, of which the candidates were removed: a feature's columns, then copies."""
        is_other = self.is_used.copy()
        is_other[list(feature.positions)] = False
        others = np.flatnonzero(is_other)
        remove = partial(self._remove, candidates, stream)
        if self.needs_ranks_only and _is_continuous(columns):
            # One fit has all candidates in front, others have one after the other.
            n_together = len(candidates) if self.protocol == "one-fit" else 1
            n_front = n_together * candidates[0].n_columns
            return rank_in_blocks(columns, others, remove, n_front=n_front)
        unrelated = remove(columns.select(others))
        return unrelated if self.protocol == "paper" else drop_constant(unrelated)

    def _remove(
        self, candidates: Sequence[Columns], stream: tuple[str | int, ...], others: Columns
    ) -> Columns:
        rng = self.streams.generator(*stream, "removal")
        return self.remover.remove(others, candidates, protocol=self.protocol, rng=rng)

    def find_linear_fits(self, study: Study) -> LinearFits | None:
        """Return what scores features without making S, where power and removers are linear."""
        is_linear = isinstance(self.remover, LinearRemover)
        if not isinstance(study.power, LinearPower) or not is_linear or self.protocol == "paper":
            return None
        return LinearFits(study.power, self.is_used)


def _is_continuous(columns: Columns) -> bool:
    """Return whether removal draws no random numbers, as it does where values are levels."""
    return (
        set(columns.kinds) == {Kind.CONTINUOUS}
        and not columns.missing
        and not columns.is_stepped.any()
    )


def refuse_large_groups(study: Study) -> None:
    """Raise where removing a group and its copies would leave nothing of the other columns."""
    n_most = study.n_rows_each // ROWS_PER_MEMBER
    for feature in study.features:
        if len(feature.positions) > 1 and feature.n_directions > n_most:
            raise InputError(
                f"Group {feature.name!r} has {feature.n_directions} columns, counting levels and "
                f"gaps, too many for {study.n_rows_each} rows: {n_most} at most can be protected "
                "jointly.",
                argument="groups",
            )
