"""The table that a run reads: rows that its state has learned already are not learned again.

A state remembers its last input: how many rows of it were read, and fingerprints of them. A run that is given the same
rows once more, because somebody runs a command again, goes on after them; if none come after them, it is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.errors import InputError, Setting
from wane.tables.chunks import MOST, Chunk, Reader, Rows, parsed
from wane.tables.columns import Columns

BEGINNING = 1_024  # rows that say whether a table is the last one again; so many are held in memory
SEPARATOR = "\x1f"  # between ids
AGAIN = ("give ", Setting("again", True), " to learn them again")


@dataclass(frozen=True)
class LastInput:
    """What a state remembers of its last input.

    Args:
        rows: how many were read, from the first row of the table on.
        beginning: the fingerprint of the first of them, at most ``BEGINNING``.
        whole: the fingerprint of all.
    """

    rows: int
    beginning: str
    whole: str

    @classmethod
    def from_plain(cls, data: Any) -> LastInput | None:
        """What ``dataclasses.asdict`` made of it; None for None."""
        if data is None:
            return None
        rows, beginning, whole = data["rows"], data["beginning"], data["whole"]
        if type(rows) is not int or rows < 1 or not isinstance(beginning, str) or not isinstance(whole, str):
            raise InputError(f"the last input must have rows and two fingerprints, got {data}", argument="state")
        return cls(rows, beginning, whole)


class Fingerprint:
    """The fingerprint of rows that come in chunks of any size.

    >>> def rows(a, b):
    ...     numbers = np.arange(a, b, dtype=float)
    ...     return Rows(["x"] * (b - a), None, numbers, (numbers,), str)
    >>> one, two = Fingerprint(), Fingerprint()
    >>> one.add(rows(0, 5))
    >>> two.add(rows(0, 2))
    >>> two.add(rows(2, 5))
    >>> one.text() == two.text()
    True
    """

    def __init__(self) -> None:
        """Begin without rows."""
        self.rows = 0
        self.beginning: str | None = None  # once enough rows have come
        self._columns: list[Any] = []  # a hash for each

    def add(self, rows: Rows) -> None:
        """Count in some rows."""
        count, left = len(rows.y), BEGINNING - self.rows
        if 0 < left <= count:
            self._hash(rows, 0, left)
            self.beginning = self.text()
            self._hash(rows, left, count)
        else:
            self._hash(rows, 0, count)
        self.rows += count

    def text(self) -> str:
        """The fingerprint of all rows so far."""
        return hashlib.sha256(b"".join(column.digest() for column in self._columns)).hexdigest()

    def _hash(self, rows: Rows, first: int, end: int) -> None:
        ids, times = rows.ids[first:end], rows.times
        text = ids.tobytes() if isinstance(ids, np.ndarray) else SEPARATOR.join(map(str, [*ids, ""])).encode()
        columns = [rows.y, *rows.y_hat, *(() if times is None else (times,))]
        self._columns = self._columns or [hashlib.sha256() for _ in range(1 + len(columns))]
        for column, data in zip(self._columns, [text, *(c[first:end].tobytes() for c in columns)], strict=True):
            column.update(data)


class Input:
    """A table on its way into a run, without the rows that are passed over.

    Args:
        reader: of the table.
        columns: that are used.
        skip: how many rows the user wants to pass over.
        last: what the state remembers; None if it has no last input, or rows may be learned again.
        remember: whether the rows will be remembered; otherwise no fingerprint is made.
        path: of the table, for errors.
        state: the path of the state, for errors.
    """

    def __init__(
        self,
        reader: Reader,
        columns: Columns,
        skip: int,
        last: LastInput | None,
        remember: bool,
        path: str,
        state: str | None,
    ) -> None:
        """Nothing has been read."""
        self.reader, self.columns, self.skip, self.last = reader, columns, skip, last
        self.path, self.state = path, state
        self.seen = 0  # rows that were read
        self.skipped = 0  # rows that were passed over
        self._print = Fingerprint() if remember or last is not None else None
        self._ahead: list[Chunk] = []  # chunks that were read and not given out
        self._parsed: dict[Chunk, Rows] = {}  # those of them that are in the fingerprint already

    def begin(self) -> int:
        """Pass over rows that are not to be learned; returns how many the state has learned already."""
        last = self.last
        if last is None or self.skip >= last.rows:
            self._pass_over(self.skip)
            return 0
        # The first rows say whether this is the last table again. If it is not, they are played.
        beginning = min(last.rows, BEGINNING)
        for end in sorted({min(self.skip, beginning), beginning}):  # no chunk is half skipped
            while self.seen < end and (chunk := self._look(end - self.seen)) is not None:
                self._ahead.append(chunk)
        if self._print is None or self._text(beginning) != last.beginning:
            self._drop_ahead()
            self._pass_over(self.skip)
            return 0
        # It is: the rest of what was learned must be the same too.
        self._ahead, self._parsed = [], {}
        while self.seen < last.rows and (chunk := self._look(last.rows - self.seen)) is not None:
            self._parsed.clear()
        learned = f"{self.state} has learned the first {last.rows:,} rows of its last table"
        if self._text(last.rows) != last.whole:
            problem = (
                f"{learned}; {self.path} begins with the same {beginning:,} rows, but not all of them are the same"
            )
            cure = ("give ", Setting("skip"), " to pass over rows that it has, or ", Setting("again", True))
            raise InputError(problem, argument="path", cure=cure)
        self.skipped = self.seen
        chunk = self.reader.read(BEGINNING)
        while chunk is not None and not chunk.rows:  # empty lines
            chunk = self.reader.read(BEGINNING)
        if chunk is None:
            problem = f"{self.state} has learned all {last.rows:,} rows of {self.path} already, and nothing was changed"
            raise InputError(problem, argument="path", cure=AGAIN)
        self._ahead.append(chunk)
        self.seen += chunk.rows
        return last.rows

    def read(self, rows: int) -> Chunk | None:
        """Read about so many rows, or fewer; None at the end."""
        if self._ahead:
            return self._ahead.pop(0)
        chunk = self.reader.read(rows)
        self.seen += 0 if chunk is None else chunk.rows
        return chunk

    def rows(self, chunk: Chunk) -> Rows:
        """The rows of a chunk, ready to compute with; from now on they count as learned."""
        if chunk in self._parsed:
            return self._parsed.pop(chunk)
        rows = parsed(chunk, self.columns, gaps=True)
        if self._print is not None:
            self._print.add(rows)
        return rows

    def remembered(self) -> LastInput | None:
        """What the state should remember; None if some rows could not be read, or there were none."""
        if self._print is None or not self._print.rows:
            return None
        whole = self._print.text()
        return LastInput(self._print.rows, self._print.beginning or whole, whole)

    def _text(self, rows: int) -> str | None:
        """The fingerprint of exactly so many rows; None if there are not as many, or some could not be read."""
        if self._print is None or self._print.rows != rows:
            return None
        return self._print.text()

    def _look(self, rows: int) -> Chunk | None:
        """Read a chunk that may not be played, and count it in if it can be; no error of its cells matters yet."""
        chunk = self.reader.read(min(rows, MOST))
        if chunk is None:
            return None
        self.seen += chunk.rows
        if self._print is not None:
            try:
                self._parsed[chunk] = parsed(chunk, self.columns, gaps=True)
                self._print.add(self._parsed[chunk])
            except InputError:
                self._print = None
        return chunk

    def _drop_ahead(self) -> None:
        """Pass over those chunks that were looked at and that the user does not want."""
        while self._ahead and self.skipped < self.skip:
            chunk = self._ahead.pop(0)
            self._parsed.pop(chunk, None)
            self.skipped += chunk.rows

    def _pass_over(self, rows: int) -> None:
        """Pass over rows until so many are passed over."""
        wanted = f"{rows:,} rows are to be skipped"
        while self.skipped < rows:
            chunk = self._look(rows - self.skipped)
            self._parsed.clear()
            if chunk is None:
                raise InputError(f"{wanted}, which is beyond the end of the table", argument="skip")
            self.skipped += chunk.rows
            if self.skipped > rows:  # rows over several lines
                problem = f"{wanted}, which ends within rows that are read together"
                raise InputError(problem, argument="skip", cure="look for quotes that do not match")


def pass_over(source: Input, out: str, told: Callable[[str], Any]) -> None:
    """Pass over rows that are not to be learned, and say which the state has learned already."""
    learned = source.begin()
    if not learned:
        return
    if os.path.isfile(out):
        raise InputError(
            f"{source.state} has learned the first {learned:,} rows of {source.path} already, and the later ones would "
            f"replace {out}, which may hold the intervals of those",
            argument="out",
            cure=("give another ", Setting("out"), ", or ", Setting("again", True), " to learn all rows again"),
        )
    told(
        f"{source.state} has learned the first {learned:,} rows of {source.path} already: continuing with row "
        f"{learned + 1:,}"
    )
