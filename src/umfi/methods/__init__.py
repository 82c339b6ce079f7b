"""Importance methods: each validates, scores sets of columns, and returns an ImportanceResult."""

from umfi.methods.ablation import ablation
from umfi.methods.bivariate import bivariate
from umfi.methods.conditional_permutation import conditional_permutation
from umfi.methods.decompose import decompose
from umfi.methods.diagnose import diagnose
from umfi.methods.marginal_contribution import marginal_contribution
from umfi.methods.partners import partners
from umfi.methods.permutation import permutation
from umfi.methods.ultra_marginal import ultra_marginal

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
