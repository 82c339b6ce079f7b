"""A real browser, and pages to look at."""

import os
import shutil

import pytest

import umfi

NAMES = {
    "x1": '<script>alert("x")</script>',
    "x2": "'\"><img src=x onerror=alert(1)>",
    "x3": "שלום עולם",
    "x4": "y" * 400,
}


@pytest.fixture(scope="session")
def hostile():
    """A result whose names want to be more than text, and its features."""
    X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    X = X.rename(columns=NAMES)
    y = (y > 0).map({True: "</title><script>alert(2)</script>", False: "{{ 7 * 7 }}"})
    result = umfi.ultra_marginal(
        X,
        y.rename("<b>target</b>"),
        test="permutation",
        max_permutations=19,
        repeats=3,
        power=umfi.ForestPower(n_trees=10),
        random_state=0,
    )
    return result, X


@pytest.fixture(scope="session")
def browser():
    """Chromium as the system has it."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("There is no chromium: .ci/run installs it.")
        pytest.skip("needs chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
