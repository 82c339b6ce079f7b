"""Standard errors and intervals, by rows or by subsamples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from umfi.inference.p_values import SMALLEST_TAIL

__all__ = [
    "MAX_INTERVAL_FRACTION",
    "MIN_INTERVAL_FRACTION",
    "MIN_INTERVAL_REPEATS",
    "row_interval",
    "standard_error",
    "subsampling_interval",
    "subsampling_test",
]

# Fewer repeats do not show how much importances vary.
MIN_INTERVAL_REPEATS = 20
# The closer a subsample is to all rows, the less it shows of how others would look; the smaller it
# is, the more time all rows take beside it.
MIN_INTERVAL_FRACTION, MAX_INTERVAL_FRACTION = 0.2, 0.8

# Rows are predicted and learned from: importances of forests vary over tables by 1.0 to 1.5 times
# the error of the predicted rows alone, see benchmarks/intervals.py.
ROW_ROLES = 2.0


def standard_error(influences: NDArray[np.float64] | None) -> float:
    """Return the standard error of an estimate from the influence of each row; NaN if unknown.

    Parameters
    ----------
    influences : ndarray, shape (n_rows,), optional
        NaN for rows that have no part in the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> standard_error(np.array([1.0, 3.0, np.nan]))
    1.0
    """
    if influences is None:
        return float("nan")
    known = influences[~np.isnan(influences)]
    if len(known) < 2:
        return float("nan")
    return float(np.std(known, ddof=1) / np.sqrt(len(known)))


def row_interval(
    estimates: NDArray[np.float64],
    errors: NDArray[np.float64],
    fraction: float,
    n_rows: int,
    level: float,
) -> tuple[float, float]:
    """Return an interval for the importance that fits of this many rows find.

    The importance is a mean over rows, so it has a standard error (Williamson, Gilbert, Simon and
    Carone 2021): that of the rows as they are predicted. Rows also vary as those that are learned
    from, which in tables of some hundred rows adds about as much variance again, so twice the
    variance is taken. Repeats on all rows have it in common. Repeats on subsamples, a fraction s of
    the rows each, overlap: of their variance the fraction s stays whatever their number r, and the
    rest is divided by it, s + (1 - s) / r. Where rows do not show the error, as for powers that
    only score, the spread over subsamples does: they vary by σ²(1/m - 1/n), all rows by σ²/n
    (Politis, Romano and Wolf 1999).

    Parameters
    ----------
    estimates : ndarray, shape (n_repeats,)
    errors : ndarray, shape (n_repeats,)
        Standard errors, NaN where unknown.
    fraction : float
        Rows of a repeat as a fraction of all.
    n_rows : int
        Of all rows.
    level : float

    Returns
    -------
    low, high : float
        NaN where nothing shows the error.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = row_interval(np.array([0.3]), np.array([0.05]), 1.0, 100, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.16, 0.44)
    """
    from scipy import stats

    n_repeats = len(estimates)
    is_subsampled = MIN_INTERVAL_FRACTION <= fraction <= MAX_INTERVAL_FRACTION
    freedom = n_rows - 1
    if not np.isnan(errors).any():
        variance = ROW_ROLES * float(np.mean(errors**2)) * (fraction + (1.0 - fraction) / n_repeats)
        if n_repeats > 1:  # The chance of each fit.
            variance += float(np.var(estimates, ddof=1)) / n_repeats
        error = np.sqrt(variance)
    elif is_subsampled and n_repeats >= MIN_INTERVAL_REPEATS:
        error = _standard_error(estimates, fraction)
        freedom = n_repeats - 1
    else:
        return float("nan"), float("nan")
    margin = float(error * stats.t.ppf(0.5 + level / 2.0, freedom))
    estimate = float(np.mean(estimates))
    return estimate - margin, estimate + margin


def subsampling_interval(
    subsampled: NDArray[np.float64],
    whole: NDArray[np.float64],
    fraction: float,
    level: float,
) -> tuple[float, float]:
    """Return an interval for the importance that ever more rows would show.

    Two things are estimated. The standard error is the spread over subsamples of m of n rows
    times √(m / (n - m)), because subsamples drawn without replacement overlap: they vary by
    σ²(1/m - 1/n), all rows by σ²/n (Politis, Romano and Wolf 1999). And more rows let a forest
    learn more: from m to n rows the importance moved, and a learning curve like 1/√n carries this
    on. Whether it will go on is not known, so the interval reaches from the importance of all
    rows to the one carried on, and beyond both by the standard error times a t quantile.

    Parameters
    ----------
    subsampled : ndarray, shape (n_repeats,)
        Importances of subsamples.
    whole : ndarray, shape (at least 1,)
        Importances of all rows, with other seeds.
    fraction : float
        Rows of a subsample as a fraction of all, below 1.
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> low, high = subsampling_interval(np.array([0.28, 0.3, 0.32]), np.array([0.3]), 0.5, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.214, 0.386)
    """
    from scipy import stats

    error = _standard_error(subsampled, fraction)
    margin = error * float(stats.t.ppf(0.5 + level / 2.0, len(subsampled) - 1))
    now = float(np.mean(whole))
    carried_on = now + (now - float(np.mean(subsampled))) / (fraction**-0.5 - 1.0)
    return min(now, carried_on) - margin, max(now, carried_on) + margin


def subsampling_test(
    subsampled: NDArray[np.float64], whole: NDArray[np.float64], fraction: float
) -> float:
    """Return the p-value of an estimate that is zero at most if there is nothing.

    By a t distribution. The standard error is that of :func:`subsampling_interval`, less what the
    runs on all rows show to be the chance of a single run, as permutations and seeds bring it:
    their mean has less of that. No more than half of the variance is taken away, because few runs
    do not show it well.

    Examples
    --------
    >>> import numpy as np
    >>> round(subsampling_test(np.array([0.28, 0.3, 0.32]), np.array([0.3]), 0.5), 4)
    0.0022
    """
    from scipy import stats

    estimate = float(np.mean(whole))
    variance = _standard_error(subsampled, fraction) ** 2
    if len(whole) > 1:
        of_a_run = float(np.var(whole, ddof=1))
        less = variance - of_a_run * fraction / (1.0 - fraction)
        variance = max(less, variance / 2.0) + of_a_run / len(whole)
    error = float(np.sqrt(variance))
    if error == 0.0:
        return 1.0 if estimate <= 0.0 else SMALLEST_TAIL
    return float(max(stats.t.sf(estimate / error, len(subsampled) - 1), SMALLEST_TAIL))


def _standard_error(subsampled: NDArray[np.float64], fraction: float) -> float:
    """Return the standard error of all rows from estimates of subsamples."""
    return float(np.std(subsampled, ddof=1) * np.sqrt(fraction / (1.0 - fraction)))
