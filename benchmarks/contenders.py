"""Who is measured: umfi, scikit-learn, scikit-learn-intelex and ranger, each on the same table.

A contender that is not installed says so; it is never left out in silence.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cases import Case

import umfi
from umfi.data.frames import read_columns
from umfi.data.target import read_target
from umfi.execution import Streams

# From a seed to seconds and out-of-bag score.
Measure = Callable[[int], tuple[float, float]]


class MissingContenderError(Exception):
    """The contender is not installed here."""


def timed(call: Callable[[], float]) -> tuple[float, float]:
    """Return seconds and the call's answer."""
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def umfi_forest(case: Case) -> tuple[str, Measure]:
    """Rank the columns, grow the trees and score them."""
    X, y = case.make()
    columns = read_columns(X)
    target = read_target(y, task="classification" if case.n_classes else "regression")
    power = umfi.ForestPower(
        n_trees=case.n_trees, mtry=case.mtry, split="random" if case.is_random else "best"
    )

    def measure(seed: int) -> tuple[float, float]:
        stream = Streams(seed).seed("benchmark")
        fresh = replace(columns)  # Its ranks are not known yet.
        return timed(lambda: power.score(fresh, target, stream, n_jobs=case.n_threads))

    return umfi.__version__, measure


def _sklearn_measure(case: Case, ensemble: Any) -> Measure:
    X, y = case.make()
    kind = "Classifier" if case.n_classes else "Regressor"
    make = getattr(ensemble, f"{'ExtraTrees' if case.is_random else 'RandomForest'}{kind}")
    settings: dict[str, Any] = {
        "n_estimators": case.n_trees,
        "max_features": case.mtry,
        "bootstrap": True,
        "oob_score": True,
        "n_jobs": case.n_threads,
        "min_samples_split": 2 if case.n_classes else 6,
    }

    def measure(seed: int) -> tuple[float, float]:
        forest = make(**settings, random_state=seed)
        return timed(lambda: float(forest.fit(X, y).oob_score_))

    return measure


def scikit_learn(case: Case) -> tuple[str, Measure]:
    """Fit with out-of-bag score."""
    from sklearn import ensemble

    return version("scikit-learn"), _sklearn_measure(case, ensemble)


def intelex(case: Case) -> tuple[str, Measure]:
    """Fit with out-of-bag score, in Intel's library."""
    try:
        found = version("scikit-learn-intelex")
    except PackageNotFoundError:
        raise MissingContenderError("pip install scikit-learn-intelex") from None
    from sklearnex import ensemble

    return found, _sklearn_measure(case, ensemble)


def ranger(case: Case) -> tuple[str, Measure]:
    """Fit alone, timed inside R."""
    if shutil.which("Rscript") is None:
        raise MissingContenderError("Debian: apt-get install r-cran-ranger")
    script = Path(__file__).with_name("ranger_fit.R")
    folder = Path(tempfile.mkdtemp(prefix="umfi-bench-"))
    table = folder / "table.csv"
    case.write(str(table))
    rule = "extratrees" if case.is_random else "default"

    def run(path: Path, how: str, seed: int) -> str:
        arguments = [case.n_classes, case.n_trees, case.mtry, case.n_threads, how, seed]
        done = subprocess.run(
            ["Rscript", str(script), str(path), *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise MissingContenderError(f"Rscript failed: {done.stderr.strip()[-200:]}")
        return done.stdout

    run(table, "prepare", 0)
    binary = table.with_suffix(".rds")
    found = run(binary, rule, 0).split()[2]

    def measure(seed: int) -> tuple[float, float]:
        seconds, score, _ = run(binary, rule, seed + 1).split()
        return float(seconds), float(score)

    return found, measure


CONTENDERS = {
    "umfi": umfi_forest,
    "scikit-learn": scikit_learn,
    "scikit-learn-intelex": intelex,
    "ranger": ranger,
}
