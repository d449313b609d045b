"""A log of calls beside a snapshot: what was acknowledged survives a crash.

``path`` holds a snapshot of the object, written by ``save``; ``path.log`` the calls since, one line each::

    34 c23d31bb 17 ["update", [12, 3.5], {}, null]

that is the length and the CRC-32 of the rest of the line, and the rest: the number of the call, and as JSON its name,
its arguments, its keywords and the id that ``predict`` gave. The snapshot says which call is the last that it includes.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from wane.errors import (
    AlarmError,
    FileError,
    InputError,
    InputTypeError,
    JournalError,
    MissingFileError,
    SavedFileError,
)
from wane.state.data import sentence
from wane.state.encoding import decode_key, decode_value, dumps, encode_key, encode_value, loads
from wane.state.files import Path, known, leftovers, load, rebuilt, refused, replace_file, save
from wane.state.forks import OUTERMOST, lock_of

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

CALLS = ("predict", "update", "expire")
ANYWHERE = re.compile(rb"(?=\d{1,10} [0-9a-f]{8} )")  # where a record could begin, also within other digits
RECORD = re.compile(rb"(\d{1,10}) ([0-9a-f]{8}) ")  # of what follows: the length and the CRC-32


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

    A journal belongs to one process; its threads may share it. A lock on ``path.lock`` keeps other processes out.

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
        self.log = self.path + ".log"
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
        self._lock = locked(self.path + ".lock")
        try:
            for file in (*leftovers(self.path), *leftovers(self.log)):  # nobody else is saving: we hold the lock
                os.unlink(file)
            if os.path.exists(self.path):
                self._recover()
            else:
                self._begin(start)
            self._file = open(self.log, "ab", buffering=0)
            if self.recovered is not None and self.recovered.dropped:
                self._drop(self.recovered.dropped)
        except BaseException:
            if hasattr(self, "_file"):
                self._file.close()
            self._lock.close()
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
                self._lock.close()

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
        snapshot = load(self.path, **self._objects)
        if not isinstance(snapshot, Snapshot):
            cure = "give another path, and start=lambda: wane.load(...) to go on from this file"
            raise refused(self.path, f"holds a {type(snapshot).__name__}, not a journal", cure)
        if not os.path.exists(self.log):
            raise refused(self.log, "is missing", "restore it, or make it an empty file to go without its calls")
        with open(self.log, "rb") as file:
            raw = file.read()
        records, end = records_of(raw, self.log)
        if records and records[0][0] > snapshot.sequence + 1:
            problem = f"begins with call {records[0][0]}, its snapshot ends with {snapshot.sequence}"
            raise refused(self.log, f"{problem}: the calls between are lost", "restore the files from one copy")
        later = [r for r in records if r[0] > snapshot.sequence]
        self.object = snapshot.object
        on_alarm, self.object.on_alarm = self.object.on_alarm, None  # these alarms have been given
        for number, record in later:
            replay(self.object, number, record, self.log)
        self.object.on_alarm = on_alarm
        self.sequence = snapshot.sequence + len(later)
        self._records = len(later)
        self.recovered = Recovery(snapshot.sequence, len(later), len(raw) - end)
        if records and not later:  # a crash between the snapshot and the new log
            replace_file(self.log, b"", sync=True)

    def _drop(self, size: int) -> None:
        end = os.path.getsize(self.log) - size
        if end >= 0:  # else the whole log was replaced
            self._file.truncate(end)
            if self.sync:
                os.fsync(self._file.fileno())
        warnings.warn(
            f"the last {size} bytes of {self.log!r} are no whole record, as a crash leaves them: they were dropped",
            JournalWarning,
            stacklevel=3,
        )


def locked(path: str) -> BinaryIO:
    """A file that holds the lock of a journal until it is closed."""
    file = open(path, "ab")
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        problem = f"{path!r} is locked ({error.strerror}): the journal is open already"
        raise JournalError(problem, argument="path", cure="close it there first") from error
    return file


def line_of(number: int, record: list[Any]) -> bytes:
    """One line of the log.

    >>> line_of(17, ["update", [12, 3.5], {}, None])
    b'34 c23d31bb 17 ["update", [12, 3.5], {}, null]\\n'
    """
    body = f"{number} {dumps(record)}".encode()
    return b"%d %08x %s\n" % (len(body), zlib.crc32(body), body)


def body_at(raw: bytes, position: int) -> bytes | None:
    """The rest of the whole record that begins there, or None."""
    head = RECORD.match(raw, position)
    if head is None:
        return None
    end = head.end() + int(head[1])
    body = raw[head.end() : end]
    whole = raw[end : end + 1] == b"\n"
    return body if whole and zlib.crc32(body) == int(head[2], 16) else None


def records_of(raw: bytes, path: str) -> tuple[list[tuple[int, list[Any]]], int]:
    """The numbered records of a log, and where they end; the rest is at most what a crash leaves."""
    records: list[tuple[int, list[Any]]] = []
    position = 0
    while (body := body_at(raw, position)) is not None:
        number, _, text = body.partition(b" ")
        if records and int(number) != records[-1][0] + 1:
            raise refused(path, f"is corrupted: call {int(number)} follows call {records[-1][0]}")
        records.append((int(number), loads(text)))
        position = raw.index(b"\n", position) + 1
    for head in ANYWHERE.finditer(raw, position + 1):
        if body_at(raw, head.start()) is not None:
            problem = f"the record at byte {position} is damaged, and whole ones follow; nothing was changed"
            raise refused(path, f"is corrupted: {problem}", "restore it from a copy")
    return records, position


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
