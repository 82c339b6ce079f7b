"""All that a report says, as plain data: nothing here knows HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from umfi.data.frames import read_columns
from umfi.errors import InputError, listed
from umfi.plots import draw_svg, plot_importances, plot_parts, plot_redundancy, plot_stability
from umfi.plots.style import method_in_words
from umfi.report.words import (
    answer_in_words,
    check_in_words,
    code_of,
    question_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import pandas as pd
    from matplotlib.axes import Axes

    from umfi.importance.result import ImportanceResult

__all__ = ["gather"]

# A page with more rows is slow, and pictures with more are not looked at.
MAX_ROWS, MAX_DRAWN = 2000, 40
MIN_STABLE_REPEATS, MIN_ALIKE = 3, 2

# By column of the table: what it is called, and what that means.
HEADINGS = {
    "importance": ("importance", "By how much the score rises with the feature"),
    "spread": ("spread", "Standard deviation over the repeats"),
    "low": ("low", "Lower end of the 95 % interval"),
    "high": ("high", "Upper end of the 95 % interval"),
    "p_value": ("p-value", "Chance of as much without a relation; * from a fitted tail"),
    "q_value": ("q-value", "p-value adjusted for the false discovery rate"),
    "related": ("related", "Whether the q-value is below the level"),
    "leakage": (
        "leakage",
        "How much better the other features predict it than its permuted copies, in R²",
    ),
    "remover": ("remover", "What was used for this feature"),
    "alone": ("alone", "What the feature adds by itself"),
    "together": ("together", "What it adds only beside others"),
    "irreplaceable": ("irreplaceable", "What nothing can replace"),
    "replaceable": ("replaceable", "What others could add too"),
}
# Not among the settings, because they stand elsewhere on the page.
SHOWN_ELSEWHERE = {"command", "data", "notes", "versions", "classes"}


def gather(result: ImportanceResult, X: Any = None) -> dict[str, Any]:
    """Return what the page shows.

    Parameters
    ----------
    result : ImportanceResult
    X : frame or array, optional
        The features, for a picture of how they depend on each other.
    """
    settings, table = result.settings, result.table
    columns = _shown_columns(table)
    return {
        "target": str(settings.get("target", "y")),
        "question": question_in_words(result),
        "answer": answer_in_words(result),
        "facts": _facts(result),
        "headings": [
            {"key": name, "label": HEADINGS[name][0], "meaning": HEADINGS[name][1]}
            for name in columns
        ],
        "rows": _rows(result, table.head(MAX_ROWS), columns),
        "footnotes": result.footnotes,
        "n_features": len(table),
        "has_test": result.tests is not None,
        "pictures": _pictures(result, X),
        "checks": [check._asdict() for check in check_in_words(result)],
        "code": code_of(result),
        "command": str(settings.get("command", "")),
        "settings": [(k, str(v)) for k, v in settings.items() if k not in SHOWN_ELSEWHERE],
        "versions": dict(settings.get("versions", {})),
    }


def _facts(result: ImportanceResult) -> list[tuple[str, str]]:
    settings = result.settings
    kinds = settings.get("data", {}).get("kinds", {})
    of_kinds = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    n_features = f"{len(result.importances):,}"
    facts = [
        ("response", f"{settings.get('target', 'y')} ({settings.get('task', 'unknown task')})"),
        ("rows", f"{settings.get('n_rows', 0):,}"),
        ("features", f"{n_features} ({of_kinds})" if of_kinds else n_features),
        ("method", method_in_words(settings.get("method", ""))),
        ("measured in", str(settings.get("measure", "score"))),
        ("repeats", str(result.n_repeats)),
    ]
    if settings.get("remover"):
        facts.insert(4, ("remover", str(settings["remover"])))
    return facts


def _shown_columns(table: pd.DataFrame) -> list[str]:
    hidden = {"spread"} if "low" in table else set()
    if "leakage" in table and table["leakage"].isna().all():
        hidden.add("leakage")
    return [name for name in HEADINGS if name in table and name not in hidden]


def _rows(
    result: ImportanceResult, table: pd.DataFrame, columns: list[str]
) -> list[dict[str, Any]]:
    """Return a row per feature: cells as text with what they are sorted by, and its bar."""
    ends = table[[name for name in ("importance", "low", "high") if name in table]]
    lowest, highest = min(float(ends.min().min()), 0.0), max(float(ends.max().max()), 0.0)
    width = highest - lowest or 1.0

    def percent(value: float) -> float:
        return round(100.0 * (value - lowest) / width, 2)

    if "related" in table:
        table = table.assign(
            words=result.related_in_words(table),
            is_undecided=table["feature"].isin(result.undecided),
        )
    rows = []
    for rank, row in enumerate(table.to_dict("records"), start=1):
        importance = float(row["importance"])
        bar = {"zero": percent(0.0), "start": percent(min(importance, 0.0))}
        bar["size"] = round(percent(max(importance, 0.0)) - bar["start"], 2)
        if "low" in row:
            bar["low"] = percent(float(row["low"]))
            bar["span"] = round(percent(float(row["high"])) - bar["low"], 2)
        rows.append(
            {
                "rank": rank,
                "feature": str(row["feature"]),
                "is_related": bool(row.get("related", True)),
                "is_leaking": bool(row.get("leaks", False)),
                "bar": bar,
                "cells": [_cell(name, row) for name in columns],
            }
        )
    return rows


def _cell(name: str, row: dict[Hashable, Any]) -> dict[str, str]:
    value = row[name]
    is_p_value = name in ("p_value", "q_value")
    if name == "related":
        text = row["words"] + (" (leaks)" if row["leaks"] else "")
        return {"text": text, "order": str(int(value))}
    if name == "remover":
        return {"text": str(value), "order": str(value)}
    if value != value or (is_p_value and row["is_undecided"]):
        return {"text": "", "order": ""}
    star = "*" if name == "p_value" and row["tail"] else ""
    text = f"{value:.2g}{star}" if is_p_value else f"{value:.4f}"
    return {"text": text, "order": repr(float(value))}


def _pictures(result: ImportanceResult, X: Any) -> list[dict[str, str]]:
    more = f" The first {MAX_DRAWN} are drawn." if len(result.importances) > MAX_DRAWN else ""
    pictures = []

    def add(title: str, caption: str, draw: Any) -> None:
        pictures.append({"title": title, "caption": caption + more, "svg": draw_svg(draw)})

    add(
        "Importances",
        "How much each feature raises the score. Lines are 95 % intervals, or the spread over "
        "repeats, where there are any.",
        lambda: plot_importances(result, max_features=MAX_DRAWN),
    )
    if result.part_scores is not None:
        add(
            "Parts",
            "Upper bars: what a feature adds alone, and only together with others. Lower bars: "
            "what is irreplaceable, and what others could add too.",
            lambda: plot_parts(result, max_features=MAX_DRAWN),
        )
    if result.n_repeats >= MIN_STABLE_REPEATS:
        add(
            "Stability",
            "The ranks that each feature had over the repeats; those whose lines overlap are not "
            "distinguished.",
            lambda: plot_stability(result, max_features=MAX_DRAWN),
        )
    draw_redundancy = None if X is None else _redundancy(result, X)
    if draw_redundancy is not None:
        add(
            "Redundancy",
            "How strongly features depend on each other, by squared rank correlations and their "
            "like for categories; similar ones stand side by side.",
            draw_redundancy,
        )
    return pictures


def _redundancy(result: ImportanceResult, X: Any) -> Callable[[], Axes] | None:
    """Return what draws the dependence of the leading features, None if they cannot be drawn."""
    import narwhals as nw
    import pandas as pd

    if not hasattr(X, "columns"):  # An array, whose columns have no names but those of the result.
        X = pd.DataFrame(X)
        if X.shape[1] == len(result.importances):
            X.columns = list(result.importances.index)
    frame = nw.from_native(X, eager_only=True)
    native = {str(name): name for name in frame.columns}
    names = [name for name in result.table["feature"] if name in native]
    if not result.settings.get("groups") and len(names) < len(result.importances):
        lacking = listed(name for name in result.importances.index if name not in native)
        raise InputError(f"X has no column {lacking}: pass the table that the result was made of.")
    if len(names) < MIN_ALIKE:
        return None
    leading = names[:MAX_DRAWN]
    table = frame.select([native[name] for name in leading]).to_native()
    given = result.settings.get("kinds") or {}
    kinds = {name: kind for name, kind in given.items() if name in leading} or None
    try:
        read_columns(table, kinds=kinds, missing="level")
    except InputError:
        return None  # Such as text of which dropped rows made a category.
    return lambda: plot_redundancy(table, kinds=kinds)
