"""``umfi compare`` and ``umfi diagnose``: several methods, or several removers, on one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from umfi.cli import options
from umfi.cli.output import (
    command,
    print_document,
    print_notes,
    print_table,
    printable,
    write_table,
)
from umfi.cli.running import Progress, common_settings, load_table, make_folder

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from umfi.importance.comparison import Comparison
    from umfi.importance.diagnose import Diagnosis

__all__ = ["compare", "diagnose"]

LEFT = ("remover", "feature", "verdict")


@command
def compare(
    data: options.Data,
    target: options.Target,
    out: options.OutTables = None,
    methods: Annotated[
        list[str] | None,
        options.option(
            "--methods",
            metavar="NAMES",
            help="By default ultra_marginal,ablation,bivariate,permutation.",
        ),
    ] = None,
    powers: Annotated[
        list[str] | None,
        options.option("--powers", metavar="NAMES", help="forest (default); linear,boosting,..."),
    ] = None,
    groups: options.Groups = None,
    task: options.Task = "auto",
    remover: options.Remover = None,
    repeats: Annotated[
        int | None, options.option("--repeats", metavar="N", help="5 by default.")
    ] = None,
    seed: options.Seed = 0,
    *,
    table: options.TableOptions,
    run: options.RunOptions,
    json: options.Json = False,
) -> None:
    """Compare the importances that several methods give the features of a table.

    Example: umfi compare data.csv --target y --methods ultra_marginal,ablation
    """
    from umfi.importance.comparison import compare as compute

    folder = make_folder(out)
    loaded = load_table(data, target, table)
    progress = Progress.choose("compare", folder, run)
    with progress.watch():
        found = compute(
            loaded.X,
            loaded.y,
            methods=options.read_list(methods) or None,
            powers=options.read_list(powers) or ("forest",),
            groups=options.read_groups(groups, [str(name) for name in loaded.X]),
            repeats=5 if repeats is None else repeats,
            checkpoint=progress.path,
            **common_settings(loaded, task, seed, table, run),
            **({} if remover is None else {"remover": remover}),
        )
    files = _write_comparison(found, folder) if folder is not None else []
    settings = {name: result.settings for name, result in found.results.items()}
    document = {
        "features": found.table.to_dict("records"),
        "measures": {name: one["measure"] for name, one in settings.items()},
        "notes": [*loaded.notes, *found.notes],
        "settings": settings,
    }
    print_document(document, files, lambda: _print_comparison(found), is_json=json)
    n_repeats = max(result.n_repeats for result in found.results.values())
    progress.finish(*settings.values(), repeats=n_repeats)


def _write_comparison(found: Comparison, folder: Path) -> list[Path]:
    files = write_table(found.table, lambda: found.plot()[0], folder, "comparison")
    for name, result in found.results.items():
        stem = "".join(letter if letter.isalnum() else "_" for letter in name)
        files.append(result.save(folder / f"{stem}.json"))
    return files


def _print_comparison(found: Comparison) -> None:
    units = {name: f"{name} [{r.settings['measure']}]" for name, r in found.results.items()}
    print_table(_as_text(found.table.rename(columns=units)))
    if len(found.results) > 1:
        typer.echo("Agreement of the rankings (rank correlation):")
        print_table(_as_text(found.agreement.reset_index(names="method"), 2), left=("method",))
    print_notes(found.notes)


@command
def diagnose(
    data: options.Data,
    target: Annotated[
        str | None,
        options.option("--target", "-t", metavar="NAME", help="Response, for what removal costs."),
    ] = None,
    out: options.OutTables = None,
    removers: Annotated[
        list[str] | None,
        options.option(
            "--removers", metavar="NAMES", help="joint (default); linear,transport,chained"
        ),
    ] = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    *,
    table: options.TableOptions,
    run: options.RunOptions,
    json: options.Json = False,
) -> None:
    """Check whether removal works on a table: what is left of each feature in the others.

    Example: umfi diagnose data.csv --target y --removers linear,joint
    """
    from umfi.importance import diagnose as compute

    folder = make_folder(out)
    loaded = load_table(data, target, table)
    progress = Progress.choose("diagnose", folder, run)
    with progress.watch():
        found = compute(
            loaded.X,
            loaded.y,
            remover=options.read_list(removers) or ["joint"],
            checkpoint=progress.path,
            **common_settings(loaded, task, seed, table, run),
        )
    files = [] if folder is None else write_table(found.table, found.plot, folder, "diagnosis")
    document = {
        "features": found.table.to_dict("records"),
        "summary": found.summary.to_dict("records"),
        "advice": found.advice,
        "notes": loaded.notes,
        "settings": found.settings,
    }
    print_document(document, files, lambda: _print_diagnosis(found), is_json=json)
    progress.finish(found.settings)


def _print_diagnosis(found: Diagnosis) -> None:
    for part in (found.table, found.summary):
        print_table(_as_text(part.dropna(axis=1, how="all"), 3), left=LEFT)
    for sentence in found.advice:
        typer.echo(printable(sentence))


def _as_text(table: pd.DataFrame, n_digits: int = 4) -> pd.DataFrame:
    """Return a table whose fractions have so many digits, and whose gaps are empty."""
    shown = table.copy()
    for name, column in table.select_dtypes("float").items():
        shown[name] = column.map(lambda one: "" if one != one else f"{one:.{n_digits}f}")
    return shown.astype(str)
