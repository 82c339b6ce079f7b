"""Measure which way of ordering and scanning a node's rows is faster at which size.

Backs the choice that ``umfi/forest/node_order.py`` makes. Both ways scan the same rows; times are
the median over rounds in which they take turns, and rows change from call to call so that no
branch is learnt.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from umfi.forest import node_order, rank_columns, scans
from umfi.forest.model import new_scratch

N_ROUNDS = 15
N_NODES = 300


@njit(cache=False, nogil=True)
def scan_many(is_sorted, positions, sorted_values, nodes, scratch):
    n_rows = nodes.shape[1]
    totals = scans.NodeTotals(np.int64(n_rows), np.float64(1.0), np.int64(0))
    found = 0
    for node in range(nodes.shape[0]):
        if is_sorted:
            node_order.sort_rows(
                positions, nodes[node], scratch.ordered_position, scratch.ordered_row
            )
            found += scans.scan_sorted_responses(
                n_rows, sorted_values, False, totals, scratch, -1.0
            ).left
        else:
            node_order.mark_responses(positions, nodes[node], scratch)
            found += scans.scan_marked_responses(sorted_values, False, totals, scratch, -1.0).left
    return found


def measure(n_rows: int, n_node_rows: int, rng: np.random.Generator) -> list[float]:
    """Return nanoseconds a row for insertion and for the bitmap."""
    table = rank_columns(rng.normal(size=(n_rows, 1)))
    nodes: NDArray[np.int32] = np.stack(
        [
            np.sort(rng.choice(n_rows, n_node_rows, replace=False)).astype(np.int32)
            for _ in range(N_NODES)
        ]
    )
    scratch = new_scratch(n_rows, 1, 0)
    scratch.weights[:] = 1
    scratch.sums[:] = rng.normal(size=n_rows)
    seconds: list[list[float]] = [[], []]
    for _ in range(N_ROUNDS):
        for way, is_sorted in enumerate((True, False)):
            start = time.perf_counter()
            scan_many(is_sorted, table.positions[0], table.sorted_values[0], nodes, scratch)
            seconds[way].append(time.perf_counter() - start)
    return [1e9 * statistics.median(times) / (N_NODES * n_node_rows) for times in seconds]


def main() -> None:
    rng = np.random.default_rng(0)
    measure(100, 10, rng)
    measure(100_000, 10, rng)
    print("order and scan of a node, nanoseconds a row")
    print(f"{'rows':>8} {'node':>6} {'insertion':>10} {'bitmap':>8}  chosen")
    for n_rows in (572, 1000, 5000, 50_000):
        for n_node_rows in (6, 8, 10, 12, 16, 24, 32, 64, 256):
            insertion, bitmap = measure(n_rows, n_node_rows, rng)
            is_sorted = node_order.is_small(n_node_rows, (n_rows + 63) // 64)
            print(
                f"{n_rows:8d} {n_node_rows:6d} {insertion:10.1f} {bitmap:8.1f}  "
                f"{'insertion' if is_sorted else 'bitmap'}"
            )


if __name__ == "__main__":
    main()
