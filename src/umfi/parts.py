"""What an importance consists of: scores of two more contexts become four parts.

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
from umfi.inference import subsampling_interval

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARTS", "SCORED_PARTS", "describe_parts", "estimate_parts", "note_negative_parts"]

# Each part, and what the importance is lessened by to get it; None where it has its own scores.
PARTS = {"alone": None, "together": "alone", "irreplaceable": None, "replaceable": "irreplaceable"}
SCORED_PARTS = tuple(part for part, less in PARTS.items() if less is None)


def estimate_parts(
    scores: pd.DataFrame,
    part_scores: pd.DataFrame,
    whole_scores: pd.DataFrame | None,
    share: float,
    level: float,
) -> pd.DataFrame:
    """Return ``feature, part, estimate, low, high``: four rows a feature, in the columns' order.

    Parameters
    ----------
    scores, whole_scores : DataFrame
        Of the importance: of the repeats, and of the runs on all rows if there are intervals.
    part_scores : DataFrame
        Of the scored parts, of the same repeats and runs.
    share : float
        Rows of a repeat as a share of all.
    level : float
        Of the intervals; missing where there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"feature": ["x"], "repeat": [0], "importance": [0.5]}
    >>> parts = {"feature": ["x"] * 2, "repeat": [0] * 2, "part": list(SCORED_PARTS)}
    >>> found = estimate_parts(
    ...     pd.DataFrame(rows), pd.DataFrame(parts | {"importance": [0.2, 0.4]}), None, 1.0, 0.95
    ... )
    >>> dict(zip(found["part"], found["estimate"].round(3)))
    {'alone': 0.2, 'together': 0.3, 'irreplaceable': 0.4, 'replaceable': 0.1}
    """
    import pandas as pd

    of_parts = part_scores.pivot_table(
        index=["feature", "repeat"], columns="part", values="importance", sort=False
    )
    # Run by run, because parts of one run vary together.
    of_repeats = _add_differences(scores, of_parts)
    of_whole = of_repeats if whole_scores is None else _add_differences(whole_scores, of_parts)
    rows = []
    for feature in dict.fromkeys(scores["feature"]):
        for part in PARTS:
            estimates = of_whole.loc[feature, part].to_numpy()
            low, high = np.nan, np.nan
            if whole_scores is not None:
                repeated = of_repeats.loc[feature, part].to_numpy()
                low, high = subsampling_interval(repeated, estimates, share, level)
            rows.append((feature, part, float(estimates.mean()), low, high))
    return pd.DataFrame(rows, columns=["feature", "part", "estimate", "low", "high"])


def _add_differences(scores: pd.DataFrame, of_parts: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each feature and run, a column for each part."""
    import pandas as pd

    importances = scores.set_index(["feature", "repeat"])["importance"]
    table = of_parts.loc[importances.index]
    return pd.DataFrame(
        {
            part: table[part] if less is None else importances - table[less]
            for part, less in PARTS.items()
        }
    )


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
            f"Replaceable is below zero for {listed(names['replaceable'])}: with the others at "
            "hand it adds more than its importance, because it tells what in them is not about the "
            "response, as behind a collider."
        )
    return notes
