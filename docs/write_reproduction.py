"""Write the page on the paper's experiments from what ``umfi reproduce`` measured.

umfi reproduce figure4 --full --out reproduction && python docs/write_reproduction.py reproduction

What the folder holds takes the place of what is shown of the same experiment, but a quick run never
that of a full one. Everything else on the page stays, so experiments can be run one by one. Without
a folder the page is only put together again.
"""

import re
import shutil
import sys
from pathlib import Path

from umfi.experiments import EXPERIMENTS, HOLDS, conclude, sum_up

HERE = Path(__file__).parent
MEASURED = "measured.json"
# A picture and a verdict for each experiment, and what a person wrote beside them, remarks.md.
PARTS = HERE / "reproduction"
FULL = "With the paper's numbers of runs"
COLUMNS = ("claim", "found", "holds if", "paper", "verdict")


def take_over(folder: Path) -> None:
    """Copy the verdicts and pictures of what was measured."""
    for name in EXPERIMENTS:
        verdict = PARTS / f"{name}.md"
        is_full = (folder / "full" / name / MEASURED).exists()
        if not is_full and not (folder / "quick" / name / MEASURED).exists():
            continue
        if not is_full and verdict.exists() and FULL in verdict.read_text(encoding="utf-8"):
            print(f"{name}: the page has a full run, and the folder only a quick one.")
            continue
        conclude(name, folder, is_full=is_full)
        own = folder / ("full" if is_full else "quick") / name
        shutil.copy(own / "verdict.md", verdict)
        shutil.copy(own / f"{name}.png", PARTS / f"{name}.png")
        print(f"{name}: taken over.")


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
        f"| {row['where']} | {' | '.join(row[column] for column in COLUMNS[:-1])} |"
        for row in rows
        if not row["verdict"].startswith(HOLDS)
    ]
    if missing:
        lines += ["", f"Not run here: {', '.join(missing)}."]
    page = "\n".join([*lines, *sections])
    (HERE / "reproduction.md").write_text(page + "\n", encoding="utf-8")


def _read_claims(text: str) -> list[dict[str, str]]:
    """Return the rows of the table of claims."""
    table = text.split(f"| {' | '.join(COLUMNS)} |\n")[1].split("\n\n")[0]
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in table.split("\n")]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows[1:]]


def _slug(heading: str) -> str:
    """Return a heading as links name it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    if sys.argv[1:]:
        take_over(Path(sys.argv[1]))
    write_page()
