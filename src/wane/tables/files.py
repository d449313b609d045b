"""Which kind of table a file holds, and standard input and output as files."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from wane.saving import replacing
from wane.tables.arrow import ParquetReader, ParquetWriter
from wane.tables.chunk import Reader, Writer
from wane.tables.lines import JsonReader, JsonWriter
from wane.tables.paths import STANDARD, unwritable
from wane.tables.text import CsvReader, CsvWriter

KINDS = {
    ".csv": ".csv",
    ".tsv": ".csv",
    ".txt": ".csv",
    ".jsonl": ".jsonl",
    ".ndjson": ".jsonl",
    ".parquet": ".parquet",
    ".pq": ".parquet",
}
READERS: dict[str, Any] = {".csv": CsvReader, ".jsonl": JsonReader, ".parquet": ParquetReader}
WRITERS: dict[str, Any] = {".csv": CsvWriter, ".jsonl": JsonWriter, ".parquet": ParquetWriter}


def kind_of(path: str, otherwise: str | None = None, option: str = "--format") -> str:
    """The kind of a table by the end of its name; ``otherwise`` for standard input and output.

    ``option`` is what an error says to give.

    >>> kind_of("sales.CSV"), kind_of("-", ".jsonl")
    ('.csv', '.jsonl')
    """
    if path == STANDARD:
        return otherwise or ".csv"
    end = os.path.splitext(path)[1].lower()
    if end not in KINDS:
        raise ValueError(f"{path} must end in one of {', '.join(KINDS)}, or give {option}")
    return KINDS[end]


@contextlib.contextmanager
def reading(path: str, kind: str | None = None) -> Iterator[Reader]:
    """A reader of a file, or of standard input for "-"."""
    kind = kind or kind_of(path)
    if path == STANDARD:
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
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(replacing(path, sync=True))
        except OSError as error:
            raise OSError(unwritable(path, error, "--out")) from None
        yield from written(WRITERS[kind](file, source))


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
    """Standard output; one that was closed is an error in words."""
    sys.stdout.flush()
    try:
        yield sys.stdout.buffer
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # what is left goes there, without another error
        raise OSError("standard output was closed before everything was written; a --state is as before") from None
