"""How long a run may take, and why it stopped."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

from umfi.errors import InputError, StopCode, StopReason

__all__ = ["Budget", "read_seconds"]

UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
AMOUNT = r"(\d+(?:\.\d+)?)"
DURATION = re.compile("".join(rf"(?:{AMOUNT}{unit})?" for unit in UNITS))


def read_seconds(time_limit: Any) -> float | None:
    """Return a time limit in seconds, given as a number of them or as text; None for none.

    Examples
    --------
    >>> read_seconds("1h30m"), read_seconds("90s"), read_seconds(2.5), read_seconds(None)
    (5400.0, 90.0, 2.5, None)
    """
    if time_limit is None:
        return None
    seconds = float("nan")
    if isinstance(time_limit, Real) and not isinstance(time_limit, bool):
        seconds = float(time_limit)
    elif isinstance(time_limit, str):
        text = time_limit.replace(" ", "").lower()
        found = DURATION.fullmatch(text)
        if found and text:
            amounts = zip(found.groups(), UNITS.values(), strict=True)
            seconds = sum(float(amount) * unit for amount, unit in amounts if amount)
        elif re.fullmatch(AMOUNT, text):
            seconds = float(text)
    if not seconds > 0.0:
        raise InputError(
            "is not a time: pass seconds, or text such as '30m' or '1h30m'.",
            argument="time_limit",
            value=time_limit,
        )
    return seconds


class Budget:
    """The time that a run has left, by a clock that nobody sets; the user may end it earlier."""

    def __init__(self, time_limit: Any = None) -> None:
        self.seconds = read_seconds(time_limit)
        self.end = None if self.seconds is None else time.monotonic() + self.seconds
        self.is_interrupted = False

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit, infinite if there is none."""
        return float("inf") if self.end is None else self.end - time.monotonic()

    def share(self, n_parts: int) -> Budget:
        """Return a budget of one of so many equal parts of what is left."""
        part = Budget()
        if self.end is not None:
            part.seconds = self.seconds
            part.end = time.monotonic() + max(0.0, self.seconds_left) / n_parts
        return part

    @property
    def is_over(self) -> bool:
        """Whether nothing new should begin."""
        return self.is_interrupted or self.seconds_left <= 0.0

    @property
    def stop_reason(self) -> StopReason | None:
        """Why nothing new should begin, None if it may."""
        if self.is_interrupted:
            return StopReason(StopCode.INTERRUPTED, "The run was interrupted")
        if self.is_over:
            sentence = f"The time limit of {self.seconds:g} seconds was reached"
            return StopReason(StopCode.TIME_LIMIT, sentence)
        return None

    @contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Take the first Ctrl-C as a wish to stop when the tasks under way are done.

        A second one stops at once. Only where Python's own handler would be called: others may
        have plans of their own.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def heed(*_: Any) -> None:
            if self.is_interrupted:
                raise KeyboardInterrupt
            self.is_interrupted = True
            print(
                "umfi stops when the tasks under way are done; press Ctrl-C again to stop at once.",
                file=sys.stderr,
                flush=True,
            )

        signal.signal(signal.SIGINT, heed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
