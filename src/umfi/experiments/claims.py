"""What the paper says, as numbers that can turn out otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Claim", "claim_of_mean", "claim_of_number", "claim_of_rows"]

N_BOOTSTRAPS = 2000


@dataclass(frozen=True)
class Claim:
    """A quantity, what it was found to be, and between which bounds the claim holds.

    Attributes
    ----------
    statement : str
        The claim in words.
    value, low, high : float
        What was found, and its 95 % interval; all the same where nothing is known of chance.
    least, most : float
        Between these the claim holds.
    paper : str
        What the paper prints, if anything.
    """

    statement: str
    value: float
    low: float
    high: float
    least: float = -math.inf
    most: float = math.inf
    paper: str = ""

    @property
    def holds(self) -> bool:
        """Whether the value lies between the bounds."""
        return bool(self.least <= self.value <= self.most)

    @property
    def is_sure(self) -> bool:
        """Whether the whole interval lies on the same side as the value."""
        if self.holds:
            return bool(self.low >= self.least and self.high <= self.most)
        return bool(self.high < self.least or self.low > self.most)

    @property
    def verdict(self) -> str:
        """The verdict in words, with by how much a claim fails.

        Examples
        --------
        >>> Claim("x", 0.4, 0.3, 0.5, least=0.0).verdict
        'holds'
        >>> Claim("x", -0.1, -0.3, 0.1, least=0.0).verdict
        'does not hold, by 0.1, which may be chance'
        """
        if self.holds:
            return "holds" if self.is_sure else "holds, which may be chance"
        missed_by = self.least - self.value if self.value < self.least else self.value - self.most
        chance = "" if self.is_sure else ", which may be chance"
        return f"does not hold, by {missed_by:.3g}{chance}"

    @property
    def numbers(self) -> str:
        """The value with its interval."""
        if self.low == self.high:
            return f"{self.value:.3g}"
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"

    @property
    def bounds(self) -> str:
        """Where the claim holds."""
        if math.isinf(self.least):
            return f"at most {self.most:.3g}"
        if math.isinf(self.most):
            return f"at least {self.least:.3g}"
        return f"{self.least:.3g} to {self.most:.3g}"

    def to_plain(self) -> dict[str, Any]:
        """Return the claim as a row of a table."""
        return {
            "claim": self.statement,
            "found": self.numbers,
            "holds if": self.bounds,
            "paper": self.paper,
            "verdict": self.verdict,
            "value": self.value,
            "low": self.low,
            "high": self.high,
        }


def claim_of_number(statement: str, value: float, **bounds: Any) -> Claim:
    """Return the claim on a number that was measured once."""
    return Claim(statement, float(value), float(value), float(value), **bounds)


def claim_of_mean(statement: str, samples: Any, **bounds: Any) -> Claim:
    """Return the claim on a mean of independent samples, with Student's interval.

    Examples
    --------
    >>> claim_of_mean("above zero", [1.0, 1.2, 0.8, 1.1], least=0.0).verdict
    'holds'
    """
    from scipy.stats import t

    values = np.asarray(samples, dtype=np.float64)
    mean = float(values.mean())
    half = math.inf
    if len(values) > 1:
        half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
    return Claim(statement, mean, mean - half, mean + half, **bounds)


def claim_of_rows(
    statement: str,
    rows: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], float],
    **bounds: Any,
) -> Claim:
    """Return the claim on a statistic of independent rows, with the interval of a bootstrap.

    Parameters
    ----------
    statement : str
    rows : ndarray, shape (n_runs, n_numbers)
        One row a replication.
    statistic : callable
        From rows to a number.
    **bounds
        ``least``, ``most``, ``paper``.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(1.0, 0.1, size=(50, 2))
    >>> claim_of_rows("above zero", rows, lambda part: part.mean(axis=0).min(), least=0.0).verdict
    'holds'
    """
    value = float(statistic(rows))
    rng = np.random.default_rng(0)
    draws = [statistic(rows[rng.integers(len(rows), size=len(rows))]) for _ in range(N_BOOTSTRAPS)]
    low, high = np.quantile(draws, [0.025, 0.975])
    return Claim(statement, value, float(low), float(high), **bounds)
