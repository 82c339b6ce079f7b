"""The out-of-bag score of a random forest or of extremely randomised trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from umfi.data.columns import Columns
from umfi.data.target import Target
from umfi.errors import check_count, unknown_name
from umfi.execution import TaskName, kernel_seed, run_tasks
from umfi.forest import (
    Donors,
    Growth,
    RankTable,
    Response,
    Tally,
    averaged_totals,
    no_donors,
    out_of_bag_totals,
    subsampled_totals,
)
from umfi.power.measures import Predictions, check_measure
from umfi.power.predicting import Averages, PredictingPower, count_donors, join_front

__all__ = ["ForestPower", "forest_response"]

SPLITS = ("best", "random")
# A tree's work is short; blocks outweigh the cost of handing it out.
TREES_PER_BLOCK = 10
# So many draws are enough for a tree: see benchmarks/long_tables.py.
DEFAULT_ROWS_PER_TREE = 100_000
# An R² of so many rows has a standard error of 0.003 at most.
MAX_SCORED_ROWS = 100_000
# ranger's defaults: nodes of at most this many drawn rows are leaves.
MIN_NODE_ROWS = {"regression": 5, "classification": 1}


@dataclass(frozen=True)
class ForestPower(PredictingPower):
    """Out-of-bag score of a random forest: R² or any other measure.

    Follows ranger's defaults. Trees are scored as they grow and never stored.

    Parameters
    ----------
    n_trees : int
    mtry : int, optional
        Columns tried at each node; ⌊√p⌋ by default, and never more than there are.
    min_node_rows : int, optional
        Nodes of at most this many drawn rows are not split; 5 for regression, 1 for
        classification by default.
    split : {"best", "random"}
        ``"random"`` draws one cut for each tried column, uniformly between the smallest and
        largest value of the node: extremely randomised trees, still with bootstrap.
    rows_per_tree : int, optional
        How many draws a tree grows on; 100,000 by default, so that shorter tables are used whole.
        Fewer rows make smaller trees: faster, and with a somewhat lower score where there is much
        to be learned. Rows are scored by as many trees as ever: all of them, or 100,000 drawn at
        random of a table whose trees do not take all rows.
    measure : str, optional
        What the score is. ``"r2"`` by default: for classes, R² of their indicators, 1 - the
        quadratic loss of the trees' votes / that of the class rates. Also ``"information"``, and
        for classes ``"accuracy"``, ``"balanced_accuracy"``, ``"auc"`` (the mean over classes, each
        against the rest), ``"log_loss"`` (as the mean log-likelihood, so that larger is better),
        ``"brier"`` (1 - the mean squared distance of the trees' votes from the true class) or
        ``"information"``. Information is in nats: -½ log(1 - R²), or the entropy of the classes
        minus their cross-entropy, with proportions of votes shrunken towards the class rates as far
        as predicts best. Proportions of votes vary about half as much from run to run, beside their
        size, as majority votes do.

    Notes
    -----
    Up to 4,096 rows every gap between two values is tried as a cut. Longer columns have
    4,096 bins of about equally many rows.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> power = umfi.ForestPower(n_trees=50)
    >>> bool(umfi.predictive_power(X, y, power=power, random_state=0) > 0.7)
    True
    """

    n_trees: int = 100
    mtry: int | None = None
    min_node_rows: int | None = None
    split: Literal["best", "random"] = "best"
    rows_per_tree: int | None = None
    measure: str | None = None

    def __post_init__(self) -> None:
        """Refuse settings no forest can be grown with."""
        for name in ("n_trees", "mtry", "min_node_rows", "rows_per_tree"):
            value = getattr(self, name)
            if value is None and name != "n_trees":
                continue
            check_count(name, value)
        if self.split not in SPLITS:
            raise unknown_name("split", self.split, SPLITS)
        check_measure(self.measure)

    def growth(self, n_columns: int, target: Target) -> Growth:
        """Return how a tree grows on so many columns."""
        mtry = self.mtry if self.mtry is not None else int(np.sqrt(n_columns))
        min_node_rows = self.min_node_rows
        if min_node_rows is None:
            min_node_rows = MIN_NODE_ROWS[target.task]
        return Growth(
            mtry=int(min(mtry, n_columns)),
            min_node_rows=int(min_node_rows),
            is_split_random=self.split == "random",
            rows_per_tree=int(min(self.rows_per_tree or DEFAULT_ROWS_PER_TREE, 2**62)),
        )

    def predict(
        self,
        columns: Columns,
        target: Target,
        seed: np.random.SeedSequence,
        *,
        n_jobs: int | None = 1,
        is_every_row_scored: bool = False,
    ) -> Predictions:
        """Return what the trees that have not seen a row predict of it: their mean or votes.

        Methods run many forests side by side, each on one worker; a forest on its own can have
        its trees grown by several. Of long tables 100,000 rows are scored, unless all are asked
        for.
        """
        stream = kernel_seed(seed)
        is_scored = np.ones(target.n_rows, dtype=bool)
        if not is_every_row_scored:
            is_scored = _draw_scored(target.n_rows, stream)
        return _to_predictions(
            self._count_votes(columns.ranks, target, stream, is_scored, n_jobs), target
        )

    def average_out(
        self,
        context: Columns,
        candidates: Sequence[Columns],
        target: Target,
        seed: np.random.SeedSequence,
        *,
        is_test: bool = False,
        donors: NDArray[np.intp] | None = None,
    ) -> Averages:
        """Return what one forest predicts, and how that changes without each candidate.

        Copies of a feature would be tried in its place, so more columns are tried at each node:
        each as often as in a forest without copies. Otherwise interactions, of which two columns
        have to be tried together, would be lost.
        """
        table = join_front(context, candidates).ranks
        widths = [candidate.n_columns for candidate in candidates]
        candidate_of = np.full(len(table.positions), -1, dtype=np.int64)
        candidate_of[: sum(widths)] = np.repeat(np.arange(len(widths)), widths)
        first_columns = np.cumsum([0, *widths[:-1]])
        order = np.argsort(table.positions[first_columns], axis=1, kind="stable")
        given = np.empty((0, 0), dtype=np.uint32) if donors is None else donors.astype(np.uint32)
        averaged = Donors(
            candidate_of, order.astype(np.uint32), count_donors(is_test=is_test), given
        )
        response, n_all = forest_response(target), len(table.positions)
        growth = self.growth(n_all, target)
        if self.mtry is None:
            n_own = context.n_columns + widths[0]
            mtry = round(self.growth(n_own, target).mtry * n_all / n_own)
            growth = growth._replace(mtry=mtry)
        if growth.rows_per_tree < target.n_rows:
            by_row = np.ascontiguousarray(table.positions.T)
            tally, changes = subsampled_totals(
                table,
                by_row,
                response,
                growth,
                averaged,
                _draw_scored(target.n_rows, kernel_seed(seed)),
                0,
                self.n_trees,
                kernel_seed(seed),
            )
        else:
            tally, changes = averaged_totals(
                table, response, growth, averaged, self.n_trees, kernel_seed(seed)
            )
        changes /= np.maximum(tally.n_votes, 1)[:, np.newaxis]
        if target.task == "regression":
            changes = changes[:, :, 0] * target.largest_deviation
        return Averages(_to_predictions(tally, target), changes)

    def _count_votes(
        self,
        table: RankTable,
        target: Target,
        stream: np.uint64,
        is_scored: NDArray[np.bool_],
        n_jobs: int | None = 1,
    ) -> Tally:
        response, growth = forest_response(target), self.growth(table.positions.shape[0], target)

        n_rows = target.n_rows
        by_row = np.ascontiguousarray(table.positions.T) if growth.rows_per_tree < n_rows else None
        no_candidates = no_donors(len(table.positions), n_rows)

        # Votes are whole numbers, and add up the same however they are divided. Means round, so
        # they are added up block by block whatever the number of workers.
        is_one_block = n_jobs == 1 and response.n_classes > 0
        n_together = self.n_trees if is_one_block else TREES_PER_BLOCK

        def grow_block(name: TaskName) -> Tally:
            first_tree = int(name[0])
            trees = (first_tree, min(n_together, self.n_trees - first_tree), stream)
            if by_row is None:
                return out_of_bag_totals(table, response, growth, *trees)
            return subsampled_totals(
                table, by_row, response, growth, no_candidates, is_scored, *trees
            )[0]

        blocks: list[TaskName] = [(first,) for first in range(0, self.n_trees, n_together)]
        grown: Iterable[Tally]
        if n_jobs == 1:
            grown = map(grow_block, blocks)
        else:
            tallies = run_tasks(grow_block, blocks, n_jobs=n_jobs, progress=False)
            grown = (tallies[block] for block in blocks)
        return reduce(lambda sum_, one: Tally(sum_[0] + one[0], sum_[1] + one[1]), grown)


def _draw_scored(n_rows: int, stream: np.uint64) -> NDArray[np.bool_]:
    """Return which rows are scored where trees do not take all of them, shape (n_rows,)."""
    is_scored = np.ones(n_rows, dtype=bool)
    if n_rows > MAX_SCORED_ROWS:
        rng = np.random.default_rng(int(stream))
        is_scored[rng.choice(n_rows, n_rows - MAX_SCORED_ROWS, replace=False)] = False
    return is_scored


def _to_predictions(tally: Tally, target: Target) -> Predictions:
    """Return the mean or votes of the trees that had not seen a row, NaN where there is none."""
    means = tally.totals / np.maximum(tally.n_votes, 1)[:, np.newaxis]
    means[tally.n_votes == 0] = np.nan
    if target.task == "regression":
        return Predictions(target.unstandardise(means[:, 0]))
    return Predictions(means, tally.n_votes.astype(np.float64))


def forest_response(target: Target) -> Response:
    """Return the response as the kernels take it.

    A response with a large offset or of a tiny unit would lose digits in the sums of the splits,
    so it is standardised.
    """
    n_rows = target.n_rows
    if target.task == "classification":
        return Response(np.zeros(n_rows), target.labels.astype(np.int32), len(target.classes))
    return Response(target.standardise(target.values), np.zeros(n_rows, dtype=np.int32), 0)
