"""CSV: the lines of the input go to the output as they are, to the last byte, with new cells behind them."""

from __future__ import annotations

import csv
import datetime
import io
import os
from collections.abc import Sequence
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from wane.tables.chunk import Chunk, cells, pure

DELIMITERS = ",;\t|"
EMPTY = "{} is empty: wanted a header, such as ds,y,yhat, and a row a round"


class CsvReader:
    """A CSV file with a header, in UTF-8, its cells separated by commas, semicolons, tabs or bars."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Read the header."""
        self.file, self.name, self.line = file, name, 0
        self.text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            self.size = os.fstat(file.fileno()).st_size
        except (OSError, ValueError):
            self.size = 0
        head = self._lines(1)
        if not head or not head[0].strip():
            raise ValueError(EMPTY.format(name))
        self.delimiter = max(DELIMITERS, key=lambda mark: head[0].count(mark))
        self.head, self.line = "".join(head), len(head)
        self.end = "\r\n" if self.head.endswith("\r\n") else "\n"
        self.names = self._rows(head)[0]
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{name} has two columns of one name: {', '.join(self.names)}")

    def _lines(self, rows: int) -> list[str]:
        """So many lines, and more where a cell goes on over the end of a line."""
        try:
            lines = list(islice(self.text, rows))
            quotes = sum(line.count('"') for line in lines)
            while quotes % 2:
                more = self.text.readline()
                if not more:
                    break
                lines.append(more)
                quotes += more.count('"')
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.name} is not text in UTF-8 ({error}): save it so") from None
        return lines

    def _rows(self, lines: list[str]) -> list[list[str]]:
        try:
            return list(csv.reader(lines, delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            raise ValueError(f"{self.name}, after line {self.line}: {error}") from None

    def read(self, rows: int) -> Chunk | None:
        """About so many lines; empty ones are left out."""
        lines = self._lines(rows)
        if not lines:
            return None
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
            raise ValueError(
                f"{self.name}, line {numbers[bad]}: {len(parsed[bad])} cells, but the header has {len(self.names)}"
            )
        places = {name: k for k, name in enumerate(self.names)}

        def column(name: str) -> list[str]:
            k = places[name]
            return [row[k] for row in parsed]

        return Chunk(self.names, len(parsed), column, lambda i: f"{self.name}, line {numbers[i]}", ".csv", lines)

    def nothing(self) -> Chunk:
        """No rows."""
        return Chunk(self.names, 0, lambda name: [], str, ".csv", [])

    def _joined(self, lines: list[str], first: int) -> tuple[list[str], list[int]]:
        """One text a row, where some go over several lines; and the number of its first line."""
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        made, numbers, begin = [], [], 0
        for _ in reader:
            made.append("".join(lines[begin : reader.line_num]))
            numbers.append(first + begin)
            begin = reader.line_num
        return made, numbers

    def share(self) -> float | None:
        """By the bytes."""
        return min(self.file.tell() / self.size, 1.0) if self.size else None


class CsvWriter:
    """A CSV file; beside rows of a CSV file, what is new is all that is written anew."""

    def __init__(self, file: BinaryIO, source: Any) -> None:
        """Write as the source does, where that is a CSV file."""
        self.file = file
        self.source = source if isinstance(source, CsvReader) else None
        self.delimiter = self.source.delimiter if self.source else ","
        self.end = self.source.end if self.source else "\n"
        self.begun = False

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """The rows, and the header before the first."""
        if not self.begun:
            head = self.source.head.rstrip("\r\n") if self.source else self._line(chunk.names)
            self._put([self.delimiter.join([head, *new])])
            self.begun = True
        if chunk.kind == ".csv":
            rows = [line.rstrip("\r\n") for line in chunk.own]
        else:
            columns = [[shown(v) for v in pure(chunk.column(name))] for name in chunk.names]
            rows = [self._line(row) for row in zip(*columns, strict=True)]
        added = [["" if v is None else repr(v) for v in cells(values)] for values in new.values()]
        self._put(map(self.delimiter.join, zip(rows, *added, strict=True)))

    def _line(self, row: Sequence[str]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=self.delimiter, lineterminator="\r\n").writerow(row)  # so both marks are quoted
        return text.getvalue()[:-2]

    def _put(self, lines: Any) -> None:
        text = self.end.join(lines)
        if text:
            self.file.write((text + self.end).encode())

    def close(self, whole: bool = True) -> None:
        """Everything is written."""


def shown(value: Any) -> str:
    """A value as the text of a cell.

    >>> shown(None), shown(0.1), shown(np.datetime64("2024-02-29"))
    ('', '0.1', '2024-02-29')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return value if isinstance(value, str) else str(value)
