"""What benchmarks found, as pages to read and as numbers to compare with."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import umfi

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Section:
    """One benchmark: a title, lines of Markdown, and the numbers behind them."""

    title: str
    lines: list[str]
    found: dict[str, Any]


@dataclass
class Report:
    """Sections that are shown and written as they come, so that a broken run keeps its first."""

    folder: Path = HERE
    sections: list[Section] = field(default_factory=list)

    def add(self, section: Section) -> None:
        """Show a section, and write ``report.md`` and ``report.json`` with all of them so far."""
        self.sections.append(section)
        print("\n".join(_lines_of(section)), flush=True)
        machine = {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "umfi": umfi.__version__,
        }
        told = ", ".join(f"{name} {value}" for name, value in machine.items())
        lines = ["# Benchmarks", "", f"{told}.", ""]
        lines += [line for one in self.sections for line in _lines_of(one)]
        (self.folder / "report.md").write_text("\n".join(lines), encoding="utf-8")
        found = {one.title: one.found for one in self.sections}
        content = json.dumps({"machine": machine, "found": found}, indent=1, ensure_ascii=False)
        (self.folder / "report.json").write_text(content + "\n", encoding="utf-8")


def _lines_of(section: Section) -> list[str]:
    return [f"## {section.title}", "", *section.lines, ""]
