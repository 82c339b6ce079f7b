"""How results are shown: printed and in notebooks, with the parts of importances and notes.

S is independent of the feature x, so I(Y; x | S) = I(Y; x) + synergy, with synergy at least zero
(Theorem A.3 of the paper): what x says alone, and what it says only together with others. From the
other side, what x adds to all others as they are is what nothing can replace; the rest of the
importance others could give too.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from umfi.errors import listed

if TYPE_CHECKING:
    import pandas as pd

    from umfi.importance.result import ImportanceResult

__all__ = [
    "PARTS",
    "TESTED_PARTS",
    "Printed",
    "Shown",
    "describe_parts",
    "explain_table",
    "is_gentle",
    "note_leakage",
    "show_importances",
]

PARTS = ("alone", "together", "irreplaceable", "replaceable")
# The others are what is left of the importance without these.
TESTED_PARTS = ("alone", "irreplaceable")
# A repr longer than a screen is not read.
MAX_PRINTED_ROWS = 20
# They remove feature by feature; joint removal removes more.
GENTLE_REMOVERS = ("linear", "transport", "LinearRemover", "TransportRemover")


class Shown(NamedTuple):
    """What is shown of a result: lines, a table and notes.

    Of a table whose rows have a name only the head is shown.
    """

    headlines: list[str]
    table: pd.DataFrame
    rows: str | None
    notes: list[str]

    @property
    def head(self) -> pd.DataFrame:
        """The rows that are shown."""
        return self.table if self.rows is None else self.table.head(MAX_PRINTED_ROWS)

    @property
    def lines_below(self) -> list[str]:
        """How many rows are not shown, and the notes."""
        n_hidden = len(self.table) - len(self.head)
        more = [f"... and {n_hidden} more {self.rows}: see .table"] if n_hidden > 0 else []
        return [*more, *(f"Note: {note}" for note in self.notes)]


class Printed:
    """A result that prints itself; subclasses say what is shown."""

    def _show(self) -> Shown:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return headlines, the head of the table, and notes."""
        shown = self._show()
        body = shown.head.to_string(index=False, float_format="{:.4f}".format)
        return "\n".join([*shown.headlines, body, *shown.lines_below])

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        shown = self._show()
        above = "".join(f"<p><b>{escape(line)}</b></p>" for line in shown.headlines)
        body = shown.head.to_html(index=False, float_format="{:.4f}".format, border=0)
        below = (f"<p><small>{escape(line)}</small></p>" for line in shown.lines_below)
        return f"<div>{above}{body}{''.join(below)}</div>"


def show_importances(result: ImportanceResult) -> Shown:
    """Return what is shown of the result of a method."""
    import pandas as pd

    settings, table = result.settings, result.table
    counts = ", ".join(
        f"{number} {what}" if number == 1 else f"{number} {what}s"
        for number, what in (
            (settings.get("n_rows", 0), "row"),
            (len(table), "feature"),
            (result.n_repeats, "repeat"),
        )
    )
    headline = (
        f"{settings.get('method', 'importance')} of {settings.get('target', 'y')!r} in "
        f"{settings.get('measure', 'score')} ({counts})"
    )
    if "tail" in table:
        # A star is read at once; two columns of False are not.
        stars = table["tail"].map({True: "*", False: ""})
        table["p_value"] = table["p_value"].map("{:.2g}".format) + stars
        table["q_value"] = table["q_value"].map("{:.2g}".format)
        table["related"] = result.related_in_words(table)
        table = table.drop(columns=["tail", "leaks"])
    if result.part_scores is not None:
        described = describe_parts(table)
        of_parts = [name for name in table if str(name).partition("_")[0] in PARTS]
        others = table.drop(columns=[*of_parts, "spread", "low", "high"], errors="ignore")
        table = pd.concat([others, described], axis=1)
    return Shown([headline], table, "features", result.notes)


def is_gentle(remover: str) -> bool:
    """Return whether joint removal removes more than the remover of this name or repr."""
    return remover.partition("(")[0] in GENTLE_REMOVERS


def explain_table(result: ImportanceResult) -> list[str]:
    """Return what explains the numbers of the table of a result."""
    notes = [] if result.part_scores is None else _note_negative_parts(result.parts())
    if result.tests is not None and result.settings.get("n_sampled_rows"):
        notes.append("p-values are of all rows, importances and intervals of subsamples.")
    if result.tests is not None and result.tests["tail"].any():
        notes.append("* read off a fitted tail: no permuted copy reached the feature.")
    return notes


def note_leakage(result: ImportanceResult) -> list[str]:
    """Return for which features p-values cannot be relied on, and what would mend that."""
    can_remove_more = is_gentle(str(result.settings.get("remover")))
    way_out = "; joint removal, the default, removes more" if can_remove_more else ""
    notes = [] if result.tests is None else _note_leakage(result.tests, "", way_out)
    if result.part_tests is not None:
        of_part = result.part_tests[result.part_tests["part"] == "irreplaceable"]
        notes += _note_leakage(of_part, " of irreplaceable", "")
    return notes


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


def _note_negative_parts(parts: pd.DataFrame) -> list[str]:
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
            "are it adds more than its importance. That is so behind a collider, where it explains "
            "what in them is not about the response; by a little also because irreplaceable is "
            "refitted, and refitting finds somewhat more than averaging."
        )
    return notes


def _note_leakage(tests: pd.DataFrame, of_what: str, way_out: str) -> list[str]:
    """Return a note on features whose p-values cannot be relied on."""
    leaking = tests[tests["leaks"].astype(bool)].sort_values("leakage", ascending=False)
    if leaking.empty:
        return []
    names, largest = leaking["feature"].tolist(), leaking["leakage"].iloc[0]
    is_one = len(names) == 1
    note = (
        f"Leakage for {listed(names)}: after removal, the other features still carry information "
        f"about {'it' if is_one else 'them'} ({'' if is_one else 'up to '}{largest:.2f} in R²), "
        f"so that p-values{of_what} may be too small{way_out}."
    )
    return [note]
