"""Random streams by name: a task draws the same numbers wherever and whenever it runs."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from umfi.errors import InputError, is_whole_number

__all__ = ["Streams", "kernel_seed"]


@dataclass(frozen=True)
class Streams:
    """A seed from which every task gets a random stream of its own.

    Attributes
    ----------
    entropy : int
        Passed as ``random_state``, it gives the same streams again.
    """

    entropy: int

    @classmethod
    def from_random_state(cls, random_state: Any) -> Streams:
        """Return the streams for None, a whole number, a Generator or a SeedSequence.

        A generator is advanced, so that calling twice with the same one gives fresh numbers.
        """
        if random_state is None:
            return cls(entropy=int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        if isinstance(random_state, np.random.SeedSequence):
            return cls(entropy=int(random_state.generate_state(1, np.uint64)[0]))
        if isinstance(random_state, np.random.Generator):
            return cls(entropy=int(random_state.integers(2**63)))
        if isinstance(random_state, np.random.RandomState):
            return cls(entropy=int(random_state.randint(2**63, dtype=np.int64)))
        if not is_whole_number(random_state) or random_state < 0:
            raise InputError(
                "is not a seed: pass a whole number from 0 up, a numpy Generator or None.",
                argument="random_state",
                value=random_state,
            )
        return cls(entropy=int(random_state))

    def seed(self, *name: str | int) -> np.random.SeedSequence:
        """Return the seed sequence of the task with this name.

        Examples
        --------
        >>> first, second = (Streams(7).seed("rainfall", 0) for _ in range(2))
        >>> bool((first.generate_state(4) == second.generate_state(4)).all())
        True
        """
        digest = hashlib.blake2b(repr(name).encode(), digest_size=16).digest()
        return np.random.SeedSequence(self.entropy, spawn_key=struct.unpack("<4I", digest))

    def generator(self, *name: str | int) -> np.random.Generator:
        """Return a generator on the stream of the task with this name."""
        return np.random.default_rng(self.seed(*name))


def kernel_seed(seed: np.random.SeedSequence) -> np.uint64:
    """Return the 64 bits with which the forest kernels start their own streams."""
    return np.uint64(seed.generate_state(1, np.uint64)[0])
