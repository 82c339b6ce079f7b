"""How long methods take on ever more genes (figures 4 and 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from scipy.optimize import brentq, nnls

import umfi
from reproduction.claims import Numbers
from reproduction.session import Methods, Session

# From numbers of features, shape (n,), to what their cost may consist of, shape (n, n_terms).
Growth = Callable[[Numbers], Numbers]
COLOURS = ("#D55E00", "#E69F00", "#56B4E9", "#0072B2", "#009E73", "#CC79A7")


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
    session: Session, methods: Methods, n_features: Mapping[str, Sequence[int]], *, n_repeats: int
) -> pd.DataFrame:
    """Return seconds: ``method, n_features, repeat, seconds``.

    Numbers of features are those of each method, in the order in which they are run.
    """
    rows = []
    for number, (name, settings) in enumerate(methods.items()):
        own = dict(settings)
        method = getattr(umfi, str(own.pop("method")))
        # Once without the clock, so that no time is that of a compiler.
        method(*widen(min(n_features[name]), 0), n_jobs=1, progress=False, random_state=0, **own)
        for count in session.track(n_features[name], name, n_parts=len(methods) - number):
            X, y = widen(count, session.seed_of("columns", count))
            for repeat in range(n_repeats):
                seed = session.seed_of(name, count, repeat)
                common = {"n_jobs": session.n_jobs, "progress": False, "random_state": seed}
                call = partial(method, X, y, **common, **own)
                rows.append((name, count, repeat, session.time(call, name, count, repeat)))
    return pd.DataFrame(rows, columns=["method", "n_features", "repeat", "seconds"])


def features_in(table: pd.DataFrame, method: str, seconds: float, growth: Growth) -> float:
    """Return how many features a method does in some time, by a law fitted to what was measured.

    Growth is what the cost may consist of; each part is taken as often as fits best, in
    proportion.
    """
    means = table[table["method"] == method].groupby("n_features")["seconds"].mean()
    times = means.to_numpy()
    weights, _ = nnls(growth(means.index.to_numpy(float)) / times[:, None], np.ones(len(times)))

    def excess(log_count: float) -> float:
        return float(np.log(growth(np.exp([log_count]))[0] @ weights / seconds))

    return float(np.exp(brentq(excess, 0.0, np.log(1e7))))


def draw_times(table: pd.DataFrame, ax: Axes) -> None:
    """Draw seconds against features, on logarithmic axes."""
    for number, (method, part) in enumerate(table.groupby("method", sort=False)):
        means = part.groupby("n_features")["seconds"].mean()
        ax.plot(means.index, means, "o-", color=COLOURS[number % 6], markersize=4, label=method)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("features")
    ax.set_ylabel("seconds")
    ax.grid(color="0.9")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
