"""Errors say what they are about to programs as well as to people."""

import pickle

import pytest

from umfi.errors import ErrorCode, InputError, RunError, UntestableError, unknown_name


@pytest.mark.parametrize("kind", [InputError, RunError, UntestableError])
def test_errors_travel_between_processes_with_all_that_they_carry(kind):
    error = kind("is wrong.", argument="power", value=lambda: 0, code=ErrorCode.OTHER_RUN)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert str(error).startswith("power=<function")
    assert vars(again) == vars(error)
    assert again.code is ErrorCode.OTHER_RUN


def test_every_kind_of_error_has_a_code_of_its_own():
    codes = [kind("").code for kind in (InputError, RunError, UntestableError)]
    assert codes == [ErrorCode.INVALID_INPUT, ErrorCode.RUN_FAILED, ErrorCode.UNTESTABLE]


def test_unknown_names_say_which_argument_holds_them():
    assert unknown_name("task", "x", ["a"]).argument == "task"
    assert unknown_name("column in kinds", "x", ["a"], argument="kinds").argument == "kinds"
