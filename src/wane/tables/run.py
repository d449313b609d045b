"""A table through a panel: read, play, write, chunk by chunk, and at the end the state."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wane.panel import Panel
from wane.tables import cells
from wane.tables.chunk import MOST, Chunk, Reader, Writer
from wane.tables.columns import Columns, chosen
from wane.tables.files import kind_of, reading, writing
from wane.tables.paths import FILE, refuse_same, refuse_unwritable
from wane.tables.session import Session, keeping, loaded
from wane.tables.stop import Stop
from wane.tables.tally import Record

SMALL = 1_000  # series for which auto is not slow
FIRST, LEAST = 1_024, 256  # rows of the first chunk, and of the smallest
A_SERIES = 8  # rows of a chunk for each series, whose state is kept safe once a chunk
QUICK, SLOW = 0.2, 0.6  # seconds of a chunk: then the next is larger, or smaller


@dataclass(frozen=True)
class Options:
    """What the user asked for; None, or nothing, where that is left to the state or to the defaults.

    Args:
        y, y_hat, id, time, no_id, no_time: the columns, as for ``chosen``.
        method: the name of one; None is auto up to 1,000 series, and magl beyond.
        alpha: the levels; none is 0.1.
        score: the name of one; None is absolute.
        delay: rows of a series until a label is learned.
        warm_up: labels of a series without intervals.
        settings: of the method and the panel.
        duplicates: rows of a series with the same time are an "error", or "keep".
        prefix: of the new columns.
        sort: read everything, and play it in the order of the times.
        skip: rows to pass over at the beginning.
    """

    y: str | None = None
    y_hat: tuple[str, ...] = ()
    id: str | None = None
    time: str | None = None
    no_id: bool = False
    no_time: bool = False
    method: str | None = None
    alpha: tuple[float, ...] = ()
    score: str | None = None
    delay: int | None = None
    warm_up: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    duplicates: str = "error"
    prefix: str = ""
    sort: bool = False
    skip: int = 0


@dataclass(frozen=True)
class Report:
    """What became of a run: counts of its own rows, not of those before it; ``resumed`` says whether there are such.

    ``learned`` is False where no series is longer than the delay: no label came in time to be learned. ``width`` is the
    mean of the finite intervals, ``infinite`` counts the others.
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
    seconds: float
    interrupted: bool
    record: Record | None
    panel: Panel
    resumed: bool


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
    """Intervals for every row of a table, into another table; after an error ``out`` and ``state`` are as before.

    Args:
        path: the table, or "-".
        out: the table to write, or "-"; it is replaced as a whole.
        options: the columns and the settings.
        state: a file to go on from, if it is there, which is replaced right after ``out``, once both are on the disk.
        kinds: of the two tables, where their names do not say it.
        told: is given sentences for the user.
        progress: is given the rows so far, and the share of the table, where it is known.
        record: keep the rows for a report, as is done if there is one.
        report: the path of a report.
        write_report: writes it, before ``out`` is replaced.
    """
    kind_in = kinds[0] or kind_of(path)
    kind_out = kinds[1] or kind_of(out, kind_in, "--out-format")
    refuse_same({FILE: path, "--out": out, "--state": state, "--report": report})
    refuse_unwritable({"--state": state, "--report": report})
    begun, stop = clock.perf_counter(), Stop()
    with stop.watching(), keeping(state) as keep, reading(path, kind_in) as reader:
        session = started(None if state is None else loaded(state), reader, path, kind_in, options, state, told)
        refuse_taken(session, reader, options.prefix)
        before = session.rows
        kept = Record(session.columns, options.prefix, len(session.panel.settings.alphas), record or report is not None)
        way = sorted_way if options.sort else straight_way
        with writing(out, kind_out, reader) as writer:
            cut = way(reader, writer, session, options, stop, progress, kept)
            made = summed_up(session, before, clock.perf_counter() - begun, cut, kept)
            if report is not None:
                write_report(made)
            keep(session)
    if session.strange:
        told(
            f"warning: {state} knew none of the series of this table, which begin anew: is it the state of another one?"
        )
    return made


def summed_up(session: Session, before: int, seconds: float, cut: bool, kept: Record) -> Report:
    """What became of a session since it had so many rows."""
    design, n = session.panel.settings, len(session.panel)
    with np.errstate(invalid="ignore", divide="ignore"):
        coverage, width = kept.hits / np.float64(kept.labels), kept.widths / kept.finite
    return Report(
        session.columns,
        design.method,
        design.alphas,
        named(design.score),
        session.delay,
        session.rows - before,
        n,
        kept.labels,
        bool((session.panel.seen[:n] > session.delay).any()),
        tuple(coverage.tolist()),
        tuple(width.tolist()),
        tuple(kept.infinite.tolist()),
        seconds,
        cut,
        kept if kept.keep else None,
        session.panel,
        session.resumed,
    )


def refuse_taken(session: Session, reader: Reader, prefix: str) -> None:
    """An error where the new columns are there already."""
    new = [f"{prefix}{side}{end}" for end in session.panel.settings.suffixes for side in ("lower", "upper")]
    if taken := [name for name in new if name in reader.names]:
        raise ValueError(f"the table has the columns {', '.join(taken)} already: give --prefix, such as --prefix wane_")


def named(score: Any) -> str:
    """The name of a score."""
    return type(score).__name__.lower()


def started(
    session: Session | None,
    reader: Reader,
    path: str,
    kind: str,
    options: Options,
    state: str | None,
    told: Callable[[str], Any],
) -> Session:
    """The session to go on with, or a new one; ``told`` is given what was guessed and chosen."""
    score = options.score or (named(session.panel.settings.score) if session else "absolute")
    o = options
    columns = chosen(reader.names, score, o.y, o.y_hat, o.id, o.time, o.no_id, o.no_time)
    told(f"using {columns.said()}")
    if options.sort and columns.time is None:
        raise ValueError("--sort needs a column of times: give --time")
    if session is not None:
        fit(session, columns, options, state)
        design = session.panel.settings
        told(
            f"going on from {state}: {design.method}, alpha {', '.join(f'{a:g}' for a in design.alphas)}, "
            f"{session.rows:,} rows of {len(session.panel):,} series so far"
        )
        return session
    method = options.method
    if method is None:
        method, why = default_method(path, kind, columns)
        told(f"method {method}: {why}")
    levels = options.alpha or (0.1,)
    alpha: Any = levels[0] if len(levels) == 1 else tuple(levels)
    settings = {"warm_up": options.warm_up or 0, **options.settings}
    return Session(Panel(method, alpha, score, **settings), columns, options.delay or 0)


def fit(session: Session, columns: Columns, options: Options, state: str | None) -> None:
    """An error where the state is of other columns or settings."""
    design = session.panel.settings
    had = {**design.hyperparameters, "lower_limit": design.limits[0], "upper_limit": design.limits[1]}
    had |= {"on_unbounded": design.on_unbounded, "threads": session.panel.threads}
    pairs = [
        ("--method", design.method, options.method),
        ("--alpha", design.alphas, options.alpha or None),
        ("--score", named(design.score), options.score),
        ("--delay", session.delay, options.delay),
        ("--warm-up", design.warm_up, options.warm_up),
        *((f"--set {k}", had.get(k, "its default"), v) for k, v in options.settings.items()),
        ("columns", session.columns.said(), columns.said()),
    ]
    for name, old, new in pairs:
        if new is not None and new != old:
            raise ValueError(
                f"{state} was made with {name} {shown(old)}, now it is {shown(new)}: give the same settings, "
                "or another --state"
            )


def shown(value: Any) -> str:
    """A setting in an error."""
    return ", ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(value)


def default_method(path: str, kind: str, columns: Columns) -> tuple[str, str]:
    """Auto for few series, magl for many, and why."""
    if columns.id is None:
        return "auto", "the table is one series"
    if not os.path.isfile(path):  # standard input, or another pipe: it can be read once
        return "auto", f"how many series come is not known yet; beyond {SMALL:,}, --method magl is much faster"
    found: set[Any] = set()
    with reading(path, kind) as reader:
        while len(found) <= SMALL and (chunk := reader.read(MOST)) is not None:
            ids = cells.keys(chunk, columns.id)
            found.update(np.unique(ids).tolist() if isinstance(ids, np.ndarray) else ids)
    if len(found) <= SMALL:
        return "auto", f"the table has {len(found):,} series"
    why = f"the table has more than {SMALL:,} series, on which it is many times faster than auto"
    return "magl", f"{why}; short series, or of different sizes, do better with --warm-up 20 --set epsilon=auto"


def skipped(reader: Reader, options: Options, size: Callable[[], int]) -> Iterator[Chunk]:
    """The chunks after the rows to pass over."""
    left = options.skip
    while left:
        chunk = reader.read(min(left, MOST))
        if chunk is None:
            raise ValueError(f"--skip {options.skip:,} is beyond the end of the table")
        if chunk.rows > left:  # rows over several lines
            raise ValueError(f"--skip {options.skip:,} ends within rows that are read together: quotes do not match")
        left -= chunk.rows
    while (chunk := reader.read(size())) is not None:
        yield chunk


def straight_way(
    reader: Reader,
    writer: Writer,
    session: Session,
    options: Options,
    stop: Stop,
    progress: Callable[[int, float | None], Any],
    kept: Record,
) -> bool:
    """Chunk by chunk; after Ctrl-C no more of them, and True."""
    size, done = FIRST, 0
    chunks = skipped(reader, options, lambda: size)
    for number in itertools.count():
        begun = clock.perf_counter()
        try:
            stop.reading = True
            chunk = next(chunks, None)
            stop.reading = False
        except KeyboardInterrupt:
            if not done:
                raise
            return True
        if chunk is None:
            if not number:
                write_none(reader, writer, session, options)
            return False
        rows = cells.parsed(chunk, session.columns)
        new = session.play(rows, options.duplicates, options.prefix)
        put(writer, chunk, rows, new, session, kept)
        done += chunk.rows
        progress(done, reader.share())
        if stop.asked:
            return True
        seconds = clock.perf_counter() - begun
        size = 2 * size if seconds < QUICK else size // 2 if seconds > SLOW else size
        size = min(max(size, LEAST, A_SERIES * len(session.panel)), MOST)
    raise AssertionError("there is an end")


def write_none(reader: Reader, writer: Writer, session: Session, options: Options) -> None:
    """A table without rows has its header, and the new columns."""
    ends = session.panel.settings.suffixes
    new = {f"{options.prefix}{side}{end}": np.zeros(0) for end in ends for side in ("lower", "upper")}
    columns = session.columns
    writer.write(reader.nothing(), new, {name: np.zeros(0) for name in (columns.y, *columns.y_hat)})


def sorted_way(
    reader: Reader,
    writer: Writer,
    session: Session,
    options: Options,
    stop: Stop,
    progress: Callable[[int, float | None], Any],
    kept: Record,
) -> bool:
    """Everything at once, in the order of the times; it is written in the order of the table, and never cut."""
    stop.reading = True  # nothing is kept of half of it
    chunks = list(skipped(reader, options, lambda: MOST))
    if not chunks:
        write_none(reader, writer, session, options)
        return False
    parts = [cells.parsed(chunk, session.columns) for chunk in chunks]
    rows = cells.joined(parts)
    order = np.argsort(rows.times, kind="stable")  # type: ignore[arg-type]
    back = np.argsort(order)
    made = session.play(rows.ordered(order), options.duplicates, options.prefix)
    at = 0
    for chunk, part in zip(chunks, parts, strict=True):
        new = {name: values[back[at : at + chunk.rows]] for name, values in made.items()}
        put(writer, chunk, part, new, session, kept)
        at += chunk.rows
        progress(at, at / len(order))
    stop.reading = False  # what is written is about to be kept
    return False


def put(
    writer: Writer, chunk: Chunk, rows: cells.Rows, new: dict[str, np.ndarray], session: Session, kept: Record
) -> None:
    """Write the rows of a chunk, and count them."""
    columns = session.columns
    writer.write(chunk, new, {columns.y: rows.y, **dict(zip(columns.y_hat, rows.y_hat, strict=True))})
    kept.add(rows, new, session.panel)


def described(report: Report) -> dict[str, Any]:
    """A report as plain data, without its record and its panel."""
    names = [f.name for f in dataclasses.fields(report) if f.name not in ("record", "panel", "resumed")]
    found = {name: getattr(report, name) for name in names}
    return found | {"columns": dataclasses.asdict(report.columns)}
