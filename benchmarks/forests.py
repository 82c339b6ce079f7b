"""Measure one forest's out-of-bag score beside its peers, in one run, taking turns.

Times are medians over rounds; ratios are taken round by round, with their quartiles. Writes
``benchmarks/report.md`` and ``benchmarks/report.json``.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
from cases import FOREST_CASES, Case
from contenders import CONTENDERS, Measure, MissingContenderError

FOLDER = Path(__file__).parent


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
        f"### {case.name}",
        "",
        "| | median ms | times slower than umfi (quartiles) | score |",
        "|---|---|---|---|",
    ]
    for name, contender in found.items():
        if "missing" in contender:
            lines.append(f"| {name} | missing: {contender['missing']} | | |")
            continue
        seconds = np.array(contender["seconds"])
        low, ratio, high = np.quantile(seconds / ours, [0.25, 0.5, 0.75])
        lines.append(
            f"| {name} {contender['version']} | {1e3 * np.median(seconds):,.1f} | "
            f"{ratio:.1f} ({low:.1f} to {high:.1f}) | {np.mean(contender['scores']):.4f} |"
        )
    return [*lines, ""]


def main() -> None:
    machine = {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    results = []
    lines = ["# Forest benchmarks", "", f"Machine: {machine}", ""]
    for case in FOREST_CASES:
        found = measure_case(case)
        results.append({"case": case.name, "contenders": found})
        rows = write_rows(case, found)
        lines += rows
        print("\n".join(rows), flush=True)
    (FOLDER / "report.md").write_text("\n".join(lines), encoding="utf-8")
    document = json.dumps({"machine": machine, "results": results}, indent=1)
    (FOLDER / "report.json").write_text(document, encoding="utf-8")


if __name__ == "__main__":
    main()
