"""What users read when a call cannot be carried out: one sentence with the way out.

Programs decide by codes. The checks that several modules make of their numbers are here too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

__all__ = [
    "INCOMPLETE",
    "ErrorCode",
    "InputError",
    "RunError",
    "StopCode",
    "StopReason",
    "UntestableError",
    "check_count",
    "check_level",
    "is_whole_number",
    "listed",
    "shortened",
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


class StopCode(StrEnum):
    """Why a result holds less than was asked for."""

    INTERRUPTED = "interrupted"
    TIME_LIMIT = "time-limit"
    PART_OF_RUN = "part-of-run"  # The rest is for other machines.
    INCOMPLETE = "incomplete"  # The run may be going on.


class StopReason(NamedTuple):
    """Why a result holds less than was asked for, for programs and for people."""

    code: StopCode
    sentence: str

    def __str__(self) -> str:
        """Return the beginning of a sentence."""
        return self.sentence

    def as_settings(self) -> dict[str, str]:
        """Return what results keep of it."""
        return {"stopped": self.sentence, "stop_code": str(self.code)}


INCOMPLETE = StopReason(StopCode.INCOMPLETE, "The run is not complete")


NO_VALUE: Any = object()


class _CodedError(Exception):
    """An error that says what it is about in a form that programs can read.

    Parameters
    ----------
    message : str
        One sentence with the way out.
    code : ErrorCode, optional
    argument : str, optional
        The argument that is to be changed, as the library names it.
    value : optional
        What the argument was. The sentence begins with both then, as in ``"repeats=0 is not
        valid: ..."``, and front ends may name them in their own way instead.

    Examples
    --------
    >>> error = InputError("is not valid: pass 1.", argument="repeats", value=0)
    >>> str(error), error.argument, error.value, error.message
    ('repeats=0 is not valid: pass 1.', 'repeats', '0', 'is not valid: pass 1.')
    """

    default_code: ClassVar[ErrorCode]

    def __init__(
        self,
        message: str,
        *,
        code: ErrorCode | None = None,
        argument: str | None = None,
        value: Any = NO_VALUE,
    ) -> None:
        has_value = value is not NO_VALUE
        super().__init__(f"{argument}={value!r} {message}" if has_value else message)
        self.message = message
        self.code = self.default_code if code is None else code
        self.argument = argument
        # As text, because errors travel between processes and not all values can.
        self.value = str(value) if has_value else None


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
    return shortened([repr(str(name)) for name in names], at_most)


def shortened(words: Sequence[str], at_most: int = MAX_LISTED_NAMES) -> str:
    """Return the words joined by commas, and how many more there are."""
    shown = ", ".join(words[:at_most])
    return f"{shown} and {len(words) - at_most} more" if len(words) > at_most else shown


def unknown_name(
    what: str, name: object, valid: Iterable[str], *, argument: str | None = None
) -> InputError:
    """Return the error for a name that is not among the valid ones, with the nearest suggested.

    ``argument`` is which one holds the name; by default ``what`` is.

    Examples
    --------
    >>> print(unknown_name("remover", "linaer", ["linear", "transport"]))
    Unknown remover 'linaer': did you mean 'linear'? Valid: 'linear', 'transport'.
    """
    valid = list(valid)
    nearest = difflib.get_close_matches(str(name), valid, n=1, cutoff=0.5)
    if not nearest:  # Capitals alone can hide a match from difflib.
        by_lower_case = {candidate.lower(): candidate for candidate in valid}
        found = difflib.get_close_matches(str(name).lower(), by_lower_case, n=1)
        nearest = [by_lower_case[match] for match in found]
    hint = f": did you mean {nearest[0]!r}?" if nearest else "."
    return InputError(
        f"Unknown {what} {str(name)!r}{hint} Valid: {listed(valid, MAX_CHOICES)}.",
        argument=argument or what,
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
        raise InputError("is not valid: pass a whole number from 1 up.", argument=name, value=value)
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
        raise InputError("is not valid: pass a number between 0 and 1.", argument=name, value=value)
    return float(value)
