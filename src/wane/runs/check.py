"""Whether a saved file or a journal is whole, what it holds, and what would be lost; no file is changed."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wane.errors import FileError, MissingFileError, SavedFileError
from wane.panel import GroupedPanel, Groups
from wane.runs.session import Session
from wane.state.files import MAGIC, leftovers, rebuilt_from, stored
from wane.state.locks import holder
from wane.state.recovery import DROPPED, LOG, Snapshot, read_journal

WHOLE, TORN, DAMAGED = "whole", "torn", "damaged"
TURNS = 5  # how often to look at a journal that is in use and changes meanwhile
NOTHING = "opening it would lose nothing"


@dataclass
class Checked:
    """What was found.

    Attributes:
        path: of the file.
        status: "whole"; "torn" if a crash cut the last record of a journal short; "damaged".
        problem: what is wrong, in words; None if the file is whole.
        holds: what is in it, by name: the class, and where it has them the method, alpha, series, labels and more.
        calls: of a journal, how many the snapshot has, how many the log adds, and their sum.
        lost: what would be lost if it were opened now, in words.
        in_use: who holds its lock, in words; None if nobody does.
        leftovers: temporary files that killed processes left beside it.
        aside: the bytes of torn records that were set aside before.
    """

    path: str
    status: str = WHOLE
    problem: str | None = None
    holds: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, int] | None = None
    lost: str = NOTHING
    in_use: str | None = None
    leftovers: list[str] = field(default_factory=list)
    aside: int = 0

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        return dataclasses.asdict(self)


def check(path: str) -> Checked:
    """Look at a file that ``wane.save``, a journal or ``wane run --state`` wrote; the log of a journal will do too.

    >>> import tempfile, wane
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.wane")
    ...     wane.save(path, wane.trackers.make("magl", alpha=0.1))
    ...     whole = check(path)
    ...     os.truncate(path, 300)
    ...     cut = check(path)
    >>> whole.status, whole.holds, cut.status
    ('whole', {'class': 'LossTracker', 'alpha': [0.1], 'labels': 0}, 'damaged')
    """
    if path.endswith(LOG) and not saved(path):
        path = path[: -len(LOG)]
    if os.path.isdir(path):
        raise FileError(f"{path} cannot be read (Is a directory)", argument="path", cure="give a state or a journal")
    if not os.path.exists(path) and not os.path.exists(path + LOG):
        raise MissingFileError(f"there is no file {path}", argument="path", cure="give a state or a journal")
    found = Checked(path, in_use=holder(path), leftovers=[*leftovers(path), *leftovers(path + LOG)])
    if os.path.exists(path + LOG + DROPPED):
        found.aside = os.path.getsize(path + LOG + DROPPED)
    try:
        if not os.path.exists(path):
            problem = f"the snapshot {path!r} is missing, and its log is there"
            raise SavedFileError(problem, argument="path", cure="restore it from a copy")
        state = stored(path)
        if state["class"] == Snapshot.__name__:
            look_at_journal(found, state)
        else:
            found.holds = looked_at(state, path)
    except SavedFileError as error:
        found.status, found.problem = DAMAGED, str(error)
        found.lost = "it cannot be opened; no file was changed"
    return found


def saved(path: str) -> bool:
    """Whether a file begins as one that ``wane.save`` wrote."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def look_at_journal(found: Checked, state: dict[str, Any]) -> None:
    """Repeat the calls of a journal, and say what they make."""
    if why := needs(state):
        found.holds = {"class": "journal", "unknown": why}
        return
    # The owner of a journal may take a snapshot between the reading of its two files.
    for turn in range(TURNS):
        before = os.stat(found.path)
        try:
            journal = read_journal(found.path, {})
        except SavedFileError:
            if turn == TURNS - 1 or os.path.samestat(before, os.stat(found.path)):
                raise
            continue
        if os.path.samestat(before, os.stat(found.path)):
            break
    found.holds = {"journal": True, **contents(journal.object)}
    found.calls = {
        "snapshot": journal.snapshot,
        "log": journal.replayed,
        "all": journal.snapshot + journal.replayed,
    }
    torn = len(journal.log.torn)
    if torn and found.in_use is None:
        found.status = TORN
        found.problem = f"the last {torn} bytes of the log are a record that a crash cut short"
        aside = found.path + LOG + DROPPED
        found.lost = f"opening it would lose one call that was not acknowledged, and move its bytes to {aside}"


def looked_at(state: dict[str, Any], path: str) -> dict[str, Any]:
    """What an object holds whose state this is, or why that cannot be said here."""
    if why := needs(state):
        return {"class": state["class"], "unknown": why}
    return contents(rebuilt_from(path, state, {}))


def needs(state: Any) -> str | None:
    """What this command lacks to rebuild an object from its state; None if it has everything.

    >>> needs({"class": "FTRL", "parameters": {"prediction": {"object": "f"}}})
    "it was made with 'f', which a file cannot hold: only its checksum was checked"
    """
    waiting = [state]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if one.keys() == {"object"} and isinstance(one["object"], str):
                return f"it was made with {one['object']!r}, which a file cannot hold: only its checksum was checked"
            if isinstance(name := one.get("class"), str) and "." in name:
                return f"{name} is a class of yours: only its checksum was checked"
            waiting += one.values()
        elif isinstance(one, list):
            waiting += [part for part in one if isinstance(part, (dict, list))]
    return None


def contents(thing: Any) -> dict[str, Any]:
    """What an object says of itself, by name.

    >>> from wane.conformal import OnlineConformal
    >>> contents(OnlineConformal("magl", alpha=0.1))
    {'class': 'OnlineConformal', 'alpha': [0.1], 'score': 'Absolute()', 'labels': 0, 'predictions': 0, 'pending': 0}
    """
    if isinstance(thing, Session):
        last = None if thing.input is None else thing.input.rows
        run = {"rows": thing.rows, "delay": thing.delay, "columns": thing.columns.said(), "last_table": last}
        learned = getattr(thing, "many", thing.panel)  # rows that were played one by one
        method = {"method": thing.panel.settings.method}
        return {"class": "state of wane run", **method, **contents(learned), **{"class": "state of wane run"}, **run}
    if isinstance(thing, Groups):
        return {**contents(thing.parent), "class": "Groups", "groups": len(thing.children)}
    if isinstance(thing, GroupedPanel):
        return {**contents(thing.base), "class": "GroupedPanel", "groups": len(thing.correction.grouping.groups)}
    found: dict[str, Any] = {"class": type(thing).__name__}
    design: Any = getattr(thing, "settings", None)
    if hasattr(design, "method"):  # a panel
        found["method"] = design.method
    parts: list[Any] = getattr(thing, "steps", [thing])  # those of horizons
    if hasattr(thing, "names"):
        parts = [thing[name] for name in thing.names()]
    every: tuple[Any, ...] = (design, getattr(thing, "pattern", None), thing, *parts[:1])
    for source in every:
        levels = getattr(source, "alphas", getattr(source, "alpha", None))
        if levels is not None and "alpha" not in found:
            found["alpha"] = np.atleast_1d(levels).tolist()
        if hasattr(source, "score") and not callable(source.score) and "score" not in found:
            found["score"] = repr(source.score)
    if hasattr(thing, "names") or hasattr(thing, "ids"):
        found["series"] = len(parts) if hasattr(thing, "names") else len(thing)
    if hasattr(thing, "ids"):
        found["labels"] = int(np.sum(thing.labels[: len(thing)]))
    elif hasattr(thing, "rounds"):
        found["labels"] = int(thing.rounds)
    elif all(hasattr(part, "monitors") for part in parts):
        found["labels"] = sum(first(part.metrics()).rounds for part in parts)
        found["predictions"] = sum(part.predictions for part in parts)
    if hasattr(thing, "steps"):
        found["steps"] = len(parts)
    if getattr(thing, "grouping", None) is not None:
        found["groups"] = len(thing.grouping.groups)
    if hasattr(thing, "pending"):
        found["pending"] = sum(len(part.pending()) for part in parts)
    return found


def first(metrics: Any) -> Any:
    """The metrics of the first level, where there are several."""
    return next(iter(metrics.values())) if isinstance(metrics, dict) else metrics
