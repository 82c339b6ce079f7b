"""Write the page on the paper's experiments from what ``umfi reproduce`` measured.

umfi reproduce all --full --out reproduction && python docs/write_reproduction.py reproduction

Quick runs are shown where there is no full one.
"""

import shutil
import sys
from pathlib import Path

from umfi.experiments import EXPERIMENTS, Reproduced, conclude, sum_up

HERE = Path(__file__).parent
MEASURED = "measured.json"
PICTURES = HERE / "reproduction"  # with what a person wrote beside the numbers, remarks.md


def write_reproduction(folder: Path) -> None:
    """Write docs/reproduction.md and its pictures; what was not measured is named."""
    PICTURES.mkdir(exist_ok=True)
    found, missing = [], []
    for name in EXPERIMENTS:
        # The larger one, where there are both.
        sizes = [size for size in ("full", "quick") if (folder / size / name / MEASURED).exists()]
        if not sizes:
            missing.append(name)
            continue
        found.append(conclude(name, folder, is_full=sizes[0] == "full"))
        shutil.copy(folder / sizes[0] / name / f"{name}.png", PICTURES / f"{name}.png")
    words = (PICTURES / "remarks.md").read_text(encoding="utf-8")
    remarks = dict(
        part.split("\n", maxsplit=1) for part in words.split("\n<!-- ")[1:]
    )  # By experiment; the first line closes the comment.
    remarks = {key.removesuffix(" -->"): value.strip() for key, value in remarks.items()}
    lines = [words.split("\n<!-- ")[0].strip(), "", *_sum_up(found)]
    if missing:
        lines += ["", f"Not run here: {', '.join(missing)}."]
    for one in found:
        lines += ["", f"## {_heading(one.name)}: {one.title}", ""]
        lines += [f"![{one.title}](reproduction/{one.name}.png)", "", *one.words]
        if one.name in remarks:
            lines += ["", remarks[one.name]]
    (HERE / "reproduction.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _heading(name: str) -> str:
    return name.replace("figure", "Figure ")


def _sum_up(found: list[Reproduced]) -> list[str]:
    """Return how many claims hold, and those that do not."""
    claims = [(one, claim) for one in found for claim in one.claims]
    failed = [(one, claim) for one, claim in claims if not claim.holds]
    return [
        f"{sum_up(claim for _, claim in claims)} Those that do not:",
        "",
        "| | claim | found | holds if | paper |",
        "|---|---|---|---|---|",
        *(
            f"| [{_heading(one.name)}](#{_heading(one.name).lower().replace(' ', '-')}-"
            f"{_slug(one.title)}) | {claim.statement} | {claim.numbers} | {claim.bounds} | "
            f"{claim.paper or '(ours)'} |"
            for one, claim in failed
        ),
    ]


def _slug(title: str) -> str:
    """Return a heading as links name it."""
    letters = [letter for letter in title.lower() if letter.isalnum() or letter in " -"]
    return "".join(letters).replace(" ", "-")


if __name__ == "__main__":
    write_reproduction(Path(sys.argv[1]))
