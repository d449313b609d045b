"""A table through a panel: read, play and write it chunk by chunk, and keep the state at the end."""

from __future__ import annotations

import dataclasses
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wane.errors import InputError, Setting
from wane.metrics.groups import GroupMetrics
from wane.metrics.verdict import Verdict
from wane.panel import Panel
from wane.runs.glance import Glance
from wane.runs.groups import named_groups
from wane.runs.inputs import Input, pass_over
from wane.runs.options import Options
from wane.runs.records import Record, occurrences
from wane.runs.session import Session, keeping, loaded
from wane.runs.starting import started
from wane.runs.stopping import Stop
from wane.tables.chunks import MOST, Chunk, Reader, Rows, Writer, grouped, joined
from wane.tables.columns import Columns
from wane.tables.files import kind_of, owning, reading, refuse_same, refuse_unwritable, writing
from wane.tables.text import Notation

FIRST, LEAST = 1_024, 256  # rows of the first chunk, and of the smallest
A_SERIES = 8  # rows of a chunk for each series, whose state is kept safe once a chunk
QUICK, SLOW = 0.2, 0.6  # seconds of a chunk: then the next is larger, or smaller


@dataclass(frozen=True)
class Report:
    """What became of a run; the counts are of its own rows, not of those before it.

    Attributes:
        learned: False if no series is longer than the delay, so that no true value was learned.
        coverage: by level, the share of true values inside.
        width: by level, the mean of the finite widths.
        infinite: by level, how many intervals are infinite.
        cold: how many rows have no interval, because no true value was known yet, or too few for the warm-up.
        bad: by level, the verdict on a coverage that chance does not explain, else None.
        interrupted: whether Ctrl-C has cut it short.
        resumed: whether it went on from a state.
        skipped: how many rows at the beginning of the table were passed over.
        unforecast: how many rows at the beginning of series have no forecast, and so no interval.
        forecast: how forecasts were made; None if the table has them.
        groups: by level, how well each group is covered; none without groups.
    """

    columns: Columns
    method: str
    alpha: tuple[float, ...]
    score: str
    delay: int
    rows: int
    series: int
    labels: int
    learned: bool
    coverage: tuple[float, ...]
    width: tuple[float, ...]
    infinite: tuple[int, ...]
    cold: int
    bad: tuple[Verdict | None, ...]
    seconds: float
    interrupted: bool
    record: Record | None
    panel: Panel
    resumed: bool
    skipped: int
    unforecast: int = 0
    forecast: str | None = None
    groups: tuple[list[GroupMetrics], ...] = ()

    def plain(self) -> dict[str, Any]:
        """The report as plain data, without the record and the panel."""
        names = [f.name for f in dataclasses.fields(self) if f.name not in ("record", "panel", "resumed")]
        bad = tuple(None if verdict is None else dataclasses.asdict(verdict) for verdict in self.bad)
        return {name: getattr(self, name) for name in names} | {
            "columns": dataclasses.asdict(self.columns),
            "bad": bad,
            "groups": tuple([group.plain() for group in level] for level in self.groups),
        }


def play(
    path: str,
    out: str,
    options: Options,
    state: str | None = None,
    kinds: tuple[str | None, str | None] = (None, None),
    told: Callable[[str], Any] = lambda text: None,
    progress: Callable[[int, float | None], Any] = lambda rows, share: None,
    record: bool = False,
    report: str | None = None,
    write_report: Callable[[Report], Any] = lambda report: None,
) -> Report:
    """Give every row of a table an interval, and write them into another table.

    After an error ``out`` and ``state`` are as before. They belong to one run at a time; another is told who has them.
    Rows of the state's last table that come again are passed over.

    Args:
        path: the table, or "-" for standard input.
        out: the table to write, or "-" for standard output; a file is replaced as a whole.
        options: the columns and the settings.
        state: a file to go on from, if it exists; it is replaced right after ``out``, once both are on the disk.
        kinds: of the two tables, such as ".csv", where their names do not say it.
        told: is called with sentences for the user.
        progress: is called with the number of rows so far, and the share of the table where it is known.
        record: keep the rows, so that a report can be made of them.
        report: the path of a report that ``write_report`` will write.
        write_report: writes the report, before ``out`` is replaced.
    """
    # What cannot work is refused before anything is read: a file in two roles, a file that cannot be written.
    kind_in = kinds[0] or kind_of(path)
    kind_out = kinds[1] or kind_of(out, kind_in, "out_format")
    refuse_same({"path": path, "out": out, "state": state, "report": report})
    refuse_unwritable({"state": state, "report": report})
    begun, stop = clock.perf_counter(), Stop()
    owned = owning({"state": state, "out": out, "report": report})
    opened = reading(path, kind_in, options.notation())
    with stop.watching(), owned, keeping(state) as keep, opened as reader:
        session = started(loaded(state), reader, path, kind_in, options, state, told)
        before, kept = session.rows, session.record(record or report is not None)
        names = [f"{options.prefix}{name}" for name in session.names()]
        if taken := [name for name in names if name in reader.names]:
            raise InputError(
                f"the table has the columns {', '.join(taken)} already",
                argument="prefix",
                cure=("give ", Setting("prefix"), ", such as wane_"),
            )
        # Both files are complete before the output takes the place of the old one, and then the state.
        last = None if options.again else session.input
        source = Input(reader, session.columns, options.skip, last, state is not None, path, state)
        with writing(out, kind_out, reader) as writer:
            pass_over(source, out, told)
            run = Run(reader, source, writer, session, options, names, stop, progress, kept)
            whole = options.sort or session.whole or mixed(session, path, kind_in, options.notation(), told)
            cut = run.sorted() if whole else run.straight()
            session.input = source.remembered() or (None if source.seen else session.input)
            made = summed_up(session, before, clock.perf_counter() - begun, cut, kept, source.skipped, sum(run.lost))
            if report is not None:
                write_report(made)
            if keep is not None:
                keep(session)
    for remark in reader.remarks:
        told(remark)
    if made.unforecast:
        told(unforecast(made.unforecast) + ("gets" if made.unforecast == 1 else "get") + " no interval.")
    if len(session.panel) > session.older > 0 and not session.met:
        told(f"warning: {state} knows none of the series of this table, so they begin anew; is it that of another?")
    return made


def mixed(session: Session, path: str, kind: str, notation: Notation, told: Callable[[str], Any]) -> bool:
    """Whether series learn from each other and the rows are not in the order of time, so that all are read first."""
    if (
        not (session.panel.settings.pooled or session.grouped is not None)
        or Glance.at(path, kind, session.columns, notation).ordered
    ):
        return False
    told("the rows of all series are brought into the order of time, which takes the whole table into memory")
    return True


@dataclass(frozen=True, eq=False)
class Run:
    """One table on its way from a reader through a session to a writer; ``names`` are those of the new columns."""

    reader: Reader
    source: Input
    writer: Writer
    session: Session
    options: Options
    names: list[str]
    stop: Stop
    progress: Callable[[int, float | None], Any]
    kept: Record
    lost: list[int] = field(default_factory=list)  # how many rows of each piece have no forecast

    def straight(self) -> bool:
        """Play the table chunk by chunk; True if Ctrl-C has cut it short after a chunk."""
        size, done = FIRST, 0
        while True:
            # Ctrl-C while rows are read: what is finished is kept, if there is anything.
            begun = clock.perf_counter()
            try:
                self.stop.reading = True
                chunk = self.source.read(size)
                self.stop.reading = False
            except KeyboardInterrupt:
                if not done:
                    raise
                return True
            if chunk is None:
                if not done:
                    self._write_none()
                return False
            rows, at, made = self._play(self.source.rows(chunk))
            self._put(chunk, rows, at, made)
            done += chunk.rows
            self.progress(done, self.reader.share())
            if self.stop.asked:
                return True
            # Chunks that take about half a second: Ctrl-C does not wait long, and calls cost little.
            seconds = clock.perf_counter() - begun
            size = 2 * size if seconds < QUICK else size // 2 if seconds > SLOW else size
            size = min(max(size, LEAST, A_SERIES * len(self.session.panel)), MOST)

    def sorted(self) -> bool:
        """Read the whole table, play it in the order of its times, write it in its own order; it is never cut short."""
        self.stop.reading = True  # Ctrl-C: nothing is kept of half of it
        read = list(iter(lambda: self.source.read(MOST), None))
        if not read:
            self._write_none()
            return False
        rows = joined([self.source.rows(chunk) for chunk in read])
        order = np.argsort(occurrences(grouped(rows.ids)[1]) if rows.times is None else rows.times, kind="stable")
        rows, at, made = self._play(rows.ordered(order))
        # Undo the order, and write each chunk as it was read.
        back, begin = np.argsort(order), 0
        played = np.full(len(order), -1)  # where each row of the table is among those that were played
        played[at] = np.arange(len(at))
        for chunk in read:
            here = back[begin : begin + chunk.rows]
            mine = played[here]
            some = mine >= 0
            self._put(chunk, rows.ordered(here), np.flatnonzero(some), tuple(values[mine[some]] for values in made))
            begin += chunk.rows
            self.progress(begin, begin / len(order))
        self.stop.reading = False  # what is written is about to be kept
        return False

    def _play(self, rows: Rows) -> tuple[Rows, np.ndarray, Any]:
        """Play those rows that have a forecast: all rows with their forecasts, which were played, and what was made."""
        session = self.session
        if session.forecaster is not None:
            rows = dataclasses.replace(rows, y_hat=(session.forecaster(rows),))
        gone: np.ndarray = np.isnan(np.array(rows.y_hat)).any(axis=0)
        at, some = np.arange(len(gone)), rows
        if gone.any():
            refuse_gaps(rows, gone, {*session.panel.ids()}, session.columns)
            at = np.flatnonzero(~gone)
            some = rows.ordered(at)
        self.lost.append(len(gone) - len(at))
        made = session.play(some, self.options.duplicates)
        self.kept.judge(some, *made)
        if session.grouped is not None:
            members, groups = session.grouped.correction.placed, session.grouped.correction.grouping.groups
            self.kept.groups.add(members, some.y, *made[1:])
            rows = dataclasses.replace(rows, groups=named_groups(session.columns.by, members, at, groups, len(gone)))
        return rows, at, made

    def _put(self, chunk: Chunk, rows: Rows, at: np.ndarray, made: Any) -> None:
        """Write the rows of a chunk with what was made for those ``at`` these places, and count them."""
        session, (places, *found) = self.session, made
        columns = session.columns
        known = {} if columns.classes else {columns.y: rows.y}
        known |= dict(zip(columns.y_hat, rows.y_hat, strict=False))
        whole = found if len(at) == chunk.rows else session.expanded(found, at, chunk.rows)
        forecast = [] if session.forecaster is None else [rows.y_hat[0]]
        new = [*forecast, *session.columns_made(*whole)]
        self.writer.write(chunk, dict(zip(self.names, new, strict=True)), known)
        some = rows if len(at) == chunk.rows else rows.ordered(at)
        self.kept.add(some, session.panel.settings.score, places, *found)

    def _write_none(self) -> None:
        """Write a table without rows: its header, and the new columns."""
        columns = self.session.columns
        known = {name: np.zeros(0) for name in (columns.y, *columns.y_hat)}
        *ends, cold = self.names
        new = {name: np.zeros(0) for name in ends} | {cold: np.zeros(0, dtype=np.int64)}
        self.writer.write(self.reader.nothing(), new, {} if columns.classes else known)


def unforecast(count: int) -> str:
    """Say how many rows have no forecast, up to what becomes of them.

    >>> unforecast(1), unforecast(1200)[:43]
    ('1 row at the beginning of a series has no forecast, and ', '1,200 rows at the beginning of their series')
    """
    if count == 1:
        return "1 row at the beginning of a series has no forecast, and "
    return f"{count:,} rows at the beginning of their series have no forecast, and "


def refuse_gaps(rows: Rows, gone: np.ndarray, begun: set[Any], columns: Columns) -> None:
    """Raise an error if a row without a forecast follows one with a forecast in its series."""
    ids, code = grouped(rows.ids)
    first = np.full(len(ids), len(code))
    there = np.flatnonzero(~gone)
    np.minimum.at(first, code[there], there)
    late = np.array([key in begun for key in ids], dtype=bool)[code] | (np.arange(len(code)) > first[code])
    if (gone & late).any():
        i = int(np.argmax(gone & late))
        name = next((n for n, c in zip(columns.y_hat, rows.y_hat, strict=False) if np.isnan(c[i])), None)
        raise InputError(
            f"there is no forecast in the column {name!r}, and earlier rows of the series have one",
            argument=name,
            row=i,
            cure="fill it, or drop the row",
            where=rows.where(i),
        )


def summed_up(
    session: Session, before: int, seconds: float, cut: bool, kept: Record, skipped: int, lost: int
) -> Report:
    """The report on a session that had so many rows before."""
    design, n = session.panel.settings, len(session.panel)
    with np.errstate(invalid="ignore", divide="ignore"):
        coverage, width = kept.hits / np.float64(kept.labels), kept.widths[0] / kept.finite
    return Report(
        columns=session.columns,
        method=design.method,
        alpha=design.alphas,
        score=session.score,
        delay=session.delay,
        rows=session.rows - before + lost,
        series=n,
        labels=kept.labels,
        learned=bool((session.panel.seen[:n] > session.delay).any()),
        coverage=tuple(coverage.tolist()),
        width=tuple(width.tolist()),
        infinite=tuple(kept.infinite.tolist()),
        cold=kept.cold + lost,
        bad=tuple(judged.verdict(int(np.count_nonzero(kept.ages))) for judged in kept.judged),
        seconds=seconds,
        interrupted=cut,
        record=kept if kept.keep else None,
        panel=session.panel,
        resumed=session.resumed,
        skipped=skipped,
        unforecast=lost,
        forecast=None if session.forecaster is None else session.forecaster.rule,
        groups=() if session.grouped is None else kept.groups.metrics(session.grouped.correction.grouping.groups),
    )
