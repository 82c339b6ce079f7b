"""Times of methods are those of a machine that has warmed up."""

import numpy as np
import pandas as pd
import pytest

import umfi
from reproduction import figure4, session, timing
from reproduction.session import Session


def test_what_only_a_first_call_takes_is_not_timed(tmp_path, monkeypatch):
    clock, calls = [0.0], []

    def slow_at_first(X, y, **settings):
        calls.append(X.shape[1])
        clock[0] += 1.0 if len(calls) > 1 else 100.0

    monkeypatch.setattr(session, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(umfi, "ablation", slow_at_first)
    table = pd.DataFrame([[0.0] * 10, [1.0] * 10])
    monkeypatch.setattr(umfi.datasets, "load_brca", lambda: (table, table[0]))
    seconds = timing.run_times(
        Session(tmp_path), {"a": {"method": "ablation"}}, {"a": (10, 5)}, n_repeats=2
    )
    assert list(seconds["seconds"]) == [1.0] * 4
    assert list(seconds["n_features"]) == [10, 10, 5, 5]
    assert calls == [5, 10, 10, 5, 5]


def _hours(noise):
    """Return the claim on all subsets, of times that follow their law but for some noise."""
    counts = [5, 8, 10, 12]
    rows = [
        (figure4.SUBSETS, n, 0, 0.01 * 2.0**n * part)
        for n, part in zip(counts, noise, strict=False)
    ]
    rows += [
        (method, n, 0, 0.1 * n)
        for method in figure4.METHODS
        if method != figure4.SUBSETS
        for n in counts
    ]
    table = pd.DataFrame(rows, columns=["method", "n_features", "repeat", "seconds"])
    return figure4.assess({"seconds": table})[0]


def test_what_an_hour_allows_is_as_sure_as_the_law_fits():
    exact = np.log2(3600.0 / 0.01)
    claim = _hours([1.0, 1.0, 1.0, 1.0])
    assert [claim.value, claim.low, claim.high] == pytest.approx([exact] * 3)
    claim = _hours([0.5, 1.0, 1.2, 1.0])
    assert claim.low < claim.value < claim.high
    once = _hours([1.0])
    assert once.value == pytest.approx(exact)
    assert "too few runs" in once.numbers
