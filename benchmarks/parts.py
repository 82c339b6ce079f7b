"""What `alone` is measured beside: shuffled columns, or nothing; by hand, half a minute.

Two independent features that add up, among columns of noise: each says a third of the variance
alone, and nothing only together with others.
"""

from __future__ import annotations

import numpy as np

import umfi

N_TABLES = 8


def main() -> None:
    for n_rows, n_columns in ((300, 4), (1000, 4), (300, 20), (1000, 20)):
        found = []
        for seed in range(N_TABLES):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(n_rows, n_columns))
            y = X[:, 0] + X[:, 1] + rng.normal(size=n_rows)
            settings = {"repeats": 1, "subsample": None, "random_state": seed}
            parts = umfi.decompose(X, y, remover="linear", **settings).table.set_index("feature")
            single = umfi.bivariate(X, y, **settings).importances
            for name in ("x1", "x2"):
                row = parts.loc[name]
                found.append((row["importance"], row["alone"], single[name]))
        importance, shuffled, nothing = np.mean(found, axis=0)
        print(
            f"{n_rows} × {n_columns}: importance {importance:.3f}; alone beside shuffled columns "
            f"{shuffled:.3f} (together {importance - shuffled:+.3f}), beside nothing {nothing:.3f} "
            f"(together {importance - nothing:+.3f}); truth 0.333 and 0"
        )


if __name__ == "__main__":
    main()
