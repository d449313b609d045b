"""Which column is which: as the user says, or by its name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

GUESSES = {
    "y": ("y", "actual", "target", "value", "truth"),
    "y_hat": ("yhat", "y_hat", "forecast", "prediction", "pred"),
    "id": ("unique_id", "id", "series"),
    "time": ("ds", "time", "timestamp", "date"),
}
OPTIONS = {"y": "--y", "y_hat": "--yhat", "id": "--id", "time": "--time"}
PAIRS = {"normalised": "the forecast and its scale", "cqr": "the lower and the upper quantile"}


@dataclass(frozen=True)
class Columns:
    """The names of the columns; ``y_hat`` are one or two, ``id`` and ``time`` may be None."""

    y: str
    y_hat: tuple[str, ...]
    id: str | None = None
    time: str | None = None

    def said(self) -> str:
        """In words, such as ``y='actual', yhat='forecast'``."""
        given = {OPTIONS[f.name][2:]: getattr(self, f.name) for f in fields(self)}
        parts = {k: v if isinstance(v, tuple) else (v,) for k, v in given.items() if v is not None}
        return ", ".join(f"{k}={name!r}" for k, names in parts.items() for name in names)


def chosen(
    names: Sequence[str],
    score: str = "absolute",
    y: str | None = None,
    y_hat: Sequence[str] = (),
    id: str | None = None,
    time: str | None = None,
    no_id: bool = False,
    no_time: bool = False,
) -> Columns:
    """The columns of a table: those given, which must be there, and for the others the first name that is known.

    >>> chosen(["ds", "actual", "forecast"]).said()
    "y='actual', yhat='forecast', time='ds'"
    """
    wanted = 2 if score in PAIRS else 1
    forecasts = tuple(y_hat)
    if wanted == 2 and len(forecasts) != 2:
        raise ValueError(f"--score {score} needs two columns, {PAIRS[score]}: give --yhat twice, got {len(forecasts)}")
    if len(forecasts) > wanted:
        raise ValueError(f"--score {score} takes one --yhat, got {len(forecasts)}: {', '.join(forecasts)}")
    for name in (y, *forecasts, None if no_id else id, None if no_time else time):
        if name is not None and name not in names:
            raise ValueError(unknown(name, names))
    found = Columns(
        y or guessed("y", names),
        forecasts or (guessed("y_hat", names),),
        None if no_id else id or first("id", names),
        None if no_time else time or first("time", names),
    )
    used = [found.y, *found.y_hat, *[c for c in (found.id, found.time) if c is not None]]
    if len(set(used)) < len(used):
        raise ValueError(f"each must be a column of its own, got {found.said()}")
    return found


def refuse_repeated(names: Sequence[str], table: str) -> None:
    """An error where two columns have one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{table} has two columns of one name, {name!r}: rename or drop one")


def first(kind: str, names: Sequence[str]) -> str | None:
    """The column that has a known name, capitals or not."""
    by_small = {name.strip().lower(): name for name in reversed(names)}
    return next((by_small[guess] for guess in GUESSES[kind] if guess in by_small), None)


def guessed(kind: str, names: Sequence[str]) -> str:
    """The column that has a known name, or an error."""
    what = {"y": "what came true", "y_hat": "the forecasts"}[kind]
    name = first(kind, names)
    if name is None:
        raise ValueError(f"no column says that it holds {what}: give {OPTIONS[kind]}, one of {', '.join(names)}")
    return name


def unknown(name: str, names: Sequence[str]) -> str:
    """The message about a column that is not there."""
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"there is no column {name!r}: {hint}there are {', '.join(names)}"
