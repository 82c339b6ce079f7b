"""Measure which way of ordering a node's rows is fastest at which size.

Backs the choice that ``umfi/forest/node_order.py`` makes. Each way orders the same rows; times
are the median over rounds in which the ways take turns, and rows change from call to call so that
no branch is learnt.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from umfi.forest import node_order, rank_columns

N_ROUNDS = 15
N_NODES = 300


@njit(cache=False, nogil=True)
def order_many(way, positions, nodes, local, position, bitmap, at_position):
    for node in range(nodes.shape[0]):
        if way == 0:
            node_order._insertion_order(positions, nodes[node], local, position)
        elif way == 1:
            node_order._bitmap_order(positions, nodes[node], local, position, bitmap, at_position)
        else:
            local[: nodes.shape[1]] = np.argsort(positions[nodes[node]])


def measure(n_rows: int, n_node_rows: int, rng: np.random.Generator) -> list[float]:
    """Return nanoseconds a row for insertion, bitmap and, for comparison, a library sort."""
    positions = rank_columns(rng.normal(size=(n_rows, 1))).positions[0]
    nodes: NDArray[np.int32] = np.stack(
        [
            np.sort(rng.choice(n_rows, n_node_rows, replace=False)).astype(np.int32)
            for _ in range(N_NODES)
        ]
    )
    scratch = (
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.zeros((n_rows + 63) // 64, np.uint64),
        np.empty(n_rows, np.int32),
    )
    seconds: list[list[float]] = [[], [], []]
    for _ in range(N_ROUNDS):
        for way in range(3):
            start = time.perf_counter()
            order_many(way, positions, nodes, *scratch)
            seconds[way].append(time.perf_counter() - start)
    return [1e9 * statistics.median(times) / (N_NODES * n_node_rows) for times in seconds]


def main() -> None:
    rng = np.random.default_rng(0)
    measure(100, 10, rng)
    print("node order, nanoseconds a row")
    print(f"{'rows':>8} {'node':>6} {'insertion':>10} {'bitmap':>8} {'sort':>8}  chosen")
    for n_rows in (572, 1000, 5000, 50_000):
        for n_node_rows in (8, 16, 24, 32, 64, 256):
            insertion, bitmap, sort = measure(n_rows, n_node_rows, rng)
            is_insertion = n_node_rows**2 <= (
                node_order.INSERTION_START + node_order.INSERTION_WORDS * ((n_rows + 63) // 64)
            )
            print(
                f"{n_rows:8d} {n_node_rows:6d} {insertion:10.1f} {bitmap:8.1f} {sort:8.1f}  "
                f"{'insertion' if is_insertion else 'bitmap'}"
            )


if __name__ == "__main__":
    main()
