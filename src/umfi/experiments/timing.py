"""How long methods take on ever more genes (figures 4 and 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import umfi
from umfi.experiments.workshop import Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_times", "features_in", "run_times", "widen"]


def widen(n_features: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return the first genes, and random columns once there are no more (section 4.3)."""
    X, y = umfi.datasets.load_brca()
    if n_features <= X.shape[1]:
        return X.iloc[:, :n_features], y
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(len(X), n_features - X.shape[1]))
    names = [f"random {number}" for number in range(noise.shape[1])]
    return pd.concat([X, pd.DataFrame(noise, index=X.index, columns=names)], axis=1), y


def run_times(
    workshop: Workshop,
    methods: Mapping[str, Mapping[str, Any]],
    n_features: Mapping[str, Sequence[int]],
    *,
    n_repeats: int,
    limit: float,
) -> pd.DataFrame:
    """Return seconds: ``method, n_features, repeat, seconds``.

    A method is not asked for more features once it took longer than the limit.
    """
    rows = []
    for number, (name, settings) in enumerate(methods.items()):
        own = dict(settings)
        method = getattr(umfi, str(own.pop("method")))
        slowest = 0.0
        for count in workshop.track(n_features[name], name, n_parts=len(methods) - number):
            if slowest > limit:
                continue
            X, y = widen(count, workshop.seed_of("columns", count))
            for repeat in range(n_repeats):
                seed = workshop.seed_of(name, count, repeat)
                common = {"n_jobs": workshop.n_jobs, "progress": False}
                seconds = workshop.time(
                    partial(method, X, y, random_state=seed, **common, **own),
                    name, count, repeat,
                )  # fmt: skip
                rows.append((name, count, repeat, seconds))
                slowest = max(slowest, seconds)
    return pd.DataFrame(rows, columns=["method", "n_features", "repeat", "seconds"])


def features_in(table: pd.DataFrame, method: str, seconds: float) -> float:
    """Return how many features a method does in some time, by the line through its last points.

    On logarithmic axes; between measured points it is read off, beyond them it goes on straight.
    """
    means = table[table["method"] == method].groupby("n_features")["seconds"].mean()
    counts, times = np.log(means.index.to_numpy(dtype=float)), np.log(means.to_numpy())
    if times[-1] >= np.log(seconds):
        return float(np.exp(np.interp(np.log(seconds), times, counts)))
    last = slice(-3, None)
    slope, start = np.polyfit(times[last], counts[last], 1)
    return float(np.exp(start + slope * np.log(seconds)))


def draw_times(table: pd.DataFrame) -> Figure:
    """Draw seconds against features, on logarithmic axes."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
    colours = ("#D55E00", "#E69F00", "#56B4E9", "#0072B2", "#009E73", "#CC79A7")
    for number, (method, part) in enumerate(table.groupby("method", sort=False)):
        means = part.groupby("n_features")["seconds"].mean()
        ax.plot(means.index, means, "o-", color=colours[number % 6], markersize=4, label=method)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("features")
    ax.set_ylabel("seconds")
    ax.grid(color="0.9")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure
