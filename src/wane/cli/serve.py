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

from wane.cli.completion import method_of
from wane.cli.options import assigned
from wane.cli.words import OPTIONS, spoken

LIMITS = ("lower_limit", "upper_limit", "on_unbounded", "max_pending", "max_series")
OWN = {
    **{name: f"--{name.replace('_', '-')}" for name in ("score", "alpha", *LIMITS)},
    "tracker": "--method",
    "on_alarm": "nothing: a label's answer has alarms",
}


class Policy(str, enum.Enum):
    """What to do where a method has no finite set to give."""

    error = "error"
    clip = "clip"
    allow = "allow"


def serve_lines(
    journal: Annotated[
        Path | None, typer.Option(help="Keep every request that was answered here; go on from it if it exists.")
    ] = None,
    method: Annotated[str, typer.Option(help="The name of a method.", autocompletion=method_of)] = "auto",
    alpha: Annotated[
        list[float] | None, typer.Option(help="The share of labels that may be missed, 0.1 by default; or several.")
    ] = None,
    score: Annotated[str, typer.Option(help="absolute, signed, normalised, cqr, one-sided, lac, aps, raps, ball.")] = (
        "absolute"
    ),
    lower_limit: Annotated[float, typer.Option(help="Labels are never below this.")] = -math.inf,
    upper_limit: Annotated[float, typer.Option(help="Labels are never above this.")] = math.inf,
    on_unbounded: Annotated[
        Policy, typer.Option(help="Where a method has no finite interval to give; allow: an end is null.")
    ] = Policy.error,
    max_pending: Annotated[int, typer.Option(min=1, help="How many predictions of a series may wait.")] = 10_000,
    max_series: Annotated[int, typer.Option(min=1, help="How many series there may be.")] = 10_000,
    set: Annotated[
        list[str] | None, typer.Option(help="A hyperparameter of the method, or another setting: NAME=VALUE, in JSON.")
    ] = None,
    score_set: Annotated[list[str] | None, typer.Option(help="An argument of the score: NAME=VALUE, in JSON.")] = None,
    load: Annotated[
        Path | None, typer.Option(help="Begin from a file that a request to save wrote; an existing journal is later.")
    ] = None,
    sync: Annotated[bool, typer.Option("--sync", help="Wait for the disk: a power failure loses nothing.")] = False,
    compact_every: Annotated[int, typer.Option(min=1, help="Requests between two snapshots of the journal.")] = 10_000,
    longest: Annotated[int, typer.Option(min=1, help="Bytes of a line; a longer one is refused.")] = 1_000_000,
    json: Annotated[bool, typer.Option("--json", help="As always here; for scripts that say it everywhere.")] = False,
) -> None:
    """Intervals for a program in any language: a JSON object a line in, a JSON object a line out.

    Requests are {"op": "predict", "output": 1.5}, {"op": "label", "id": 0, "y": 1.7}, and expire, pending, stats, save,
    version, stop. A bad line is answered with an error. With --journal, what was answered survives kill -9.
    """
    from wane import scores
    from wane.conformal import ManySeries
    from wane.serve import opened

    warnings.showwarning = told
    levels = tuple(alpha or [0.1])
    with spoken(OPTIONS):
        fresh = ManySeries(
            method,
            scores.make(score, **assigned("--score-set", score_set or (), {})),
            levels if len(levels) > 1 else levels[0],
            lower_limit=lower_limit,
            upper_limit=upper_limit,
            on_unbounded=on_unbounded.value,
            max_pending=max_pending,
            max_series=max_series,
            **assigned("--set", set or (), OWN),
        )
    try:
        lines = opened(fresh, journal, load, sync, compact_every)
    except RuntimeError as error:  # the journal is in use
        raise OSError(str(error)) from error
    except OSError as error:
        raise OSError(unopened(error, journal, load)) from error
    if lines.many.series:
        note(going_on(lines))
    raise typer.Exit(served(lines, longest))


def unopened(error: OSError, journal: Path | None, load: Path | None) -> str:
    """What is said where a journal or a saved file cannot be opened."""
    if load is not None and error.filename is not None and Path(error.filename) == load:
        return f"{load} cannot be read ({error.strerror}): give a file that `save` wrote as --load"
    if journal is not None and error.strerror is not None:
        return f"the journal {journal} cannot be opened or written ({error.strerror}): choose another --journal"
    return str(error)


def note(text: str) -> None:
    """A line for people."""
    sys.stderr.write(f"wane: {text}\n")
    sys.stderr.flush()


def told(message: Warning | str, *where: Any, **more: Any) -> None:
    """A warning as a line, without where it comes from."""
    note(str(message))


def going_on(lines: Any) -> str:
    """What there was before, in words."""
    stats = lines.answer({"op": "stats"})
    source = f"the journal {lines.journal.path!r}" if lines.journal is not None else "the saved file"
    n = len(stats["series"])
    return (
        f"going on from {source}: {n} series, {stats['predictions']} predictions, {stats['labels']} labels, "
        f"{stats['pending']} predictions wait for theirs"
    )


class Leaving(BaseException):
    """A signal came, and no line is being answered."""


class Signals:
    """While it is entered, SIGTERM and SIGINT wait for its end; else they are ``Leaving`` at once."""

    def __init__(self) -> None:
        """From now on."""
        self.busy = False
        self.came = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.came = number
        if not self.busy:
            raise Leaving

    def __enter__(self) -> None:
        """A line is being answered."""
        self.busy = True

    def __exit__(self, *exception: object) -> None:
        """It has been."""
        self.busy = False
        if self.came:
            raise Leaving

    def ignore(self) -> None:
        """Nothing more can be interrupted."""
        self.busy = True


def served(lines: Any, longest: int) -> int:
    """Serve standard input and output to the end; the exit code."""
    from wane.serve import serve

    if os.name == "posix":
        for descriptor, name in enumerate(("input", "output")):
            try:
                os.set_blocking(descriptor, True)  # what a parent made non-blocking would look like the end
            except OSError:
                raise OSError(f"standard {name} is closed: requests come and answers go there") from None
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
        raise OSError("nobody reads the answers any more: stopped") from error
    finally:
        signals.ignore()
        if lines.journal is not None:
            lines.journal.close()
    return 130 if signals.came == signal.SIGINT else 0
