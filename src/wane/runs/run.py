"""A table through a panel: read, play and write it chunk by chunk, and keep the state at the end."""

from __future__ import annotations

import dataclasses
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from wane.conformal.grouping import Grouping
from wane.errors import InputError, Setting
from wane.metrics.groups import GroupMetrics
from wane.metrics.verdict import Verdict
from wane.panel import GroupedPanel, Panel
from wane.panel.frames import COLD
from wane.panel.settings import default_method
from wane.runs.agreement import refuse_other, refuse_other_groups, score_name
from wane.runs.backtest import BacktestSession
from wane.runs.glance import Glance
from wane.runs.groups import kinds_of_groups
from wane.runs.inputs import Input, pass_over
from wane.runs.session import Record, Session, keeping, loaded, occurrences
from wane.runs.stopping import Stop
from wane.tables.chunks import MOST, Chunk, Reader, Rows, Writer, grouped, joined
from wane.tables.columns import Columns, chosen
from wane.tables.files import kind_of, owning, reading, refuse_same, refuse_unwritable, writing

FIRST, LEAST = 1_024, 256  # rows of the first chunk, and of the smallest
A_SERIES = 8  # rows of a chunk for each series, whose state is kept safe once a chunk
QUICK, SLOW = 0.2, 0.6  # seconds of a chunk: then the next is larger, or smaller


@dataclass(frozen=True)
class Options:
    """What the user asked for; what is None, or empty, is left to the state or to the defaults.

    Args:
        y, y_hat, id, time, no_id, no_time, cutoff: the columns, as for ``chosen``.
        method: the name of a method; None is auto for one series, and pool for more.
        alpha: the shares of misses to allow; none is 0.1.
        score: the name of a score; None is absolute.
        delay: after how many more rows of its series a true value is learned.
        warm_up: with how many true values each series begins, before it gets intervals.
        settings: further settings of the method and of the panel.
        duplicates: what to do about rows of a series with the same time: "error" or "keep".
        prefix: what the names of the new columns begin with.
        by: columns of groups, which may overlap; "price:4" cuts a column of numbers into four groups.
        sort: whether to read the whole table first and play it in the order of its times.
        skip: how many rows to pass over at the beginning.
        again: whether to learn rows that the state has learned already.
    """

    y: str | None = None
    y_hat: tuple[str, ...] = ()
    id: str | None = None
    time: str | None = None
    no_id: bool = False
    no_time: bool = False
    cutoff: str | None = None
    method: str | None = None
    alpha: tuple[float, ...] = ()
    score: str | None = None
    delay: int | None = None
    warm_up: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    duplicates: str = "error"
    prefix: str = ""
    by: tuple[str, ...] = ()
    sort: bool = False
    skip: int = 0
    again: bool = False


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
    groups: tuple[list[GroupMetrics], ...] = ()
    named: tuple[tuple[str, Any], ...] = ()  # every group, in the order of their numbers

    def plain(self) -> dict[str, Any]:
        """The report as plain data, without the record and the panel."""
        names = [f.name for f in dataclasses.fields(self) if f.name not in ("record", "panel", "resumed", "named")]
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
    with stop.watching(), owned, keeping(state) as keep, reading(path, kind_in) as reader:
        session = started(loaded(state), reader, path, kind_in, options, state, told)
        before, design = session.rows, session.panel.settings
        kept = Record(design.alphas, record or report is not None)
        ends = [f"{side}{end}" for end in design.suffixes for side in ("lower", "upper")]
        names = [f"{options.prefix}{name}" for name in (*ends, COLD)]
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
            whole = options.sort or session.whole or mixed(session, path, kind_in, told)
            cut = run.sorted() if whole else run.straight()
            session.input = source.remembered() or (None if source.seen else session.input)
            made = summed_up(session, before, clock.perf_counter() - begun, cut, kept, source.skipped)
            if report is not None:
                write_report(made)
            if keep is not None:
                keep(session)
    if len(session.panel) > session.older > 0 and not session.met:
        told(
            f"warning: {state} knew none of the series of this table, which begin anew: is it the state of another one?"
        )
    return made


def started(
    session: Session | None,
    reader: Reader,
    path: str,
    kind: str,
    options: Options,
    state: str | None,
    told: Callable[[str], Any],
) -> Session:
    """The session to go on with, or a new one; the user is told what was guessed and chosen."""
    # The columns come first: a new session depends on them, and an old one must have had the same.
    o = options
    score = o.score or (score_name(session.panel) if session else "absolute")
    columns = chosen(reader.names, score, o.y, o.y_hat, o.id, o.time, o.no_id, o.no_time, o.cutoff)
    kinds = kinds_of_groups(o.by, reader.names, columns.time)
    if kinds:
        grouping = Grouping(kinds)
        columns = dataclasses.replace(columns, by=grouping.names, cut=tuple(grouping.cuts))
    told(f"using {columns.said()}")
    if o.sort and columns.time is None:
        cure = ("give ", Setting("time"))
        raise InputError("to sort the rows, a column of times is needed", argument="sort", cure=cure)
    if session is not None:
        refuse_other(session, columns, o, state)
        refuse_other_groups(session, kinds, state)
        design = session.panel.settings
        told(
            f"going on from {state}: {design.method}, alpha {', '.join(f'{a:g}' for a in design.alphas)}, "
            f"{session.rows:,} rows of {len(session.panel):,} series so far"
        )
        return session
    method = o.method
    if method is None:
        series = Glance.at(path, kind, columns, times=False).series
        method = default_method(2 if series is None else series)
        many = (
            "has one series" if series == 1 else "may have many series" if series is None else f"has {series:,} series"
        )
        told(f"method {method}: the table {many}")
    levels = o.alpha or (0.1,)
    build: Any = partial(GroupedPanel, kinds) if kinds else Panel
    make = partial(
        build, method, levels[0] if len(levels) == 1 else levels, score, warm_up=o.warm_up or 0, **o.settings
    )
    if columns.cutoff is None:
        return Session(make(), columns, o.delay or 0)
    if kinds:
        raise InputError("a backtest has no groups", argument="by", cure="leave it out, or drop the column of cutoffs")
    if state is not None:
        said = "a backtest is a whole, and no state can go on from it"
        raise InputError(
            said, argument="state", cure=("leave out ", Setting("state"), ", or drop the column of cutoffs")
        )
    told(
        f"a backtest: every number of steps ahead is learned apart, and no forecast knows a value of {columns.time!r} "
        f"after its {columns.cutoff!r}"
    )
    return BacktestSession(make, columns, o.delay or 0)


def mixed(session: Session, path: str, kind: str, told: Callable[[str], Any]) -> bool:
    """Whether series learn from each other and the rows are not in the order of time, so that all are read first."""
    shares = session.panel.settings.pooled or session.grouped is not None
    if not shares or Glance.at(path, kind, session.columns).ordered:
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
            rows = self.source.rows(chunk)
            made = self._played(rows)
            self._put(chunk, rows, *made)
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
        parts = [self.source.rows(chunk) for chunk in read]
        rows = joined(parts)
        order = np.argsort(occurrences(grouped(rows.ids)[1]) if rows.times is None else rows.times, kind="stable")
        made = self._played(rows.ordered(order))
        # Undo the order, and write each chunk as it was read.
        back, at = np.argsort(order), 0
        for chunk, part in zip(read, parts, strict=True):
            here = back[at : at + chunk.rows]
            self._put(chunk, part, *(values[here] for values in made))
            at += chunk.rows
            self.progress(at, at / len(order))
        self.stop.reading = False  # what is written is about to be kept
        return False

    def _played(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Play rows in the order of time, and judge them: their series, the ends of their intervals, their groups."""
        made = self.session.play(rows, self.options.duplicates)
        self.kept.judge(rows, *made)
        grouped = self.session.grouped
        members = np.zeros((len(rows.y), 0), dtype=np.int64) if grouped is None else grouped.correction.placed
        self.kept.groups.add(members, rows.y, *made[1:])
        return *made, members

    def _put(
        self, chunk: Chunk, rows: Rows, places: np.ndarray, lower: np.ndarray, upper: np.ndarray, members: np.ndarray
    ) -> None:
        """Write the rows of a chunk with their intervals, and count them."""
        columns = self.session.columns
        known = {columns.y: rows.y, **dict(zip(columns.y_hat, rows.y_hat, strict=True))}
        ends = [end[:, i] for i in range(lower.shape[1]) for end in (lower, upper)]
        cold = np.isnan(lower[:, 0]).astype(np.int64)
        self.writer.write(chunk, dict(zip(self.names, [*ends, cold], strict=True)), known)
        self.kept.add(rows, places, lower, upper, members, self.session.panel.settings.score)

    def _write_none(self) -> None:
        """Write a table without rows: its header, and the new columns."""
        columns = self.session.columns
        known = {name: np.zeros(0) for name in (columns.y, *columns.y_hat)}
        *ends, cold = self.names
        new = {name: np.zeros(0) for name in ends} | {cold: np.zeros(0, dtype=np.int64)}
        self.writer.write(self.reader.nothing(), new, known)


def summed_up(session: Session, before: int, seconds: float, cut: bool, kept: Record, skipped: int) -> Report:
    """The report on a session that had so many rows before."""
    design, n = session.panel.settings, len(session.panel)
    with np.errstate(invalid="ignore", divide="ignore"):
        coverage, width = kept.hits / np.float64(kept.labels), kept.widths[0] / kept.finite
    named = () if session.grouped is None else tuple(session.grouped.correction.grouping.groups)
    return Report(
        columns=session.columns,
        method=design.method,
        alpha=design.alphas,
        score=score_name(session.panel),
        delay=session.delay,
        rows=session.rows - before,
        series=n,
        labels=kept.labels,
        learned=bool((session.panel.seen[:n] > session.delay).any()),
        coverage=tuple(coverage.tolist()),
        width=tuple(width.tolist()),
        infinite=tuple(kept.infinite.tolist()),
        cold=kept.cold,
        bad=tuple(judged.verdict(int(np.count_nonzero(kept.ages))) for judged in kept.judged),
        seconds=seconds,
        interrupted=cut,
        record=kept if kept.keep else None,
        panel=session.panel,
        resumed=session.resumed,
        skipped=skipped,
        groups=kept.groups.metrics(named) if named else (),
        named=named,
    )
