"""From null scores to decisions: p-values, many features at once, intervals.

Nothing here knows of forests or features: arrays of numbers go in, and numbers come out.
"""

from umfi.inference.intervals import (
    MAX_INTERVAL_FRACTION,
    MIN_INTERVAL_FRACTION,
    MIN_INTERVAL_REPEATS,
    row_interval,
    standard_error,
    subsampling_interval,
    subsampling_test,
)
from umfi.inference.p_values import (
    CONTROLS,
    PermutationTest,
    adjust_p_values,
    is_settled,
    permutation_test,
)

__all__ = [
    "CONTROLS",
    "MAX_INTERVAL_FRACTION",
    "MIN_INTERVAL_FRACTION",
    "MIN_INTERVAL_REPEATS",
    "PermutationTest",
    "adjust_p_values",
    "is_settled",
    "permutation_test",
    "row_interval",
    "standard_error",
    "subsampling_interval",
    "subsampling_test",
]
