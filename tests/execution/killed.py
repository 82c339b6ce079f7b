"""Runs that are killed at random moments: a process that forks one after the other.

Arguments: a folder, how many runs, and the seed of the moments, which lie within a run's time.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from tests.execution.runs import run
from umfi.execution import checkpoint

# Runs here take seconds: written by the second, most would have kept the same.
checkpoint.WRITE_SECONDS = 0.05


def main() -> None:
    folder, n_runs, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    run(repeats=1)  # Kernels are loaded once, before any run is forked.
    start = time.perf_counter()
    run(checkpoint=folder / "unbroken.umfi")
    seconds = time.perf_counter() - start
    moments = np.random.default_rng(seed).uniform(0.0, seconds, n_runs)
    for number, moment in enumerate(moments):
        child = os.fork()
        if child == 0:
            run(checkpoint=folder / f"{number}.umfi")
            os._exit(0)
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
