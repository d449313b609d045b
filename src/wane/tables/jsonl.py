"""JSON: an object a line, whose text goes to the output as it is with new fields at its end; or an array of objects."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import math
import os
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from wane.errors import InputError, Setting
from wane.tables.chunks import Chunk, plain_numbers
from wane.tables.text import Notation

EXAMPLE = "{'y': 1.5, 'yhat': 1.2}"


class JsonReader:
    """A file of JSON objects, one a line; the columns are the fields of the first."""

    row = "line"  # what an error calls a row

    def __init__(self, file: BinaryIO, name: str, notation: Notation | None = None) -> None:
        """Read the first object."""
        self.file, self.name, self.line = file, name, 0
        self.notation = Notation() if notation is None else notation
        self.remarks: list[str] = []
        try:
            self.size = os.fstat(file.fileno()).st_size
        except (OSError, ValueError):
            self.size = 0
        self.ahead: list[bytes] = []
        self.names: list[str] = []
        first = self.read(1)
        if first is None:
            raise InputError(
                f"{name} is empty", argument="path", cure=f"write one JSON object on each line, such as {EXAMPLE}"
            )
        self.names = list(first.own[0][1])
        self.ahead, self.line = [first.own[0][0]], self.line - 1

    def read(self, rows: int) -> Chunk | None:
        """Read so many lines; empty ones are left out."""
        # The text of each object is kept beside it, so that it can be written again as it is.
        pairs: list[tuple[bytes, dict[str, Any]]] = []
        numbers: list[int] = []
        while not pairs:
            lines = self.ahead + list(islice(self.file, rows - len(self.ahead)))
            self.ahead = []
            if not lines:
                return None
            for line in lines:
                self.line += 1
                if line.strip():
                    pairs.append((line, self._object(line)))
                    numbers.append(self.line)

        # Values go to another kind of file, where a field that is no column would be lost. Each row is checked once,
        # with the first column that is asked for.
        known, unseen = set(self.names), enumerate(pairs)

        def column(name: str) -> list[Any]:
            return [found.get(name) for _, found in pairs]

        def values(name: str) -> list[Any]:
            for i, (_, found) in unseen:
                if not known.issuperset(found):
                    field = next(field for field in found if field not in known)
                    raise InputError(
                        f"the first object has no field {field!r}, and its fields are the columns",
                        argument=field,
                        row=i,
                        cure="write JSON lines, or give it one",
                        where=where(i),
                    )
            return column(name)

        def where(i: int) -> str:
            return f"{self.name}, {self.row} {numbers[i]}"

        return Chunk(self.names, len(pairs), column, values, where, ".jsonl", pairs, self.notation)

    def nothing(self) -> Chunk:
        """Give a chunk without rows."""
        return Chunk.empty(self.names, ".jsonl", [])

    def _object(self, line: bytes) -> dict[str, Any]:
        here = f"{self.name}, {self.row} {self.line}"
        try:
            found = json.loads(line)
        except ValueError as error:
            why = str(error)
            if isinstance(error, json.JSONDecodeError):  # whose own message counts lines within this one
                why = f"{error.msg} (character {error.pos + 1})"
            raise InputError(f"this is not JSON, {why}", where=here) from None
        except RecursionError:
            raise InputError("this is nested too deeply to be read", cure="flatten it", where=here) from None
        if not isinstance(found, dict):
            raise InputError(f"this must be a JSON object, such as {EXAMPLE}", where=here)
        return found

    def share(self) -> float | None:
        """Say how much has been read, by the bytes."""
        return min(self.file.tell() / self.size, 1.0) if self.size else None


class JsonArrayReader(JsonReader):
    """A file with one JSON array of objects, as ``DataFrame.to_json(orient="records")`` writes it; it is read whole."""

    row = "object"

    def __init__(self, file: BinaryIO, name: str, notation: Notation | None = None) -> None:
        """Read the whole array; a file of JSON lines, which some call .json too, is one as well."""
        text = file.read()
        lines = text
        if not text.lstrip().startswith(b"{") or b"\n{" not in text:
            lines = b"\n".join(json.dumps(one, ensure_ascii=False).encode() for one in self._array(text, name))
        super().__init__(io.BytesIO(lines), name, notation)

    def _array(self, text: bytes, name: str) -> list[Any]:
        """The objects of the array."""
        try:
            found = json.loads(text) if text.strip() else []
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} is not JSON ({error})", argument="path") from None
        if isinstance(found, dict) and found and all(isinstance(v, (list, dict)) for v in found.values()):
            cure = 'write an array of objects, as DataFrame.to_json(path, orient="records") does'
            raise InputError(f"{name} holds one object with a list for each column", argument="path", cure=cure)
        return found if isinstance(found, list) else [found]


class JsonWriter:
    """A file of JSON objects; NaN and missing cells are null, an infinite end is the text "inf" or "-inf"."""

    first, between, last = b"", b"\n", b"\n"  # what stands before the objects of a chunk, between them and behind

    def __init__(self, file: BinaryIO, source: Any) -> None:
        """Nothing is written yet."""
        self.file = file

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """Write an object for each row."""
        added = [dict(zip(new, row, strict=True)) for row in zip(*[finite(v) for v in new.values()], strict=True)]
        if chunk.kind == ".jsonl":
            for i, (_, found) in enumerate(chunk.own):
                if taken := new.keys() & found.keys():
                    raise InputError(
                        f"the object has the field {min(taken)!r} already",
                        argument=min(taken),
                        row=i,
                        cure=("choose a ", Setting("prefix"), " for the new ones"),
                        where=chunk.where(i),
                    )
            made = [extended(line, found, more) for (line, found), more in zip(chunk.own, added, strict=True)]
        else:
            columns = [plain_numbers(known[n]) if n in known else chunk.values(n) for n in chunk.names]
            rows = zip(*columns, strict=True)
            made = [
                json.dumps(
                    {**dict(zip(chunk.names, map(plain, row), strict=True)), **more}, ensure_ascii=False, default=plain
                ).encode()
                for row, more in zip(rows, added, strict=True)
            ]
        if made:
            self.file.write(self.first + self.between.join(made) + self.last)

    def close(self, whole: bool = True) -> None:
        """Do nothing: everything is written."""


class JsonArrayWriter(JsonWriter):
    """A file with one JSON array of objects, an object a line."""

    first, between, last = b"[", b",\n", b""

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """Write an object for each row."""
        super().write(chunk, new, known)
        if chunk.rows:
            self.first = b",\n"

    def close(self, whole: bool = True) -> None:
        """Write the end of the array."""
        if whole:
            self.file.write(b"]\n" if self.first != b"[" else b"[]\n")


def extended(line: bytes, found: dict[str, Any], more: dict[str, Any]) -> bytes:
    """The text of an object, with more fields.

    >>> extended(b'{"y": 1.50}', {"y": 1.5}, {"lower": 1.0})
    b'{"y": 1.50, "lower": 1.0}'
    """
    begun = line.strip()[:-1].rstrip()
    return begun + (b", " if found else b"") + json.dumps(more)[1:].encode()


def finite(values: np.ndarray) -> list[Any]:
    """Numbers as JSON has them: None for NaN, text for an infinite one; text as it is."""
    if values.dtype.kind == "O":
        return list(values.tolist())
    return [str(v) if v is not None and math.isinf(v) else v for v in plain_numbers(values)]


def plain(value: Any) -> Any:
    """A value that JSON has: dates as text, NaN as null, a decimal number as text if a float is not as exact.

    >>> plain(decimal.Decimal("1.10")), plain(decimal.Decimal("12345678901234567.10"))
    (1.1, '12345678901234567.10')
    """
    if isinstance(value, decimal.Decimal):
        near = float(value)
        return near if decimal.Decimal(repr(near)) == value else str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if value != value else str(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return value if value is None or isinstance(value, (str, bool, int, float, list, dict)) else str(value)
