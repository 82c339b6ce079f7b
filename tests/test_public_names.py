"""Every public name is exported, documented and has a runnable example."""

import inspect
import subprocess
import sys

import pytest

import umfi
from umfi.importance import METHODS

NAMES = [name for name in umfi.__all__ if name not in ("__version__", "datasets")]
COMMON = {
    "task",
    "power",
    "groups",
    "kinds",
    "missing",
    "repeats",
    "subsample",
    "random_state",
    "n_jobs",
}
COMMON |= {"executor", "progress", "checkpoint", "time_limit"}
WITHOUT_EXAMPLE = {"InputError", "RunError", "RunStatus"}


def test_exported_names_are_sorted_and_exist():
    assert umfi.__all__ == sorted(umfi.__all__)
    for name in umfi.__all__:
        assert hasattr(umfi, name)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, umfi; print([m for m in ('numba', 'scipy', 'pandas') if m in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert loaded.strip() == "[]"


def test_names_are_listed_and_unknown_ones_refused():
    assert dir(umfi) == sorted(umfi.__all__)
    with pytest.raises(AttributeError, match="attribute ultra_marginl"):
        _ = umfi.ultra_marginl


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


def test_datasets_can_be_imported_as_a_module():
    from umfi.datasets import simulate

    assert simulate is umfi.datasets.simulate
