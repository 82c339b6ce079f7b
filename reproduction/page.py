"""Write the page on the paper's experiments from what ``python -m reproduction`` measured.

python -m reproduction figure4 --full && python -m reproduction.page reproduced

What the folder holds takes the place of what is shown of the same experiment, unless that is more
complete. Everything else on the page stays, so experiments can be run one by one. The tables that
were measured are stored beside the page, and assessed again each time it is written; without a
folder that is all that is done.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from reproduction.claims import HOLDS, sum_up
from reproduction.running import (
    CUT,
    FIGURES,
    FULL_SIZE,
    MEASURED_NAME,
    SHOWN,
    Reproduced,
    conclude,
    folder_of,
)

DOCS = Path(__file__).parents[1] / "docs"
# A picture and a verdict for each experiment, and what a person wrote beside them, remarks.md.
PARTS = DOCS / "reproduction"
# What was measured, an archive for each experiment.
TABLES = PARTS / "tables"
# Archives of the same tables are the same to the byte.
NO_DATE = (1980, 1, 1, 0, 0, 0)


def store_tables(folder: Path) -> None:
    """Store the tables of what was measured."""
    n_found = 0
    for name in FIGURES:
        # A full run before a quick one.
        full = folder_of(name, folder, is_full=True)
        is_full = (full / MEASURED_NAME).exists()
        own = full if is_full else folder_of(name, folder, is_full=False)
        if not (own / MEASURED_NAME).exists():
            continue
        n_found += 1
        verdict = conclude(name, folder, is_full=is_full).verdict
        shown = PARTS / f"{name}.md"
        if shown.exists() and _completeness(shown.read_text("utf-8")) > _completeness(verdict):
            print(f"{name}: what the page shows is more complete, and stays.")
            continue
        pack(name, own)
        print(f"{name}: stored.")
    if n_found == 0:
        sys.exit(f"{folder} holds no experiments: pass what 'python -m reproduction' wrote to.")


def _completeness(verdict: str) -> tuple[bool, bool]:
    """Return whether a verdict is of a full run, and whether nothing was cut."""
    return FULL_SIZE in verdict, CUT not in verdict


def pack(name: str, own: Path) -> None:
    """Store the tables of an experiment, and what is known of them."""
    measured = json.loads((own / MEASURED_NAME).read_text("utf-8"))
    TABLES.mkdir(exist_ok=True)
    with zipfile.ZipFile(TABLES / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (MEASURED_NAME, *(f"{table}.csv" for table in measured["tables"])):
            entry = zipfile.ZipInfo(file, NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (own / file).read_bytes())


def assess_stored(name: str, folder: Path, *, draws: bool = True) -> Reproduced:
    """Unpack the stored tables of an experiment into a folder and assess them."""
    with zipfile.ZipFile(TABLES / f"{name}.zip") as archive:
        is_full = json.loads(archive.read(MEASURED_NAME))["settings"]["is_full"]
        archive.extractall(folder_of(name, folder, is_full=is_full))
    return conclude(name, folder, is_full=is_full, draws=draws)


def write_parts() -> None:
    """Write the verdict and the picture of every experiment whose tables are stored."""
    for archive in sorted(TABLES.glob("*.zip")):
        with TemporaryDirectory() as folder:
            found = assess_stored(archive.stem, Path(folder))
            (PARTS / f"{archive.stem}.md").write_text(found.verdict, "utf-8")
            (picture,) = (path for path in found.files if path.suffix == ".png")
            shutil.copy(picture, PARTS / f"{archive.stem}.png")


def write_page() -> None:
    """Put docs/reproduction.md together; experiments without a verdict are named."""
    words = (PARTS / "remarks.md").read_text(encoding="utf-8")
    opening, *parts = words.split("\n<!-- ")
    # By experiment; the first line closes the comment.
    remarks = {
        name.removesuffix(" -->"): remark.strip()
        for name, remark in (part.split("\n", maxsplit=1) for part in parts)
    }
    rows: list[dict[str, str]] = []
    sections: list[str] = []
    missing: list[str] = []
    for name in FIGURES:
        verdict = PARTS / f"{name}.md"
        if not verdict.exists():
            missing.append(name)
            continue
        heading, text = verdict.read_text(encoding="utf-8").split("\n", maxsplit=1)
        title = heading.removeprefix(f"# {name}: ")
        figure = name.replace("figure", "Figure ")
        link = f"[{figure}](#{_slug(f'{figure} {title}')})"
        rows += [{"where": link, **row} for row in _read_claims(text)]
        sections += ["", f"## {figure}: {title}", ""]
        sections += [f"![{title}](reproduction/{name}.png)", "", text.strip()]
        if name in remarks:
            sections += ["", remarks[name]]
    lines = [opening.strip(), "", f"{sum_up(rows)} Those that do not:", ""]
    lines += ["| | claim | found | holds if | paper |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['where']} | {' | '.join(row[column] for column in SHOWN[:-1])} |"
        for row in rows
        if not row["verdict"].startswith(HOLDS)
    ]
    if missing:
        lines += ["", f"Not run here: {', '.join(missing)}."]
    page = "\n".join([*lines, *sections])
    (DOCS / "reproduction.md").write_text(page + "\n", encoding="utf-8")


def _read_claims(text: str) -> list[dict[str, str]]:
    """Return the rows of the table of claims."""
    table = text.split(f"| {' | '.join(SHOWN)} |\n")[1].split("\n\n")[0]
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in table.split("\n")]
    return [dict(zip(SHOWN, row, strict=True)) for row in rows[1:]]


def _slug(heading: str) -> str:
    """Return a heading as links name it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    if sys.argv[1:]:
        store_tables(Path(sys.argv[1]))
    write_parts()
    write_page()
