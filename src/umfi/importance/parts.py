"""What an importance consists of: four parts, from the scores of two more contexts.

S is independent of the feature x, so I(Y; x | S) = I(Y; x) + synergy, with synergy at least zero
(Theorem A.3 of the paper): what x says alone, and what it says only together with others. From the
other side, what x adds to all others as they are is what nothing can replace; the rest of the
importance others could give too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from umfi.errors import listed
from umfi.inference import row_interval

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARTS", "TESTED_PARTS", "describe_parts", "estimate_parts", "note_negative_parts"]

PARTS = ("alone", "together", "irreplaceable", "replaceable")
# The others are what is left of the importance without these.
TESTED_PARTS = ("alone", "irreplaceable")


def estimate_parts(
    part_scores: pd.DataFrame, share: float, n_rows: int, level: float
) -> pd.DataFrame:
    """Return ``feature, part, estimate, low, high``: four rows a feature, in the columns' order.

    Parameters
    ----------
    part_scores : DataFrame
        Of each part, with its standard error.
    share : float
        Rows of a repeat as a share of all.
    n_rows : int
        Of all rows.
    level : float
        Of the intervals; missing where the error is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"feature": "x", "repeat": 0, "part": PARTS, "importance": [0.2, 0.3, 0.4, 0.1]}
    >>> found = estimate_parts(pd.DataFrame(rows | {"standard_error": 0.1}), 1.0, 100, 0.95)
    >>> dict(zip(found["part"], found["high"].round(2)))
    {'alone': 0.48, 'together': 0.58, 'irreplaceable': 0.68, 'replaceable': 0.38}
    """
    import pandas as pd

    rows = []
    for (feature, part), own in part_scores.groupby(["feature", "part"], sort=False):
        estimates = own["importance"].to_numpy()
        errors = own["standard_error"].to_numpy()
        interval = row_interval(estimates, errors, share, n_rows, level)
        rows.append((feature, part, float(estimates.mean()), *interval))
    return pd.DataFrame(rows, columns=["feature", "part", "estimate", "low", "high"])


def describe_parts(table: pd.DataFrame) -> pd.DataFrame:
    """Return a wide table of parts as text: each with its interval and p-value, if it has any."""
    import pandas as pd

    shown = pd.DataFrame(index=table.index)
    for part in PARTS:
        estimates: NDArray[np.float64] = table[part].to_numpy()
        texts = [f"{estimate:.3f}" for estimate in estimates]
        if f"{part}_low" in table:
            bounds = zip(texts, table[f"{part}_low"], table[f"{part}_high"], strict=True)
            texts = [f"{text} ({low:.2f} to {high:.2f})" for text, low, high in bounds]
        shown[part] = texts
        if f"{part}_p_value" in table:
            shown[f"p ({part})"] = table[f"{part}_p_value"].map("{:.2g}".format)
    return shown


def note_negative_parts(parts: pd.DataFrame) -> list[str]:
    """Return what it means where a part lies below zero beyond doubt."""
    is_negative = parts["high"] < 0.0
    names = {
        part: parts["feature"][is_negative & (parts["part"] == part)].tolist() for part in PARTS
    }
    notes = []
    if names["together"]:
        notes.append(
            f"Together is below zero for {listed(names['together'])}: in theory it cannot be, but "
            "beside other informative columns a model learns less of each."
        )
    if names["replaceable"]:
        notes.append(
            f"Replaceable is below zero for {listed(names['replaceable'])}: to the others as they "
            "are it adds more than its importance. That is so behind a collider, where it tells "
            "what in them is not about the response; by a little also because irreplaceable is "
            "refitted, and refitting finds somewhat more than averaging."
        )
    return notes
