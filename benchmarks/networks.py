"""Published Bayesian networks of discrete variables, read from the files that pgmpy ships.

``pip install --no-deps pgmpy`` is enough: its files are read, and none of its code is run.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.metadata import distribution

import numpy as np
import pandas as pd

FOLDER = "pgmpy/utils/example_models"


@dataclass(frozen=True)
class Network:
    """A network: for each variable its levels, its parents, and its distribution given these.

    Attributes
    ----------
    levels : dict, variable to names of its levels
    parents : dict, variable to names of its parents
    tables : dict, variable to probabilities, shape (levels of each parent ..., own levels)
    """

    levels: dict[str, list[str]]
    parents: dict[str, list[str]]
    tables: dict[str, np.ndarray]

    def sample(self, n_rows: int, seed: int) -> pd.DataFrame:
        """Return independent rows, every column as text."""
        rng = np.random.default_rng(seed)
        codes: dict[str, np.ndarray] = {}
        for name in TopologicalSorter(self.parents).static_order():
            given = self.tables[name][tuple(codes[parent] for parent in self.parents[name])]
            steps = np.cumsum(np.broadcast_to(given, (n_rows, len(self.levels[name]))), axis=1)
            drawn = rng.random((n_rows, 1)) * steps[:, -1:]
            codes[name] = (drawn > steps[:, :-1]).sum(axis=1)
        return pd.DataFrame(
            {name: np.array(levels)[codes[name]] for name, levels in self.levels.items()}
        )


def load_network(name: str) -> Network:
    """Return a network by its name, such as ``"alarm"``."""
    path = distribution("pgmpy").locate_file(f"{FOLDER}/{name}.bif.gz")
    text = gzip.decompress(path.read_bytes()).decode()  # type: ignore[attr-defined]
    levels = {
        found["name"]: [level.strip() for level in found["levels"].split(",")]
        for found in re.finditer(r"variable\s+(?P<name>\S+)\s*\{[^{]*\{(?P<levels>[^}]*)\}", text)
    }
    parents, tables = {}, {}
    for found in re.finditer(r"probability\s*\((?P<head>[^)]*)\)\s*\{(?P<body>[^}]*)\}", text):
        variable, _, given = (part.strip() for part in found["head"].partition("|"))
        own = [parent.strip() for parent in given.split(",") if parent.strip()]
        shape = [len(levels[parent]) for parent in own]
        table = np.empty((*shape, len(levels[variable])))
        for row in re.finditer(r"(?:\((?P<given>[^)]*)\)|table)(?P<numbers>[^;]*);", found["body"]):
            at = [level.strip() for level in (row["given"] or "").split(",") if level.strip()]
            place = tuple(
                levels[parent].index(level) for parent, level in zip(own, at, strict=True)
            )
            table[place] = [float(number) for number in row["numbers"].split(",")]
        parents[variable], tables[variable] = own, table
    return Network(levels, parents, tables)
