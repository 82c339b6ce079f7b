"""What methods share in their docstrings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["with_common_parameters"]

Method = TypeVar("Method", bound=Callable[..., Any])

COMMON_PARAMETERS = """task : {"auto", "regression", "classification"}
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
        A file that keeps what is done, so that the same call goes on where it was stopped, and
        more repeats, permutations or a test can be added later. See
        :func:`umfi.checkpoint_status`.
    time_limit : float or str, optional
        In seconds, or as ``"30m"`` or ``"1h30m"``. When time is up the result is what was reached,
        and its notes say what is missing: every feature is scored once first, then those that are
        not decided are tested, then come the other repeats.

    Returns
    -------
    ImportanceResult"""


GROUPS_PARAMETER = """groups : dict, optional
        Name to columns, such as ``{"texture": ["sand", "silt", "clay"]}``: these are taken
        as one feature, with one importance."""

TEST_PARAMETERS = """test : {"permutation", "full-permutation"}, optional
        Gives each feature a p-value: its rank among permuted copies that are treated as it is, on
        all rows. The importances are the same without it; a feature whose importance is not above
        zero has the p-value 1. ``"permutation"`` stops as soon as a feature is clearly unrelated
        or clearly related, ``"full-permutation"`` never does.
    max_permutations : int
        The largest number of copies per feature.
    alpha : float
        Level of ``related`` in the table; :meth:`ImportanceResult.related` takes any other."""

SHARED_PARAMETERS = {
    "{common_parameters}": COMMON_PARAMETERS,
    "{groups_parameter}": GROUPS_PARAMETER,
    "{test_parameters}": TEST_PARAMETERS,
}


def with_common_parameters(method: Method) -> Method:
    """Write the parameters that methods share into the method's docstring."""
    text = method.__doc__ or ""
    for mark, parameters in SHARED_PARAMETERS.items():
        text = text.replace(mark, parameters)
    method.__doc__ = text
    return method
