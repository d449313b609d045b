"""One look through a table before it is played: how many series, and whether it is in order of time."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from wane.tables.chunks import chunks, keys, moments
from wane.tables.columns import Columns
from wane.tables.files import reading
from wane.tables.text import Notation


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
