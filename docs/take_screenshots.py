"""Take the pictures of the report that the pages show: needs Chromium.

umfi demo --out demo && python docs/take_screenshots.py demo/report.html
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SIZES = {"desktop": (1180, 1240), "phone": (390, 1240)}


def take_screenshots(report: Path) -> None:
    """Write docs/report_desktop.png and docs/report_phone.png."""
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, (width, height) in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(report.absolute().as_uri())
            page.screenshot(path=Path(__file__).parent / f"report_{name}.png")
        browser.close()


if __name__ == "__main__":
    take_screenshots(Path(sys.argv[1]))
