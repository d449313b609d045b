"""Where results are shown: tables on the terminal, progress on standard error, folders for files."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from wane.cli.main import Interrupted
from wane.errors import FileError, InUseError, Setting

WIDE = 160  # characters of a line that goes to a file or a pipe
STYLES = ("", "bold", "underline")
PATIENCE = 1.0  # seconds before a bar appears


def plain() -> bool:
    """Whether NO_COLOR asks for text alone: no colours, and nothing bold, dim or moving either."""
    return bool(os.environ.get("NO_COLOR"))


def console(stderr: bool = False) -> Any:
    """Rich's console: as wide as the terminal, or wide enough for a table; NO_COLOR allows no escape sequence."""
    from rich.console import Console

    colours = None if plain() else "auto"
    found = Console(stderr=stderr, highlight=False, color_system=colours)  # type: ignore[arg-type]
    if found.is_terminal:
        return found
    return Console(stderr=stderr, width=WIDE, highlight=False, color_system=colours)  # type: ignore[arg-type]


def table(
    title: str,
    heads: Sequence[str],
    lines: Sequence[Sequence[Any]],
    caption: str | None = None,
    least: Sequence[str] = (),
    width: int = WIDE,
) -> Any:
    """A table for the terminal; a cell is text, or text with its place: 1 is bold, 2 underlined.

    Columns in ``least`` are left out, in that order, until the table is narrow enough.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Leave out columns until the rest fits, and say which ones.
    placed = [[cell if isinstance(cell, tuple) else (cell, 0) for cell in line] for line in lines]
    columns = list(zip(*placed, strict=True))
    kept = dict(zip(heads, columns, strict=True))
    dropped = [head for head in least if head in kept]
    while dropped and sum(3 + max(len(head), *(len(t) for t, _ in column)) for head, column in kept.items()) > width:
        kept.pop(dropped.pop(0))
    if len(kept) < len(heads):
        caption = f"{caption or ''} (a wider terminal shows {', '.join(head for head in heads if head not in kept)})"
    # The first column holds names, the others numbers.
    found = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
    for i, head in enumerate(kept):
        found.add_column(head, justify="right" if i else "left", no_wrap=True)
    for line in zip(*kept.values(), strict=True):
        found.add_row(*(Text(text, style=STYLES[place]) for text, place in line))
    return found


@contextlib.contextmanager
def parts_shown(quiet: bool = False) -> Iterator[Callable[[str, int], Callable[[], Any]]]:
    """Show a bar for each part of the work, with the time that is left.

    Gives a function (name, ticks) -> tick. Nothing is shown if standard error is not a terminal, or on request.
    """
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


@contextlib.contextmanager
def resumable(quiet: bool = False) -> Iterator[Callable[[str, int], Callable[[], Any]]]:
    """Like ``parts_shown``, for work that can go on where Ctrl-C stopped it, which the user is told."""
    try:
        with parts_shown(quiet) as started:
            yield started
    except KeyboardInterrupt:
        raise Interrupted("interrupted; run the command again to continue") from None


@contextlib.contextmanager
def rows_shown(quiet: bool = False) -> Iterator[Callable[[int, float | None], Any]]:
    """Show how far a table has been read, once that takes more than a second.

    Gives a function (rows, share of the table). Nothing is shown if standard error is not a terminal, or on request.
    """
    screen = console(stderr=True)
    if quiet or plain() or not screen.is_terminal:
        yield lambda rows, share: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    begun = time.monotonic()
    text = TextColumn("{task.fields[rows]:,} rows, {task.fields[rate]:,.0f} a second")
    bar = Progress(BarColumn(), TaskProgressColumn(), text, TimeRemainingColumn(), console=screen, transient=True)
    task = bar.add_task("rows", total=1.0, rows=0, rate=0.0)

    def update(rows: int, share: float | None) -> None:
        passed = time.monotonic() - begun
        if passed < PATIENCE:
            return
        bar.start()  # which does nothing if it has started
        bar.update(task, total=None if share is None else 1.0, completed=share or 0.0, rows=rows, rate=rows / passed)

    try:
        yield update
    finally:
        bar.stop()


@contextlib.contextmanager
def owned_folder(path: Path) -> Iterator[None]:
    """Make the folder for results, and keep other runs out of it while this is entered; one removes what kills left."""
    from wane.state.files import leftovers_in
    from wane.state.locks import Lock, by_another_run, remove

    made_folder(path)
    try:
        lock = Lock(path / "wane")
    except InUseError as error:
        raise by_another_run(str(path), "out", error) from None
    with lock:
        for folder in (path, path / "cache"):
            if folder.is_dir():
                remove(leftovers_in(folder))
        yield


def made_folder(path: Path, setting: str = "out") -> None:
    """Make a folder for results if it does not exist; an error says so if nothing can be written to it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise FileError(
            f"{path} cannot be a folder for results ({error.strerror})",
            argument=setting,
            cure=("choose another ", Setting(setting)),
        ) from None
