"""Importance methods: each validates, scores sets of columns, and returns an ImportanceResult."""

from umfi.importance.ablation import ablation
from umfi.importance.bivariate import bivariate
from umfi.importance.conditional_permutation import conditional_permutation
from umfi.importance.decompose import decompose
from umfi.importance.diagnose import diagnose
from umfi.importance.marginal_contribution import marginal_contribution
from umfi.importance.partners import partners
from umfi.importance.permutation import permutation
from umfi.importance.ultra_marginal import ultra_marginal

__all__ = [
    "ablation",
    "bivariate",
    "conditional_permutation",
    "decompose",
    "diagnose",
    "marginal_contribution",
    "partners",
    "permutation",
    "ultra_marginal",
]
