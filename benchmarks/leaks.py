"""P-values of unrelated features where removal is held back, so that S carries information about x.

``python benchmarks/leaks.py`` tests tables of 300 rows with five pairs of an unrelated feature and
another column that depends on it, which removal leaves as it was in part. ``apart``: that column
has nothing to do with the response. ``common child``: a cause of the response acts on it as well,
so that a leak lets the feature look related. Prints, for each part that is held back, the mean
leakage and the proportions of p-values at or below 0.05 and 0.01.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import umfi

N_ROWS = 300
N_PAIRS = 5
HELD_BACK = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class HeldBackRemover:
    """Linear removal of which a part is left undone.

    Attributes
    ----------
    part : float
        0 removes all, 1 nothing.
    """

    part: float

    def remove(
        self, columns: Any, protected: Sequence[Any], *, protocol: Any, rng: np.random.Generator
    ) -> Any:
        """Return the mean of what removal leaves and what was there."""
        removed = umfi.LinearRemover().remove(columns, protected, protocol=protocol, rng=rng)
        values = (1.0 - self.part) * removed.values + self.part * columns.values
        return columns.with_changed(np.asfortranarray(values))


def make_table(name: str, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return unrelated features x0 to x4, a column that depends on each, a cause of y, and y."""
    rng = np.random.default_rng(seed)
    cause, noise = rng.normal(size=(2, N_ROWS))
    unrelated, errors = rng.normal(size=(2, N_PAIRS, N_ROWS))
    partners = unrelated + 0.7 * errors + (cause if name == "common child" else 0.0)
    columns = {f"x{number}": column for number, column in enumerate(unrelated)}
    columns |= {f"partner{number}": column for number, column in enumerate(partners)}
    return pd.DataFrame(columns | {"cause": cause}), pd.Series(cause + noise)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=40)
    n_tables = parser.parse_args().tables
    for name in ("apart", "common child"):
        for part in HELD_BACK:
            found = []
            for seed in range(n_tables):
                X, y = make_table(name, seed)
                result = umfi.ultra_marginal(
                    X,
                    y,
                    remover=HeldBackRemover(part),
                    test="permutation",
                    random_state=seed,
                    progress=False,
                )
                tests = result.tests.set_index("feature")
                found.append(tests.loc[[f"x{number}" for number in range(N_PAIRS)]])
            tests = pd.concat(found)
            p_values = tests["p_value"]
            print(
                f"{name}, {part:.2f} held back: leakage {tests['leakage'].mean():.3f}, "
                f"{tests['leaks'].mean():.2f} flagged; of {len(p_values)} p-values "
                f"{np.mean(p_values <= 0.05):.3f} at most 0.05, "
                f"{np.mean(p_values <= 0.01):.4f} at most 0.01",
                flush=True,
            )


if __name__ == "__main__":
    main()
