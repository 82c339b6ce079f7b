"""Checkpoints: files that keep the answers of a run, so that nothing computed is lost."""

from umfi.execution.checkpoint.identity import describe, describe_table
from umfi.execution.checkpoint.kept import KeptRun, TaskName
from umfi.execution.checkpoint.store import (
    Checkpoint,
    Section,
    begin,
    find_seed,
    forget,
    merge,
    read_checkpoint,
)

__all__ = [
    "Checkpoint",
    "KeptRun",
    "Section",
    "TaskName",
    "begin",
    "describe",
    "describe_table",
    "find_seed",
    "forget",
    "merge",
    "read_checkpoint",
]
