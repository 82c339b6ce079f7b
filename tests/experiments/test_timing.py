"""Times of methods are those of a machine that has warmed up."""

import pandas as pd

import umfi
from umfi.experiments import timing, workshop
from umfi.experiments.workshop import Workshop


def test_what_only_a_first_call_takes_is_not_timed(tmp_path, monkeypatch):
    clock, calls = [0.0], []

    def slow_at_first(X, y, **settings):
        calls.append(X.shape[1])
        clock[0] += 1.0 if len(calls) > 1 else 100.0

    monkeypatch.setattr(workshop, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(umfi, "ablation", slow_at_first)
    table = pd.DataFrame([[0.0] * 10, [1.0] * 10])
    monkeypatch.setattr(umfi.datasets, "load_brca", lambda: (table, table[0]))
    seconds = timing.run_times(
        Workshop(tmp_path), {"a": {"method": "ablation"}}, {"a": (10, 5)}, n_repeats=2
    )
    assert list(seconds["seconds"]) == [1.0] * 4
    assert list(seconds["n_features"]) == [10, 10, 5, 5]
    assert calls == [5, 10, 10, 5, 5]
