"""What is measured: shapes of tables, and how a forest is grown on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class Case:
    """One table and one forest.

    Attributes
    ----------
    n_rows, n_columns : the table's shape
    n_classes : 0 is regression
    n_trees, n_threads : of the forest
    is_random : extremely randomised trees
    n_rounds : how often every contender takes its turn
    floors : at least how many times slower than umfi each contender has to be
    """

    n_rows: int
    n_columns: int
    n_classes: int = 0
    n_trees: int = 100
    n_threads: int = 1
    is_random: bool = False
    n_rounds: int = 7
    floors: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A short name for reports."""
        task = f"{self.n_classes} classes" if self.n_classes else "regression"
        kind = ", extra-trees" if self.is_random else ""
        threads = "1 thread" if self.n_threads == 1 else f"{self.n_threads} threads"
        return f"{self.n_rows:,} × {self.n_columns:,} {task}{kind}, {self.n_trees} trees, {threads}"

    @property
    def mtry(self) -> int:
        """Columns tried at each node, the same for all contenders."""
        return int(np.sqrt(self.n_columns))

    def make(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a table of normal columns and a response with an interaction."""
        rng = np.random.default_rng([self.n_rows, self.n_columns])
        X = rng.normal(size=(self.n_rows, self.n_columns))
        signal = X[:, :4].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=self.n_rows)
        if self.n_classes == 0:
            return X, signal
        edges = np.quantile(signal, np.arange(1, self.n_classes) / self.n_classes)
        return X, np.digitize(signal, edges).astype(float)

    def write(self, path: str) -> None:
        """Write the table for contenders in other languages, the response last."""
        X, y = self.make()
        pd.DataFrame(np.column_stack([X, y])).to_csv(path, index=False, float_format="%.9g")


FOREST_CASES = (
    Case(
        572,
        50,
        n_classes=4,
        n_rounds=11,
        floors={"ranger": 6.0, "scikit-learn-intelex": 4.5, "scikit-learn": 15.0},
    ),
    Case(1000, 4, n_rounds=11, floors={"ranger": 5.0}),
    Case(1000, 4, is_random=True, n_rounds=11, floors={"ranger": 5.0}),
    Case(572, 4000, n_classes=4, n_rounds=5, floors={"ranger": 6.0}),
    Case(
        100_000,
        30,
        n_trees=20,
        n_threads=2,
        n_rounds=3,
        floors={"ranger": 5.0, "scikit-learn-intelex": 1.0},
    ),
)
