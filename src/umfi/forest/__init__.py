"""Kernels of a random forest that is only scored: NumPy and Numba alone.

The way through: ``rank_columns`` turns a table into ranks, ``out_of_bag_totals`` grows the trees
one after the other and keeps nothing but their votes. ``averaged_totals`` also says what they
predict without knowing some of the columns. ``grow_recorded_tree`` keeps one tree for a moment,
for permutation importances.
"""

from umfi.forest.model import Growth, RecordedTree, Response
from umfi.forest.ranks import (
    RankTable,
    new_rank_table,
    order_rows,
    part_of_table,
    put_ranks,
    rank_columns,
    take_ranks,
)
from umfi.forest.recorded import bin_by_cuts, chi_squared, drop_shuffled, grow_recorded_tree
from umfi.forest.subsampled import subsampled_totals
from umfi.forest.votes import Donors, Tally, averaged_totals, no_donors, out_of_bag_totals

__all__ = [
    "Donors",
    "Growth",
    "RankTable",
    "RecordedTree",
    "Response",
    "Tally",
    "averaged_totals",
    "bin_by_cuts",
    "chi_squared",
    "drop_shuffled",
    "grow_recorded_tree",
    "new_rank_table",
    "no_donors",
    "order_rows",
    "out_of_bag_totals",
    "part_of_table",
    "put_ranks",
    "rank_columns",
    "subsampled_totals",
    "take_ranks",
]
