"""Where a run through a table stands: the panel, what the next rows must fit to, and what the rows so far add up to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from wane.errors import FileError, InputError, SavedFileError, Setting, located
from wane.panel import GroupedPanel, Panel, arrivals
from wane.panel.arrays import Played
from wane.panel.frames import COLD
from wane.panel.state import packed, unpacked
from wane.panel.undo import Undo
from wane.runs.forecasts import FORECAST, Forecaster
from wane.runs.inputs import LastInput
from wane.runs.records import Record, occurrences
from wane.state import data as plain_data
from wane.state.files import known, load, written
from wane.tables.chunks import MOMENT, Rows
from wane.tables.columns import Columns
from wane.tables.files import replaced, unwritable

KINDS = {"M": "dates", "f": "numbers"}  # of times
MADE = (" if both were measured; if they are forecasts made at different times, say when with ", Setting("cutoff"))


@known
class Session:
    """A panel on its way through a table, with the columns, the delay, the rows so far and the last times.

    It is what ``wane run --state`` saves, so that the next run can go on.

    >>> session = Session(Panel("magl", 0.1), Columns("y", ("yhat",)))
    >>> rows = Rows(["a", "b", "a"], None, np.array([1.0, 2.0, 3.0]), (np.zeros(3),), lambda i: f"row {i}")
    >>> places, lower, upper = session.play(rows, "error")
    >>> places, upper.shape, session.rows, session.panel.ids()
    (array([0, 1, 0]), (3, 1), 3, ['a', 'b'])
    """

    def __init__(self, panel: Panel | GroupedPanel, columns: Columns, delay: int = 0) -> None:
        """Begin at the first row of a table."""
        self.grouped = panel if isinstance(panel, GroupedPanel) else None
        self.panel: Panel = panel.base if isinstance(panel, GroupedPanel) else panel
        self.columns, self.delay = columns, delay
        self.rows = 0
        self.last: np.ndarray | None = None  # by place; NaN or NaT where a series has no time yet
        self.resumed = False  # whether an earlier run has played rows
        self.older = 0  # how many series the earlier run knew
        self.met = False  # whether one of them has come again
        self.input: LastInput | None = None  # the last table, as far as it was read
        self.whole = False  # whether all rows must be played at once
        self.forecaster: Forecaster | None = None  # if the table has no forecasts

    @property
    def score(self) -> str:
        """The name of the score."""
        return type(self.panel.settings.score).__name__.lower()

    def record(self, keep: bool) -> Record:
        """Begin to count what this session makes."""
        return Record(self.panel.settings.alphas, keep)

    def names(self) -> list[str]:
        """The names of the columns that this session makes."""
        ends = [f"{side}{end}" for end in self.panel.settings.suffixes for side in ("lower", "upper")]
        return [*([] if self.forecaster is None else [FORECAST]), *ends, COLD]

    def columns_made(self, lower: np.ndarray, upper: np.ndarray) -> list[np.ndarray]:
        """The new columns of some rows, without forecasts."""
        ends = [end[:, i] for i in range(lower.shape[1]) for end in (lower, upper)]
        return [*ends, np.isnan(lower[:, 0]).astype(np.int64)]

    def expanded(self, made: Any, at: np.ndarray, rows: int) -> Any:
        """What was made for some rows, among those that were left out because they have no forecast."""
        ends = [np.full((rows, part.shape[1]), np.nan) for part in made]
        for whole, part in zip(ends, made, strict=True):
            whole[at] = part
        return ends

    def play(self, rows: Rows, duplicates: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play some rows: the places of their series in the panel, and the ends of their intervals, a column a level.

        An error says in which row of the file it arises, or if it names none, from which row on.
        """

        def where(row: int | None) -> str:
            more = len(rows.y) - 1
            if row is not None and row <= more:
                return rows.where(row)
            return rows.where(0) + (f" and the {more:,} rows after it" if more else "")

        before = self.last
        undo = Undo(self.panel) if self.grouped is None else self.grouped._undo()
        with located(where), self.panel._lock, undo:
            try:
                places = self.panel.index.places(rows.ids, add=True)
                if rows.times is not None and len(places):
                    self._check_times(rows, rows.times, places, duplicates)
                made = self._played(places, rows)
            except BaseException:
                self.last = before
                raise
        self.rows += len(places)
        self.met = self.met or bool((places < self.older).any())
        return places, made.lower, made.upper

    def _played(self, places: np.ndarray, rows: Rows) -> Played:
        """Play rows whose series are at these places."""
        panel = self.panel
        if self.columns.arrived is not None:
            return arrivals.play(panel, places, rows.outputs, rows.y, rows.times, rows.arrived)
        if not panel.settings.pooled and self.grouped is None:
            return panel._run_at(places, rows.outputs, rows.y, self.delay)
        # Series that learn from each other need the moment of each row; further rows of the last one may follow.
        times = rows.times
        if times is None:
            panel._make_room()
            times = np.maximum.accumulate(panel.seen[places] + occurrences(places))
            clock = panel.clock if self.grouped is None else self.grouped.correction.clock
            times = times if clock is None else np.maximum(times, clock)
        if self.grouped is not None:
            return self.grouped._run_at(places, rows.outputs, rows.y, self.delay, times, rows.groups, more=True)
        return panel._run_at(places, rows.outputs, rows.y, self.delay, times, more=True)

    def _check_times(self, rows: Rows, times: np.ndarray, places: np.ndarray, duplicates: str) -> None:
        """Raise an error unless each series goes on in time; then remember its last time."""
        # Times are of one kind, in all chunks and runs.
        if self.last is None:
            self.last = np.zeros(0, dtype=times.dtype)
        if self.last.dtype != times.dtype:
            now, then = KINDS[times.dtype.kind], KINDS[self.last.dtype.kind]
            raise InputError(
                f"the times in {self.columns.time!r} are {now}, before they were {then}",
                argument="time",
                row=0,
                cure="write them alike",
            )
        more = np.full(len(self.panel) - len(self.last), np.nan if self.last.dtype.kind == "f" else "NaT")
        last = np.concatenate([self.last, more.astype(self.last.dtype)])
        # Each row beside the one before it in its series, which may lie in an earlier chunk or run.
        order = np.argsort(places, kind="stable")
        place, time = places[order], times[order]
        begins = np.concatenate([[True], place[1:] != place[:-1]])
        before = np.concatenate([time[:1], time[:-1]])
        before[begins] = last[place[begins]]
        # The error is about the first bad row of the table, and names every option that may help.
        bad = time < before if duplicates == "keep" else time <= before  # false for a series without a time
        if bad.any():
            at = np.flatnonzero(bad)
            t = at[np.argmin(order[at])]  # the first in the table
            again: tuple[str | Setting, ...] = ()
            if self.resumed:
                again += ("; pass over rows that the state has already with ", Setting("skip"))
            series: tuple[str | Setting, ...] = ("if a column names several series, give it as ", Setting("id"))
            late: tuple[str | Setting, ...] = ("sort the rows by time, or give ", Setting("sort", True))
            twice: tuple[str | Setting, ...] = ("drop one row, or give ", Setting("duplicates", "keep"), *MADE)
            if self.columns.id is None:  # the likely cause of a time that comes twice
                late, twice = (*late, "; ", *series), (*series, "; ", *twice)
            what = f"comes after {shown(before[t])}" if time[t] < before[t] else "comes twice"
            raise InputError(
                f"the time {shown(time[t])} in {self.columns.time!r} {what} in the same series",
                argument="time",
                row=int(order[t]),
                cure=(*(late if time[t] < before[t] else twice), *again),
            )
        ends = np.concatenate([begins[1:], [True]])
        last[place[ends]] = time[ends]
        self.last = last

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data; ``wane.save`` writes it to a file."""
        c = self.columns
        last = None if self.last is None else self.last.view(np.int64) if self.last.dtype.kind == "M" else self.last
        return {
            **plain_data.header(type(self)),
            "parameters": {
                "y": c.y,
                "y_hat": list(c.y_hat),
                "id": c.id,
                "time": c.time,
                "delay": self.delay,
                "arrived": c.arrived,
                "classes": list(c.classes),
                **({"by": list(c.by)} if c.by else {}),
            },
            "memory": {
                "rows": self.rows,
                "last": None if last is None else packed(last),
                "input": None if self.input is None else asdict(self.input),
                "forecasts": None if self.forecaster is None else self.forecaster.state_dict(),
                **self._memory(),
            },
        }

    def _memory(self) -> dict[str, Any]:
        """What has learned, as plain data."""
        return {"panel": (self.grouped or self.panel).state_dict()}

    @classmethod
    def _from_memory(cls, memory: dict[str, Any], columns: Columns, delay: int) -> Session:
        """The session whose memory this is."""
        if not columns.by:
            return cls(Panel.from_state_dict(memory["panel"]), columns, delay)
        panel = GroupedPanel.from_state_dict(memory["panel"])
        return cls(panel, replace(columns, cut=tuple(panel.correction.grouping.cuts)), delay)

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Session:
        """The session whose state this is."""
        plain_data.refuse_other(cls, state)
        try:
            given, memory = state["parameters"], state["memory"]
            more = {"arrived": given.get("arrived"), "classes": tuple(given.get("classes", ()))}
            more["by"] = tuple(given.get("by", ()))
            columns = Columns(given["y"], tuple(given["y_hat"]), given["id"], given["time"], **more)
            session = cls._from_memory(memory, columns, int(given["delay"]))
            if memory.get("forecasts") is not None:
                session.forecaster = Forecaster.from_state_dict(memory["forecasts"])
            session.rows = int(memory["rows"])
            session.input = LastInput.from_plain(memory.get("input"))
            session.resumed, session.older = session.rows > 0, len(session.panel)
            if memory["last"] is not None:
                last = unpacked(memory["last"])
                session.last = last.view(MOMENT) if last.dtype.kind == "i" else last
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise InputError(f"the state of a run is damaged or incomplete: {error!r}") from error
        return session


def shown(time: Any) -> str:
    """A time in an error.

    >>> shown(np.datetime64("2024-02-29", "us")), shown(np.float64(7.0))
    ('2024-02-29', '7')
    """
    return str(np.datetime_as_string(time, unit="auto")) if isinstance(time, np.datetime64) else f"{time:.17g}"


def loaded(path: str | None) -> Session | None:
    """The session in a file; None if there is no file yet, or none is wanted."""
    if path is None or not os.path.exists(path):
        return None
    another = ("give another ", Setting("state"))
    try:
        found = load(path)
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror})", argument="state", cure=another) from None
    if not isinstance(found, Session):
        kind = type(found).__name__
        raise SavedFileError(f"{path} holds a {kind}, not the state of `wane run`", argument="state", cure=another)
    return found


@contextlib.contextmanager
def keeping(path: str | None) -> Iterator[Callable[[Session], None] | None]:
    """Give a function that writes a session to a file, which takes the place of the old one at the end.

    It raises an error if the file has changed since the beginning: another run has replaced it, whose rows would be
    lost. Without a path there is no function.
    """
    if path is None:
        yield None
        return
    before = stamp(path)
    with replaced(path, "state") as file:

        def keep(session: Session) -> None:
            try:
                file.write(written(session.state_dict()))
                file.flush()  # so that a full disk is known before anything is replaced
            except OSError as error:
                raise unwritable(path, error, "state") from None
            if stamp(path) != before:
                raise InputError(
                    f"another run has replaced {path} meanwhile, and nothing was changed",
                    argument="state",
                    cure="run this one again",
                )

        yield keep


def stamp(path: str) -> tuple[int, int, int] | None:
    """What changes when a file is replaced; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
