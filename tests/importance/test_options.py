"""Common options are declared once, shown by every method, and refused where one lacks them."""

import inspect
import typing

import pytest

import umfi
from umfi.importance import METHODS
from umfi.importance.options import DEFAULTS, OptionsWithTest

WITHOUT_TEST = ["marginal_contribution", "permutation", "conditional_permutation"]


def test_every_declared_option_has_a_default():
    assert set(typing.get_type_hints(OptionsWithTest)) == set(DEFAULTS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_shows_every_option_it_takes_with_its_default(name):
    assert METHODS[name].function is getattr(umfi, name)
    parameters = inspect.signature(getattr(umfi, name)).parameters
    assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    for option, default in DEFAULTS.items():
        if option in parameters:
            assert parameters[option].default == default
    assert METHODS[name].is_tested == (name not in WITHOUT_TEST)


def test_options_may_have_other_defaults():
    parameters = inspect.signature(umfi.partners).parameters
    assert (parameters["repeats"].default, parameters["subsample"].default) == (20, 0.5)
    assert inspect.signature(umfi.diagnose).parameters["power"].default == "extra-trees"


@pytest.mark.parametrize(
    ("function", "unknown", "hint"),
    [
        (umfi.ultra_marginal, "remvoer", r"\. Did you mean 'remover'\?$"),
        (umfi.permutation, "test", "'test'"),
        (umfi.diagnose, "subsample", "'subsample'"),
        (umfi.decompose, "protocol", "'protocol'"),
    ],
)
def test_options_that_a_method_lacks_are_refused_as_python_does(function, unknown, hint):
    X, y = umfi.datasets.simulate("correlation", n=50, random_state=0)
    message = rf"^{function.__name__}\(\) got an unexpected keyword argument .*{hint}"
    with pytest.raises(TypeError, match=message):
        function(X, y, **{unknown: None})
