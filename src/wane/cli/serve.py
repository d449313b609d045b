"""``wane serve-lines``: one JSON object a line on standard input and output, for a program in any language."""

from __future__ import annotations

import enum
import math
import os
import signal
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from wane.cli.options import as_option, assigned, method_of, speaking
from wane.errors import FileError, Setting, WaneError


class Policy(str, enum.Enum):
    """What to do if a method has no finite set to give."""

    error = "error"
    clip = "clip"
    allow = "allow"


@speaking
def serve_lines(
    journal: Annotated[
        Path | None,
        typer.Option(help="File that keeps every request that was answered; continue from it if it exists."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="Name of a method; wane methods lists them.", autocompletion=method_of)
    ] = "auto",
    alpha: Annotated[
        list[float] | None,
        typer.Option(help="The share of labels that may be missed. Default: 0.1. Repeat it for several levels."),
    ] = None,
    score: Annotated[
        str,
        typer.Option(
            help="How to measure an error: absolute, signed, normalised, cqr, one-sided, lac, aps, raps or ball."
        ),
    ] = ("absolute"),
    lower_limit: Annotated[float, typer.Option(help="Labels are never below this number.")] = -math.inf,
    upper_limit: Annotated[float, typer.Option(help="Labels are never above this number.")] = math.inf,
    on_unbounded: Annotated[
        Policy, typer.Option(help="What to do if a method has no finite interval to give. With allow, an end is null.")
    ] = Policy.error,
    max_pending: Annotated[
        int, typer.Option(min=1, help="How many predictions of a series may wait for their labels.")
    ] = 10_000,
    max_series: Annotated[int, typer.Option(min=1, help="How many series there may be.")] = 10_000,
    set: Annotated[
        list[str] | None,
        typer.Option(help="Another setting, such as a hyperparameter of the method: NAME=VALUE, the value in JSON."),
    ] = None,
    score_set: Annotated[
        list[str] | None, typer.Option(help="An argument of the score: NAME=VALUE, the value in JSON.")
    ] = None,
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
    compact_every: Annotated[
        int, typer.Option(min=1, help="How many requests to log before the journal is rewritten as a snapshot.")
    ] = 10_000,
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
    from wane import scores
    from wane.conformal import ManySeries
    from wane.serve import opened

    # Settings are checked before anything is opened; the arguments of a score have an option of their own.
    warnings.showwarning = told
    levels = tuple(alpha or [0.1])
    try:
        scorer = scores.make(score, **assigned("--score-set", score_set or ()))
    except WaneError as error:
        error.option = lambda setting: as_option(setting, (), "--score-set")
        raise
    settings = assigned("--set", set or (), serve_lines)
    for name, instead in (("tracker", "--method"), ("on_alarm", "nothing: the answer to a label has alarms")):
        if name in settings:
            raise typer.BadParameter(f"{name!r} is not set here, but by {instead}", param_hint="--set")
    fresh = ManySeries(
        method,
        scorer,
        levels if len(levels) > 1 else levels[0],
        lower_limit=lower_limit,
        upper_limit=upper_limit,
        on_unbounded=on_unbounded.value,
        max_pending=max_pending,
        max_series=max_series,
        **settings,
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


def unopened(error: OSError, journal: Path | None, load: Path | None) -> OSError:
    """The error about a journal or a saved file that cannot be opened."""
    if load is not None and error.filename is not None and Path(error.filename) == load:
        cure = ("give a file that `save` wrote as ", Setting("load"))
        return FileError(f"{load} cannot be read ({error.strerror})", argument="load", cure=cure)
    if journal is not None and error.strerror is not None:
        problem = f"the journal {journal} cannot be opened or written ({error.strerror})"
        return FileError(problem, argument="journal", cure=("choose another ", Setting("journal")))
    return error


def note(text: str) -> None:
    """Write a line for people to standard error."""
    sys.stderr.write(f"wane: {text}\n")
    sys.stderr.flush()


def told(message: Warning | str, *where: Any, **more: Any) -> None:
    """Write a warning as one line, without the place in the code that it comes from."""
    note(str(message))


def going_on(lines: Any) -> str:
    """A sentence about the state that the service continues from."""
    stats = lines.answer({"op": "stats"})
    source = f"the journal {lines.journal.path!r}" if lines.journal is not None else "the saved file"
    n = len(stats["series"])
    return (
        f"going on from {source}: {n} series, {stats['predictions']} predictions, {stats['labels']} labels, "
        f"{stats['pending']} predictions wait for theirs"
    )


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
