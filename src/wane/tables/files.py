"""Which kind of table a file holds, and standard input and output as files."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from wane.state.files import replacing
from wane.tables.chunk import Reader, Writer
from wane.tables.csv import CsvReader, CsvWriter
from wane.tables.jsonl import JsonReader, JsonWriter
from wane.tables.parquet import ParquetReader, ParquetWriter
from wane.tables.paths import FULL, STANDARD, unwritable

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


def kind_of(path: str, otherwise: str | None = None, option: str | None = "--format") -> str:
    """The kind of a table by the end of its name; ``otherwise`` for standard input and output.

    ``option`` is what an error says to give, if there is one.

    >>> kind_of("sales.CSV"), kind_of("-", ".jsonl")
    ('.csv', '.jsonl')
    """
    if path == STANDARD:
        return otherwise or ".csv"
    end = os.path.splitext(path)[1].lower()
    if end in PACKED and option != "--out-format":
        raise ValueError(f"{path} is compressed: unpack it first, and give what was in it")
    if end not in KINDS:
        raise ValueError(f"{path} must end in one of {', '.join(KINDS)}" + (f", or give {option}" if option else ""))
    return KINDS[end]


@contextlib.contextmanager
def reading(path: str, kind: str | None = None) -> Iterator[Reader]:
    """A reader of a file, or of standard input for "-"."""
    kind = kind or kind_of(path)
    if path == STANDARD:
        if sys.stdin is None:
            raise OSError("standard input is closed: give a file")
        yield READERS[kind](sys.stdin.buffer, "standard input")
        return
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder: give a file")
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except OSError as error:
        raise OSError(f"{path} cannot be read ({error.strerror}): ask for the right to, or give another file") from None
    with file:
        yield READERS[kind](file, path)


@contextlib.contextmanager
def writing(path: str, kind: str, source: Reader) -> Iterator[Writer]:
    """A writer to a file, which is replaced as a whole at the end, or to standard output for "-"."""
    if path == STANDARD:
        with standard_output() as file:
            yield from written(WRITERS[kind](file, source))
            file.flush()
        return
    with replacing_in_words(path, "--out") as file:
        yield from written(WRITERS[kind](file, source))


@contextlib.contextmanager
def replacing_in_words(path: str, option: str) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of another at the end; the error where it cannot names the option."""
    opened = False
    try:
        with replacing(path, sync=True) as file:
            opened = True
            yield file
    except OSError as error:
        if opened and error.errno not in FULL:
            raise
        raise OSError(unwritable(path, error, option)) from None


def written(writer: Writer) -> Iterator[Writer]:
    """The writer, and its end."""
    try:
        yield writer
    except BaseException:
        writer.close(whole=False)
        raise
    writer.close()


@contextlib.contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output; one that was closed, or is full, is an error in words."""
    if sys.stdout is None:
        raise OSError("standard output is closed: give --out")
    sys.stdout.flush()
    try:
        yield sys.stdout.buffer
    except OSError as error:
        if error.errno not in (errno.EPIPE, *FULL):
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # what is left goes there, without another error
        what = "was closed" if error.errno == errno.EPIPE else f"failed ({error.strerror})"
        raise OSError(f"standard output {what} before everything was written; a --state is as before") from None
