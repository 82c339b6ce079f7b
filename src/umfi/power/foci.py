"""How alike the responses of nearest rows are: Azadkia and Chatterjee's coefficient T."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from umfi.data.columns import Columns
from umfi.data.target import Target
from umfi.errors import InputError
from umfi.power.points import MAX_TREE_COLUMNS, distinct_numbers, row_blocks, to_unit_variance

__all__ = ["FociPower", "nearest_rows"]

# Equal steps of a column differ by rounding once they are scaled.
EQUAL_DISTANCE = 1.0 + 1e-10


@dataclass(frozen=True)
class FociPower:
    """T: 0 if the columns say nothing about the response, 1 if it is a function of them.

    Nothing is fitted: T compares the response of each row with that of its nearest other row.

    Parameters
    ----------
    scale : bool
        Whether each column has unit variance before distances are measured, as in the authors'
        ``foci``. Otherwise columns are taken in their units, as in their ``codec``.

    Notes
    -----
    With R the number of rows whose response is at most a row's own, L the number whose response
    is at least that, and M(i) the nearest other row of row i in Euclidean distance,

        T = Σ (n min(R_i, R_M(i)) - L_i²) / Σ L_i (n - L_i)

    (Azadkia and Chatterjee 2021, A simple measure of conditional dependence, Annals of Statistics
    49, section 3). Of several nearest rows a random one is taken. T depends on the order of the
    response alone. The estimate lies around 0 for columns that say nothing, often below, and is
    never floored.

    With classes, the two sums run over the indicators of all classes. For a proportion p of rows in
    a class and a proportion s of rows that are in it with their nearest row, an indicator adds
    p (s - p²) above and p² (1 - p) below, up to a common factor.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> bool(umfi.predictive_power(X, y, power=umfi.FociPower(), random_state=0) > 0.5)
    True
    """

    measures: ClassVar[dict[str, str]] = {"regression": "T", "classification": "T"}

    scale: bool = True

    def __post_init__(self) -> None:
        """Refuse what is neither yes nor no."""
        if not isinstance(self.scale, bool):
            raise InputError(f"scale={self.scale!r} is not valid: pass True or False.")

    def score(self, columns: Columns, target: Target, seed: np.random.SeedSequence) -> float:
        """Return T of the columns, 0 for none."""
        points = distinct_numbers(columns)
        if points.shape[1] == 0:
            return 0.0
        if self.scale:
            points = to_unit_variance(points)
        neighbours = nearest_rows(points, np.random.default_rng(seed))
        responses = [target.values]
        if target.task == "classification":
            responses = [(target.labels == label) * 1.0 for label in np.unique(target.labels)]
        explained, total = np.sum(
            [_compare(response, neighbours) for response in responses], axis=0
        )
        return float(explained / total) if total > 0 else 0.0  # A subsample may miss all variation.


def _compare(response: NDArray[np.float64], neighbours: NDArray[np.intp]) -> tuple[float, float]:
    """Return n² Q and n² S of the paper: what the neighbours explain, and how much there is."""
    n_rows, ordered = len(response), np.sort(response)
    n_below = np.searchsorted(ordered, response, side="right")
    n_above = n_rows - np.searchsorted(ordered, response, side="left")
    explained = n_rows * np.minimum(n_below, n_below[neighbours]) - n_above**2
    return float(explained.mean()), float((n_above * (n_rows - n_above)).mean())


def nearest_rows(points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the nearest other row of each row, a random one of several; shape (n_rows,).

    Equal rows are each other's nearest, so only rows that have no equal are searched for, among
    rows that all differ: ties make it faster, not slower. There must be two different rows.
    """
    distinct, point_of_row, n_copies = np.unique(
        points, axis=0, return_inverse=True, return_counts=True
    )
    point_of_row = point_of_row.reshape(-1)
    lonely = np.flatnonzero(n_copies == 1)
    point, candidate = _nearest_points(distinct, lonely)
    # A race in which each candidate runs as often as it has rows: all these rows are as likely.
    arrival = rng.exponential(size=len(candidate)) / n_copies[candidate]
    order = np.lexsort((arrival, point))
    winners = order[np.unique(point[order], return_index=True)[1]]
    nearest_point = np.arange(len(distinct))
    nearest_point[point[winners]] = candidate[winners]

    by_point = np.argsort(point_of_row, kind="stable")
    first = np.cumsum(n_copies) - n_copies
    nearest, has_copy = nearest_point[point_of_row], n_copies[point_of_row] > 1
    number_at_point = np.empty(len(points), dtype=np.intp)
    number_at_point[by_point] = np.arange(len(points)) - first[point_of_row[by_point]]
    # Steps of 1 to all but itself, around the rows at the point, reach each other row alike.
    steps = rng.integers(has_copy, n_copies[nearest])
    number = (np.where(has_copy, number_at_point, 0) + steps) % n_copies[nearest]
    rows: NDArray[np.intp] = by_point[first[nearest] + number]
    return rows


def _nearest_points(
    distinct: NDArray[np.float64], sought: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return pairs: each point sought, as often as it has nearest other points, and these."""
    pairs = [(sought[:0], sought[:0])]
    if distinct.shape[1] > MAX_TREE_COLUMNS:
        for block in row_blocks(sought, len(distinct)):
            distances = cdist(distinct[block], distinct)
            distances[np.arange(len(block)), block] = np.inf
            radius = distances.min(axis=1, keepdims=True) * EQUAL_DISTANCE
            row, candidate = np.nonzero(distances <= radius)
            pairs.append((block[row], candidate))
    else:
        tree = cKDTree(distinct)
        distances, found = tree.query(distinct[sought], k=3)  # Itself, the nearest and the next.
        radius = distances[:, 1] * EQUAL_DISTANCE
        is_sole = (found[:, 0] == sought) & (distances[:, 2] > radius)
        pairs.append((sought[is_sole], found[is_sole, 1]))
        balls = tree.query_ball_point(distinct[sought[~is_sole]], radius[~is_sole])
        for point, ball in zip(sought[~is_sole], balls, strict=True):
            candidate = np.array([other for other in ball if other != point], dtype=np.intp)
            pairs.append((np.full(len(candidate), point), candidate))
    return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])
