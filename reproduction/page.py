"""Write the page on the paper's experiments from what ``python -m reproduction`` measured.

python -m reproduction figure4 --full && python -m reproduction.page reproduced

What the folder holds takes the place of what is shown of the same experiment, unless that is more
complete. Everything else on the page stays, so experiments can be run one by one. The tables that
were measured are kept beside the page, and judged anew each time it is written; without a folder
that is all that is done.
"""

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from reproduction import EXPERIMENTS, HOLDS, conclude, sum_up
from reproduction.running import CUT, FULL_SIZE, MEASURED_NAME, SHOWN

HERE = Path(__file__).parents[1] / "docs"
# A picture and a verdict for each experiment, and what a person wrote beside them, remarks.md.
PARTS = HERE / "reproduction"
# What was measured, an archive an experiment.
TABLES = PARTS / "tables"
# Archives of the same tables are the same to the byte.
NO_DATE = (1980, 1, 1, 0, 0, 0)


def take_over(folder: Path) -> None:
    """Keep the tables of what was measured."""
    n_taken = 0
    for name in EXPERIMENTS:
        sizes = [
            size for size in ("full", "quick") if (folder / size / name / MEASURED_NAME).exists()
        ]
        if not sizes:
            continue
        n_taken += 1
        found = conclude(name, folder, is_full=sizes[0] == "full")
        shown = PARTS / f"{name}.md"
        if shown.exists() and _completeness(shown.read_text("utf-8")) > _completeness(found.words):
            print(f"{name}: what the page shows is more complete, and stays.")
            continue
        _pack(name, folder / sizes[0] / name)
        print(f"{name}: taken over.")
    if n_taken == 0:
        sys.exit(f"{folder} holds no experiments: pass what 'python -m reproduction' wrote to.")


def _completeness(verdict: str | list[str]) -> tuple[bool, bool]:
    """Return whether a verdict is of a full run, and whether nothing was cut."""
    text = verdict if isinstance(verdict, str) else "\n".join(verdict)
    return FULL_SIZE in text, CUT not in text


def _pack(name: str, own: Path) -> None:
    """Keep the tables of an experiment, and what is known of them."""
    measured = json.loads((own / MEASURED_NAME).read_text("utf-8"))
    TABLES.mkdir(exist_ok=True)
    with zipfile.ZipFile(TABLES / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (MEASURED_NAME, *(f"{table}.csv" for table in measured["tables"])):
            entry = zipfile.ZipInfo(file, NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (own / file).read_bytes())


def judge_anew(name: str, folder: Path) -> Path:
    """Unpack the tables of an experiment into a folder, judge them, and return where that is."""
    with zipfile.ZipFile(TABLES / f"{name}.zip") as archive:
        is_full = json.loads(archive.read(MEASURED_NAME))["settings"]["is_full"]
        own = folder / ("full" if is_full else "quick") / name
        archive.extractall(own)
    conclude(name, folder, is_full=is_full)
    return own


def write_parts() -> None:
    """Write the verdict and the picture of every experiment whose tables are kept."""
    for archive in sorted(TABLES.glob("*.zip")):
        with TemporaryDirectory() as folder:
            own = judge_anew(archive.stem, Path(folder))
            shutil.copy(own / "verdict.md", PARTS / f"{archive.stem}.md")
            shutil.copy(own / f"{archive.stem}.png", PARTS / f"{archive.stem}.png")


def write_page() -> None:
    """Put docs/reproduction.md together; experiments without a verdict are named."""
    words = (PARTS / "remarks.md").read_text(encoding="utf-8")
    opening, *parts = words.split("\n<!-- ")
    # By experiment; the first line closes the comment.
    remarks = {
        name.removesuffix(" -->"): remark.strip()
        for name, remark in (part.split("\n", maxsplit=1) for part in parts)
    }
    rows, sections, missing = [], [], []
    for name in EXPERIMENTS:
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
    (HERE / "reproduction.md").write_text(page + "\n", encoding="utf-8")


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
        take_over(Path(sys.argv[1]))
    write_parts()
    write_page()
