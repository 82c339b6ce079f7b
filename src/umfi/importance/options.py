"""The options of all methods: declared once, shown in full by every method, and checked.

A method is written with its own arguments and ``**options: Unpack[CommonOptions]``, and decorated
with :func:`with_options`, which fills in defaults and gives it its full signature and docstring.
"""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypedDict, TypeVar, get_type_hints

import numpy as np

from umfi.data.contracts import PredictivePower, ProtocolName, check_protocol
from umfi.errors import InputError
from umfi.inference.sequential import check_test
from umfi.power import LinearPower, PredictingPower
from umfi.removal import find_remover

__all__ = [
    "DEFAULTS",
    "FEW_ROWS",
    "CommonOptions",
    "Groups",
    "OptionsWithTest",
    "RunOptions",
    "check_arguments",
    "count_sampled_rows",
    "find_protocol",
    "measure_accuracy",
    "with_options",
]

# Fewer deserve a word: about seven rows per tree are out of bag.
FEW_ROWS = 20

Groups = Mapping[str, Iterable[str | int]]
P = ParamSpec("P")
R = TypeVar("R")


class RunOptions(TypedDict, total=False):
    """What the table is, what measures power, and how the work is done."""

    groups: Groups | None
    task: str
    power: Any
    kinds: Mapping[str, str] | None
    missing: str
    random_state: Any
    n_jobs: int | None
    executor: Any
    progress: bool | None
    checkpoint: Any
    time_limit: float | str | None


class CommonOptions(RunOptions, total=False):
    """The same, and how often everything is run on which rows."""

    repeats: int
    subsample: int | float | None


class OptionsWithTest(CommonOptions, total=False):
    """The same, and how features are tested."""

    test: str | None
    max_permutations: int
    alpha: float


# In the order of signatures.
DEFAULTS: dict[str, Any] = {
    "test": None,
    "max_permutations": 199,
    "alpha": 0.05,
    "groups": None,
    "task": "auto",
    "power": "forest",
    "kinds": None,
    "missing": "error",
    "repeats": 1,
    "subsample": None,
    "random_state": None,
    "n_jobs": None,
    "executor": None,
    "progress": None,
    "checkpoint": None,
    "time_limit": None,
}

DESCRIPTIONS = """\
test : {"permutation", "full-permutation"}, optional
    Gives each feature a p-value: its rank among permuted copies that are treated as it is, on
    all rows. The importances are the same without it; a feature whose importance is not above
    zero has the p-value 1. ``"permutation"`` stops as soon as a feature is clearly unrelated
    or clearly related, ``"full-permutation"`` never does.
max_permutations : int
    The largest number of copies per feature.
alpha : float
    Level of ``related`` in the table; :meth:`ImportanceResult.related` takes any other.
groups : dict, optional
    Name to columns, such as ``{"texture": ["sand", "silt", "clay"]}``: these are taken
    as one feature, with one importance.
task : {"auto", "regression", "classification"}
    Floats are regression; text, booleans and categories are classification; whole numbers
    are classification up to 20 distinct values, with a note in the settings.
power : str, ForestPower or other power, scikit-learn estimator or callable
    What measures predictive power: ``"forest"``, ``"extra-trees"``, ``"boosting"``,
    ``"linear"``, ``"foci"``, ``"knn"``, ``"neural-network"``, ``"qmd"``, or an object such as
    ``umfi.ForestPower(measure="information")``. Estimators are cross-validated; a callable is
    ``f(columns, y, rng) -> float``. Powers that predict score in R², for classes that of the
    class indicators, unless a measure is asked for.
kinds : dict, optional
    Column name to ``"continuous"``, ``"ordinal"``, ``"categorical"`` or ``"boolean"``, where it
    is not as found: text is categorical, numbers are continuous.
missing : {"error", "drop", "level"}
    ``"drop"`` leaves out rows with a missing value in any column or in the response;
    ``"level"`` takes missing values as a level of their own: one more category, and for
    numbers a lowest level, by ranks.
repeats : int
    How often everything is run, each time with fresh seeds and a fresh subsample. One is
    enough for intervals; more average out the noise of the fits.
subsample : int or float, optional
    Rows drawn without replacement for each repeat: a number, or a fraction between 0 and 1.
    Methods and powers that only score have intervals with 20 repeats or more of a fifth to
    four fifths of the rows; others have them from the rows of the fit.
random_state : None, int, Generator or SeedSequence
    The same seed gives the same numbers whatever the number of workers.
n_jobs : int, optional
    Number of workers; all cores by default.
executor : str, dask.distributed.Client or Executor, optional
    Who does the work: ``"threads"`` (the default), ``"serial"``, ``"processes"`` (for powers
    written in Python, which hold its lock), ``"dask"`` or the address of a Dask scheduler such
    as ``"tcp://10.0.0.1:8786"``, a Dask client, or any executor of ``concurrent.futures``. The
    numbers are the same.
progress : bool, optional
    False hides the progress bar, which is only ever shown in a terminal.
checkpoint : str, path or Checkpoint, optional
    A file that stores what is done, so that the same call goes on where it was stopped, and
    more repeats, permutations or a test can be added later. See
    :func:`umfi.checkpoint_status`.
time_limit : float or str, optional
    In seconds, or as ``"30m"`` or ``"1h30m"``. When time is up the result is what was reached,
    and its notes say what is missing: every feature is scored once first, then those that are
    not decided are tested, then come the other repeats.
"""


def with_options(
    declared: type, /, **own_defaults: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the decorator of a method that takes the declared options.

    The method unpacks the declared typed dictionary, and may have defaults of its own. The line
    ``{common_parameters}`` of its docstring gives way to descriptions of all of them.

    Examples
    --------
    >>> @with_options(CommonOptions, repeats=20)
    ... def method(X, y, *, depth=2, **options):
    ...     return depth, options["repeats"], options["power"]
    >>> method(None, None, repeats=5)
    (2, 5, 'forest')
    >>> list(inspect.signature(method).parameters)[:5]
    ['X', 'y', 'depth', 'groups', 'task']
    >>> method(None, None, repeat=5)
    Traceback (most recent call last):
        ...
    TypeError: method() got an unexpected keyword argument 'repeat'. Did you mean 'repeats'?
    """
    annotations = get_type_hints(declared)
    defaults = {name: default for name, default in DEFAULTS.items() if name in annotations}
    defaults |= own_defaults

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        *own, _ = signature.parameters.values()  # The last is **options.
        kind = inspect.Parameter.KEYWORD_ONLY
        options = [
            inspect.Parameter(name, kind, default=default, annotation=annotations[name])
            for name, default in defaults.items()
        ]
        signature = signature.replace(parameters=[*own, *options])

        @wraps(function)
        def method(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in signature.parameters:
                    nearest = difflib.get_close_matches(name, signature.parameters, n=1)
                    hint = f". Did you mean {nearest[0]!r}?" if nearest else ""
                    called = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                    raise TypeError(called + hint)
            return function(*args, **(defaults | kwargs))

        method.__signature__ = signature  # type: ignore[attr-defined]
        method.__annotations__ = {
            parameter.name: parameter.annotation for parameter in signature.parameters.values()
        } | {"return": signature.return_annotation}
        method.__doc__ = _describe_options(function.__doc__ or "", defaults)
        return method

    return decorate


def _describe_options(docstring: str, names: Iterable[str]) -> str:
    """Return a docstring with the descriptions of these options, in their order."""
    texts = {text.partition(" :")[0]: text for text in re.split(r"\n(?=\w)", DESCRIPTIONS.rstrip())}

    def describe(mark: re.Match[str]) -> str:
        return textwrap.indent("\n".join(texts[name] for name in names), mark[1])

    return re.sub(r"^( *)\{common_parameters\}$", describe, docstring, flags=re.MULTILINE)


def check_arguments(own: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the method itself, or raise where they do not go together."""
    own = dict(own)
    protocol = check_protocol(own.get("protocol"))
    if protocol == "paper" and options["groups"] is not None:
        raise InputError("The paper protocol has no groups: leave protocol out.", argument="groups")
    if "test" in options:
        check_test(options["test"], options["max_permutations"], options["alpha"], protocol)
    if "remover" in own:
        if own["remover"] is None:
            own["remover"] = _default_remover(options["power"], protocol)
        find_remover(own["remover"], protocol or "one-fit")
    return own


def _default_remover(power: Any, protocol: ProtocolName | None) -> str:
    """Return the name of the remover that fits a power and a protocol."""
    if protocol == "paper":
        return "transport"
    is_linear = isinstance(power, LinearPower) or (isinstance(power, str) and power == "linear")
    return "linear" if is_linear else "joint"


def find_protocol(protocol: ProtocolName | None, power: PredictivePower) -> ProtocolName:
    """Return the protocol that was asked for, or the one that fits the power."""
    is_predicting = isinstance(power, PredictingPower)
    if protocol is None:
        return "one-fit" if is_predicting else "matched"
    if protocol == "one-fit" and not is_predicting:
        raise InputError(
            f"protocol='one-fit' averages predictions, and power={power!r} only scores: pass "
            "protocol='matched'.",
            argument="protocol",
        )
    return protocol


def measure_accuracy(power: PredictivePower) -> PredictivePower:
    """Return the power as the authors measure it, unless another measure was asked for."""
    if not isinstance(power, PredictingPower) or power.measure is not None:
        return power
    return power.with_measure("accuracy")


def count_sampled_rows(subsample: int | float | None, n_rows: int) -> int | None:
    """Return the rows of each repeat, None for all."""
    if subsample is None:
        return None
    is_number = isinstance(subsample, Real) and not isinstance(subsample, bool)
    is_fraction = is_number and not isinstance(subsample, Integral) and 0.0 < subsample <= 1.0
    is_count = is_number and 1 <= subsample < np.inf and subsample == int(subsample)
    refused = partial(InputError, argument="subsample", value=subsample)
    if not is_fraction and not is_count:
        raise refused("is not valid: pass a whole number of rows, or a fraction from 0.0 to 1.0.")
    n_sampled = round(subsample * n_rows) if is_fraction else int(subsample)
    if n_sampled > n_rows:
        raise refused(f"is more than the {n_rows} rows of X.")
    if n_sampled < FEW_ROWS:
        raise refused(
            f"leaves {n_sampled} of {n_rows} rows, and {FEW_ROWS} at least are needed: pass a "
            "larger fraction, or None for all rows."
        )
    return n_sampled
