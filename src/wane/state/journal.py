"""A log of calls beside a snapshot: what was acknowledged survives a crash.

``path`` holds a snapshot of the object, written by ``save``, which says which call is the last that it includes. The
log ``path.log`` holds the calls since, one line each (``wane.state.log``). Nothing is ever thrown away: a record that a
crash cut short is moved to ``path.log.dropped``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from wane.errors import (
    AlarmError,
    FileError,
    InputError,
    InputTypeError,
    InUseError,
    JournalError,
    MissingFileError,
    SavedFileError,
)
from wane.state.data import sentence
from wane.state.encoding import decode_key, decode_value, dumps, encode_key, encode_value, loads
from wane.state.files import Path, known, leftovers, load, rebuilt, refused, replace_file, save, sync_folder
from wane.state.forks import OUTERMOST, lock_of
from wane.state.locks import Lock, remove
from wane.state.log import Log, line_of, read_log

CALLS = ("predict", "update", "expire")
LOG, DROPPED = ".log", ".dropped"  # ends of names: of the log, and of where a record goes that a crash cut short


class JournalWarning(UserWarning):
    """Something about a journal that its owner should know and that does no harm to acknowledged calls."""


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
        return cls(int(state["sequence"]), rebuilt(state["object"], objects))


@dataclass(frozen=True)
class Recovery:
    """What a journal found when it was opened."""

    sequence: int  # the last call that the snapshot includes
    replayed: int  # calls after it, done again from the log
    dropped: int  # bytes at the end of the log that are no whole record


class Journal:
    """An object with ``predict``, ``update`` and ``expire`` that loses no acknowledged call when its process dies.

    Each call is done on ``journal.object`` and written to the log before it returns. To open the journal again, after a
    crash or not, is to load the snapshot and repeat the calls of the log: the object is then what it was, bit for bit,
    provided that the calls depend on their arguments only and that nobody changes ``journal.object`` behind its back.

    A journal belongs to one process; its threads may share it. A lock keeps other processes out (``wane.state.locks``),
    and tells them which process has the journal.

    Args:
        path: of the snapshot; the log is ``path.log``.
        start: makes the object when there is no journal yet; not called otherwise.
        sync: wait until the disk has each record. False is faster and as safe when the process dies, but the last calls
            may be lost when the power fails.
        compact_every: records in the log before the next snapshot is taken and the log starts afresh.
        objects: the arguments of the object that a file cannot hold (functions of yours), by name, as for ``load``.

    Attributes:
        object: the live object. Look at it, and change it through the journal only.
        sequence: the number of calls since the journal was made.
        recovered: a ``Recovery`` if the journal existed, else None.
    """

    def __init__(
        self,
        path: Path,
        start: Callable[[], Any] | None = None,
        *,
        sync: bool = True,
        compact_every: int = 10_000,
        objects: Mapping[str, Any] | None = None,
    ) -> None:
        """Open the journal, or make one."""
        if isinstance(compact_every, bool) or not isinstance(compact_every, int) or compact_every < 1:
            problem = f"must be a whole number of records, at least 1, got {compact_every!r}"
            raise InputError(problem, about="compact_every")
        self.path = os.path.realpath(path)
        self.log = self.path + LOG
        self.sync = sync
        self.compact_every = compact_every
        self.object: Any = None
        self.sequence = 0
        self.recovered: Recovery | None = None
        self._objects = dict(objects or {})
        self._mutex = lock_of(self, OUTERMOST, "_mutex")
        self._process = os.getpid()
        self._records = 0  # in the log, after the snapshot
        self._behind = False  # whether the log may lack a call that the object has seen
        try:
            self._lock = Lock(self.path)
        except InUseError as error:
            problem = f"the journal {self.path!r} is open already: {error.holder}"
            raise JournalError(problem, argument="path", cure=error.parts) from error
        try:
            remove(leftovers(self.log))
            if os.path.exists(self.path):
                self._recover()
            else:
                self._begin(start)
            self._file = open(self.log, "ab", buffering=0)
        except BaseException:
            self._lock.release()
            raise

    def predict(self, output: Any, id: Any = None, **keywords: Any) -> Any:
        """``object.predict``, logged."""
        if id is not None:
            keywords["id"] = decode_key(encode_key(id))
        return self._call("predict", [output], keywords)

    def update(self, id: Any, y: Any, **keywords: Any) -> Any:
        """``object.update``, logged."""
        return self._call("update", [id, y], keywords)

    def expire(self, id: Any = None, older_than: Any = None, **keywords: Any) -> Any:
        """``object.expire``, logged."""
        given = {"id": id, "older_than": older_than, **keywords}
        return self._call("expire", [], {k: v for k, v in given.items() if v is not None})

    def compact(self) -> None:
        """Take a snapshot now, and start the log afresh; a crash in between does no harm."""
        with self._mutex:
            self._check()
            save(self.path, Snapshot(self.sequence, self.object))
            self._records = 0
            self._file.close()  # some systems do not replace an open file
            try:
                replace_file(self.log, b"", sync=True)
            finally:
                self._file = open(self.log, "ab", buffering=0)

    def close(self) -> None:
        """Let others open the journal; nothing is left to be written."""
        with self._mutex:
            if not self._file.closed:
                self._file.close()
                self._lock.release()

    def __enter__(self) -> Journal:
        """The journal, closed at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def _check(self) -> None:
        journal = f"the journal {self.path!r}"
        if os.getpid() != self._process:
            raise JournalError(f"{journal} was opened before a fork", cure="open it in the process that uses it")
        if self._file.closed:
            raise JournalError(f"{journal} is closed", cure="open it again")
        if self._behind:
            raise JournalError(f"{journal} lacks the last call since an error", cure="close it, open it again")

    def _call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        with self._mutex:
            self._check()
            call = [name, [encode_value(v) for v in arguments], {k: encode_value(v) for k, v in keywords.items()}]
            call = loads(dumps(call))  # the object is given what the log will give it, to the last bit
            self._behind = True
            result, told = None, None
            try:
                result = done(self.object, call)
            except AlarmError as error:  # the label was learned all the same
                told = error
            except Exception:
                self._behind = False  # the object is as before
                raise
            try:
                self._append([*call, ids_of(result) if name == "predict" else None])
            except OSError as error:
                problem = f"{name} was done but not logged in {self.log!r} ({error.strerror})"
                cure = "close the journal and open it again, which may undo this call"
                raise FileError(problem, cure=cure) from error
            self._behind = False
            if self._records >= self.compact_every:
                self._compact_if_possible()
            if told is not None:
                raise told
            return result

    def _append(self, record: list[Any]) -> None:
        line = line_of(self.sequence + 1, record)
        while line:  # a full disk may take a part
            line = line[self._file.write(line) :]
        if self.sync:
            os.fsync(self._file.fileno())
        self.sequence += 1
        self._records += 1

    def _compact_if_possible(self) -> None:
        try:
            self.compact()
        except Exception as error:  # the call is logged: it must not look as if it had failed
            self._records = 0  # try again after as many calls
            warnings.warn(f"no snapshot of {self.path!r} could be taken: {error}", JournalWarning, stacklevel=4)

    def _begin(self, start: Callable[[], Any] | None) -> None:
        if os.path.exists(self.log) and os.path.getsize(self.log):
            raise refused(self.log, f"holds calls, but its snapshot {self.path!r} is missing", "restore it")
        if start is None:
            problem = f"there is no journal {self.path!r} yet, and no start= to make its object"
            raise MissingFileError(problem, argument="start", cure="give start=lambda: ...")
        if not callable(start):
            problem = f"must be a function that makes the object, as start=lambda: ..., got {start!r}"
            raise InputTypeError(problem, about="start")
        self.object = start()
        if self.object.on_alarm is not None and "on_alarm" not in self._objects:
            cure = "give it in objects={'on_alarm': ...} as well"
            raise InputError("cannot be recovered from a file", about="on_alarm", cure=cure)
        snapshot = Snapshot(0, self.object)
        rebuilt(loads(dumps(snapshot.state_dict())), self._objects)  # what could not be recovered is an error today
        replace_file(self.log, b"", sync=True)  # first: a snapshot without a log is then always a log that was lost
        save(self.path, snapshot)

    def _recover(self) -> None:
        found = read_journal(self.path, self._objects)
        self.object = found.object
        self.sequence = found.snapshot + found.replayed
        self._records = found.replayed
        self.recovered = Recovery(found.snapshot, found.replayed, len(found.log.torn))
        # A torn record is moved away before the log loses it.
        if found.log.torn:
            self._keep_aside(found.log.torn)
        if found.log.records and not found.replayed:  # a crash between the snapshot and the new log
            replace_file(self.log, b"", sync=True)
        elif found.log.torn:
            os.truncate(self.log, found.log.size)
        # Calls that were written and not synced, because the process died, have been seen from now on.
        if self.sync:
            with open(self.log, "rb+") as file:
                os.fsync(file.fileno())
            sync_folder(os.path.dirname(self.log))

    def _keep_aside(self, torn: bytes) -> None:
        aside = self.log + DROPPED
        try:
            with open(aside, "ab") as file:
                file.write(torn + b"\n")
                file.flush()
                if self.sync:
                    os.fsync(file.fileno())
        except OSError as error:
            problem = f"the record that a crash cut short cannot be kept in {aside!r} ({error.strerror})"
            raise FileError(problem, cure="make room on the disk, and open the journal again") from error
        warnings.warn(
            f"the last {len(torn)} bytes of {self.log!r} are no whole record, as a crash leaves them: they were moved "
            f"to {aside!r}",
            JournalWarning,
            stacklevel=4,
        )


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
    with open(log, "rb") as file:
        found = read_log(file.read(), log)
    if found.records and found.records[0][0] > snapshot.sequence + 1:
        problem = f"begins with call {found.records[0][0]}, its snapshot ends with {snapshot.sequence}"
        raise refused(log, f"{problem}: the calls between are lost", "restore the files from one copy")
    later = [r for r in found.records if r[0] > snapshot.sequence]
    thing = snapshot.object
    on_alarm, thing.on_alarm = thing.on_alarm, None  # these alarms have been given
    for number, record in later:
        replay(thing, number, record, log)
    thing.on_alarm = on_alarm
    return Found(thing, snapshot.sequence, len(later), found)


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
    return getattr(thing, name)(*map(decode_value, arguments), **{k: decode_value(v) for k, v in keywords.items()})
