"""Locks: a file belongs to one process at a time, and the next one is told who has it.

The lock of ``path`` lies on a file of its own, ``path.lock``, because ``path`` itself is replaced or not there yet.
That file says who holds it and since when. The system gives the lock back when the process ends, whatever ends it.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import json
import os
import socket
import weakref
from collections.abc import Iterable
from typing import Any, BinaryIO

from wane.errors import FileError, InUseError, Setting
from wane.state import exclusive
from wane.state.files import Path, leftovers

END = ".lock"  # of the name of the file that is locked
HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # what a lock says that somebody else holds
LONGEST = 1_000  # bytes of the note in the file


class Lock:
    """The sole right to a file, until ``release`` or the end of this process.

    Temporary files that killed owners have left beside the file are removed. A process that is forked does not have the
    lock, and does not keep it alive.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Lock(os.path.join(folder, "x.wane")):
    ...     os.listdir(folder)
    ['x.wane.lock']
    """

    def __init__(self, path: Path) -> None:
        """Take the lock, or raise an InUseError that says who holds it."""
        self.path = os.path.realpath(path)
        self._file: BinaryIO | None = taken(self.path)
        OURS.add(self)
        with contextlib.suppress(OSError):  # a full disk: the lock is held all the same
            self._file.truncate(0)
            self._file.write(json.dumps(note()).encode())
        remove(leftovers(self.path))

    def release(self) -> None:
        """Let others have the file; nothing happens the second time."""
        if self._file is None:
            return
        # The file goes first, where that is possible: whoever opens it later makes a new one.
        with contextlib.suppress(OSError), self._file:
            if os.name != "nt":
                os.unlink(self.path + END)
        if os.name == "nt":
            with contextlib.suppress(OSError):
                os.unlink(self.path + END)
        self._file = None

    def __enter__(self) -> Lock:
        """The lock, released at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Release it."""
        self.release()


OURS: weakref.WeakSet[Lock] = weakref.WeakSet()  # the locks of this process


def left_to_the_parent() -> None:
    """Close the locks in a process that was forked, so that they end with the process that took them."""
    for lock in list(OURS):
        if lock._file is not None:
            lock._file.close()
            lock._file = None
    OURS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=left_to_the_parent)


def taken(path: str) -> BinaryIO:
    """The lock file of a path, opened and locked."""
    while True:
        descriptor = os.open(path + END, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        file = open(descriptor, "r+b", buffering=0)
        try:
            exclusive.lock(descriptor)
        except OSError as error:
            file.close()
            if error.errno in HELD:
                raise in_use(path) from None
            problem = f"{path!r} cannot be locked ({error.strerror})"
            raise FileError(problem, argument="path", cure="choose a folder on a disk that has locks") from None
        if exclusive.still(descriptor, path + END):
            return file
        file.close()  # its owner has removed it meanwhile


def in_use(path: str) -> InUseError:
    """The error of a file that somebody else has."""
    holds = who(noted(path))
    cure = "wait until it has finished, or close it there"
    error = InUseError(f"{path!r} is in use: {holds}", argument="path", cure=cure)
    error.holder = holds
    return error


def by_another_run(name: str, setting: str, error: InUseError) -> InUseError:
    """The error about a file or a folder that another run has; ``setting`` chose it."""
    cure = ("wait until it has finished, or give another ", Setting(setting))
    return InUseError(f"{name} is in use by another run: {error.holder}", argument=setting, cure=cure)


def note() -> dict[str, Any]:
    """What a lock says about this process."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"process": os.getpid(), "host": socket.gethostname(), "since": now.isoformat(" ", "seconds")}


def noted(path: str) -> dict[str, Any] | None:
    """What the lock file of a path says about its holder; None if that cannot be read."""
    try:
        with open(path + END, "rb") as file:
            found = json.loads(file.read(LONGEST))
        return {"process": int(found["process"]), "host": str(found["host"]), "since": str(found["since"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def who(found: dict[str, Any] | None) -> str:
    """The holder of a lock in words.

    >>> who({"process": 4711, "host": socket.gethostname(), "since": "2024-02-29 12:00:00+00:00"})
    'process 4711 has held it since 2024-02-29 12:00:00 UTC'
    >>> who({"process": 4711, "host": "elsewhere", "since": "2024-02-29 12:00:00+00:00"})
    'process 4711 on elsewhere has held it since 2024-02-29 12:00:00 UTC'
    """
    if found is None:
        return InUseError.holder
    if found["host"] == socket.gethostname():
        ours = found["process"] == os.getpid()
        name = f"this process ({os.getpid()})" if ours else f"process {found['process']}"
    else:
        name = f"process {found['process']} on {found['host']}"
    return f"{name} has held it since {found['since'].replace('+00:00', ' UTC')}"


def holder(path: Path) -> str | None:
    """Who seems to hold the lock of a path, in words; None if nobody does. It does not touch the lock."""
    found = noted(os.path.realpath(path))
    if found is None:
        return None
    if found["host"] == socket.gethostname() and os.name != "nt":
        try:
            os.kill(found["process"], 0)
        except PermissionError:
            pass  # it runs, and belongs to somebody else
        except (OSError, OverflowError):
            return None  # it has died
    return who(found)


def remove(temporary: Iterable[str]) -> None:
    """Remove temporary files that killed processes left beside files of which this process has the lock."""
    for file in temporary:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
