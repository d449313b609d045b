"""The settings of ``wane serve`` and ``wane serve-lines``: what both doors to the answers have in common."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wane.cli.options import as_option, assigned, method_of
from wane.errors import FileError, Setting, WaneError

if TYPE_CHECKING:
    from wane.conformal import ManySeries


class Policy(str, enum.Enum):
    """What to do if a method has no finite set to give."""

    error = "error"
    clip = "clip"
    allow = "allow"


Method = Annotated[str, typer.Option(help="Name of a method; wane methods lists them.", autocompletion=method_of)]
Alpha = Annotated[
    list[float] | None,
    typer.Option(help="The share of labels that may be missed. Default: 0.1. Repeat it for several levels."),
]
Score = Annotated[
    str,
    typer.Option(help="How to measure an error: absolute, signed, normalised, cqr, one-sided, lac, aps, raps or ball."),
]
LowerLimit = Annotated[float, typer.Option(help="Labels are never below this number.")]
UpperLimit = Annotated[float, typer.Option(help="Labels are never above this number.")]
OnUnbounded = Annotated[
    Policy, typer.Option(help="What to do if a method has no finite interval to give. With allow, an end is null.")
]
MaxPending = Annotated[int, typer.Option(min=1, help="How many predictions of a series may wait for their labels.")]
MaxSeries = Annotated[int, typer.Option(min=1, help="How many series there may be.")]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        help="Kinds of groups, each of which is covered as asked: hour,region,price:4 (four sizes of price). "
        "Predictions then tell their groups."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Another setting, such as a hyperparameter of the method: NAME=VALUE, the value in JSON."
    ),
]
ScoreSet = Annotated[list[str] | None, typer.Option(help="An argument of the score: NAME=VALUE, the value in JSON.")]
CompactEvery = Annotated[
    int, typer.Option(min=1, help="How many requests to log before the journal is rewritten as a snapshot.")
]


def many_of(
    command: Callable[..., Any],
    method: str,
    alpha: Sequence[float] | None,
    score: str,
    score_set: Sequence[str] | None,
    settings: Sequence[str] | None,
    groups: Sequence[str] | None,
    **more: Any,
) -> ManySeries:
    """The series that a command was asked for, which have seen nothing; its settings are checked."""
    from wane import scores
    from wane.conformal import ManySeries

    levels = tuple(alpha or [0.1])
    try:
        scorer = scores.make(score, **assigned("--score-set", score_set or ()))
    except WaneError as error:  # the arguments of a score have an option of their own
        error.option = lambda setting: as_option(setting, (), "--score-set")
        raise
    further = assigned("--set", settings or (), command)
    for name, instead in (("tracker", "--method"), ("on_alarm", "nothing: the answer to a label has alarms")):
        if name in further:
            raise typer.BadParameter(f"{name!r} is not set here, but by {instead}", param_hint="--set")
    if groups:
        further["groups"] = kinds_of(groups)
    return ManySeries(method, scorer, levels if len(levels) > 1 else levels[0], **more, **further)


def kinds_of(texts: Sequence[str]) -> list[Any]:
    """The kinds of groups that an option names.

    >>> kinds_of(["hour,price:4"])
    ['hour', Quantiles(column='price', parts=4)]
    """
    from wane.runs.groups import kinds_of_groups

    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if not parts:
        raise typer.BadParameter("must be names, such as hour,region", param_hint="--groups")
    cut = [part.rpartition(":") for part in parts]
    return kinds_of_groups(
        parts, [name if name and n.isdecimal() else part for part, (name, _, n) in zip(parts, cut, strict=True)], None
    )


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
