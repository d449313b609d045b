"""CSV: the lines of the input go to the output as they are, to the last byte, with new cells behind them.

Text is UTF-8. What is not, as Excel writes it in Western Europe, is read as Windows-1252. Until a cell is used, its
bytes are kept as they are (Python's ``surrogateescape``), so that the output has the very same.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import functools
import io
import json
import os
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from wane.errors import InputError, Setting
from wane.tables.chunks import Chunk, plain_numbers
from wane.tables.columns import refuse_repeated
from wane.tables.text import COMMA, POINT, Notation

DELIMITERS = ",;\t|"
MARK = "\ufeff"  # before text in UTF-8; without it Excel takes the text for something else
UNCLOSED = "unexpected end of data"  # what csv says of lines that end within quotes,
ENDLESS = "field limit"  # and of a cell that takes in too many of them
HEADER = "write a header, such as ds,y,yhat, and a row for each round"
SEPARATOR = re.compile(r"sep=(.)\r?\n?", flags=re.I)  # a first line that tells Excel what separates cells
LIKELY = {",": POINT, ";": COMMA}  # what separates decimals, where that separates cells
RAW = ("utf-8", "surrogateescape")  # bytes that are not UTF-8 stay what they are
JSON = re.compile(r"\s*(\{|\[\s*(\{|$))")  # how JSON begins


class CsvReader:
    """A CSV file with a header, its cells separated by commas, semicolons, tabs or bars."""

    def __init__(self, file: BinaryIO, name: str, notation: Notation | None = None) -> None:
        """Read the header, and before it the line with which Excel may be told what separates cells."""
        self.file, self.name, self.line = file, name, 0  # lines read so far
        self.notation = Notation() if notation is None else notation
        self.remarks: list[str] = []
        self.text = io.TextIOWrapper(file, *RAW, newline="")
        try:
            self.size = os.fstat(file.fileno()).st_size
        except (OSError, ValueError):
            self.size = 0
        head = self._lines(1)
        self.mark = MARK if head and head[0].startswith(MARK) else ""
        head = [line.removeprefix(self.mark) for line in head]
        told = SEPARATOR.fullmatch(head[0]) if head else None
        if told is not None:
            self.mark, self.line = self.mark + head[0], 1
            head = self._lines(1)
        if not head or not head[0].strip():
            raise InputError(f"{name} is empty", argument="path", cure=HEADER)
        self._refuse_no_header(head[0])
        self.delimiter = max(DELIMITERS, key=head[0].count) if told is None else told[1]
        self._parser = functools.partial(csv.reader, delimiter=self.delimiter, strict=True)
        self.names = self._decoded(self._rows(head)[0])
        refuse_repeated(self.names, name)
        self.notation.likely = self.notation.likely or LIKELY.get(self.delimiter)
        self.head, self.line = "".join(head), self.line + len(head)
        self.end = "\r\n" if self.head.endswith("\r\n") else "\n"

    def _refuse_no_header(self, line: str) -> None:
        """Raise an error if the first line holds no names: numbers and dates, or JSON."""
        if JSON.match(line):
            kind = "jsonl" if line.lstrip().startswith("{") else "json"
            cure = ("give ", Setting("format", kind))
            raise InputError(f"{self.name} begins like JSON, and is read as CSV", argument="format", cure=cure)
        if not re.search(r"[^\W\d_]", line):  # numbers and dates have no letters
            problem = f"the first line of {self.name} holds no names of columns, but {line.strip()!r}"
            raise InputError(problem, argument="path", cure="write a header before it, such as ds,y,yhat")

    def _decoded(self, cells: list[str]) -> list[str]:
        """Cells of which some may not be UTF-8, as text."""
        if "".join(cells).isascii():
            return cells
        found = []
        for cell in cells:
            raw = cell.encode(*RAW)
            try:
                found.append(raw.decode())
            except UnicodeDecodeError:
                try:
                    found.append(raw.decode("cp1252"))
                except UnicodeDecodeError:
                    problem = f"{self.name} is not text in UTF-8, near {raw[:20]!r}"
                    raise InputError(problem, cure="save it as CSV UTF-8") from None
                self._remark(f"{self.name} is not UTF-8; it is read as Windows-1252, as Excel writes it.")
        return found

    def _remark(self, text: str) -> None:
        """Keep a sentence for the user, once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def _lines(self, count: int) -> list[str]:
        """Read at most so many lines."""
        lines = list(islice(self.text, count))
        if lines and "\0" in lines[0]:
            near = lines[0].encode(*RAW)[:20]
            raise InputError(f"{self.name} is not text in UTF-8, near {near!r}", cure="save it as CSV UTF-8")
        return lines

    def _rows(self, lines: list[str]) -> list[list[str]]:
        """The cells of these lines; where the last cell goes on over the end of its line, more lines are read."""
        while True:
            try:
                return list(self._parser(lines))
            except csv.Error as error:
                if UNCLOSED not in str(error):
                    hint = "is a quote opened here and never closed?" if ENDLESS in str(error) else None
                    raise InputError(str(error), cure=hint, where=self._bad(lines)) from None
                if not self._add(lines):
                    raise InputError("a quote is opened here and never closed", where=self._bad(lines)) from None

    def _add(self, lines: list[str]) -> bool:
        """Add the lines up to one that may close a quote; False if the file has ended."""
        size, quotes = len(lines), 0
        while not quotes % 2 and (more := self._lines(1)):
            lines += more
            quotes += more[0].count('"')
        return len(lines) > size

    def _bad(self, lines: list[str]) -> str:
        """Where the first row begins that cannot be read."""
        parser, begin = self._parser(lines), 0
        with contextlib.suppress(csv.Error):
            for _ in parser:
                begin = parser.line_num
        return f"{self.name}, line {self.line + begin + 1}"

    def read(self, rows: int) -> Chunk | None:
        """Read about so many lines; empty ones are left out."""
        lines = self._lines(rows)
        if not lines:
            return None
        # Most often a row is a line. Where a cell holds the end of a line, several lines are joined to one row.
        first, parsed = self.line + 1, self._rows(lines)
        numbers: Sequence[int] = range(first, first + len(lines))
        self.line += len(lines)
        if len(parsed) < len(lines):
            lines, numbers = self._joined(lines, first)
        if not all(parsed):
            kept = [i for i, row in enumerate(parsed) if row]
            lines, parsed = [lines[i] for i in kept], [parsed[i] for i in kept]
            numbers = [numbers[i] for i in kept]
        if (lengths := set(map(len, parsed))) and lengths != {len(self.names)}:
            bad = next(i for i, row in enumerate(parsed) if len(row) != len(self.names))
            raise InputError(
                f"the row has {len(parsed[bad])} cells, but the header has {len(self.names)}",
                where=f"{self.name}, line {numbers[bad]}",
            )

        def column(name: str) -> list[str]:
            k = self.names.index(name)
            return self._decoded([row[k] for row in parsed])

        def where(i: int) -> str:
            return f"{self.name}, line {numbers[i]}"

        return Chunk(self.names, len(parsed), column, column, where, ".csv", lines, self.notation)

    def nothing(self) -> Chunk:
        """Give a chunk without rows."""
        return Chunk.empty(self.names, ".csv", [])

    def _joined(self, lines: list[str], first: int) -> tuple[list[str], list[int]]:
        """The text of each row, where some go over several lines, and the number of its first line."""
        reader = self._parser(lines)
        made, numbers, begin = [], [], 0
        for _ in reader:
            made.append("".join(lines[begin : reader.line_num]))
            numbers.append(first + begin)
            begin = reader.line_num
        return made, numbers

    def share(self) -> float | None:
        """Say how much has been read, by the bytes."""
        return min(self.file.tell() / self.size, 1.0) if self.size else None


class CsvWriter:
    """A CSV file; the rows of another CSV file are copied as they stand, and only the new cells are formatted."""

    def __init__(self, file: BinaryIO, source: Any) -> None:
        """Write with the delimiter and the line ends of the source, if that is a CSV file."""
        self.file = file
        self.source = source if isinstance(source, CsvReader) else None
        self.delimiter = self.source.delimiter if self.source else ","
        self.end = self.source.end if self.source else "\n"
        self.begun = False

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """Write the rows, and the header before the first."""
        if not self.begun:
            head = self.source.mark + self.source.head.rstrip("\r\n") if self.source else self._line(chunk.names)
            self._put([self.delimiter.join([head, self._line(list(new))])])
            self.begun = True
        if chunk.kind == ".csv":
            rows = [line.rstrip("\r\n") for line in chunk.own]
        else:
            columns = [[shown(v) for v in chunk.values(name)] for name in chunk.names]
            rows = [self._line(row) for row in zip(*columns, strict=True)]
        added = [self._cells(values) for values in new.values()]
        self._put(map(self.delimiter.join, zip(rows, *added, strict=True)))

    def _cells(self, values: np.ndarray) -> list[str]:
        """The text of new cells: numbers with the decimal mark of the source, which it may be necessary to quote."""
        if values.dtype.kind == "O":
            return [self._line(["" if v is None else str(v)]) if v else "" for v in values.tolist()]
        cells = ["" if v is None else repr(v) for v in plain_numbers(values)]
        if self.source is None or self.source.notation.decimal != COMMA:
            return cells
        quote = '"' if self.delimiter == "," else ""
        return [f"{quote}{cell.replace('.', ',')}{quote}" if "." in cell else cell for cell in cells]

    def _line(self, row: Sequence[str]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=self.delimiter, lineterminator="\r\n").writerow(row)  # so both marks are quoted
        return text.getvalue()[:-2]

    def _put(self, lines: Any) -> None:
        text = self.end.join(lines)
        if text:
            self.file.write((text + self.end).encode(*RAW))

    def close(self, whole: bool = True) -> None:
        """Do nothing: everything is written."""


def shown(value: Any) -> str:
    """A value of another kind of table as the text of a cell.

    >>> shown(None), shown(0.1), shown(True), shown({"a": [1]})
    ('', '0.1', 'true', '{"a": [1]}')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, (bool, dict, list)):
        return json.dumps(value, ensure_ascii=False, default=shown)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return value if isinstance(value, str) else str(value)
