"""What the files of a journal hold: a snapshot, and the calls that came after it, done again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wane.checks import whole
from wane.errors import InputError, SavedFileError
from wane.state.data import sentence
from wane.state.encoding import decode_value, encode_key
from wane.state.files import known, load, rebuilt, refused
from wane.state.log import Log, read_log

CALLS = ("predict", "update", "expire")
LOG, DROPPED = ".log", ".dropped"  # ends of names: of the log, and of where a record goes that a crash cut short


@known
@dataclass
class Snapshot:
    """What the file of a journal holds: an object, and the number of the last call that it includes.

    ``wane.load`` gives this for the file of a journal. It is a look at the past: the log may hold later calls.
    """

    sequence: int
    object: Any

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data that ``from_state_dict`` turns back into the same snapshot."""
        return {"format": 1, "class": "Snapshot", "sequence": self.sequence, "object": self.object.state_dict()}

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> Snapshot:
        """The snapshot again; ``objects`` are the arguments of its object that plain data cannot hold."""
        if state["format"] != 1:
            raise InputError(f"the snapshot has format {state['format']!r}, this version reads 1", cure="upgrade wane")
        return cls(whole("sequence", state["sequence"], 0), rebuilt(state["object"], objects))


@dataclass(frozen=True)
class Recovery:
    """What a journal found when it was opened."""

    sequence: int  # the last call that the snapshot includes
    replayed: int  # calls after it, done again from the log
    dropped: int  # bytes at the end of the log that are no whole record


@dataclass(frozen=True)
class Found:
    """What the two files of a journal hold.

    Attributes:
        object: after every call of the log.
        snapshot: the number of the last call that the snapshot includes.
        replayed: how many calls of the log came after it.
        log: what the log holds.
    """

    object: Any
    snapshot: int
    replayed: int
    log: Log


def read_journal(path: str, objects: Mapping[str, Any]) -> Found:
    """Load the snapshot and repeat the calls of the log; it changes no file, and takes no lock."""
    snapshot = load(path, **objects)
    log = path + LOG
    if not isinstance(snapshot, Snapshot):
        cure = "give another path, and start=lambda: wane.load(...) to go on from this file"
        raise refused(path, f"holds a {type(snapshot).__name__}, not a journal", cure)
    if not os.path.exists(log):
        raise refused(log, "is missing", "restore it, or make it an empty file to go without its calls")
    sequence, thing, replayed = snapshot.sequence, snapshot.object, 0
    on_alarm, thing.on_alarm = thing.on_alarm, None  # these alarms have been given

    def again(number: int, record: list[Any]) -> None:
        nonlocal replayed
        if number > sequence:
            if not replayed and number > sequence + 1:
                problem = f"begins with call {number}, its snapshot ends with {sequence}"
                raise refused(log, f"{problem}: the calls between are lost", "restore the files from one copy")
            replay(thing, number, record, log)
            replayed += 1

    with open(log, "rb") as file:
        found = read_log(file.read(), log, again)
    thing.on_alarm = on_alarm
    return Found(thing, sequence, replayed, found)


def replay(thing: Any, number: int, record: list[Any], path: str) -> None:
    """Do a call of the log again."""
    try:
        result = done(thing, record)
    except Exception as error:
        problem = f"call {number} of {path!r} could not be done again: {sentence(error)}"
        raise SavedFileError(problem, argument="path", cure=getattr(error, "parts", ())) from error
    if record[0] == "predict" and ids_of(result) != record[3]:
        problem = f"call {number} of {path!r} gave id {record[3]!r} and now gives {ids_of(result)!r}"
        raise SavedFileError(f"{problem}: this log belongs to another snapshot", argument="path")


def ids_of(result: Any) -> Any:
    """The id of a prediction, or of each in a list of them, as plain data."""
    if isinstance(result, list):
        return [None if p is None else encode_key(p.id) for p in result]
    return encode_key(result.id)


def done(thing: Any, call: list[Any]) -> Any:
    """The result of a call that is given as plain data."""
    name, arguments, keywords = call[:3]
    if name not in CALLS:
        raise InputError(f"no call is named {name!r}", cure="upgrade wane")
    for k, v in keywords.items():
        keywords[k] = decode_value(v)
    return getattr(thing, name)(*[decode_value(v) for v in arguments], **keywords)
