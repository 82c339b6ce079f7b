"""Feature importance that explains data: which features relate to a response.

>>> import umfi
>>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
>>> result = umfi.ultra_marginal(X, y, remover="linear", random_state=0)
>>> bool(result.importances["x1"] > 10 * abs(result.importances["x4"]))
True
"""

from umfi import datasets
from umfi.errors import InputError
from umfi.methods import (
    ablation,
    bivariate,
    conditional_permutation,
    marginal_contribution,
    permutation,
    ultra_marginal,
)
from umfi.power import EstimatorPower, ForestPower, predictive_power
from umfi.removal import LinearRemover, TransportRemover, remove_dependence
from umfi.result import ImportanceResult, load_result
from umfi.version import __version__

__all__ = [
    "EstimatorPower",
    "ForestPower",
    "ImportanceResult",
    "InputError",
    "LinearRemover",
    "TransportRemover",
    "__version__",
    "ablation",
    "bivariate",
    "conditional_permutation",
    "datasets",
    "load_result",
    "marginal_contribution",
    "permutation",
    "predictive_power",
    "remove_dependence",
    "ultra_marginal",
]
