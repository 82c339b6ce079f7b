"""``umfi rank`` and ``umfi demo``: importances of one table."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from umfi.cli import options
from umfi.cli.output import command, print_document, print_result, say, write_table
from umfi.cli.running import Progress, common_settings, load_table, make_folder
from umfi.errors import InputError, UntestableError, unknown_name
from umfi.importance import METHODS

if TYPE_CHECKING:
    import pandas as pd

    from umfi.cli.files import Prepared
    from umfi.importance.result import ImportanceResult

__all__ = ["demo", "rank"]

TESTED_METHODS = tuple(name for name, method in METHODS.items() if method.is_tested)
REMOVING_METHODS = tuple(name for name, method in METHODS.items() if method.removes)
TESTS = ("permutation", "full-permutation", "none")
DEFAULT_PERMUTATIONS = 199
# Of methods without intervals, whose spread over repeats says how far chance goes.
DEFAULT_REPEATS = 5


Method = Annotated[
    str,
    options.option(
        "--method", metavar="NAME", help="ultra_marginal (default), decompose, ablation, ..."
    ),
]


@command
def rank(
    data: options.Data,
    target: options.Target,
    out: options.Out = None,
    method: Method = "ultra_marginal",
    groups: options.Groups = None,
    task: options.Task = "auto",
    remover: options.Remover = None,
    power: options.Power = "forest",
    test: options.Test = None,
    permutations: options.Permutations = None,
    alpha: options.Alpha = None,
    repeats: options.Repeats = None,
    subsample: options.Subsample = None,
    seed: options.Seed = 0,
    *,
    table: options.TableOptions,
    run: options.RunOptions,
    json: options.Json = False,
) -> None:
    """Rank the features of a table by how they relate to a response.

    Example: umfi rank data.csv --target y --drop id --out results
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    of_tests = {"--test": test, "--permutations": permutations, "--alpha": alpha}
    _refuse_idle(method, TESTED_METHODS, of_tests)
    _refuse_idle(method, REMOVING_METHODS, {"--remover": remover})
    if test is not None and test not in TESTS:
        raise unknown_name("test", test, TESTS)
    folder = make_folder(out)
    loaded = load_table(data, target, table)
    is_tested = method in TESTED_METHODS
    settings: dict[str, Any] = {
        **common_settings(loaded, task, seed, table, run),
        "power": power,
        "groups": options.read_groups(groups, [str(name) for name in loaded.X]),
        # Once where the rows of one fit give intervals.
        "repeats": (1 if is_tested else DEFAULT_REPEATS) if repeats is None else repeats,
        "subsample": options.read_subsample(subsample),
    }
    if remover is not None:
        settings["remover"] = remover
    if is_tested:
        settings |= {
            "test": None if test == "none" else test or "permutation",
            "max_permutations": DEFAULT_PERMUTATIONS if permutations is None else permutations,
            "alpha": 0.05 if alpha is None else alpha,
        }
    try:
        _rank(method, loaded, settings, folder, run, is_json=json)
    except UntestableError as error:
        if test is not None:
            raise
        # The test was not asked for, so the rest is done without.
        note = f"No p-values. {error}"
        say(f"Note: {note}")
        loaded.notes.append(note)
        _rank(method, loaded, settings | {"test": None}, folder, run, is_json=json)


def _refuse_idle(method: str, methods: tuple[str, ...], given: dict[str, Any]) -> None:
    """Raise if options were given that the method would not look at."""
    idle = [name for name, value in given.items() if value is not None]
    if idle and method not in methods:
        raise InputError(
            f"{' and '.join(idle)} {'is' if len(idle) == 1 else 'are'} for {', '.join(methods)}: "
            f"leave it out with --method {method}."
        )


@command
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the table and the report.")
    ] = Path("demo"),
    parts: Annotated[
        bool,
        typer.Option("--parts", help="Split each importance into its parts instead of testing it."),
    ] = False,
    remover: options.Remover = None,
    *,
    run: options.RunOptions,
    json: options.Json = False,
) -> None:
    """Rank the features of a real table that needs no download (breast cancer, 569 x 30).

    Example: umfi demo --out demo
    """
    from sklearn.datasets import load_breast_cancer

    from umfi.cli.files import Prepared

    folder = make_folder(out)
    data = load_breast_cancer(as_frame=True)
    diagnosis = data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")
    settings: dict[str, Any] = {"random_state": 0, **run.settings}
    if remover is not None:
        settings["remover"] = remover
    if not parts:
        settings |= {"test": "permutation", "max_permutations": DEFAULT_PERMUTATIONS}
    method = "decompose" if parts else "ultra_marginal"
    _rank(method, Prepared(data.data, diagnosis, []), settings, folder, run, is_json=json)


def _rank(
    method: str,
    loaded: Prepared,
    settings: dict[str, Any],
    folder: Path | None,
    run: options.RunOptions,
    *,
    is_json: bool,
) -> None:
    """Run a method, print and write what it found; the notes were said already."""
    progress = Progress.choose("rank", folder, run)
    compute = getattr(import_module("umfi.importance"), method)
    with progress.watch():
        result: ImportanceResult = compute(loaded.X, loaded.y, checkpoint=progress.path, **settings)
        all_notes = [*loaded.notes, *result.settings["notes"]]
        noted = replace(result, settings=result.settings | {"notes": all_notes, **_command()})
        files = _write(noted, loaded.X, folder) if folder is not None else []
    print_document(_document(noted), files, lambda: print_result(result), is_json=is_json)
    progress.finish(result.settings, repeats=result.n_repeats)


def _command() -> dict[str, str]:
    """Return the command that was typed, if one was."""
    program = Path(sys.argv[0]).stem
    return {"command": shlex.join([program, *sys.argv[1:]])} if program == "umfi" else {}


def _write(result: ImportanceResult, X: pd.DataFrame, folder: Path) -> list[Path]:
    files = write_table(result.table, result.plot, folder, "importance")
    return [*files, result.save(folder / "result.json"), result.report(folder / "report.html", X)]


def _document(result: ImportanceResult) -> dict[str, Any]:
    from umfi.report import answer_in_words

    records: list[dict[str, Any]] = result.table.to_dict("records")  # type: ignore[assignment]
    unknown = {"p_value": None, "q_value": None, "related": None}
    undecided = set(result.undecided)
    return {
        "answer": " ".join(answer_in_words(result)),
        "features": [one | unknown if one["feature"] in undecided else one for one in records],
        "notes": result.notes,
        "settings": result.settings,
    }
