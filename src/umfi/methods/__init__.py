"""Importance methods: each validates, scores sets of columns, and returns an ImportanceResult."""

from umfi.methods.ablation import ablation
from umfi.methods.bivariate import bivariate
from umfi.methods.conditional_permutation import conditional_permutation
from umfi.methods.diagnose import diagnose
from umfi.methods.marginal_contribution import marginal_contribution
from umfi.methods.permutation import permutation
from umfi.methods.ultra_marginal import ultra_marginal

__all__ = [
    "ablation",
    "bivariate",
    "conditional_permutation",
    "diagnose",
    "marginal_contribution",
    "permutation",
    "ultra_marginal",
]
