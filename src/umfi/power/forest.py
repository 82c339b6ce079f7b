"""The out-of-bag score of a random forest or of extremely randomised trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from umfi.columns import Columns
from umfi.errors import check_count, unknown_name
from umfi.forest import (
    Growth,
    RankTable,
    Response,
    Tally,
    majority_classes,
    out_of_bag_totals,
    subsampled_totals,
)
from umfi.power.measures import (
    STATISTICS,
    Answers,
    check_measure,
    find_measure,
    measures_of,
    needs_shares,
    score_answers,
    score_nothing,
)
from umfi.target import Target
from umfi.tasks import TaskName, kernel_seed, run_tasks

__all__ = ["ForestPower", "forest_response"]

SPLITS = ("best", "random")
# A tree's work is short; blocks outweigh the cost of handing it out.
TREES_PER_BLOCK = 10
# So many draws are enough for a tree: see benchmarks/long_tables.py.
DEFAULT_ROWS_PER_TREE = 100_000
# ranger's defaults: nodes of at most this many drawn rows are leaves.
MIN_NODE_ROWS = {"regression": 5, "classification": 1}


@dataclass(frozen=True)
class ForestPower:
    """Out-of-bag score of a random forest: R², accuracy or any other measure.

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
        Every row is scored all the same, by as many trees as ever. Fewer rows make smaller trees:
        faster, and with a somewhat lower score where there is much to be learned.
    measure : str, optional
        What the score is. For a regression ``"r2"`` (default) or ``"information"``; for classes
        ``"accuracy"`` (default), ``"balanced_accuracy"``, ``"auc"`` (the mean over classes, each
        against the rest), ``"log_loss"`` (as the mean log-likelihood, so that larger is better),
        ``"brier"`` (1 - the mean squared distance of the trees' shares from the true class) or
        ``"information"``. Information is in nats: -½ log(1 - R²), or the entropy of the classes
        minus their cross-entropy, with shares drawn towards how common the classes are as far as
        predicts best. Shares vary about half as much from run to run, beside their size, as votes
        do.

    Notes
    -----
    Up to 4,096 rows every place between two values is tried as a cut. Longer columns are told in
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

    @property
    def measures(self) -> dict[str, str]:
        """What the score is, by task."""
        return measures_of(self.measure)

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

    def score(
        self,
        columns: Columns,
        target: Target,
        seed: np.random.SeedSequence,
        *,
        n_jobs: int | None = 1,
    ) -> float:
        """Return the out-of-bag score of the columns, or the chance level of none.

        Methods run many forests side by side, each on one worker; a forest on its own can have
        its trees grown by several.
        """
        measure = find_measure(self.measure, target.task)
        if columns.n_columns == 0:
            return score_nothing(measure, target)
        stream = kernel_seed(seed)
        tally = self._count_votes(columns.ranks, target, stream, n_jobs)
        if target.task == "regression":
            return score_answers(measure, Answers(_mean_predictions(tally, target)), target)
        if needs_shares(measure, target.task):
            answers = Answers(_shares(tally), tally.n_votes.astype(np.float64))
            return score_answers(measure, answers, target)
        predictions = majority_classes(tally.totals, stream, self.n_trees).astype(np.float64)
        predictions[tally.n_votes == 0] = np.nan
        return score_answers(measure, Answers(predictions), target)

    def statistic(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return what a test compares: R², or the score of shares, whatever is measured else."""
        return replace(self, measure=STATISTICS[target.task]).score(columns, target, seed)

    def _count_votes(
        self, table: RankTable, target: Target, stream: np.uint64, n_jobs: int | None = 1
    ) -> Tally:
        response, growth = forest_response(target), self.growth(table.positions.shape[0], target)

        n_rows = target.n_rows
        by_row = np.ascontiguousarray(table.positions.T) if growth.rows_per_tree < n_rows else None

        # Votes are whole numbers, and add up the same however they are divided. Means round, so
        # they are added up block by block whatever the number of workers.
        is_one_block = n_jobs == 1 and response.n_classes > 0
        n_together = self.n_trees if is_one_block else TREES_PER_BLOCK

        def grow_block(name: TaskName) -> Tally:
            first_tree = int(name[0])
            trees = (first_tree, min(n_together, self.n_trees - first_tree), stream)
            if by_row is None:
                return out_of_bag_totals(table, response, growth, *trees)
            return subsampled_totals(table, by_row, response, growth, *trees)

        blocks: list[TaskName] = [(first,) for first in range(0, self.n_trees, n_together)]
        grown: Iterable[Tally]
        if n_jobs == 1:
            grown = map(grow_block, blocks)
        else:
            answers = run_tasks(grow_block, blocks, n_jobs=n_jobs, progress=False)
            grown = (answers[block] for block in blocks)
        return reduce(lambda sum_, one: Tally(sum_[0] + one[0], sum_[1] + one[1]), grown)


def _mean_predictions(tally: Tally, target: Target) -> NDArray[np.float64]:
    """Return the mean of the trees that had not seen a row, NaN where there is none."""
    predictions = target.unstandardise(tally.totals[:, 0] / np.maximum(tally.n_votes, 1))
    predictions[tally.n_votes == 0] = np.nan
    return predictions


def _shares(tally: Tally) -> NDArray[np.float64]:
    """Return the share of the trees for each class, NaN where there is no tree."""
    shares = tally.totals / np.maximum(tally.n_votes, 1)[:, np.newaxis]
    shares[tally.n_votes == 0] = np.nan
    return shares


def forest_response(target: Target) -> Response:
    """Return the response as the kernels take it.

    A response with a large offset or of a tiny unit would lose digits in the sums of the splits,
    so it is standardised.
    """
    n_rows = target.n_rows
    if target.task == "classification":
        return Response(np.zeros(n_rows), target.labels.astype(np.int32), len(target.classes))
    return Response(target.standardise(target.values), np.zeros(n_rows, dtype=np.int32), 0)
