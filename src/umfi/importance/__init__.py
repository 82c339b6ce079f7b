"""Importance methods: each prepares a study, scores sets of columns, and returns a result.

A new method is a file of its own and an entry in ``METHODS``, from which the command line,
:func:`umfi.compare`, reports and checkpoints know it.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from umfi.importance.ablation import ablation
from umfi.importance.bivariate import bivariate
from umfi.importance.decompose import assemble_parts, decompose
from umfi.importance.diagnose import diagnose
from umfi.importance.marginal_contribution import assemble_subsets, marginal_contribution
from umfi.importance.partners import partners
from umfi.importance.permutation import assemble_trees, conditional_permutation, permutation
from umfi.importance.result import ImportanceResult
from umfi.importance.scoring import assemble_scores
from umfi.importance.specification import Assembler
from umfi.importance.ultra_marginal import ultra_marginal

__all__ = [
    "METHODS",
    "Method",
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


class Method(NamedTuple):
    """What others need to know of a method."""

    function: Callable[..., ImportanceResult]
    question: str  # The response stands for {}.
    assemble: Assembler = assemble_scores  # Makes its result of the answers of its tasks.
    is_compared: bool = True  # By umfi.compare.
    is_compared_by_default: bool = False  # Slow methods are compared where they are asked for.
    needs_forest: bool = False  # It looks into the trees of a forest.
    hides_correlated: bool = False  # Correlated features can hide each other's importance.

    @property
    def options(self) -> Mapping[str, Any]:
        """Its arguments beside the data, with their defaults."""
        parameters = list(inspect.signature(self.function).parameters.values())[2:]
        return {parameter.name: parameter.default for parameter in parameters}

    @property
    def is_tested(self) -> bool:
        """Whether it takes ``test=``."""
        return "test" in self.options

    @property
    def removes(self) -> bool:
        """Whether it takes ``remover=``."""
        return "remover" in self.options


# By name, in the order in which they are listed and compared.
METHODS: dict[str, Method] = {
    "ultra_marginal": Method(
        ultra_marginal,
        "By how much does each feature improve the prediction of {}, once all others are stripped "
        "of the information they carry about it?",
        is_compared_by_default=True,
    ),
    "decompose": Method(
        decompose,
        "What information does each feature carry about {}, alone or together with others, and "
        "could others replace it?",
        assemble_parts,
        is_compared=False,
    ),
    "marginal_contribution": Method(
        marginal_contribution,
        "What is the most that each feature adds to what some of the others say about {}?",
        assemble_subsets,
    ),
    "ablation": Method(
        ablation,
        "What information about {} does each feature carry that no other can replace?",
        is_compared_by_default=True,
        hides_correlated=True,
    ),
    "bivariate": Method(
        bivariate,
        "What information does each feature carry about {} by itself?",
        is_compared_by_default=True,
    ),
    "permutation": Method(
        permutation,
        "How much does a fitted forest lean on each feature to predict {}?",
        assemble_trees,
        is_compared_by_default=True,
        needs_forest=True,
        hides_correlated=True,
    ),
    "conditional_permutation": Method(
        conditional_permutation,
        "How much does a fitted forest lean on each feature to predict {}, beyond what associated "
        "features say?",
        assemble_trees,
        needs_forest=True,
        hides_correlated=True,
    ),
}
