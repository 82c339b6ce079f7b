"""Checkpoints: files that keep the answers of a run, so that nothing computed is lost."""

from umfi.checkpoint.identity import describe, describe_table
from umfi.checkpoint.kept import KeptRun, TaskName
from umfi.checkpoint.store import (
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
