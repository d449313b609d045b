"""Progress through a table on standard error: a bar after a second, with rows a second."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from wane.cli.console import console, plain

PATIENCE = 1.0  # seconds without a bar


@contextlib.contextmanager
def rows_shown(quiet: bool = False) -> Iterator[Callable[[int, float | None], None]]:
    """Gives a function (rows, share of the table); nothing is shown where standard error is no terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    begun = time.monotonic()
    if quiet or plain() or not screen.is_terminal:
        yield lambda rows, share: None
        return
    text = TextColumn("{task.fields[rows]:,} rows, {task.fields[rate]:,.0f} a second")
    bar = Progress(BarColumn(), TaskProgressColumn(), text, TimeRemainingColumn(), console=screen, transient=True)
    task = bar.add_task("rows", total=1.0, rows=0, rate=0.0)

    def update(rows: int, share: float | None) -> None:
        passed = time.monotonic() - begun
        if passed < PATIENCE:
            return
        bar.start()  # again: nothing happens
        bar.update(task, total=None if share is None else 1.0, completed=share or 0.0, rows=rows, rate=rows / passed)

    try:
        yield update
    finally:
        bar.stop()
