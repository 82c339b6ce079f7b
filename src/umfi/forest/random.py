"""Random streams for the kernels: SplitMix64, one stream per tree.

A stream is an array of one uint64, so that a kernel can advance it in place. SplitMix64 (Steele,
Lea and Flood 2014) needs three multiplications per draw and passes BigCrush; the naive twin repeats
it in Python integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.jit import inlined_kernel

__all__ = ["count_draws", "draw_below", "draw_uniform", "start_stream"]

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
SHIFT_30 = np.uint64(30)
SHIFT_27 = np.uint64(27)
SHIFT_31 = np.uint64(31)
SHIFT_32 = np.uint64(32)
SHIFT_11 = np.uint64(11)
UNIFORM_STEP = 2.0**-53


@inlined_kernel
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> SHIFT_30)) * FIRST_FACTOR
    word = (word ^ (word >> SHIFT_27)) * SECOND_FACTOR
    return word ^ (word >> SHIFT_31)


@inlined_kernel
def start_stream(stream: NDArray[np.uint64], seed: np.uint64, number: int) -> None:
    """Set the stream to the beginning of the stream of this number under this seed."""
    stream[0] = _mix(seed + GOLDEN_GAMMA * np.uint64(number + 1))


@inlined_kernel
def _draw_word(stream: NDArray[np.uint64]) -> np.uint64:
    stream[0] = stream[0] + GOLDEN_GAMMA
    return _mix(stream[0])


@inlined_kernel
def _below(word: np.uint64, bound: int) -> np.uint64:
    # Multiply and shift instead of a remainder: no division, and a bias below bound / 2**32.
    return ((word >> SHIFT_32) * np.uint64(bound)) >> SHIFT_32


@inlined_kernel
def draw_below(stream: NDArray[np.uint64], bound: int) -> np.int64:
    """Return a whole number in [0, bound), for bounds below 2**32."""
    return np.int64(_below(_draw_word(stream), bound))


@inlined_kernel
def count_draws(stream: NDArray[np.uint64], n_draws: int, counts: NDArray[np.int32]) -> None:
    """Add how often each index of an array is drawn by so many calls of ``draw_below``."""
    bound = counts.shape[0]
    word = stream[0]  # In a register: in memory, each draw would wait for the one before.
    for _ in range(n_draws):
        word = word + GOLDEN_GAMMA
        counts[_below(_mix(word), bound)] += 1
    stream[0] = word


@inlined_kernel
def draw_uniform(stream: NDArray[np.uint64]) -> np.float64:
    """Return a number in [0, 1)."""
    return np.float64(_draw_word(stream) >> SHIFT_11) * UNIFORM_STEP
