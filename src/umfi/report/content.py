"""All that a report says, as plain data: nothing here knows HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from umfi.data.frames import read_columns
from umfi.errors import InputError, listed
from umfi.importance.display import PARTS
from umfi.plots import draw_svg, plot_importances, plot_parts, plot_redundancy, plot_stability
from umfi.report.words import (
    answer_in_words,
    check_in_words,
    code_of,
    question_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

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
    "p_value": (
        "p-value",
        "Chance of as much without a relation; * from a fitted tail",
    ),
    "q_value": ("q-value", "p-value adjusted for the false discovery rate"),
    "related": ("related", "Whether the q-value is below the level"),
    "leakage": (
        "leakage",
        "How much better the other features predict it than its permuted copies, in R²",
    ),
    "remover": ("remover", "What was used for this feature"),
    **{
        part: (part, meaning)
        for part, meaning in zip(
            PARTS,
            (
                "What the feature adds by itself",
                "What it adds only beside others",
                "What nothing can replace",
                "What others could add too",
            ),
            strict=True,
        )
    },
}


def gather(result: ImportanceResult, X: Any = None) -> dict[str, Any]:
    """Return what the page shows.

    Parameters
    ----------
    result : ImportanceResult
    X : frame or array, optional
        The features, for a picture of how they depend on each other.
    """
    settings = result.settings
    table = result.table
    return {
        "target": str(settings.get("target", "y")),
        "question": question_in_words(result),
        "answer": answer_in_words(result),
        "facts": _facts(result),
        "headings": _headings(result, table),
        "rows": _rows(result, table.head(MAX_ROWS)),
        "footnotes": result.footnotes,
        "n_features": len(table),
        "has_test": result.tests is not None,
        "pictures": _pictures(result, X),
        "checks": [check._asdict() for check in check_in_words(result)],
        "code": code_of(result),
        "command": str(settings.get("command", "")),
        "settings": _settings(settings),
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
        ("method", str(settings.get("method", "")).replace("ultra_", "ultra-").replace("_", " ")),
        ("measured in", str(settings.get("measure", "score"))),
        ("repeats", str(result.n_repeats)),
    ]
    if settings.get("remover"):
        facts.insert(4, ("remover", str(settings["remover"])))
    return facts


def _shown_columns(result: ImportanceResult, table: pd.DataFrame) -> list[str]:
    hidden = {"spread"} if "low" in table else set()
    if "leakage" in table and table["leakage"].isna().all():
        hidden.add("leakage")
    return [name for name in HEADINGS if name in table and name not in hidden]


def _headings(result: ImportanceResult, table: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {"key": name, "label": HEADINGS[name][0], "meaning": HEADINGS[name][1]}
        for name in _shown_columns(result, table)
    ]


def _rows(result: ImportanceResult, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row per feature: cells as text with what they are sorted by, and its bar."""
    columns = _shown_columns(result, table)
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


def _settings(settings: dict[str, Any]) -> list[tuple[str, str]]:
    hidden = {"command", "data", "notes", "versions", "classes"}
    return [(name, str(value)) for name, value in settings.items() if name not in hidden]


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
    similar = None if X is None else _take_leading(result, X)
    if similar is not None:
        add(
            "Redundancy",
            "How strongly features depend on each other, by squared rank correlations and their "
            "like for categories; similar ones stand side by side.",
            lambda: plot_redundancy(similar, kinds=_kinds_of(result, similar)),
        )
    return pictures


def _take_leading(result: ImportanceResult, X: Any) -> Any:
    """Return the most important columns of a table, None if they cannot be drawn."""
    import pandas as pd

    if not hasattr(X, "columns"):  # An array, whose columns have no names but those of the result.
        X = pd.DataFrame(X)
        if X.shape[1] == len(result.importances):
            X.columns = list(result.importances.index)
    columns = set(map(str, X.columns))
    names = [name for name in result.table["feature"] if name in columns]
    if not result.settings.get("groups") and len(names) < len(result.importances):
        lacking = listed(name for name in result.importances.index if name not in columns)
        raise InputError(f"X has no column {lacking}: pass the table that the result was made of.")
    if len(names) < MIN_ALIKE:
        return None
    try:
        table = _columns_of(X, names[:MAX_DRAWN])
        read_columns(table, kinds=_kinds_of(result, table), missing="level")
    except InputError:
        return None  # Such as text of which dropped rows made a category.
    return table


def _columns_of(X: Any, names: list[str]) -> Any:
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    native = {str(name): name for name in frame.columns}
    return frame.select([native[name] for name in names]).to_native()


def _kinds_of(result: ImportanceResult, table: Any) -> dict[str, str] | None:
    kinds = result.settings.get("kinds") or {}
    return {name: kind for name, kind in kinds.items() if name in map(str, table.columns)} or None
