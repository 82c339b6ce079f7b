"""What the paper says, as numbers that can turn out otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HOLDS", "Claim", "claim_of_mean", "claim_of_number", "claim_of_rows", "sum_up"]

N_BOOTSTRAPS = 2000
# With fewer runs a bootstrap draws the same few again and again, and looks surer than it is.
MIN_ROWS = 5
# Words that tables are read by.
HOLDS, CHANCE, OURS = "holds", ", which may be chance", "(ours)"
# Sums of the same numbers in another order differ by less.
DIGITS = 9


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
        What the paper says; empty where the claim is ours.
    is_strict : bool
        Whether the bounds themselves are outside.
    """

    statement: str
    value: float
    low: float
    high: float
    least: float = -math.inf
    most: float = math.inf
    paper: str = ""
    is_strict: bool = False

    def _holds_at(self, value: float) -> bool:
        # Bounds are sums too, such as a printed number and what counts as near to it.
        least, value, most = (round(number, DIGITS) for number in (self.least, value, self.most))
        return least < value < most if self.is_strict else least <= value <= most

    @property
    def holds(self) -> bool:
        """Whether the value lies between the bounds."""
        return self._holds_at(self.value)

    @property
    def is_sure(self) -> bool:
        """Whether the whole interval lies on the same side as the value."""
        if self.holds:
            return self._holds_at(self.low) and self._holds_at(self.high)
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
        chance = "" if self.is_sure else CHANCE
        if self.holds:
            return f"{HOLDS}{chance}"
        missed_by = self.least - self.value if self.value <= self.least else self.value - self.most
        return f"does not hold, by {_say(missed_by)}{chance}"

    @property
    def numbers(self) -> str:
        """The value with its interval."""
        if round(self.high - self.low, DIGITS) == 0.0:
            return _say(self.value)
        if math.isinf(self.low):
            return f"{_say(self.value)} (too few runs for an interval)"
        return f"{_say(self.value)} ({_say(self.low)} to {_say(self.high)})"

    @property
    def bounds(self) -> str:
        """Where the claim holds."""
        below, above = ("below", "above") if self.is_strict else ("at most", "at least")
        if math.isinf(self.least):
            return f"{below} {_say(self.most)}"
        if math.isinf(self.most):
            return f"{above} {_say(self.least)}"
        if self.least == self.most:
            return f"exactly {_say(self.least)}"
        return f"{_say(self.least)} to {_say(self.most)}"

    def to_plain(self) -> dict[str, Any]:
        """Return the claim as a row of a table."""
        return {
            "claim": self.statement,
            "found": self.numbers,
            "holds if": self.bounds,
            "paper": self.paper or OURS,
            "verdict": self.verdict,
            "value": self.value,
            "low": self.low,
            "high": self.high,
        }


def _say(value: float) -> str:
    """Return a number to three digits, large ones in full.

    Examples
    --------
    >>> _say(12345.6), _say(0.00123456), _say(-1e-16)
    ('12,346', '0.00123', '0')
    """
    value = round(value, DIGITS) + 0.0  # What is judged as zero is zero, and has no sign.
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def claim_of_number(statement: str, value: float, **bounds: Any) -> Claim:
    """Return the claim on a number that was measured once."""
    return Claim(statement, float(value), float(value), float(value), **bounds)


def claim_of_mean(
    statement: str,
    samples: Any,
    *,
    limits: tuple[float, float] = (-math.inf, math.inf),
    **bounds: Any,
) -> Claim:
    """Return the claim on a mean of independent samples, with Student's interval.

    Parameters
    ----------
    statement : str
    samples : array-like
    limits : tuple of float
        What the mean can be at all.
    **bounds
        ``least``, ``most``, ``paper``, ``is_strict``.

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
    low, high = np.clip([mean - half, mean + half], *limits)
    return Claim(statement, mean, float(low), float(high), **bounds)


def claim_of_rows(
    statement: str,
    rows: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], float],
    *,
    limits: tuple[float, float] = (-math.inf, math.inf),
    is_of_so_many_runs: bool = False,
    **bounds: Any,
) -> Claim:
    """Return the claim on a statistic of independent rows, with the interval of a bootstrap.

    The basic interval, which mirrors the draws at the value: extremes are drawn too large or too
    small, and mirroring takes that off instead of adding it. So it is an interval for what ever
    more rows would give. Where the paper prints a number that belongs to so many runs, such as a
    count of medians above zero, the question is what as many other runs would give: then the
    draws keep their order, and only their median is moved to the value.

    Parameters
    ----------
    statement : str
    rows : ndarray, shape (n_runs, n_numbers)
        One row a replication.
    statistic : callable
        From rows to a number.
    limits : tuple of float
        What the statistic can be at all.
    is_of_so_many_runs : bool
        Whether the interval is for as many other rows, instead of ever more.
    **bounds
        ``least``, ``most``, ``paper``, ``is_strict``.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(1.0, 0.1, size=(50, 2))
    >>> claim_of_rows("above zero", rows, lambda part: part.mean(axis=0).min(), least=0.0).verdict
    'holds'
    """
    value = float(statistic(rows))
    if len(rows) < MIN_ROWS:
        return Claim(statement, value, -math.inf, math.inf, **bounds)
    rng = np.random.default_rng(0)
    draws = [statistic(rows[rng.integers(len(rows), size=len(rows))]) for _ in range(N_BOOTSTRAPS)]
    if is_of_so_many_runs:
        # By the median, which counts and shares can be, as they can be no mean.
        ends = value + np.quantile(draws, [0.025, 0.975]) - np.median(draws)
    else:
        ends = 2.0 * value - np.quantile(draws, [0.975, 0.025])
    low, high = np.clip(ends, *limits)
    # Draws of an extreme may all lie on one side of it; what was found is always possible.
    return Claim(statement, value, min(float(low), value), max(float(high), value), **bounds)


def sum_up(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return how many claims hold, the paper's and ours apart.

    Parameters
    ----------
    rows : iterable of dict
        Claims as rows of a table, see :meth:`Claim.to_plain`.

    Examples
    --------
    >>> claims = [Claim("x", 1, 1, 1, least=0.0, paper="above"), Claim("y", 1, -1, 3, least=0.0)]
    >>> sum_up(claim.to_plain() for claim in claims)
    "Of the paper's claims 1 of 1 holds. Of our own 1 of 1 holds, 1 perhaps by chance."
    """
    parts: dict[str, list[str]] = {"the paper's claims": [], "our own": []}
    for row in rows:
        parts["our own" if row["paper"] == OURS else "the paper's claims"].append(row["verdict"])
    sentences = []
    for whose, verdicts in parts.items():
        if verdicts:
            held = [verdict for verdict in verdicts if verdict.startswith(HOLDS)]
            n_by_chance = sum(verdict.endswith(CHANCE) for verdict in held)
            verb = "holds" if len(held) == 1 else "hold"
            chance = f", {n_by_chance} perhaps by chance" if n_by_chance else ""
            sentences.append(f"Of {whose} {len(held)} of {len(verdicts)} {verb}{chance}.")
    return " ".join(sentences)
