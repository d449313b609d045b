"""Which column of a table is which: the one that the user names, or else the first that has a usual name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wane.errors import InputError, Setting

GUESSES = {  # the usual names of each column, the most telling first; capitals do not matter
    "y": ("y", "actual", "target", "value", "truth"),
    "y_hat": ("yhat", "y_hat", "forecast", "prediction", "pred"),
    "id": ("unique_id", "id", "series", "state"),
    "time": ("ds", "time", "timestamp", "date", "datetime"),
    "cutoff": ("cutoff",),
    "scale": ("scale",),
    "score": ("score", "scores"),
    "label": ("label", "class", "y_true", "y", "actual", "target", "truth"),
}
PROBABILITIES = ("proba_*", "prob_*", "p_*")  # the usual names of the columns of a classifier, the most telling first
LABEL_SCORES = ("lac", "aps", "raps")
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
        arrived: the time at which each true value became known; None if that is a number of rows later.
        by: columns of groups.
        cut: those of them that hold numbers, which are cut into groups.
        classes: of a classifier, the label that each column of ``y_hat`` is the probability of; else empty.
    """

    y: str
    y_hat: tuple[str, ...]
    id: str | None = None
    time: str | None = None
    cutoff: str | None = None
    arrived: str | None = None
    classes: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    def said(self) -> str:
        """In words, such as ``y='actual', yhat='forecast'``."""
        pairs: list[tuple[str, Any]] = [("label" if self.classes else "y", self.y)]
        pairs += [("proba", self.y_hat)] if self.classes else [("yhat", name) for name in self.y_hat]
        pairs += [("id", self.id), ("time", self.time), ("cutoff", self.cutoff), ("arrived", self.arrived)]
        pairs += [("by", name) for name in self.by]
        pairs = [(role, " ".join(name) if isinstance(name, tuple) else name) for role, name in pairs]
        return ", ".join([f"{role}={name!r}" for role, name in pairs if name is not None])


def chosen(
    names: Sequence[str],
    score: str | None = None,
    y: str | None = None,
    y_hat: Sequence[str] = (),
    id: str | None = None,
    time: str | None = None,
    no_id: bool = False,
    no_time: bool = False,
    cutoff: str | None = None,
    proba: Sequence[str] = (),
    arrived: str | None = None,
    forecast: bool = False,
    look: Callable[[str], tuple[str, ...]] = lambda label: (),
) -> Columns:
    """Choose the columns of a table: those that are given, which must exist, and for the others a usual name.

    A table with times and a column of cutoffs is a backtest. A table with probabilities and no forecasts is that of a
    classifier.

    Args:
        names: of all columns.
        score: the name of the score; None is absolute, or raps for a classifier.
        y, y_hat, id, time, no_id, no_time, cutoff, arrived: as for ``Columns``.
        proba: the columns of probabilities; a star in a name stands for the label.
        forecast: whether forecasts will be made from the true values, so that the table needs none.
        look: gives the columns of probabilities that are called as the labels in a column, which takes a look at rows.

    >>> chosen(["ds", "actual", "forecast"]).said()
    "y='actual', yhat='forecast', time='ds'"
    >>> chosen(["date", "sales", "forecast"]).said()  # the only column that is left
    "y='sales', yhat='forecast', time='date'"
    >>> chosen(["proba_cat", "proba_dog", "label"]).classes
    ('cat', 'dog')
    """
    outputs: tuple[str, ...] = tuple(y_hat)
    classes: tuple[str, ...] = ()
    label = y or first("label", names)
    if proba or score in LABEL_SCORES or not (y_hat or forecast or score in PAIRS or first("y_hat", names)):
        outputs, classes = probabilities(names, proba, label, look)
    if classes:
        if y is None and label is None:
            raise InputError("no column has a usual name for the labels", argument="y", cure=("give ", Setting("y")))
        y = label
    elif not forecast:
        y = y or first("y", names) or only_left(names, y_hat, id, time, cutoff, arrived) or guessed("y", names)
        model = () if y_hat or score in PAIRS else backtested(names, y, id, time, cutoff)
        outputs = model or forecasts(names, score or "absolute", tuple(y_hat))
    elif y_hat or score in PAIRS:
        problem = "forecasts are either read from the table or made here"
        raise InputError(problem, argument="forecast", cure=("leave out ", Setting("forecast"), " or the other one"))
    # What the user names goes before what can be guessed.
    found = Columns(
        y or guessed("y", names),
        outputs,
        None if no_id else id or first("id", names),
        None if no_time else time or first("time", names),
        arrived=arrived,
        classes=classes,
    )
    for role, name in (("cutoff", cutoff), ("arrived", arrived)):
        if name is not None and found.time is None:
            raise InputError(
                f"{name!r} needs a column of times beside it", argument=role, cure=("give ", Setting("time"))
            )
    if found.time is not None and not classes and arrived is None:
        found = replace(found, cutoff=cutoff or (None if forecast else first("cutoff", names)))
    used = [found.y, *found.y_hat, found.id, found.time, found.cutoff, found.arrived]
    refuse_unknown([name for name in used if name is not None], names)
    if len({name for name in used if name is not None}) < len([name for name in used if name is not None]):
        raise InputError(f"each must be a column of its own, got {found.said()}")
    return found


def only_left(names: Sequence[str], y_hat: Sequence[str], *given: str | None) -> str | None:
    """The one column that is no forecast, id, time or cutoff, whatever it is called; None if there are several."""
    usual = [first(role, names) for role in ("y_hat", "id", "time", "cutoff")]
    left = [name for name in names if name not in {*y_hat, *given, *usual}]
    return left[0] if len(left) == 1 else None


def backtested(names: Sequence[str], *given: str | None) -> tuple[str, ...]:
    """The forecasts of a backtest, whose column is called as the model; none if the table is no backtest.

    Intervals that Nixtla's libraries have added are called as the model too. With several models the user must choose.

    >>> backtested(["unique_id", "ds", "cutoff", "y", "AutoARIMA", "AutoARIMA-lo-80", "AutoARIMA-hi-80"], "y")
    ('AutoARIMA',)
    """
    if first("cutoff", names) is None or first("y_hat", names) is not None:
        return ()
    usual = [first(role, names) for role in ("id", "time", "cutoff", "y")]
    left = [name for name in names if name not in {*given, *usual} and "-lo-" not in name and "-hi-" not in name]
    if len(left) > 1:
        problem = f"the backtest has several columns that may be forecasts, {', '.join(left)}"
        raise InputError(problem, argument="y_hat", cure=("give ", Setting("y_hat"), ", one of them"))
    return tuple(left)


def forecasts(names: Sequence[str], score: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of forecasts. Two scores need two, for which there are no usual names; the others need one."""
    wanted = 2 if score in PAIRS else 1
    if wanted == 2 and len(given) != 2:
        raise InputError(
            f"score {score} needs two columns, {PAIRS[score]}, got {len(given)}",
            argument="y_hat",
            cure=("give ", Setting("y_hat"), " twice"),
        )
    if len(given) > wanted:
        raise InputError(
            f"score {score} takes one column of forecasts, got {len(given)}, {', '.join(given)}",
            argument="y_hat",
            cure=("give ", Setting("y_hat"), " once"),
        )
    return given or (guessed("y_hat", names),)


def probabilities(
    names: Sequence[str], given: Sequence[str], label: str | None, look: Callable[[str], tuple[str, ...]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of probabilities, and the label of each; both are empty if none are given and none is found.

    >>> probabilities(["p_0", "p_1", "y"], [], "y", lambda label: ())
    (('p_0', 'p_1'), ('0', '1'))
    """
    for pattern in [given] if given else [[usual] for usual in PROBABILITIES]:
        found: dict[str, str] = {}
        for one in pattern:
            before, star, after = one.partition("*")
            if not star:
                refuse_unknown([one], names)
                found[one] = one
                continue
            mine = [n for n in names if n.startswith(before) and n.endswith(after) and n != label]
            found |= {name: name[len(before) : len(name) - len(after)] for name in mine}
        if len(found) > 1:
            return tuple(found), tuple(found.values())
    if given:
        problem = f"a classifier needs a column of probabilities for each label, got {', '.join(given)}"
        raise InputError(problem, argument="proba", cure=("give ", Setting("proba"), " for each, or as 'proba_*'"))
    called = look(label) if label is not None else ()
    return called, called


def refuse_repeated(names: Sequence[str], table: str) -> None:
    """Raise an error if two columns of a table have the same name; those without a name, which Excel adds, may."""
    for name, count in Counter(names).items():
        if count > 1 and name:
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
        cure: tuple[str | Setting, ...] = ("give ", Setting(role), f", one of {', '.join(names)}")
        if role == "y_hat":
            cure += ("; if the table has none, ", Setting("forecast", "last"), " makes simple ones")
        raise InputError(f"no column has a usual name for {MEANINGS[role]}", argument=role, cure=cure)
    return name
