"""Named tasks: one random stream each, done anywhere, answers keyed by name.

A task is known by what it is, never by when or where it ran, so its random numbers and its place in
the result do not depend on the workers. Nothing else in the library knows joblib or Dask.
"""

from umfi.execution.executors import check_workers, count_workers
from umfi.execution.limits import Budget, read_seconds
from umfi.execution.progress import progress_bar
from umfi.execution.runner import Answers, Runner, run_tasks
from umfi.execution.streams import Streams, kernel_seed
from umfi.execution.tasks import Done, TaskName, Work
from umfi.execution.threads import one_blas_thread, one_openmp_thread

__all__ = [
    "Answers",
    "Budget",
    "Done",
    "Runner",
    "Streams",
    "TaskName",
    "Work",
    "check_workers",
    "count_workers",
    "kernel_seed",
    "one_blas_thread",
    "one_openmp_thread",
    "progress_bar",
    "read_seconds",
    "run_tasks",
]
