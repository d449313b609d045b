"""One look through a table before it is played: how many series, and whether it is in order of time."""

from __future__ import annotations

import os
import shlex
from typing import Any, NamedTuple

import numpy as np

from wane.errors import AmbiguousDatesError
from wane.tables.chunks import chunks, keys, moments
from wane.tables.columns import Columns
from wane.tables.files import reading
from wane.tables.text import Notation

FIRST = 1_024  # rows that show whether a column holds dates


class Glance(NamedTuple):
    """What one look through a table shows: how many series it has, and whether its rows are in the order of time.

    Without times, the k-th rows of all series are one moment. None stands for a pipe, which can be read only once.
    """

    series: int | None
    ordered: bool

    @classmethod
    def at(cls, path: str, kind: str, columns: Columns, notation: Notation, times: bool = True) -> Glance:
        """Read the ids of a table, and its times if they are wanted."""
        if columns.id is None:
            return cls(1, True)
        if not os.path.isfile(path) and not os.path.isdir(path):
            return cls(None, True)
        counts: dict[Any, int] = {}
        last, ordered = None, True
        with reading(path, kind, notation) as reader:
            for chunk in chunks(reader):
                ids = keys(chunk, columns.id)
                ids = ids.tolist() if isinstance(ids, np.ndarray) else ids
                when = moments(chunk, columns.time) if times and columns.time is not None else np.zeros(0)
                for key in ids:
                    before = counts[key] = counts.get(key, 0) + 1
                    ordered = ordered and (columns.time is not None or last is None or before >= last)
                    last = before if columns.time is None else last
                if len(when):
                    ordered = ordered and not (when[1:] < when[:-1]).any() and (last is None or when[0] >= last)
                    last = when[-1]
        return cls(len(counts), ordered)


def dates_not_used(path: str, kind: str, columns: Columns, notation: Notation) -> str | None:
    """Say which column holds dates, if no column of times is used; None if there is nothing to say, or for a pipe."""
    if columns.time is not None or not os.path.isfile(path):
        return None
    with reading(path, kind, notation) as reader:
        chunk = reader.read(FIRST)
    if chunk is None:
        return None
    for name in chunk.names:
        if name in (columns.y, *columns.y_hat, columns.id):
            continue
        try:
            dates = moments(chunk, name).dtype.kind == "M"
        except AmbiguousDatesError:
            dates = True
        except ValueError:
            continue
        if dates:
            return (
                f"no column of times is used, but {name!r} holds dates: give --time {shlex.quote(name)}, or --no-time"
            )
    return None
