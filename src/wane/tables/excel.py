"""Excel workbooks (.xlsx), through openpyxl: the first sheet, its first row that is not empty being the header."""

from __future__ import annotations

import decimal
import os
import zipfile
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from wane.errors import InputError, MissingExtraError, installing
from wane.tables.chunks import Chunk, plain_numbers
from wane.tables.columns import refuse_repeated
from wane.tables.text import Notation

HEADER = "write the names of the columns into the first row, such as ds, y and yhat"


def needed() -> Any:
    """Import openpyxl."""
    try:
        import openpyxl
    except ImportError:
        cure = f"{installing('excel')}, or save the sheet as CSV"
        raise MissingExtraError("Excel workbooks need openpyxl", cure=cure) from None
    return openpyxl


class ExcelReader:
    """The first sheet of a workbook; numbers and dates are what Excel holds, whatever it shows."""

    def __init__(self, file: BinaryIO, name: str, notation: Notation | None = None) -> None:
        """Read the header."""
        self.name, self.line = name, 0
        self.notation = Notation() if notation is None else notation
        self.remarks: list[str] = []
        try:
            book = needed().load_workbook(file, read_only=True, data_only=True)
        except (OSError, KeyError, ValueError, SyntaxError, zipfile.BadZipFile) as error:
            raise InputError(f"{name} cannot be read as an Excel workbook ({error})", argument="path") from None
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            self.remarks.append(f"{name} has {len(book.worksheets)} sheets; the first, {sheet.title!r}, is read.")
        self.total = sheet.max_row or 0
        self.cells = sheet.iter_rows(values_only=True)
        head: tuple[Any, ...] = ()
        while not any(cell is not None for cell in head):
            self.line += 1
            found = next(self.cells, None)
            if found is None:
                raise InputError(f"{name} is empty", argument="path", cure=HEADER)
            head = found
        while head[-1] is None:
            head = head[:-1]
        self.names = ["" if cell is None else str(cell) for cell in head]
        refuse_repeated(self.names, name)
        if not any(isinstance(cell, str) for cell in head):
            raise InputError(f"row {self.line} of {name} holds no names of columns", argument="path", cure=HEADER)

    def read(self, rows: int) -> Chunk | None:
        """Read about so many rows; empty ones are left out."""
        width = len(self.names)
        pairs: list[tuple[int, tuple[Any, ...]]] = []
        while not pairs:
            found = list(islice(self.cells, rows))
            if not found:
                return None
            numbered = enumerate(found, self.line + 1)
            pairs = [(i, (*row[:width], *[None] * (width - len(row)))) for i, row in numbered if any_cell(row)]
            self.line += len(found)

        def column(name: str) -> list[Any]:
            k = self.names.index(name)
            return [row[k] for _, row in pairs]

        def where(i: int) -> str:
            return f"{self.name}, row {pairs[i][0]}"

        own = [row for _, row in pairs]
        return Chunk(self.names, len(pairs), column, column, where, ".xlsx", own, self.notation)

    def nothing(self) -> Chunk:
        """Give a chunk without rows."""
        return Chunk.empty(self.names, ".xlsx", [])

    def share(self) -> float | None:
        """Say how much has been read, by the rows."""
        return min(self.line / self.total, 1.0) if self.total else None


class ExcelWriter:
    """A workbook with one sheet."""

    def __init__(self, file: BinaryIO, source: Any) -> None:
        """Nothing is written before the end."""
        self.file = file
        self.book = needed().Workbook(write_only=True)
        self.sheet = self.book.create_sheet("wane")
        self.begun = False

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """Write the rows, and the header before the first."""
        if not self.begun:
            self.sheet.append([*chunk.names, *new])
            self.begun = True
        columns = [plain_numbers(known[n]) if n in known else chunk.values(n) for n in chunk.names]
        added = [values.tolist() if values.dtype.kind == "O" else plain_numbers(values) for values in new.values()]
        for row in zip(*columns, *added, strict=True):
            self.sheet.append([cell_of(value) for value in row])

    def close(self, whole: bool = True) -> None:
        """Write the file."""
        if whole:
            self.book.save(self.file)
        else:
            with open(os.devnull, "wb") as nowhere:  # openpyxl keeps a temporary file until a book is saved
                self.book.save(nowhere)


def any_cell(row: tuple[Any, ...]) -> bool:
    """Whether a row holds anything."""
    return any(cell is not None for cell in row)


def cell_of(value: Any) -> Any:
    """A value that a cell can hold: text for what is nested or infinite, and dates without their zone."""
    if isinstance(value, float) and value in (float("inf"), -float("inf")):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return float(value)
    if getattr(value, "tzinfo", None) is not None:
        return value.isoformat()
    return str(value) if isinstance(value, (dict, list, bytes)) else value
