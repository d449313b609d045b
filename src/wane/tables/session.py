"""Where a run stopped: the panel, and what the next rows must fit to."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wane.errors import SavedFileError
from wane.panel import Panel
from wane.panel.state import packed, unpacked
from wane.state import data as plain_data
from wane.state.files import known, load, written
from wane.tables.cells import MOMENT, Rows
from wane.tables.columns import Columns
from wane.tables.files import replacing_in_words
from wane.tables.paths import unwritable

NAMED = re.compile(r"row (\d+): |((?:the scale of )?\w+)\[(\d+)\]")  # how the panel names a row


@known
class Session:
    """A panel on the way through a table: the columns, the delay, the rows so far, the last time of each series.

    >>> session = Session(Panel("magl", 0.1), Columns("y", ("yhat",)))
    >>> rows = Rows(["a", "b", "a"], None, np.array([1.0, 2.0, 3.0]), (np.zeros(3),), lambda i: f"row {i}")
    >>> session.play(rows, "error")["upper"].shape, session.rows, session.panel.ids()
    ((3,), 3, ['a', 'b'])
    """

    def __init__(self, panel: Panel, columns: Columns, delay: int = 0) -> None:
        """At the beginning of a table."""
        self.panel, self.columns, self.delay = panel, columns, delay
        self.rows = 0
        self.last: np.ndarray | None = None  # by place; NaN and NaT: no time yet
        self.resumed = False  # whether rows were played in a run before
        self.older = 0  # series that were there then
        self.met = False  # whether one of them has come again

    @property
    def strange(self) -> bool:
        """Whether there were series, and only others have come since."""
        return len(self.panel) > self.older > 0 and not self.met

    def play(self, rows: Rows, duplicates: str, prefix: str = "") -> dict[str, np.ndarray]:
        """The ends of the intervals of some rows, by the names of their columns."""
        self._check_times(rows, duplicates)
        with located(rows):
            made = self.panel.run(rows.ids, rows.outputs(), rows.y, self.delay)
        self.rows += len(rows.y)
        if self.older and not self.met:
            self.met = bool((self.panel.index.places(rows.ids) < self.older).any())
        new = {}
        for i, end in enumerate(self.panel.settings.suffixes):
            new[f"{prefix}lower{end}"] = made.lower if made.lower.ndim == 1 else made.lower[:, i]
            new[f"{prefix}upper{end}"] = made.upper if made.upper.ndim == 1 else made.upper[:, i]
        return new

    def _check_times(self, rows: Rows, duplicates: str) -> None:
        """An error unless each series goes on in time."""
        if rows.times is None or not len(rows.times):
            return
        with located(rows):
            places = self.panel.index.places(rows.ids, add=True)
        if self.last is None:
            self.last = np.zeros(0, dtype=rows.times.dtype)
        if self.last.dtype != rows.times.dtype:
            kinds = {"M": "dates", "f": "numbers"}
            raise ValueError(
                f"{rows.where(0)}: the times in {self.columns.time!r} are {kinds[rows.times.dtype.kind]}, "
                f"before they were {kinds[self.last.dtype.kind]}: write them alike"
            )
        more = np.full(len(self.panel.index) - len(self.last), np.nan if self.last.dtype.kind == "f" else "NaT")
        last = np.concatenate([self.last, more.astype(self.last.dtype)])
        order = np.argsort(places, kind="stable")
        place, time = places[order], rows.times[order]
        begins = np.concatenate([[True], place[1:] != place[:-1]])
        before = np.concatenate([time[:1], time[:-1]])
        before[begins] = last[place[begins]]
        again = "; rows that the state has already are passed over by --skip" if self.resumed else ""
        if self.columns.id is None:
            again += "; if a column names several series, give it as --id"
        late = f"comes after {{}} in the same series: sort the rows by time, or give --sort{again}"
        twice = f"comes twice in the same series: drop one row, or give --duplicates keep{again}"
        self._refuse(time < before, time, before, order, rows, late)
        if duplicates == "error":
            self._refuse(time == before, time, before, order, rows, twice)
        ends = np.concatenate([begins[1:], [True]])
        last[place[ends]] = time[ends]
        self.last = last

    def _refuse(
        self, bad: np.ndarray, time: np.ndarray, before: np.ndarray, order: np.ndarray, rows: Rows, what: str
    ) -> None:
        """An error about the first of these rows."""
        if bad.any():
            at = np.flatnonzero(bad)
            t = at[np.argmin(order[at])]
            said = what.format(shown(before[t]))
            raise ValueError(f"{rows.where(int(order[t]))}: the time {shown(time[t])} in {self.columns.time!r} {said}")

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data; ``wane.save`` writes it to a file."""
        c = self.columns
        last = None if self.last is None else self.last.view(np.int64) if self.last.dtype.kind == "M" else self.last
        return {
            **plain_data.header(type(self)),
            "parameters": {"y": c.y, "y_hat": list(c.y_hat), "id": c.id, "time": c.time, "delay": self.delay},
            "memory": {
                "rows": self.rows,
                "last": None if last is None else packed(last),
                "panel": self.panel.state_dict(),
            },
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Session:
        """The session whose state this is."""
        plain_data.refuse_other(cls, state)
        try:
            given, memory = state["parameters"], state["memory"]
            columns = Columns(given["y"], tuple(given["y_hat"]), given["id"], given["time"])
            session = cls(Panel.from_state_dict(memory["panel"]), columns, int(given["delay"]))
            session.rows = int(memory["rows"])
            session.resumed, session.older = session.rows > 0, len(session.panel)
            if memory["last"] is not None:
                last = unpacked(memory["last"])
                session.last = last.view(MOMENT) if last.dtype.kind == "i" else last
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise ValueError(f"the state of a run is damaged or incomplete: {error!r}") from error
        return session


@contextlib.contextmanager
def located(rows: Rows) -> Iterator[None]:
    """Errors of the panel with where the row is that they name, or else where these rows are."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text, more = str(error), len(rows.y) - 1
        found = NAMED.match(text)
        if found is not None and int(found[1] or found[3]) <= more:
            where, text = rows.where(int(found[1] or found[3])), (found[2] or "") + text[found.end() :]
        else:
            where = rows.where(0) + (f" and the {more:,} rows after it" if more else "")
        raise ValueError(f"{where}: {text}") from error


def shown(time: Any) -> str:
    """A time in an error.

    >>> shown(np.datetime64("2024-02-29", "us")), shown(np.float64(7.0))
    ('2024-02-29', '7')
    """
    return str(np.datetime_as_string(time, unit="auto")) if isinstance(time, np.datetime64) else f"{time:.17g}"


def loaded(path: str) -> Session | None:
    """The session in a file; None if there is no file yet."""
    if not os.path.exists(path):
        return None
    try:
        found = load(path)
    except OSError as error:
        raise OSError(f"{path} cannot be read ({error.strerror}): give another --state") from None
    if not isinstance(found, Session):
        raise SavedFileError(
            f"{path} holds a {type(found).__name__}, not the state of `wane run`: give another --state"
        )
    return found


@contextlib.contextmanager
def keeping(path: str | None) -> Iterator[Callable[[Session], None]]:
    """Gives a function that writes a session, which takes the place of the file at the end.

    It is an error if the file is not what it was at the beginning: another run has replaced it, and would be undone.
    """
    if path is None:
        yield lambda session: None
        return
    before = stamp(path)
    with replacing_in_words(path, "--state") as file:

        def keep(session: Session) -> None:
            try:
                file.write(written(session.state_dict()))
                file.flush()  # a full disk is known before anything is replaced
            except OSError as error:
                raise OSError(unwritable(path, error, "--state")) from None
            if stamp(path) != before:
                raise ValueError(
                    f"another run has replaced {path} meanwhile, and nothing was changed: run this one again"
                )

        yield keep


def stamp(path: str) -> tuple[int, int, int] | None:
    """What changes when a file is replaced; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
