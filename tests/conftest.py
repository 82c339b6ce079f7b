"""Settings for all tests: no screen, no skips in CI."""

import os
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")


def data_folder() -> Path | None:
    folder = os.environ.get("UMFI_DATA")
    return Path(folder) if folder and (Path(folder) / "BRCA.csv").is_file() else None


needs_data = pytest.mark.skipif(
    data_folder() is None, reason="set UMFI_DATA to a folder with BRCA.csv and the CAMELS tables"
)


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("CI") and skipped and exitstatus == 0:
        reporter.write_line(f"{len(skipped)} skipped: in CI every test must run", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
