"""How the time for all features grows with rows and with columns, on one thread.

The importance of a few features is timed, removal and both forests, and multiplied by the number
of features. The slope of the logarithms is the exponent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from report import Section

import umfi
from umfi.data.frames import read_columns
from umfi.data.target import read_target
from umfi.execution import Streams
from umfi.power import score_columns
from umfi.removal import find_remover

ROWS = (500, 2_000, 8_000, 32_000, 100_000, 320_000, 1_000_000)
COLUMNS = (50, 200, 800, 2_500, 8_000)
MAX_EXPONENT = {"rows": 1.15, "columns": 1.7}
PICTURE = Path(__file__).with_name("growth.png")


def seconds_for_all(n_rows: int, n_columns: int, n_classes: int, remover: str) -> float:
    """Return the time for all features, from the fastest of a few."""
    rng = np.random.default_rng([n_rows, n_columns])
    X = rng.normal(size=(n_rows, n_columns)) + 0.5 * rng.normal(size=(n_rows, 1))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows)
    columns = read_columns(X)
    if n_classes:
        y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    else:
        y = signal
    target = read_target(y, task="classification" if n_classes else "regression")
    power = umfi.ForestPower()
    chosen = find_remover(remover)
    streams = Streams(1)
    columns.ranks, columns.has_heavy_ties  # noqa: B018  Known once for all features.
    times = []
    n_features = 3 if n_rows <= 100_000 else 1
    for index in range(n_features + 1):  # The first one warms up.
        start = time.perf_counter()
        rng = streams.generator(index, "removal")
        own = columns.select([index])
        copy = own.take_rows(rng.permutation(n_rows))
        context = chosen.remove(columns.without(index), [own, copy], protocol="matched", rng=rng)
        for candidate in (own, copy):
            score_columns(power, context.prepend(candidate), target, streams.seed(index))
        times.append(time.perf_counter() - start)
    return min(times[1:]) * n_columns


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def sections() -> Iterator[Section]:
    """Yield the section on growth, and draw it."""
    umfi.predictive_power(np.eye(20), np.arange(20.0))  # Compile.
    found: dict[str, Any] = {}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    lines = ["| growing | remover | exponent | at most | sizes: seconds for all features |"]
    lines.append("|---|---|---|---|---|")
    for axis, growing, sizes in zip(axes, ("rows", "columns"), (ROWS, COLUMNS), strict=True):
        for remover, marker in (("linear", "o"), ("transport", "s")):
            seconds = [
                seconds_for_all(size, 20, 0, remover)
                if growing == "rows"
                else seconds_for_all(572, size, 4, remover)
                for size in sizes
            ]
            slope = exponent(sizes, seconds)
            found[f"{growing} {remover}"] = {
                "sizes": sizes,
                "seconds": seconds,
                "exponent": slope,
            }
            limit = MAX_EXPONENT[growing]
            missed = ", missed" if slope > limit else ""
            shown = ", ".join(
                f"{size:,}: {time:.3g}" for size, time in zip(sizes, seconds, strict=True)
            )
            lines.append(f"| {growing} | {remover} | {slope:.2f} | {limit:g}{missed} | {shown} |")
            label = f"{remover}, exponent {slope:.2f}"
            axis.loglog(sizes, seconds, marker=marker, label=label)
        fixed = "20 columns, regression" if growing == "rows" else "572 rows, 4 classes"
        axis.set(xlabel=f"{growing} ({fixed})", ylabel="seconds for all features, one thread")
        axis.legend(frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=150)
    plt.close(figure)
    yield Section("Growth", [*lines, "", f"![growth]({PICTURE.name})"], found)
