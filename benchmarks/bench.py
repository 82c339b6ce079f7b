"""Measure everything and write ``benchmarks/report.md`` and ``benchmarks/report.json``.

``python benchmarks/bench.py forests`` measures one part: forests, runs, growth or long_tables.
"""

from __future__ import annotations

import argparse

import forests
import growth
import long_tables
import runs
from report import Report

PARTS = {"forests": forests, "runs": runs, "growth": growth, "long_tables": long_tables}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    report = Report()
    for part in parser.parse_args().parts:
        for section in PARTS[part].sections():
            report.add(section)


if __name__ == "__main__":
    main()
