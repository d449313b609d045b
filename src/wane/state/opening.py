"""The files of a journal: how they begin, and what is kept when they are replaced."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

from wane.errors import FileError, InputError, InputTypeError, InUseError, JournalError, MissingFileError
from wane.state.encoding import dumps, loads
from wane.state.files import rebuilt, refused, replace_file, save, sync_folder, written
from wane.state.locks import Lock
from wane.state.recovery import DROPPED, Snapshot


class JournalWarning(UserWarning):
    """Something about a journal that its owner should know and that does no harm to acknowledged calls."""


def begin(path: str, log: str, start: Callable[[], Any] | None, objects: dict[str, Any]) -> Any:
    """Make the files of a new journal, and return its object; ``objects`` is what a file cannot hold."""
    if os.path.exists(log) and os.path.getsize(log):
        raise refused(log, f"holds calls, but its snapshot {path!r} is missing", "restore it")
    if start is None:
        problem = f"there is no journal {path!r} yet, and no start= to make its object"
        raise MissingFileError(problem, argument="start", cure="give start=lambda: ...")
    if not callable(start):
        problem = f"must be a function that makes the object, as start=lambda: ..., got {start!r}"
        raise InputTypeError(problem, about="start")
    made = start()
    if not hasattr(made, "on_alarm"):
        raise InputTypeError(f"must make an OnlineConformal or what is made of them, got {start!r}", about="start")
    if made.on_alarm is not None and "on_alarm" not in objects:
        cure = "give it in objects={'on_alarm': ...} as well"
        raise InputError("cannot be recovered from a file", about="on_alarm", cure=cure)
    snapshot = Snapshot(0, made)
    rebuilt(loads(dumps(snapshot.state_dict())), objects)  # what could not be recovered is an error today
    replace_file(log, b"", sync=True)  # first: a snapshot without a log is then always a log that was lost
    save(path, snapshot)
    return made


def locked(path: str) -> Lock:
    """Keep other processes out of the journal at this path."""
    try:
        return Lock(path)
    except InUseError as error:
        problem = f"the journal {path!r} is open already: {error.holder}"
        raise JournalError(problem, argument="path", cure=error.parts) from error


def keep_torn(log: str, torn: bytes, sync: bool) -> None:
    """Move a record that a crash cut short to a file beside the log, and say so."""
    aside = log + DROPPED
    try:
        with open(aside, "ab") as file:
            file.write(torn + b"\n")
            file.flush()
            if sync:
                os.fsync(file.fileno())
    except OSError as error:
        problem = f"the record that a crash cut short cannot be kept in {aside!r} ({error.strerror})"
        raise FileError(problem, cure="make room on the disk, and open the journal again") from error
    warnings.warn(
        f"the last {len(torn)} bytes of {log!r} are no whole record, as a crash leaves them: they were moved "
        f"to {aside!r}",
        JournalWarning,
        stacklevel=5,
    )


def write_snapshot(file: BinaryIO, sequence: int, thing: Any) -> None:
    """Write the file of a journal."""
    file.write(written(Snapshot(sequence, thing).state_dict()))
    file.flush()


def keep_file(path: str, kept: str) -> None:
    """Let a second name lead to a file that will be replaced; a copy of it where the disk has no second names."""
    try:
        os.link(path, kept)
    except FileExistsError:
        pass  # a crash came after this
    except OSError:
        shutil.copyfile(path, kept)


def sync_data(descriptor: int) -> None:
    """Wait until the disk has what was written to a file; its times may come later."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_file(path: str) -> None:
    """Wait until the disk has a file and its name."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    sync_folder(os.path.dirname(path))


def refusal(path: str, forked: bool, closed: bool) -> JournalError:
    """Make the error about a journal that cannot log a call: after a fork, closed, or behind its object."""
    journal = f"the journal {path!r}"
    if forked:
        return JournalError(f"{journal} was opened before a fork", cure="open it in the process that uses it")
    if closed:
        return JournalError(f"{journal} is closed", cure="open it again")
    return JournalError(f"{journal} lacks the last call since an error", cure="close it, open it again")


def not_logged(calls: int, log: str, error: OSError) -> FileError:
    """Make the error about calls that were done and could not be written."""
    which = "the last call was" if calls == 1 else f"the last {calls} calls were"
    problem = f"{which} done but not logged in {log!r} ({error.strerror})"
    return FileError(problem, cure="close the journal and open it again, which may undo them")
