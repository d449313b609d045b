"""What a reader gives and a writer takes: some rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

MOST = 65_536  # rows of a chunk, and of a row group that is written


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows.

    Args:
        names: of the columns.
        rows: how many there are.
        column: the cells of a column to be computed with: an array, or a list with None or empty text where a cell is
            missing.
        values: the cells of a column to be written elsewhere: Python's values, from which nothing is lost.
        where: what an error calls row i, such as "sales.csv, line 7".
        kind: of the file: ".csv", ".jsonl", ".parquet".
        own: the rows as the reader has them, from which the writer of the same kind takes them untouched.
    """

    names: Sequence[str]
    rows: int
    column: Callable[[str], Any]
    values: Callable[[str], list[Any]]
    where: Callable[[int], str]
    kind: str
    own: Any

    @classmethod
    def empty(cls, names: Sequence[str], kind: str, own: Any) -> Chunk:
        """No rows."""
        return cls(names, 0, lambda name: [], lambda name: [], str, kind, own)


class Reader(Protocol):
    """A table that is read from its beginning, once."""

    names: list[str]

    def read(self, rows: int) -> Chunk | None:
        """At most about so many rows; None at the end."""

    def nothing(self) -> Chunk:
        """No rows, of a table that has none."""

    def share(self) -> float | None:
        """How much of it has been read, where that is known."""


class Writer(Protocol):
    """A table that is written from its beginning."""

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """These rows with new columns; ``known`` are columns as numbers, for kinds of file that have numbers."""

    def close(self, whole: bool = True) -> None:
        """What is left, unless there was an error and nothing is wanted; the file itself stays open."""


def cells(values: np.ndarray) -> list[Any]:
    """Numbers as Python's, None where there is none.

    >>> cells(np.array([1.5, np.nan]))
    [1.5, None]
    """
    found: list[Any] = values.tolist()
    return [None if v != v else v for v in found] if np.isnan(values).any() else found


def pure(values: Any) -> list[Any]:
    """The cells of a column as a list of Python's values."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
