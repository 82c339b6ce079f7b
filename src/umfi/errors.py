"""What users are told when a call cannot be carried out: one sentence with the way out.

The checks that several places make of their numbers are here too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, ClassVar

__all__ = [
    "ErrorCode",
    "InputError",
    "RunError",
    "UntestableError",
    "check_count",
    "check_level",
    "is_whole_number",
    "listed",
    "unknown_name",
]

# A message that lists more names than this is not read.
MAX_LISTED_NAMES = 8
# Unless one of them is to be chosen.
MAX_CHOICES = 20


class ErrorCode(StrEnum):
    """What went wrong, for code that has to decide; sentences are for people alone."""

    INVALID_INPUT = "invalid-input"
    UNTESTABLE = "untestable"  # Importances can be computed, but not tested.
    OTHER_RUN = "other-run"  # A checkpoint holds the answers of another run.
    RUN_FAILED = "run-failed"


class _CodedError(Exception):
    """An error that says what it is about in a form that programs can read.

    Parameters
    ----------
    message : str
        One sentence with the way out.
    code : ErrorCode, optional
    argument : str, optional
        The argument that is to be changed, as the library names it.
    """

    default_code: ClassVar[ErrorCode]

    def __init__(
        self, message: str, *, code: ErrorCode | None = None, argument: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = self.default_code if code is None else code
        self.argument = argument


class InputError(_CodedError, ValueError):
    """The data or an argument cannot be used; the message says what to change."""

    default_code = ErrorCode.INVALID_INPUT


class UntestableError(InputError):
    """Importances can be computed, but not tested."""

    default_code = ErrorCode.UNTESTABLE


class RunError(_CodedError, RuntimeError):
    """A run cannot go on, as when all workers are gone; the message says what to do."""

    default_code = ErrorCode.RUN_FAILED


def listed(names: Iterable[object], at_most: int = MAX_LISTED_NAMES) -> str:
    """Return the names quoted and joined by commas, shortened when there are many.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    quoted = [repr(str(name)) for name in names]
    if len(quoted) > at_most:
        return ", ".join(quoted[:at_most]) + f" and {len(quoted) - at_most} more"
    return ", ".join(quoted)


def unknown_name(what: str, name: object, valid: Iterable[str]) -> InputError:
    """Return the error for a name that is not among the valid ones, with the nearest suggested.

    Examples
    --------
    >>> print(unknown_name("remover", "linaer", ["linear", "transport"]))
    Unknown remover 'linaer': did you mean 'linear'? Valid: 'linear', 'transport'.
    """
    valid = list(valid)
    nearest = difflib.get_close_matches(str(name), valid, n=1, cutoff=0.5)
    if not nearest:  # Capitals alone can hide a match from difflib.
        by_lower_case = {candidate.lower(): candidate for candidate in valid}
        nearest = [
            by_lower_case[match]
            for match in difflib.get_close_matches(str(name).lower(), by_lower_case, n=1)
        ]
    hint = f": did you mean {nearest[0]!r}?" if nearest else "."
    return InputError(
        f"Unknown {what} {str(name)!r}{hint} Valid: {listed(valid, MAX_CHOICES)}.", argument=what
    )


def is_whole_number(value: object) -> bool:
    """Return whether a value is an integer of Python or NumPy; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_count(name: str, value: Any) -> int:
    """Return a whole number from 1 up, or raise.

    Examples
    --------
    >>> check_count("repeats", 3)
    3
    """
    if not is_whole_number(value) or value < 1:
        raise InputError(
            f"{name}={value!r} is not valid: pass a whole number from 1 up.", argument=name
        )
    return int(value)


def check_level(name: str, value: Any) -> float:
    """Return a number between 0 and 1, or raise.

    Examples
    --------
    >>> check_level("alpha", 0.05)
    0.05
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0.0 < float(value) < 1.0:
        raise InputError(
            f"{name}={value!r} is not valid: pass a number between 0 and 1.", argument=name
        )
    return float(value)
