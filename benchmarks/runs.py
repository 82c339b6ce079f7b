"""Whole runs: every feature of a table, and what the authors' R package would take here.

The package is not run. It took 7.7 s (linear) and 9.7 s (transport) for all 50 features of BRCA
with two threads on a machine where ranger took 104 ms for one forest of this shape on one thread;
here its time is taken as that, times what ranger takes now, measured in turn with our runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cases import Case
from contenders import MissingContenderError, ranger
from numpy.typing import NDArray
from report import Section

import umfi

PACKAGE_SECONDS = {"linear": 7.7, "transport": 9.7}
RANGER_SECONDS = 0.104
FLOOR = 8.0
N_THREADS = 2


def correlated_table(n_rows: int, n_columns: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a table shaped like genes, in correlated groups of ten, and four classes."""
    rng = np.random.default_rng([n_rows, n_columns])
    shared = np.repeat(rng.normal(size=(n_rows, -(-n_columns // 10))), 10, axis=1)[:, :n_columns]
    X = 0.7 * shared + 0.7 * rng.normal(size=(n_rows, n_columns))
    signal = X[:, 0] + X[:, 11] + X[:, 0] * X[:, 21] + rng.normal(size=n_rows)
    return X, np.digitize(signal, np.quantile(signal, [0.25, 0.5, 0.75]))


def seconds_of(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def run(shape: tuple[int, int], remover: str, protocol: str, seed: int) -> float:
    X, y = correlated_table(*shape)
    return seconds_of(
        lambda: umfi.ultra_marginal(
            X,
            y,
            remover=remover,
            protocol=protocol,
            random_state=seed,
            n_jobs=N_THREADS,
            progress=False,
        )
    )


def beside_the_package(n_rounds: int = 5) -> Section:
    """Return the section on BRCA's shape."""
    shape = (572, 50)
    kinds = [
        (remover, protocol) for remover in PACKAGE_SECONDS for protocol in ("paper", "matched")
    ]
    try:
        version, measure_ranger = ranger(Case(*shape, n_classes=4))
    except MissingContenderError as missing:
        version, measure_ranger = f"missing: {missing}", None
    for remover, protocol in kinds:
        run((100, 30), remover, protocol, 0)  # Compile.
    found: dict[str, Any] = {"ranger": [], **{" ".join(kind): [] for kind in kinds}}
    for seed in range(1, n_rounds + 1):
        if measure_ranger is not None:
            found["ranger"].append(min(measure_ranger(3 * seed + turn)[0] for turn in range(3)))
        for remover, protocol in kinds:
            found[f"{remover} {protocol}"].append(run(shape, remover, protocol, seed))
    lines = [
        f"All features of a table of BRCA's shape, {N_THREADS} threads; ranger {version}.",
        "",
        "| remover, protocol | median s | speed, R package scaled = 1 (quartiles) | floor |",
        "|---|---|---|---|",
    ]
    for remover, protocol in kinds:
        seconds = np.array(found[f"{remover} {protocol}"])
        ratio_text, floor = "", ""
        if found["ranger"]:
            package = PACKAGE_SECONDS[remover] * np.array(found["ranger"]) / RANGER_SECONDS
            low, ratio, high = np.quantile(package / seconds, [0.25, 0.5, 0.75])
            ratio_text = f"{ratio:.1f} ({low:.1f} to {high:.1f})"
            if protocol == "paper":
                floor = f"{FLOOR:g}{', missed' if ratio < FLOOR else ''}"
        median = np.median(seconds)
        lines.append(f"| {remover}, {protocol} | {median:.2f} | {ratio_text} | {floor} |")
    if found["ranger"]:
        median = np.median(found["ranger"])
        lines += ["", f"ranger, one forest, one thread: {1e3 * median:.0f} ms."]
    return Section("Whole runs: 572 × 50", lines, found)


def sections() -> Iterator[Section]:
    """Yield the sections of the report on whole runs."""
    yield beside_the_package()
    found = {remover: run((572, 1000), remover, "matched", 1) for remover in PACKAGE_SECONDS}
    lines = ["| remover, matched | s |", "|---|---|"]
    lines += [f"| {remover} | {seconds:.1f} |" for remover, seconds in found.items()]
    yield Section(f"Whole runs: 572 × 1,000, {N_THREADS} threads", lines, found)

    X, y = correlated_table(572, 50)
    seconds = seconds_of(
        lambda: umfi.marginal_contribution(
            X, y, max_context=2, random_state=1, n_jobs=N_THREADS, progress=False
        )
    )
    n_forests = 50 + 1225 + 19_600
    yield Section(
        "Marginal contribution, contexts of at most 2: 572 × 50",
        [f"{seconds:.1f} s for {n_forests:,} forests, {N_THREADS} threads."],
        {"seconds": seconds, "forests": n_forests},
    )
