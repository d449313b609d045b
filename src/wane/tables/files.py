"""The files of tables: which kind of table a file holds, standard input and output, and files that can be written."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, BinaryIO

from wane.errors import FileError, InputError, InUseError, MissingFileError, Setting
from wane.state.files import replacing
from wane.state.locks import Lock, by_another_run
from wane.tables.chunks import Reader, Writer
from wane.tables.csv import CsvReader, CsvWriter
from wane.tables.jsonl import JsonReader, JsonWriter
from wane.tables.parquet import ParquetReader, ParquetWriter

KINDS = {
    ".csv": ".csv",
    ".tsv": ".csv",
    ".txt": ".csv",
    ".jsonl": ".jsonl",
    ".ndjson": ".jsonl",
    ".parquet": ".parquet",
    ".pq": ".parquet",
}
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
READERS: dict[str, Any] = {".csv": CsvReader, ".jsonl": JsonReader, ".parquet": ParquetReader}
WRITERS: dict[str, Any] = {".csv": CsvWriter, ".jsonl": JsonWriter, ".parquet": ParquetWriter}
STANDARD = "-"  # standard input or output
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what only writing can lead to


def kind_of(path: str, otherwise: str | None = None, setting: str | None = "format") -> str:
    """The kind of a table by the end of its name.

    Args:
        path: of the table.
        otherwise: the kind of standard input and output.
        setting: what an error tells the user to give instead, if there is such a setting.

    >>> kind_of("sales.CSV"), kind_of("-", ".jsonl")
    ('.csv', '.jsonl')
    """
    if path == STANDARD:
        return otherwise or ".csv"
    end = os.path.splitext(path)[1].lower()
    if end in PACKED and setting != "out_format":
        raise InputError(f"{path} is compressed", argument="path", cure="unpack it first, and give what was in it")
    if end not in KINDS:
        raise InputError(
            f"{path} must end in one of {', '.join(KINDS)}",
            argument="path",
            cure=None if setting is None else ("rename it, or give ", Setting(setting)),
        )
    return KINDS[end]


@contextlib.contextmanager
def reading(path: str, kind: str | None = None) -> Iterator[Reader]:
    """Open a table to read it: a file, or standard input for "-"."""
    kind = kind or kind_of(path)
    if path == STANDARD:
        if sys.stdin is None:
            raise FileError("standard input is closed", argument="path", cure="give a file")
        yield READERS[kind](sys.stdin.buffer, "standard input")
        return
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder", argument="path", cure="give a file")
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise MissingFileError(f"there is no file {path}", argument="path") from None
    except OSError as error:
        cure = "ask for the right to, or give another file"
        raise FileError(f"{path} cannot be read ({error.strerror})", argument="path", cure=cure) from None
    with file:
        yield READERS[kind](file, path)


@contextlib.contextmanager
def writing(path: str, kind: str, source: Reader) -> Iterator[Writer]:
    """Open a table to write it: a file, which is replaced as a whole at the end, or standard output for "-"."""
    with standard_output() if path == STANDARD else replaced(path, "out") as file:
        writer: Writer = WRITERS[kind](file, source)
        try:
            yield writer
        except BaseException:
            writer.close(whole=False)
            raise
        writer.close()
        file.flush()


@contextlib.contextmanager
def replaced(path: str, setting: str) -> Iterator[BinaryIO]:
    """Open a file that takes the place of another at the end; an error names the setting that chose it."""
    opened = False
    try:
        with replacing(path, sync=True) as file:
            opened = True
            yield file
    except OSError as error:
        if opened and error.errno not in FULL:
            raise
        raise unwritable(path, error, setting) from None


@contextlib.contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output; if it is closed or full, the error says so in words."""
    if sys.stdout is None:
        raise FileError("standard output is closed", argument="out", cure=("give ", Setting("out")))
    sys.stdout.flush()
    try:
        yield sys.stdout.buffer
    except OSError as error:
        if error.errno not in (errno.EPIPE, *FULL):
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # what is left goes there, without another error
        what = "was closed" if error.errno == errno.EPIPE else f"failed ({error.strerror})"
        raise FileError(
            f"standard output {what} before everything was written; a state that was given is as before",
            argument="out",
        ) from None


# Files are checked before anything is computed: each is one thing only, and can be written.


def refuse_same(given: Mapping[str, str | None]) -> None:
    """Raise an error if one file would be two things; ``given`` are paths by setting, None where there is none.

    >>> refuse_same({"path": "a.csv", "out": "./a.csv"})
    Traceback (most recent call last):
        ...
    wane.errors.InputError: ./a.csv would be two things at once: give another path or another out
    """
    named = [(setting, path) for setting, path in given.items() if path is not None and path != STANDARD]
    for (one, first), (two, second) in combinations(named, 2):
        if os.path.exists(first) and os.path.exists(second):  # links count, but a terminal or a pipe may be two things
            same = os.path.isfile(first) and os.path.samefile(first, second)
        else:
            same = os.path.realpath(first) == os.path.realpath(second)
        if same:
            raise InputError(
                f"{second} would be two things at once",
                argument=two,
                cure=("give another ", Setting(one), " or another ", Setting(two)),
            )


def refuse_unwritable(given: Mapping[str, str | None]) -> None:
    """Raise an error if a file could not be written at the end; ``given`` are paths by setting."""
    for setting, path in given.items():
        if path is None:
            continue
        another = ("give another ", Setting(setting))
        if path == STANDARD:
            raise InputError("must be a file, not standard output", about=setting, cure="give a name")
        if os.path.isdir(path):
            raise InputError(f"{path} is a folder", argument=setting, cure=("give a file as ", Setting(setting)))
        if os.path.exists(path) and not os.path.isfile(path):  # /dev/full, for one, has no end
            raise InputError(f"{path} is not a regular file", argument=setting, cure=another)
        try:
            with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
                pass
        except OSError as error:
            raise unwritable(path, error, setting) from None


@contextlib.contextmanager
def owning(given: Mapping[str, str | None]) -> Iterator[None]:
    """Hold the locks of files that will be written; ``given`` are paths by setting, None where there is none."""
    with contextlib.ExitStack() as locks:
        for setting, path in given.items():
            if path is None or path == STANDARD or (os.path.exists(path) and not os.path.isfile(path)):
                continue  # nothing that could be replaced
            try:
                locks.enter_context(Lock(path))
            except InUseError as error:
                raise by_another_run(path, setting, error) from None
            except OSError as error:
                raise unwritable(path, error, setting) from None
        yield


def unwritable(path: str, error: OSError, setting: str) -> FileError:
    """The error about a file that cannot be written."""
    return FileError(
        f"{path} cannot be written ({error.strerror or error})",
        argument=setting,
        cure=("choose another ", Setting(setting)),
    )
