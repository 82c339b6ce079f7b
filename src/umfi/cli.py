"""The command line: parse, call, write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.table import Table

from umfi.methods import decompose, ultra_marginal
from umfi.parts import describe_parts
from umfi.result import ImportanceResult
from umfi.version import __version__

__all__ = ["app"]

app = typer.Typer(
    name="umfi",
    help="Which features of a table are related to a response?",
    no_args_is_help=True,
    add_completion=False,
)

DEMO_REPEATS = 5
DEMO_PERMUTATIONS = 199
DEMO_PART_REPEATS = 20
DEMO_SEED = 0


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"umfi {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find the features of a table that are related to a response."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for importance.csv and importance.png.")] = Path(
        "demo"
    ),
    parts: Annotated[
        bool,
        typer.Option(help="Also say what each feature tells alone, and what others could replace."),
    ] = False,
) -> None:
    """Rank the features of scikit-learn's breast-cancer table, which needs no download.

    Example: umfi demo --out demo --parts
    """
    from sklearn.datasets import load_breast_cancer

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(
            f"{str(out)!r} cannot be made a folder ({error.strerror}): choose another.",
            param_hint="--out",
        ) from None
    data = load_breast_cancer(as_frame=True)
    diagnosis = data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")
    if parts:
        result = decompose(data.data, diagnosis, repeats=DEMO_PART_REPEATS, random_state=DEMO_SEED)
    else:
        result = ultra_marginal(
            data.data,
            diagnosis,
            test="permutation",
            max_permutations=DEMO_PERMUTATIONS,
            repeats=DEMO_REPEATS,
            random_state=DEMO_SEED,
        )
    _print_result(result)
    typer.echo("Written: " + ", ".join(str(path) for path in _write_result(result, out)))


def _print_result(result: ImportanceResult) -> None:
    settings = result.settings
    typer.echo(
        f"{settings['method']} importance for {settings['target']}: {settings['n_rows']} rows, "
        f"{settings['n_features']} features, {result.n_repeats} repeats"
    )
    shown = Table()
    columns = _readable_columns(result)
    for name in map(str, columns):
        shown.add_column(name, justify="left" if name in ("feature", "related") else "right")
    for row in columns.itertuples(index=False):
        shown.add_row(*row)
    Console().print(shown)
    for note in result.notes:
        typer.echo(f"Note: {note}")


def _readable_columns(result: ImportanceResult) -> pd.DataFrame:
    """Return what is shown of a result, as text: whatever was computed."""
    table = result.table
    shown = pd.DataFrame({"feature": table["feature"].astype(str)})
    shown["importance"] = table["importance"].map("{:.4f}".format)
    if result.n_repeats > 1 and result.part_scores is None:
        shown["spread"] = table["spread"].map("{:.4f}".format)
    if "p_value" in table:
        stars = table["tail"].map({True: "*", False: ""})
        shown["p-value"] = table["p_value"].map("{:.2g}".format) + stars
        leaks = table["leaks"].map({True: " (leaks)", False: ""})
        shown["related"] = table["related"].map({True: "yes", False: "no"}) + leaks
    return shown if result.part_scores is None else shown.join(describe_parts(table))


def _write_result(result: ImportanceResult, folder: Path) -> list[Path]:
    csv, png = folder / "importance.csv", folder / "importance.png"
    result.table.to_csv(csv, index=False)
    figure = result.plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(png, dpi=150)
    return [csv, png]
