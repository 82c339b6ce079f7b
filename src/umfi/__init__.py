"""Feature importance that explains data: which features relate to a response.

>>> import umfi
>>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
>>> result = umfi.ultra_marginal(X, y, remover="linear", random_state=0)
>>> bool(result.importances["x1"] > 10 * abs(result.importances["x4"]))
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from umfi.version import __version__

if TYPE_CHECKING:
    from umfi import plots
    from umfi.data import datasets
    from umfi.errors import InputError, RunError
    from umfi.execution.checkpoint import Checkpoint
    from umfi.importance import (
        ablation,
        bivariate,
        conditional_permutation,
        decompose,
        diagnose,
        marginal_contribution,
        partners,
        permutation,
        ultra_marginal,
    )
    from umfi.importance.comparison import Comparison, compare
    from umfi.importance.diagnose import Diagnosis
    from umfi.importance.partners import Partners
    from umfi.importance.result import ImportanceResult, load_result
    from umfi.importance.status import RunStatus, checkpoint_status, merge_checkpoints
    from umfi.power import (
        EstimatorPower,
        FociPower,
        ForestPower,
        KnnPower,
        LinearPower,
        QmdPower,
        predictive_power,
    )
    from umfi.removal import (
        ChainedRemover,
        JointRemover,
        LinearRemover,
        TransportRemover,
        mic_e,
        remove_dependence,
    )
    from umfi.selector import UltraMarginalSelector

__all__ = [
    "ChainedRemover",
    "Checkpoint",
    "Comparison",
    "Diagnosis",
    "EstimatorPower",
    "FociPower",
    "ForestPower",
    "ImportanceResult",
    "InputError",
    "JointRemover",
    "KnnPower",
    "LinearPower",
    "LinearRemover",
    "Partners",
    "QmdPower",
    "RunError",
    "RunStatus",
    "TransportRemover",
    "UltraMarginalSelector",
    "__version__",
    "ablation",
    "bivariate",
    "checkpoint_status",
    "compare",
    "conditional_permutation",
    "datasets",
    "decompose",
    "diagnose",
    "load_result",
    "marginal_contribution",
    "merge_checkpoints",
    "mic_e",
    "partners",
    "permutation",
    "plots",
    "predictive_power",
    "remove_dependence",
    "ultra_marginal",
]

# Where each name lives. Modules are loaded when a name of theirs is first used, because Numba and
# SciPy take seconds to import.
_MODULES = {
    "umfi.execution.checkpoint": ("Checkpoint",),
    "umfi.importance.comparison": ("Comparison", "compare"),
    "umfi.importance.diagnose": ("Diagnosis",),
    "umfi.errors": ("InputError", "RunError"),
    "umfi.importance": (
        "ablation",
        "bivariate",
        "conditional_permutation",
        "decompose",
        "diagnose",
        "marginal_contribution",
        "partners",
        "permutation",
        "ultra_marginal",
    ),
    "umfi.importance.partners": ("Partners",),
    "umfi.power": (
        "EstimatorPower",
        "FociPower",
        "ForestPower",
        "KnnPower",
        "LinearPower",
        "QmdPower",
        "predictive_power",
    ),
    "umfi.removal": (
        "ChainedRemover",
        "JointRemover",
        "LinearRemover",
        "TransportRemover",
        "mic_e",
        "remove_dependence",
    ),
    "umfi.importance.result": ("ImportanceResult", "load_result"),
    "umfi.selector": ("UltraMarginalSelector",),
    "umfi.importance.status": ("RunStatus", "checkpoint_status", "merge_checkpoints"),
}
_SUBMODULES = {"datasets": "umfi.data.datasets", "plots": "umfi.plots"}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name in _SUBMODULES:
        return import_module(_SUBMODULES[name])
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'umfi' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
