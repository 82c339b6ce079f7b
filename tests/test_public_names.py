"""Every public name is exported, documented and has a runnable example."""

import inspect

import pytest

import umfi

NAMES = [name for name in umfi.__all__ if name not in ("__version__", "datasets")]
METHODS = [
    "ultra_marginal",
    "marginal_contribution",
    "ablation",
    "bivariate",
    "permutation",
    "conditional_permutation",
]
COMMON = {"task", "power", "kinds", "repeats", "subsample", "random_state", "n_jobs"}
COMMON |= {"executor", "progress"}
WITHOUT_EXAMPLE = {"InputError"}


def test_exported_names_are_sorted_and_exist():
    assert umfi.__all__ == sorted(umfi.__all__)
    for name in umfi.__all__:
        assert hasattr(umfi, name)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented_with_an_example(name):
    text = inspect.getdoc(getattr(umfi, name))
    assert text
    assert "{common_parameters}" not in text
    if name not in WITHOUT_EXAMPLE:
        assert ">>>" in text


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_the_same_keyword_only_arguments(name):
    parameters = inspect.signature(getattr(umfi, name)).parameters
    text = inspect.getdoc(getattr(umfi, name))
    assert list(parameters)[:2] == ["X", "y"]
    for argument in list(parameters)[2:]:
        assert parameters[argument].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"\n{argument} :" in text
    assert set(parameters) >= COMMON
