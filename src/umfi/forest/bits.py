"""The one machine instruction that Numba does not offer: the number of trailing zero bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from umfi.jit import inlined_kernel

__all__ = ["lowest_bit"]

if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def lowest_bit(word: np.uint64) -> np.int64:
        """Return the position of the lowest set bit of a word that is not zero."""
        number = int(word)
        return np.int64((number & -number).bit_length() - 1)

else:

    def _type_count_trailing_zeros(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            is_zero_undefined = context.get_constant(types.boolean, True)
            return builder.cttz(arguments[0], is_zero_undefined)

        return types.uint64(types.uint64), generate

    _count_trailing_zeros: Any = intrinsic(_type_count_trailing_zeros)

    @inlined_kernel
    def lowest_bit(word: np.uint64) -> np.int64:
        """Return the position of the lowest set bit of a word that is not zero."""
        return np.int64(_count_trailing_zeros(word))
