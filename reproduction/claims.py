"""What the paper says, as numbers that can turn out otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

N_BOOTSTRAPS = 2000
# With fewer runs a bootstrap draws the same few again and again, and looks surer than it is.
MIN_ROWS = 5
# Rows of many resamples are held at once, of at most so many numbers.
MAX_NUMBERS = 4_000_000
# Words that tables are read by.
HOLDS, CHANCE, OURS = "holds", ", which may be chance", "(ours)"
# Sums of the same numbers in another order differ by less.
DIGITS = 9
ANYTHING = (-math.inf, math.inf)

Numbers = NDArray[np.float64]


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
    value = round(value, DIGITS) + 0.0  # What counts as zero has no sign.
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def claim_of_number(statement: str, value: float, **bounds: Any) -> Claim:
    """Return the claim on a number that was measured once."""
    return Claim(statement, float(value), float(value), float(value), **bounds)


def claim_of_mean(
    statement: str, samples: Any, *, limits: tuple[float, float] = ANYTHING, **bounds: Any
) -> Claim:
    """Return the claim on a mean of independent samples, with Student's interval.

    Limits are what the mean can be at all.

    Examples
    --------
    >>> claim_of_mean("above zero", [1.0, 1.2, 0.8, 1.1], least=0.0).verdict
    'holds'
    """
    values = np.asarray(samples, dtype=np.float64)
    mean = float(values.mean())
    half = math.inf
    if len(values) > 1:
        error = values.std(ddof=1) / math.sqrt(len(values))
        half = float(student.ppf(0.975, len(values) - 1) * error)
    low, high = np.clip([mean - half, mean + half], *limits)
    return Claim(statement, mean, float(low), float(high), **bounds)


def claim_of_rows(
    statement: str, rows: Numbers, statistic: Callable[[Numbers], Any], **settings: Any
) -> Claim:
    """Return the claim on a statistic of independent rows, with the interval of a bootstrap.

    Parameters
    ----------
    statement : str
    rows : ndarray, shape (n_runs, n_numbers)
        One row per replication.
    statistic : callable
        From rows, shape (..., n_runs, n_numbers), to numbers, shape (...).
    **settings
        ``limits`` and ``is_of_so_many_runs``, see :func:`_claim_of_draws`, and the bounds:
        ``least``, ``most``, ``paper``, ``is_strict``.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(1.0, 0.1, size=(50, 2))
    >>> claim = claim_of_rows(
    ...     "above zero", rows, lambda part: part.mean(axis=-2).min(axis=-1), least=0.0
    ... )
    >>> claim.verdict
    'holds'
    """

    def draw() -> Numbers:
        rng = np.random.default_rng(0)
        n_at_once = max(1, MAX_NUMBERS // rows.size)
        parts = []
        for first in range(0, N_BOOTSTRAPS, n_at_once):
            n_draws = min(n_at_once, N_BOOTSTRAPS - first)
            drawn = rng.integers(len(rows), size=(n_draws, len(rows)))
            parts.append(statistic(rows[drawn]))
        return np.concatenate(parts)

    return _claim_of_draws(statement, len(rows), float(statistic(rows)), draw, **settings)


def claim_of_medians(
    statement: str, rows: Numbers, statistic: Callable[[Numbers], Any], **settings: Any
) -> Claim:
    """Return the claim on a statistic of the medians of columns, shape (..., n_numbers)."""

    def draw() -> Any:
        n_rows = len(rows)
        return statistic(_order_statistics(rows, (n_rows - 1) // 2, n_rows // 2).mean(axis=0))

    value = float(statistic(np.median(rows, axis=0)))
    return _claim_of_draws(statement, len(rows), value, draw, **settings)


def claim_of_quartiles(
    statement: str, rows: Numbers, statistic: Callable[[Numbers], Any], **settings: Any
) -> Claim:
    """Return the claim on a statistic of the quartiles of columns, shape (3, ..., n_numbers)."""

    def draw() -> Any:
        positions = np.array([0.25, 0.5, 0.75]) * (len(rows) - 1)
        below, above = np.floor(positions).astype(int), np.ceil(positions).astype(int)
        low, high = np.split(_order_statistics(rows, *below, *above), 2)
        part = (positions - below)[:, None, None]
        # As NumPy's quantile rounds.
        from_above = high - (high - low) * (1.0 - part)
        return statistic(np.where(part < 0.5, low + (high - low) * part, from_above))

    value = float(statistic(np.quantile(rows, [0.25, 0.5, 0.75], axis=0)))
    return _claim_of_draws(statement, len(rows), value, draw, **settings)


def _claim_of_draws(
    statement: str,
    n_rows: int,
    value: float,
    draw: Callable[[], Any],
    *,
    limits: tuple[float, float] = ANYTHING,
    is_of_so_many_runs: bool = False,
    **bounds: Any,
) -> Claim:
    """Return the claim on a value, with an interval made of what resamples give.

    The basic interval, which mirrors the draws at the value: extremes are drawn too large or too
    small, and mirroring takes that off instead of adding it. So it is an interval for what ever
    more rows would give. Where the paper prints a number that belongs to so many runs, such as a
    count of medians above zero, the question is what as many other runs would give: then the
    draws keep their order, and only their median is moved to the value. Limits are what the
    statistic can be at all.
    """
    if n_rows < MIN_ROWS:
        return Claim(statement, value, *ANYTHING, **bounds)
    draws = draw()
    if is_of_so_many_runs:
        # By the median, which counts and fractions can be, as they can be no mean.
        ends = value + np.quantile(draws, [0.025, 0.975]) - np.median(draws)
    else:
        ends = 2.0 * value - np.quantile(draws, [0.975, 0.025])
    low, high = np.clip(ends, *limits)
    # Draws of an extreme may all lie on one side of it; what was found is always possible.
    return Claim(statement, value, min(float(low), value), max(float(high), value), **bounds)


def _order_statistics(rows: Numbers, *positions: int) -> Numbers:
    """Return sorted values at positions of each resample, (n_positions, n_draws, n_columns)."""
    rows = np.ascontiguousarray(rows)
    return _order_statistics_of(rows.tobytes(), len(rows), positions, N_BOOTSTRAPS)


# Several claims are on the same rows.
@lru_cache(maxsize=8)
def _order_statistics_of(
    data: bytes, n_rows: int, positions: tuple[int, ...], n_draws: int
) -> Numbers:
    rows = np.frombuffer(data).reshape(n_rows, -1).T
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    columns = np.arange(len(rows))
    rng = np.random.default_rng(0)
    found = np.empty((len(positions), n_draws, len(rows)))
    for draw in range(n_draws):
        # Sorting once, and counting how often each row is drawn, is faster than sorting anew.
        counts = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
        n_drawn = np.cumsum(counts.astype(np.int32).take(order), axis=1, dtype=np.int32)
        for number, position in enumerate(positions):
            found[number, draw] = ordered[columns, (n_drawn > position).argmax(axis=1)]
    return found


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
