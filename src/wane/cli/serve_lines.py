"""``wane serve-lines``: one JSON object a line on standard input and output, for a program in any language."""

from __future__ import annotations

import math
import os
import signal
import warnings
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from wane.cli.options import speaking
from wane.cli.serve_settings import (
    Alpha,
    CompactEvery,
    Groups,
    LowerLimit,
    MaxPending,
    MaxSeries,
    Method,
    OnUnbounded,
    Policy,
    Score,
    ScoreSet,
    Set,
    UpperLimit,
    going_on,
    many_of,
    note,
    told,
    unopened,
)
from wane.errors import FileError


@speaking
def serve_lines(
    journal: Annotated[
        Path | None,
        typer.Option(help="File that keeps every request that was answered; continue from it if it exists."),
    ] = None,
    method: Method = "auto",
    alpha: Alpha = None,
    score: Score = "absolute",
    lower_limit: LowerLimit = -math.inf,
    upper_limit: UpperLimit = math.inf,
    on_unbounded: OnUnbounded = Policy.error,
    max_pending: MaxPending = 10_000,
    max_series: MaxSeries = 10_000,
    groups: Groups = None,
    set: Set = None,
    score_set: ScoreSet = None,
    load: Annotated[
        Path | None,
        typer.Option(
            help="Begin from a file that a save request wrote. A journal that exists is newer, and goes before."
        ),
    ] = None,
    sync: Annotated[
        bool,
        typer.Option("--sync", help="Wait for the disk after each request, so that a power failure loses nothing."),
    ] = False,
    compact_every: CompactEvery = 10_000,
    longest: Annotated[
        int, typer.Option(min=1, help="How many bytes a line may have; a longer one is refused.")
    ] = 1_000_000,
    json: Annotated[
        bool, typer.Option("--json", help="Changes nothing here; for scripts that give it to every command.")
    ] = False,
) -> None:
    """Serve intervals to a program in any language: it writes one JSON object a line, and reads one.

    Requests are {"op": "predict", "output": 1.5}, {"op": "label", "id": 0, "y": 1.7}, and expire, pending, stats, save,
    version, stop. A bad line is answered with an error. With --journal, what was answered survives kill -9.
    """
    from wane.serve import opened

    # Settings are checked before anything is opened.
    warnings.showwarning = told
    fresh = many_of(
        serve_lines,
        method,
        alpha,
        score,
        score_set,
        set,
        groups,
        lower_limit=lower_limit,
        upper_limit=upper_limit,
        on_unbounded=on_unbounded.value,
        max_pending=max_pending,
        max_series=max_series,
    )
    # Continue from the journal or the saved file, if there is one, and serve until the end.
    try:
        lines = opened(fresh, journal, load, sync, compact_every)
    except RuntimeError as error:  # the journal is in use
        raise FileError(str(error), argument="journal") from error
    except OSError as error:
        raise unopened(error, journal, load) from error
    if lines.many.series:
        note(going_on(lines))
    raise typer.Exit(served(lines, longest))


class Leaving(BaseException):
    """Raised when a signal comes while no line is being answered."""


class Signals:
    """SIGTERM and SIGINT wait while this is entered; otherwise they raise ``Leaving`` at once."""

    def __init__(self) -> None:
        """Handle signals from now on."""
        self.busy = False
        self.came = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.came = number
        if not self.busy:
            raise Leaving

    def __enter__(self) -> None:
        """Say that a line is being answered."""
        self.busy = True

    def __exit__(self, *exception: object) -> None:
        """Say that it has been answered; now a signal counts."""
        self.busy = False
        if self.came:
            raise Leaving

    def ignore(self) -> None:
        """Let nothing more be interrupted."""
        self.busy = True


def served(lines: Any, longest: int) -> int:
    """Serve standard input and output until they end, and give the exit code."""
    from wane.serve import serve

    if os.name == "posix":
        for descriptor, name in enumerate(("input", "output")):
            try:
                os.set_blocking(descriptor, True)  # what a parent made non-blocking would look like the end
            except OSError:
                raise FileError(f"standard {name} is closed", cure="requests come and answers go there") from None
    signals = Signals()
    try:
        with (
            open(0, "rb", buffering=1 << 16, closefd=False) as reader,
            open(1, "wb", buffering=0, closefd=False) as writer,
        ):
            serve(lines, reader, writer, signals, longest)
    except Leaving:
        pass
    except BrokenPipeError as error:
        raise FileError("nobody reads the answers any more: stopped") from error
    finally:
        signals.ignore()
        if lines.journal is not None:
            lines.journal.close()
    return 130 if signals.came == signal.SIGINT else 0
