"""The bar that shows how far a run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    title: str, n_tasks: int, progress: bool | None, *, n_done: int = 0
) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of tasks just done; it draws only in a terminal."""
    if progress is False:
        yield lambda n_tasks: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda n_tasks: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        shown = bar.add_task(title, total=n_tasks, completed=n_done)
        yield lambda n_tasks: bar.advance(shown, n_tasks)
