"""Which process a series belongs to, where several share all series."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from wane.errors import InputError
from wane.serve.requests import Refused


def place_of(series: Any, count: int) -> int:
    """The shard of a series, from 0 on: the CRC-32 of its name in UTF-8, modulo the number of shards.

    >>> [place_of(name, 4) for name in ("shop 1", "shop 2", "north")]
    [1, 3, 2]
    """
    return zlib.crc32(("" if series is None else str(series)).encode("utf-8", "surrogatepass")) % count


@dataclass(frozen=True)
class Shard:
    """One of several processes, each of which has some of the series.

    >>> Shard.of("2/4").check("shop 1"), str(Shard.of("2/4"))
    (None, '2/4')
    """

    index: int = 1  # from 1 on
    count: int = 1

    @classmethod
    def of(cls, text: str) -> Shard:
        """The shard that is written as i/n."""
        index, _, count = text.partition("/")
        digits = index.isascii() and index.isdigit() and count.isascii() and count.isdigit() and len(text) < 20
        if not digits or not 1 <= int(index) <= int(count):
            problem = f"must be i/n with i from 1 to n, such as 1/4, got {text!r}"
            raise InputError(problem, about="shard", cure="give each process its own i, and all the same n")
        return cls(int(index), int(count))

    def has(self, series: Any) -> bool:
        """Whether a series belongs here."""
        return self.count == 1 or place_of(series, self.count) == self.index - 1

    def check(self, series: Any) -> None:
        """Refuse a series that belongs elsewhere."""
        if not self.has(series):
            there = place_of(series, self.count) + 1
            raise Refused("shard", f"the series {series!r} belongs to shard {there}/{self.count}, this is {self}")

    def __str__(self) -> str:
        """As it is given."""
        return f"{self.index}/{self.count}"
