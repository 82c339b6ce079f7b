"""Write the page on the paper's experiments from what ``umfi reproduce`` measured.

umfi reproduce figure4 --full --out reproduction && python docs/write_reproduction.py reproduction

What the folder holds takes the place of what is shown of the same experiment, unless that is more
complete. Everything else on the page stays, so experiments can be run one by one. Without
a folder the page is only put together again.
"""

import re
import shutil
import sys
from pathlib import Path

from umfi.experiments import EXPERIMENTS, HOLDS, conclude, sum_up
from umfi.experiments.reproduction import CUT, FULL_SIZE, MEASURED_NAME, SHOWN

HERE = Path(__file__).parent
# A picture and a verdict for each experiment, and what a person wrote beside them, remarks.md.
PARTS = HERE / "reproduction"


def take_over(folder: Path) -> None:
    """Copy the verdicts and pictures of what was measured."""
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
        own = folder / sizes[0] / name
        shutil.copy(own / "verdict.md", shown)
        shutil.copy(own / f"{name}.png", PARTS / f"{name}.png")
        print(f"{name}: taken over.")
    if n_taken == 0:
        sys.exit(f"{folder} holds no experiments: pass the folder that 'umfi reproduce' wrote to.")


def _completeness(verdict: str | list[str]) -> tuple[bool, bool]:
    """Return whether a verdict is of a full run, and whether nothing was cut."""
    text = verdict if isinstance(verdict, str) else "\n".join(verdict)
    return FULL_SIZE in text, CUT not in text


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
    write_page()
