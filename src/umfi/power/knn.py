"""Mutual information of columns and response, from distances to nearest rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.special import digamma

from umfi.data.columns import Columns
from umfi.data.target import Target
from umfi.errors import check_count
from umfi.power.points import MAX_TREE_COLUMNS, distinct_numbers, row_blocks, to_unit_variance

__all__ = ["KnnPower"]

# Strictly within a distance, also where equal steps of a column differ by rounding.
STRICTLY_WITHIN = 1.0 - 1e-10


@dataclass(frozen=True)
class KnnPower:
    """Mutual information of the columns together with the response, in nats.

    Nothing is fitted: how many rows are near in the columns and near in the response is compared
    with how many are near in both.

    Parameters
    ----------
    n_neighbours : int
        How many nearest rows say what near is; fewer for a class that has no more. More make the
        estimate vary less, and smooth out more of what there is to know.

    Notes
    -----
    Columns and response have unit variance first, and the distance of two rows is that of the
    column in which they differ most. With ψ the digamma function, ⟨⟩ a mean over n rows and k
    neighbours,

        ψ(n) + ⟨ψ(k) - ψ(a) - ψ(b)⟩

    where a and b are the numbers of rows that are nearer than the k-th neighbour in the columns
    alone and in the response alone, the row itself included: estimator 1 of Kraskov, Stögbauer and
    Grassberger (2004, Physical Review E 69, 066138, equation 8). With classes, the neighbours are
    those of the same class, and b is the number of rows in it (Ross 2014, PLOS ONE 9, e87357).
    Rows alone in their class are left out.

    Where k other rows are equal to a row in columns and response, k, a and b are the numbers of
    rows equal to it in both, in the columns and in the response, itself included (Gao, Kannan, Oh
    and Viswanath 2017, Advances in Neural Information Processing Systems 30, and their code). For
    columns and response of few levels that is the plug-in information with ψ in place of log,
    which takes away nearly all of its bias.

    The estimate may lie below 0 and is never floored. It is low where there is much to know from
    many columns: k rows that are near in all of them are not near enough.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> bool(umfi.predictive_power(X, y, power=umfi.KnnPower()) > 0.5)
    True
    """

    measures: ClassVar[dict[str, str]] = {"regression": "nats", "classification": "nats"}

    n_neighbours: int = 3

    def __post_init__(self) -> None:
        """Refuse numbers of neighbours that cannot be."""
        check_count("n_neighbours", self.n_neighbours)

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return the information of the columns, 0 for none; nothing is drawn from the seed."""
        points = distinct_numbers(columns)
        is_constant = bool(np.all(target.values == target.values[0]))  # As in some subsamples.
        if points.shape[1] == 0 or is_constant:
            return 0.0
        points = to_unit_variance(points)
        if target.task == "classification":
            return self._information_on_classes(points, target.labels)
        return self._information_on_numbers(points, target.values)

    def _information_on_numbers(
        self, points: NDArray[np.float64], values: NDArray[np.float64]
    ) -> float:
        response = to_unit_variance(values[:, np.newaxis])
        radius, n_near = self._nearest(np.hstack([points, response]))
        n_near_columns = _count_within(points, radius)
        n_near_response = _count_within(response, radius)
        terms = digamma(n_near) - digamma(n_near_columns) - digamma(n_near_response)
        return float(digamma(len(points)) + terms.mean())

    def _information_on_classes(
        self, points: NDArray[np.float64], labels: NDArray[np.int64]
    ) -> float:
        class_sizes = np.bincount(labels)
        is_known = class_sizes[labels] > 1
        points, labels = points[is_known], labels[is_known]
        if len(points) == 0:
            return 0.0
        radius, n_near = np.empty(len(points)), np.empty(len(points), dtype=np.intp)
        for label in np.unique(labels):
            is_member = labels == label
            radius[is_member], n_near[is_member] = self._nearest(points[is_member])
        n_near_columns = _count_within(points, radius)
        terms = digamma(n_near) - digamma(n_near_columns) - digamma(class_sizes[labels])
        return float(digamma(len(points)) + terms.mean())

    def _nearest(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return within which radius rows are near, and k of the formula, for each row."""
        n_neighbours, n_equal = min(self.n_neighbours, len(points) - 1), _count_equal(points)
        is_tied = n_equal > n_neighbours
        radius = np.zeros(len(points))
        radius[~is_tied] = _kth_distance(points, np.flatnonzero(~is_tied), n_neighbours)
        return radius * STRICTLY_WITHIN, np.where(is_tied, n_equal, n_neighbours)


def _count_equal(points: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how many points are equal to each, itself included; shape (n_points,)."""
    _, point_of_row, n_equal = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(n_equal[point_of_row.reshape(-1)], dtype=np.intp)


def _kth_distance(
    points: NDArray[np.float64], rows: NDArray[np.intp], k: int
) -> NDArray[np.float64]:
    """Return how far the k-th nearest other point is from these, shape (n_rows,)."""
    if points.shape[1] <= MAX_TREE_COLUMNS:
        nearest = cKDTree(points).query(points[rows], k=[k + 1], p=np.inf)
        return np.asarray(nearest[0][:, 0], dtype=np.float64)
    kth_distance = np.empty(len(points))
    for block in row_blocks(rows, len(points)):
        distances = cdist(points[block], points, "chebyshev")
        distances.partition(k, axis=1)  # In place: a copy takes longer than all the rest.
        kth_distance[block] = distances[:, k]
    return kth_distance[rows]


def _count_within(points: NDArray[np.float64], radius: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how many points are at most so far from each, itself included; shape (n_points,)."""
    n_within = _count_equal(points)
    rows = np.flatnonzero(radius > 0.0)
    if points.shape[1] <= MAX_TREE_COLUMNS:
        n_within[rows] = cKDTree(points).query_ball_point(
            points[rows], radius[rows], p=np.inf, return_length=True
        )
        return n_within
    for block in row_blocks(rows, len(points)):
        distances = cdist(points[block], points, "chebyshev")
        n_within[block] = (distances <= radius[block, np.newaxis]).sum(axis=1)
    return n_within
