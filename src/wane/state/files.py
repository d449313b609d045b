"""Objects in files: one text format, versioned, with a checksum, written as a whole or not at all.

A file is two lines of text. The first is a header, the second the payload, which is the state as one JSON document::

    {"wane": "saved", "format": 1, "version": "0.1.0", "class": "LossTracker", "bytes": 601, "sha256": "5f0c..."}
    {"format": 1, "class": "LossTracker", "parameters": {...}, "memory": {...}}

``bytes`` and ``sha256`` are those of everything after the first line. Nothing is pickled: reading runs no code.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeVar

from wane.checks import described, file_path
from wane.errors import Cure, InputError, InputTypeError, MissingFileError, SavedFileError
from wane.state import data as plain_data
from wane.state import exclusive
from wane.state.encoding import dumps, loads
from wane.state.stateful import Stateful
from wane.version import __version__

FORMAT = 1  # of the file; raised when a reader of the older format would go wrong
MAGIC = b'{"wane": "saved", '  # how every file begins
LONGEST_HEADER = 4096  # bytes; a foreign file without line breaks is not read as one long header
TEMPORARY = re.compile(r"\.(.+)\.\d+-[0-9a-f]{8}\.tmp")  # the name of a temporary file, and that of its target in it
LOCKED = os.name != "nt"  # whether temporary files are locked; Windows renames no file that is open
LEFT: dict[str, dict[str, list[str]]] = {}  # by folder and name, temporary files that this process found there
SAVED: dict[str, type] = {}  # classes that are not Stateful but have state_dict and from_state_dict

Path = str | os.PathLike[str]
C = TypeVar("C", bound=type)


def known(cls: C) -> C:
    """Let ``load`` find a class with ``state_dict()`` and ``from_state_dict(state, **objects)``: a decorator."""
    SAVED[plain_data.name_of(cls)] = cls
    return cls


def save(path: Path, obj: Any, *, sync: bool = True) -> None:
    """Write an object to a file, which holds the old or the new object at every moment, whatever is killed.

    Args:
        path: the file; its directory must exist. An older file is replaced and its permissions are kept.
        obj: a learner, a tracker, or what is built on them.
        sync: wait until the disk has it. False is faster and as safe when a process dies, but not when the power fails.

    >>> import os, tempfile, wane
    >>> tracker = wane.trackers.make("magl", alpha=0.1)
    >>> radii = tracker.run([1.0, 2.0, 1.5] * 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "tracker.wane"), tracker)
    ...     again = load(os.path.join(folder, "tracker.wane"))
    >>> again.predict() == tracker.predict()
    True
    """
    if not isinstance(obj, Stateful) and type(obj) not in SAVED.values():
        problem = f"a learner, a tracker or what is built on them can be saved, got {described(obj)}"
        raise InputTypeError(problem, argument="obj")
    replace_file(file_path("path", path), written(obj.state_dict()), sync)


def load(path: Path, /, **objects: Any) -> Any:
    """The object that ``save`` wrote to a file, or a SavedFileError that says what is wrong with the file.

    ``objects`` are the arguments that a file cannot hold (functions of yours), by name.
    """
    return rebuilt_from(path, stored(path), objects)


def stored(path: Path) -> dict[str, Any]:
    """The state that a file holds, as plain data, once its checksum is right."""
    path = file_path("path", path)
    if not os.path.exists(path) or os.path.isdir(path):
        raise MissingFileError(f"there is no file {path!r}", argument="path", cure="give one that save wrote")
    with open(path, "rb") as file:
        raw = file.read(LONGEST_HEADER)
        if raw.startswith(MAGIC):  # else it may be anything, of any size
            raw += file.read()
    state: dict[str, Any] = payload(raw, path)
    return state


def rebuilt_from(path: Path, state: dict[str, Any], objects: dict[str, Any]) -> Any:
    """The object whose state a file holds; a SavedFileError if its class refuses the state."""
    try:
        return rebuilt(state, objects)
    except Exception as error:
        problem = f"is intact, but its state was refused: {plain_data.sentence(error)}"
        raise refused(path, problem, getattr(error, "parts", ())) from error


def rebuilt(state: Any, objects: dict[str, Any]) -> Any:
    """The object whose state this is."""
    name = state.get("class") if isinstance(state, dict) else None
    importlib.import_module("wane").complete()
    if name in SAVED:
        return SAVED[name].from_state_dict(state, **objects)  # type: ignore[attr-defined]
    return plain_data.load(Stateful, state, objects)


def written(state: dict[str, Any]) -> bytes:
    """The bytes of a file."""
    body = dumps(state).encode() + b"\n"
    header = {
        "wane": "saved",
        "format": FORMAT,
        "version": __version__,
        "class": state["class"],
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return json.dumps(header).encode() + b"\n" + body


def refused(path: Path, problem: str, cure: Cure | None = None) -> SavedFileError:
    """The error of a file that cannot be read."""
    return SavedFileError(f"{os.fspath(path)!r} {problem}", argument="path", cure=cure)


def payload(raw: bytes, path: str) -> Any:
    """The state in the bytes of a file, once everything that the header says is true."""
    if not raw.startswith(MAGIC) and not MAGIC.startswith(raw):
        raise refused(path, f"was not written by wane.save: it begins with {described(raw[:20])}")
    line, newline, body = raw.partition(b"\n")
    if not newline and len(line) <= LONGEST_HEADER:
        raise refused(path, f"is truncated: it ends within the header, after {len(raw)} bytes")
    try:
        header = json.loads(line[:LONGEST_HEADER])
        form, size, digest, name = (header[k] for k in ("format", "bytes", "sha256", "class"))
    except (ValueError, KeyError, RecursionError):
        raise refused(path, f"is corrupted: its header cannot be read, {described(line)}") from None
    if form != FORMAT:
        if isinstance(form, int) and form > FORMAT:
            raise refused(path, f"has format {form}, this version of wane reads {FORMAT}", "upgrade wane")
        raise refused(path, f"is corrupted: there is no format {described(form)}")
    if isinstance(size, int) and len(body) < size:
        raise refused(path, f"is truncated: {len(body)} of {size} bytes of its state are there")
    if len(body) != size or hashlib.sha256(body).hexdigest() != digest:
        raise refused(path, "is corrupted: its state is not what was written", "restore it from a copy")
    try:
        state = loads(body)
    except (ValueError, RecursionError) as error:
        raise refused(path, f"is corrupted: its state is not JSON, {error}") from error
    if not isinstance(state, dict) or state.get("class") != name:
        raise refused(path, f"is corrupted: the header says {name!r}, the state is {described(state)}")
    return state


# Files that are replaced as a whole.


def replace_file(path: Path, data: bytes, sync: bool) -> None:
    """Put these bytes in the place of a file, or leave the file as it is and raise."""
    with replacing(path, sync) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, sync: bool) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of another at the end; after an error nothing has changed."""
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    try:
        old: int | None = os.stat(target).st_mode
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old):
        raise InputError(f"{target!r} is not a regular file", argument="path", cure="give the path of a file")
    mode = 0o666 if old is None else stat.S_IMODE(old)  # what is open() to all is limited by the umask
    remove_killed(folder, name)
    temporary, descriptor = new_temporary(folder, name, mode)
    opened = True
    try:
        try:
            with open(descriptor, "wb", closefd=False) as file:
                yield file
                file.flush()
                if sync:
                    os.fsync(descriptor)
            if old is not None:
                os.chmod(temporary, mode)
            if not LOCKED:  # Windows does not rename an open file
                opened = False
                os.close(descriptor)
            os.replace(temporary, target)
        finally:
            if opened:
                os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if sync:
        sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Wait until the disk has the names of the files in a directory, on systems that can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems: nothing to wait for
            raise
    finally:
        os.close(descriptor)


# Temporary files: a process that writes one holds its lock, so that the next can tell which belong to killed ones.


def new_temporary(folder: str, name: str, mode: int) -> tuple[str, int]:
    """A new file beside one of this name, opened and locked: its path and its descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        path = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        descriptor = os.open(path, flags, mode)
        try:
            if LOCKED:
                exclusive.lock(descriptor)
            if exclusive.still(descriptor, path):
                return path, descriptor
        except BlockingIOError:  # before it was locked it looked like that of a killed process, and is being removed
            pass
        except OSError:  # a disk without locks, on which nobody removes anything
            return path, descriptor
        os.close(descriptor)


def remove_killed(folder: str, name: str) -> None:
    """Remove what killed processes left beside a file.

    A process looks through a folder once, because folders may be large and each process leaves at most what it was
    writing when it was killed.
    """
    if not LOCKED:
        return
    if folder not in LEFT:
        LEFT[folder] = {}
        for file in os.listdir(folder):
            if found := TEMPORARY.fullmatch(file):
                LEFT[folder].setdefault(found[1], []).append(os.path.join(folder, file))
    for path in LEFT[folder].pop(name, ()):
        with contextlib.suppress(OSError):  # it is gone, or belongs to a process that lives
            descriptor = os.open(path, os.O_RDONLY)
            try:
                exclusive.lock(descriptor)
                os.unlink(path)
            finally:
                os.close(descriptor)


def leftovers(path: Path) -> list[str]:
    """The temporary files beside a file: of killed processes, or of one that saves now."""
    folder, name = os.path.split(os.path.realpath(path))
    return [file for file in leftovers_in(folder) if TEMPORARY.fullmatch(os.path.basename(file))[1] == name]  # type: ignore[index]


def leftovers_in(folder: Path) -> list[str]:
    """The temporary files in a folder, whatever was being saved."""
    return [os.path.join(os.path.realpath(folder), file) for file in os.listdir(folder) if TEMPORARY.fullmatch(file)]
