"""Progress on standard error: a bar for each part of the work, with the time that is left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from wane.cli.console import console, plain
from wane.cli.main import Interrupted


@contextlib.contextmanager
def resumable(quiet: bool = False) -> Iterator[Callable[[str, int], Callable[[], Any]]]:
    """Like ``shown``, for work that goes on where Ctrl-C stopped it, and says so."""
    try:
        with shown(quiet) as started:
            yield started
    except KeyboardInterrupt:
        raise Interrupted("interrupted; run it again to go on") from None


@contextlib.contextmanager
def shown(quiet: bool = False) -> Iterator[Callable[[str, int], Callable[[], Any]]]:
    """Gives a function (name, ticks) -> tick; nothing is shown when standard error is not a terminal, or on request."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    screen = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = quiet or plain() or not screen.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=screen, transient=True, disable=hidden) as progress:

        def started(name: str, ticks: int) -> Callable[[], Any]:
            task = progress.add_task(name, total=ticks)
            return lambda: progress.advance(task)

        yield started
