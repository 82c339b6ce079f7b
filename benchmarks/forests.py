"""One forest's out-of-bag score beside its peers, taking turns.

Times are medians over rounds; ratios are taken round by round, with their quartiles.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import FOREST_CASES, Case
from contenders import CONTENDERS, Measure, MissingContenderError
from report import Section


def measure_case(case: Case) -> dict[str, Any]:
    """Return each contender's version, seconds and scores, or why it is missing."""
    measures: dict[str, Measure] = {}
    found: dict[str, Any] = {}
    for name, prepare in CONTENDERS.items():
        try:
            version, measures[name] = prepare(case)
            found[name] = {"version": version, "seconds": [], "scores": []}
            measures[name](0)  # Compile, load libraries, fill caches.
        except MissingContenderError as missing:
            measures.pop(name, None)
            found[name] = {"missing": str(missing)}
    for seed in range(1, case.n_rounds + 1):
        for name, measure in measures.items():
            seconds, score = measure(seed)
            found[name]["seconds"].append(seconds)
            found[name]["scores"].append(score)
    return found


def write_rows(case: Case, found: dict[str, Any]) -> list[str]:
    """Return the report's lines on one case."""
    ours = np.array(found["umfi"]["seconds"])
    lines = [
        "| | median ms | times slower than umfi (quartiles) | floor | score |",
        "|---|---|---|---|---|",
    ]
    for name, contender in found.items():
        if "missing" in contender:
            lines.append(f"| {name} | missing: {contender['missing']} | | | |")
            continue
        seconds = np.array(contender["seconds"])
        low, ratio, high = np.quantile(seconds / ours, [0.25, 0.5, 0.75])
        floor = case.floors.get(name)
        is_below = "" if floor is None else f"{floor:g}{', missed' if ratio < floor else ''}"
        lines.append(
            f"| {name} {contender['version']} | {1e3 * np.median(seconds):,.1f} | "
            f"{ratio:.1f} ({low:.1f} to {high:.1f}) | {is_below} | "
            f"{np.mean(contender['scores']):.4f} |"
        )
    return lines


def sections() -> Iterator[Section]:
    """Yield a section of the report for each case."""
    for case in FOREST_CASES:
        with warnings.catch_warnings():
            # Few trees leave rows without a vote, which peers warn of in every round.
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            found = measure_case(case)
        yield Section(f"One forest: {case.name}", write_rows(case, found), found)
