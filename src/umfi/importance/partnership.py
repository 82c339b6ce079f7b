"""With which features a feature shares what it says, and with which it interacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from umfi.errors import listed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Partners"]

# A repr longer than a screen is not read.
MAX_PRINTED_ROWS = 20


@dataclass(frozen=True, repr=False, eq=False)
class Partners:
    """What :func:`umfi.partners` found.

    Attributes
    ----------
    table : DataFrame, one row for each feature and partner
        ``feature, partner``;

        ``sharing``, by how much R² the feature's importance falls when what the partner tells
        about it is removed as well, its 95 % interval ``sharing_low, sharing_high``,
        ``sharing_p_value``, ``sharing_q_value`` and ``shares``;

        ``interaction``, by how much R² the two say more together than the sum of what each says
        without the other, with the same columns and ``interacts``.

        q-values are adjusted for the false discovery rate over both kinds and all pairs. R² of
        classes is that of their indicators.
    settings : dict

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> found = umfi.partners(X, y, "x1", random_state=0)
    >>> bool(found.table.set_index("partner").loc["x3", "shares"])
    True
    """

    table: pd.DataFrame
    settings: dict[str, Any]

    @property
    def summary(self) -> list[str]:
        """A sentence for each feature."""
        return [
            _describe(str(name), part) for name, part in self.table.groupby("feature", sort=False)
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader should know of how the data were taken."""
        return list(self.settings.get("notes", ()))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the pairs that share or interact as a network, and return the axes."""
        from umfi.plots import plot_partners

        return plot_partners(self, ax=ax)

    def __repr__(self) -> str:
        """Return the sentences and the head of the table."""
        table, more = self._printed_table()
        notes = [f"Note: {note}" for note in self.notes]
        lines = [*self.summary, table.to_string(index=False), more, *notes]
        return "\n".join(filter(None, lines))

    def _repr_html_(self) -> str:
        from html import escape

        table, more = self._printed_table()
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.summary)
        below = [more, *(f"Note: {note}" for note in self.notes)]
        small = "".join(f"<p><small>{escape(line)}</small></p>" for line in below if line)
        return sentences + table.to_html(index=False, border=0) + small

    def _printed_table(self) -> tuple[pd.DataFrame, str]:
        strength = self.table[["sharing", "interaction"]].max(axis=1)
        table = self.table.iloc[strength.argsort()[::-1]].head(MAX_PRINTED_ROWS)
        shown = table[["feature", "partner"]].copy()
        for effect, verdict in (("sharing", "shares"), ("interaction", "interacts")):
            shown[effect] = table[effect].map("{:.3f}".format)
            shown[f"{effect}_q_value"] = table[f"{effect}_q_value"].map("{:.2g}".format)
            shown[verdict] = table[verdict].map({True: "yes", False: "no"})
        hidden = len(self.table) - len(shown)
        return shown, f"... and {hidden} more pairs: see .table" if hidden > 0 else ""


def _describe(feature: str, part: pd.DataFrame) -> str:
    """Return in words with whom a feature shares and interacts."""
    strongest = part.sort_values(["sharing", "interaction"], ascending=False)
    sharing = strongest["partner"][strongest["shares"]].tolist()
    by_interaction = part.sort_values("interaction", ascending=False)
    interacting = by_interaction["partner"][by_interaction["interacts"]].tolist()
    return (
        f"{feature!r} shares what it says with {listed(sharing) if sharing else 'none'}, and "
        f"interacts with {listed(interacting) if interacting else 'none'}, of "
        f"{len(part)} {'other' if len(part) == 1 else 'others'}."
    )
