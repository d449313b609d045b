"""Which column of a table is which: the one that the user names, or else the first that has a usual name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wane.errors import InputError, Setting

GUESSES = {  # the usual names of each column, the most telling first; capitals do not matter
    "y": ("y", "actual", "target", "value", "truth"),
    "y_hat": ("yhat", "y_hat", "forecast", "prediction", "pred"),
    "id": ("unique_id", "id", "series", "state"),
    "time": ("ds", "time", "timestamp", "date", "datetime"),
    "cutoff": ("cutoff",),
    "scale": ("scale",),
    "score": ("score", "scores"),
}
MEANINGS = {"y": "the true values", "y_hat": "the forecasts"}  # of the columns that a table must have
PAIRS = {"normalised": "the forecast and its scale", "cqr": "the lower and the upper quantile"}


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are used.

    Args:
        y: the true values.
        y_hat: the forecasts, or what else the score needs of the model; one column or two.
        id: which series a row belongs to; None if all rows are one series.
        time: when; None if the order of the rows is that of time.
        cutoff: the last time that each forecast has seen, in a backtest of several steps ahead; None if it is none.
        by: columns of groups.
        cut: those of them that hold numbers, which are cut into groups.
    """

    y: str
    y_hat: tuple[str, ...]
    id: str | None = None
    time: str | None = None
    cutoff: str | None = None
    by: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    def said(self) -> str:
        """In words, such as ``y='actual', yhat='forecast'``."""
        pairs = [("y", self.y), *(("yhat", name) for name in self.y_hat), ("id", self.id), ("time", self.time)]
        pairs += [("cutoff", self.cutoff), *(("by", name) for name in self.by)]
        return ", ".join([f"{role}={name!r}" for role, name in pairs if name is not None])


def chosen(
    names: Sequence[str],
    score: str = "absolute",
    y: str | None = None,
    y_hat: Sequence[str] = (),
    id: str | None = None,
    time: str | None = None,
    no_id: bool = False,
    no_time: bool = False,
    cutoff: str | None = None,
) -> Columns:
    """Choose the columns of a table: those that are given, which must exist, and for the others a usual name.

    A table with times and a column of cutoffs is a backtest.

    >>> chosen(["ds", "actual", "forecast"]).said()
    "y='actual', yhat='forecast', time='ds'"
    """
    # Two scores need two outputs of the model, for which there are no usual names; the others need one.
    wanted = 2 if score in PAIRS else 1
    if wanted == 2 and len(y_hat) != 2:
        raise InputError(
            f"score {score} needs two columns, {PAIRS[score]}, got {len(y_hat)}",
            argument="y_hat",
            cure=("give ", Setting("y_hat"), " twice"),
        )
    if len(y_hat) > wanted:
        raise InputError(
            f"score {score} takes one column of forecasts, got {len(y_hat)}, {', '.join(y_hat)}",
            argument="y_hat",
            cure=("give ", Setting("y_hat"), " once"),
        )
    # What the user names goes before what can be guessed.
    found = Columns(
        y or guessed("y", names),
        tuple(y_hat) or (guessed("y_hat", names),),
        None if no_id else id or first("id", names),
        None if no_time else time or first("time", names),
    )
    if cutoff is not None and found.time is None:
        raise InputError("a column of cutoffs needs one of times", argument="cutoff", cure=("give ", Setting("time")))
    if found.time is not None:
        found = replace(found, cutoff=cutoff or first("cutoff", names))
    used = [name for name in (found.y, *found.y_hat, found.id, found.time, found.cutoff) if name is not None]
    refuse_unknown(used, names)
    if len(set(used)) < len(used):
        raise InputError(f"each must be a column of its own, got {found.said()}")
    return found


def refuse_repeated(names: Sequence[str], table: str) -> None:
    """Raise an error if two columns of a table have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{table} has two columns of one name, {name!r}", argument=name, cure="rename or drop one")


def refuse_unknown(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise an error if a column is not there; it says which one may have been meant."""
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(f"there is no column {name!r}", argument=name, cure=f"{hint}there are {', '.join(names)}")


def first(role: str, names: Sequence[str]) -> str | None:
    """The column that has the first of the usual names of a role, or None.

    >>> first("id", ["ds", "Series", "unique_id"])
    'unique_id'
    """
    small = [name.strip().lower() for name in names]
    for guess in GUESSES[role]:
        if guess in small:
            return names[small.index(guess)]
    return None


def guessed(role: str, names: Sequence[str]) -> str:
    """The column that has a usual name, or an error."""
    name = first(role, names)
    if name is None:
        raise InputError(
            f"no column has a usual name for {MEANINGS[role]}",
            argument=role,
            cure=("give ", Setting(role), f", one of {', '.join(names)}"),
        )
    return name
