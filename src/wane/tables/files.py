"""The files of tables: which kind of table a file holds, standard input and output, and files that can be written."""

from __future__ import annotations

import contextlib
import errno
import functools
import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, BinaryIO

from wane.errors import FileError, InputError, InUseError, MissingFileError, Setting
from wane.state.files import replacing
from wane.state.locks import Lock, by_another_run
from wane.tables.chunks import Reader, Writer, chunks
from wane.tables.csv import CsvReader, CsvWriter
from wane.tables.excel import ExcelReader, ExcelWriter
from wane.tables.jsonl import JsonArrayReader, JsonArrayWriter, JsonReader, JsonWriter
from wane.tables.parquet import ParquetReader, ParquetWriter
from wane.tables.text import Notation

KINDS = {
    ".csv": ".csv",
    ".tsv": ".csv",
    ".txt": ".csv",
    ".jsonl": ".jsonl",
    ".ndjson": ".jsonl",
    ".json": ".json",
    ".parquet": ".parquet",
    ".pq": ".parquet",
    ".xlsx": ".xlsx",
}
ZIPPED = ".gz"  # behind the end of a name: what is in the file is compressed
PACKED = (".bz2", ".xz", ".zst", ".zip")
READERS: dict[str, Any] = {
    ".csv": CsvReader,
    ".jsonl": JsonReader,
    ".json": JsonArrayReader,
    ".parquet": ParquetReader,
    ".xlsx": ExcelReader,
}
WRITERS: dict[str, Any] = {
    ".csv": CsvWriter,
    ".jsonl": JsonWriter,
    ".json": JsonArrayWriter,
    ".parquet": ParquetWriter,
    ".xlsx": ExcelWriter,
}
BEGINNINGS = {b"{": ".jsonl", b"[": ".json", b"PAR1": ".parquet", b"PK": ".xlsx"}  # of standard input
STANDARD = "-"  # standard input or output
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what only writing can lead to


def kind_of(path: str, otherwise: str | None = None, setting: str | None = "format") -> str:
    """The kind of a table by the end of its name.

    Args:
        path: of the table.
        otherwise: the kind of standard output. A workbook is written to files only.
        setting: what an error tells the user to give instead, if there is such a setting.

    >>> kind_of("sales.CSV.gz"), kind_of("-", ".jsonl")
    ('.csv', '.jsonl')
    """
    if path == STANDARD:
        return begins_as(sys.stdin) if otherwise is None else ".csv" if otherwise == ".xlsx" else otherwise
    if setting != "out_format" and os.path.isdir(path):
        return ".parquet"
    end = os.path.splitext(path.lower().removesuffix(ZIPPED))[1]
    if end in PACKED and setting != "out_format":
        raise InputError(f"{path} is compressed", argument="path", cure="unpack it first, and give what was in it")
    if end not in KINDS:
        raise InputError(
            f"{path} must end in one of {', '.join(KINDS)}",
            argument="path",
            cure=None if setting is None else ("rename it, or give ", Setting(setting)),
        )
    return KINDS[end]


def begins_as(stream: Any) -> str:
    """The kind of a table on standard input, by its first characters, which stay there to be read."""
    if stream is None:
        return ".csv"
    peek = getattr(stream.buffer, "peek", None)
    first = peek(4).lstrip() if peek is not None else b""
    return next((kind for begins, kind in BEGINNINGS.items() if first.startswith(begins)), ".csv")


@contextlib.contextmanager
def reading(path: str, kind: str | None = None, notation: Notation | None = None) -> Iterator[Reader]:
    """Open a table to read it: a file, a folder of Parquet files, or standard input for "-".

    ``notation`` says how the table writes numbers and dates; None leaves it to the cells.
    """
    kind = kind or kind_of(path)
    notation = Notation() if notation is None else notation
    if path == STANDARD:
        if sys.stdin is None:
            raise FileError("standard input is closed", argument="path", cure="give a file")
        yield READERS[kind](sys.stdin.buffer, "standard input", notation)
        return
    if os.path.isdir(path):
        if kind != ".parquet":
            problem = f"{path} is a folder, and a table in several files can only be Parquet"
            raise InputError(problem, argument="path", cure="give a file")
        yield ParquetReader(path, path, notation)
        return
    if os.path.isfile(path):
        notation.cells = functools.partial(cells_of, path, kind)
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise MissingFileError(f"there is no file {path}", argument="path") from None
    except OSError as error:
        cure = "ask for permission to read it, or give another file"
        raise FileError(f"{path} cannot be read ({error.strerror})", argument="path", cure=cure) from None
    with file:
        if not path.lower().endswith(ZIPPED):
            yield READERS[kind](file, path, notation)
            return
        reader = READERS[kind](io.BufferedReader(Unzipped(file, path)), path, notation)
        reader.size = 0  # nobody knows how much is left
        yield reader


def cells_of(path: str, kind: str, name: str) -> Iterator[list[str]]:
    """All cells of a column as text, piece by piece."""
    with reading(path, kind) as reader:
        for chunk in chunks(reader):
            yield [str(cell) for cell in chunk.column(name) if cell is not None]


class Unzipped(io.RawIOBase):
    """What is in a compressed file; one that is damaged is an error."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Begin at the beginning."""
        self.source, self.name = gzip.GzipFile(fileobj=file), name

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        try:
            found = self.source.read(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self.name} cannot be unpacked, or is damaged ({error})", argument="path") from None
        buffer[: len(found)] = found
        return len(found)


@contextlib.contextmanager
def writing(path: str, kind: str, source: Reader) -> Iterator[Writer]:
    """Open a table to write it: a file, which is replaced as a whole at the end, or standard output for "-"."""
    with standard_output() if path == STANDARD else replaced(path, "out") as file:
        zipped = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.lower().endswith(ZIPPED) else None
        writer: Writer = WRITERS[kind](zipped or file, source)
        try:
            yield writer
        except BaseException:
            writer.close(whole=False)
            raise
        writer.close()
        if zipped is not None:
            zipped.close()
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
            f"standard output {what} before everything was written; the state was not changed",
            argument="out",
        ) from None


# Files are checked before anything is computed: each is one thing only, and can be written.


def refuse_same(given: Mapping[str, str | None]) -> None:
    """Raise an error if one file would be two things; ``given`` are paths by setting, None where there is none.

    >>> refuse_same({"path": "a.csv", "out": "./a.csv"})
    Traceback (most recent call last):
        ...
    wane.errors.InputError: ./a.csv is given for two things at once: give another path or another out
    """
    named = [(setting, path) for setting, path in given.items() if path is not None and path != STANDARD]
    for (one, first), (two, second) in combinations(named, 2):
        if os.path.exists(first) and os.path.exists(second):  # links count, but a terminal or a pipe may be two things
            same = os.path.isfile(first) and os.path.samefile(first, second)
        else:
            same = os.path.realpath(first) == os.path.realpath(second)
        if same:
            raise InputError(
                f"{second} is given for two things at once",
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
