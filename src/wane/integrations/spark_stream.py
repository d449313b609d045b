"""Structured Streaming: predictions and labels as events of series, with one small state for each series in RocksDB."""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StreamingQueryListener
from pyspark.sql.types import BooleanType, DoubleType, StringType, StructField, StructType, TimestampType

from wane.checks import described, positive
from wane.errors import InputError, InputTypeError, NotFoundError, WaneError
from wane.panel.frames import COLD, new_columns
from wane.panel.settings import POOL, PanelSettings

MARK = b"S\x01"  # what a state begins with: the letter S and a version
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
TICKS = 32  # a prediction expires at one of so many moments in the time for which predictions wait


def stream(
    events: DataFrame,
    *,
    id: str,
    prediction: str,
    time: str,
    y: str,
    y_hat: str | tuple[str, str] | list[str],
    watermark: str = "10 minutes",
    expire_after: float = 7 * 86_400.0,
    method: str = "auto",
    alpha: Any = 0.1,
    score: Any = "absolute",
    prefix: str = "",
    **settings: Any,
) -> DataFrame:
    """Make an interval for every prediction in a stream of events, and learn from every label that comes.

    An event is one row. A row with a forecast is a prediction. A row with a true value is the label of the prediction
    with the same id and prediction. Labels may be late, come in any order, before their prediction, or never. In the
    result, ``event`` says what became of an event: "predicted", "learned", "refused" (``reason`` says why), or
    "expired" for a prediction or a label that has waited too long. The events of a series in one micro-batch are played
    in order of time. Intervals are those of ``wane.OnlineConformal``, bit for bit.

    Args:
        events: a streaming data frame.
        id: the column that names the series.
        prediction: the column that names the prediction within its series.
        time: the column with the time at which the event was sent, a timestamp. A label has its own time, not that of
            its prediction: rows that are older than the watermark are dropped before they are seen here.
        y: the column with the true value of a label.
        y_hat: the column with the forecast of a prediction, or two columns, as for ``wane.panel.run``.
        watermark: by how much events may be late, in the words of Spark.
        expire_after: for how many seconds, in the time of the events, a prediction waits for its label.
        method: the name of a method with a state of fixed size. "pool" is for batches.
        alpha, score, prefix, settings: as for ``wane.panel.run``.
    """
    if not isinstance(events, DataFrame) or not events.isStreaming:
        cure = "read it with spark.readStream; `run` plays tables"
        raise InputTypeError(f"must be a streaming data frame, got {described(events)}", about="events", cure=cure)
    forecasts = list(y_hat) if isinstance(y_hat, (tuple, list)) else [y_hat]
    for argument, name in [
        ("id", id),
        ("prediction", prediction),
        ("time", time),
        ("y", y),
        *[("y_hat", f) for f in forecasts],
    ]:
        if name not in events.columns:
            cure = f"there are {', '.join(events.columns)}"
            raise NotFoundError(f"there is no column {name!r}", argument=argument, cure=cure)
    if not isinstance(events.schema[time].dataType, TimestampType):
        problem = f"the column {time!r} must hold timestamps, got {events.schema[time].dataType.simpleString()}"
        raise InputTypeError(problem, argument="time", cure="convert it first")
    processor = Series(
        {"method": method, "alpha": alpha, "score": score, **settings},
        positive("expire_after", expire_after),
        len(forecasts),
    )
    names = [prefix + name for name in new_columns(processor.settings())]
    kinds = {prefix + COLD: BooleanType()}
    made = [
        StructField(n, kinds.get(n, BooleanType() if n.startswith(prefix + "covered") else DoubleType())) for n in names
    ]
    head = [StructField(id, events.schema[id].dataType), StructField(prediction, StringType())]
    more = [StructField(time, TimestampType()), StructField("event", StringType()), StructField(y, DoubleType())]
    schema = StructType([*head, *more, *made, StructField("reason", StringType())])
    processor.names = schema.names

    session = events.sparkSession
    session.conf.set(PROVIDER, ROCKS)
    watch(session)
    numbers = [F.col(c).cast("double").alias(f"f{i}") for i, c in enumerate(forecasts)]
    columns = [F.col(id).alias("id"), F.col(prediction).cast("string").alias("prediction"), F.col(time).alias("time")]
    rows = events.select(*columns, F.col(y).cast("double").alias("y"), *numbers).withWatermark("time", watermark)
    return rows.groupBy("id").transformWithState(processor, schema, "Append", "EventTime")


class Series(StatefulProcessor):
    """What Spark calls for the events of one series: it reads the state, plays the events, and writes the state.

    The state of a series is a fingerprint of the settings, the number of predictions, the moment of the last timer, and
    the numbers of its trackers. A prediction that waits keeps the time until which it waits, its outputs, its radii and
    the note of its trackers; a label that waits keeps its value instead.

    Args:
        given: the method, alpha, score and other settings.
        expire_after: seconds.
        parts: how many columns of forecasts there are.
    """

    def __init__(self, given: dict[str, Any], expire_after: float, parts: int) -> None:
        """Check the settings on the driver."""
        self.given, self.expire_after, self.parts = given, expire_after, parts
        self.names: list[str] = []  # of the columns of the result
        settings = self.settings()
        if not settings.levels.flat():
            problem = f"the state of {settings.method!r} has no fixed size, which a stream needs"
            raise InputTypeError(problem, argument="method", cure="take another one, such as auto or magl")
        if settings.parts != parts:
            raise InputError(f"must be {settings.parts} columns for this score, got {parts}", about="y_hat")
        settings.fingerprint()

    def settings(self) -> PanelSettings:
        """Make the settings, with trackers that have learned nothing."""
        given = dict(self.given)
        method, alpha, score = given.pop("method"), given.pop("alpha"), given.pop("score")
        if method == POOL:
            problem = "the method pool learns from all series in order of time, a stream plays each by itself"
            raise InputError(problem, argument="method", cure="take auto, or play batches with `run`")
        if given.pop("warm_up", 0):
            raise InputTypeError("a stream has no warm-up", argument="warm_up", cure="leave it out")
        limits = given.pop("lower_limit", -math.inf), given.pop("upper_limit", math.inf)
        alpha = None if "coverage" in given else alpha
        return PanelSettings(method, score, alpha, *limits, given.pop("on_unbounded", "error"), 0, given)

    def init(self, handle: Any) -> None:
        """Open the state, on a worker."""
        self.handle = handle
        self.kept = handle.getValueState("series", "state BINARY")
        self.waiting = handle.getMapState("waiting", "prediction STRING", "kept BINARY")
        self.player = Player(self.settings())
        self.grain = max(int(self.expire_after * 1000.0 / TICKS), 1)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Play the events of one series in one micro-batch, in order of time; labels come before predictions."""
        # Spark warns about every state that is asked for and does not exist, so ask first whether it does.
        made, timer = self.player.read(bytes(self.kept.get()[0]) if self.kept.exists() else None)
        changed: dict[str, bytes | None] = {}  # what waits, as far as it is known here

        def waits(name: str) -> bytes | None:
            if name not in changed:
                there = self.waiting.containsKey((name,))
                changed[name] = bytes(self.waiting.getValue((name,))[0]) if there else None
            return changed[name]

        before: dict[str, bytes | None] = {}
        for row in sorted(rows, key=order):
            name, now = row["prediction"], milliseconds(row["time"])
            until = -(-(now + int(self.expire_after * 1000.0)) // self.grain) * self.grain
            outputs = [row[f"f{i}"] for i in range(self.parts)]
            is_label = row["y"] is not None
            try:
                if name is None or is_label != all(x is None for x in outputs) or (not is_label and None in outputs):
                    problem = "an event has an id, and either a forecast or a true value"
                    raise InputError(problem, argument="events")
                kept = waits(name)
                before.setdefault(name, kept)
                if is_label:
                    if kept is None:  # the prediction may still come
                        changed[name] = b"L" + struct.pack("<qd", until, row["y"])
                        timer = self.timer(until, timer)
                    elif kept[:1] == b"L":
                        raise InputError("a label for this prediction waits already", argument="events")
                    else:
                        yield self.row(key, name, row["time"], "learned", row["y"], self.player.learn(kept, row["y"]))
                        changed[name] = None
                else:
                    if kept is not None and kept[:1] == b"P":
                        raise InputError("a prediction with this id waits for its label", argument="events")
                    shown, note = self.player.predict(outputs, made)
                    made += 1
                    yield self.row(key, name, row["time"], "predicted", None, shown)
                    changed[name] = b"P" + struct.pack("<q", until) + note
                    if kept is not None:  # its label came first
                        y = struct.unpack("<qd", kept[1:])[1]
                        yield self.row(key, name, row["time"], "learned", y, self.player.learn(changed[name] or b"", y))
                        changed[name] = None
                    else:
                        timer = self.timer(until, timer)
            except WaneError as error:
                yield self.row(key, name, row["time"], "refused", row["y"], None, str(error))
        for name, kept in changed.items():
            if kept is None and before.get(name) is not None:
                self.waiting.removeKey((name,))
            elif kept is not None and kept != before.get(name):
                self.waiting.updateValue((name,), (kept,))
        self.kept.update((self.player.write(made, timer),))

    def timer(self, until: int, last: int) -> int:
        """Wake up when predictions that are made now expire, unless that is arranged already."""
        if until > last:
            self.handle.registerTimer(until)
        return max(until, last)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Give up what has waited until now."""
        now = expiredTimerInfo.getExpiryTimeInMs()
        gone = [
            (k[0], bytes(v[0])) for k, v in self.waiting.iterator() if struct.unpack("<q", bytes(v[0])[1:9])[0] <= now
        ]
        for name, kept in sorted(gone):
            self.waiting.removeKey((name,))
            label = kept[:1] == b"L"
            reason = "no prediction with this id came" if label else "no label came"
            y = struct.unpack("<d", kept[9:])[0] if label else None
            yield self.row(key, name, None, "expired", y, None, reason)

    def row(self, key: Any, name: Any, time: Any, event: str, y: Any, shown: Any, reason: str | None = None) -> Row:
        """Make a row of the result."""
        values = (key[0], name, time, event, y, *(shown or [None] * self.player.columns), reason)
        return Row(*self.names)(*values)


class Player:
    """One series at a time: its trackers, their state as bytes, and the predictions that wait as bytes.

    It does what ``OnlineConformal`` does, without counts and history, so that a state is small.
    """

    def __init__(self, settings: PanelSettings) -> None:
        """Take trackers that have learned nothing."""
        self.settings, self.levels = settings, settings.levels
        self.columns = len(new_columns(settings))
        self.head = MARK + settings.fingerprint()
        self.numbers = np.zeros((1, self.levels.flat()))
        self.levels.write(self.numbers, 0)
        self.fresh = self.numbers.copy()

    def read(self, state: bytes | None) -> tuple[int, int]:
        """Take over the state of a series; return the number of its predictions and the moment of its last timer."""
        if state is None:
            self.levels.read(self.fresh, 0)
            return 0, 0
        size = len(self.head)
        if state[:size] != self.head or len(state) != size + 16 + self.numbers.nbytes:
            problem = "the checkpoint holds states that were made with other settings, or by another version"
            raise InputError(problem, argument="settings", cure="use the old settings, or begin with a new checkpoint")
        self.numbers[0] = np.frombuffer(state, "<f8", offset=size + 16)
        self.levels.read(self.numbers, 0)
        made, timer = struct.unpack_from("<qq", state, size)
        return made, timer

    def write(self, made: int, timer: int) -> bytes:
        """Return the state of the series."""
        self.levels.write(self.numbers, 0)
        return self.head + struct.pack("<qq", made, timer) + self.numbers.astype("<f8").tobytes()

    def predict(self, outputs: list[float], moment: int) -> tuple[list[Any], bytes]:
        """Return the columns of a prediction, and what it keeps until its label comes."""
        settings, levels, score = self.settings, self.levels, self.settings.score
        output = score.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
        floor, note = score.floor(output, None), ()
        if levels.noted:
            levels.foresee(moment, floor, score.centre(output), (0.0,) * levels.context)
        radii = levels.predict(floor)
        if levels.noted:
            note = levels.note()
        if settings.finite_only and not levels.bounded(radii):
            raise settings.unbounded(radii)
        cold = levels.untaught()
        kept = struct.pack(f"<?{len(outputs) + len(radii) + len(note)}d", cold, *outputs, *radii, *note)
        return self.shown(output, radii, [None] * len(settings.alphas), cold), kept

    def learn(self, kept: bytes, y: float) -> list[Any]:
        """Learn a label, and return the columns of its prediction with what it covered."""
        settings, score = self.settings, self.settings.score
        cold, *numbers = struct.unpack(f"<?{(len(kept) - 10) // 8}d", kept[9:])
        parts, width = settings.parts, settings.width
        output = score.output(numbers[0] if parts == 1 else tuple(numbers[:parts]))
        radii, note = tuple(numbers[parts : parts + width]), tuple(numbers[parts + width :])
        below, above = settings.scored(output, y, None, radii)
        self.levels.update(below, above, radii, math.nan, note)
        return self.shown(output, radii, settings.covered_each(below, above, radii), cold)

    def shown(self, output: Any, radii: tuple[float, ...], covered: Any, cold: bool) -> list[Any]:
        """Return the columns of results; without an interval, before the first label, they have no values."""
        settings = self.settings
        made: list[Any] = []
        for radius, inside in zip(settings.each(radii), covered, strict=True):
            radius = radius if isinstance(radius, tuple) else (radius,)
            if cold and all(map(math.isfinite, radius)):
                made += [None] * (3 + len(radius))
                continue
            ends = settings.score.set(output, radius if len(radius) > 1 else radius[0], None, settings.limits)
            made += [ends.lower, ends.upper, *radius, inside if inside is None else bool(inside)]
        return [*made, cold]


def order(row: Row) -> tuple[Any, ...]:
    """The order in which the events of a series are played: by time, labels first, then by the id of the prediction."""
    return row["time"], row["y"] is None, row["prediction"] or ""


def milliseconds(time: Any) -> int:
    """Return a timestamp of Spark, which comes without a zone in local time, as milliseconds."""
    return int(time.timestamp() * 1000.0)


class Late(StreamingQueryListener):
    """Counts the rows of each query that came later than the watermark and were dropped, and says so in the log."""

    def __init__(self) -> None:
        """Begin to count."""
        self.dropped: dict[str, int] = {}

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:
        """Add what one micro-batch dropped."""
        progress = event.progress
        count = sum(int(part.numRowsDroppedByWatermark) for part in progress.stateOperators)
        self.dropped[str(progress.id)] = self.dropped.get(str(progress.id), 0) + count
        if count:
            said = "%d events of the query %s came later than its watermark and were dropped, %d so far"
            logging.getLogger("wane").warning(said, count, progress.name or progress.id, self.dropped[str(progress.id)])

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:
        """Do nothing."""


def watch(session: Any) -> Late:
    """Return the counter of the events that were dropped in a session; there is one."""
    if getattr(session, "_wane_late", None) is None:
        session._wane_late = Late()
        session.streams.addListener(session._wane_late)
    return session._wane_late


def dropped(query: Any) -> int:
    """Return how many events of a streaming query came later than its watermark and were dropped since it started."""
    return watch(SparkSession.active()).dropped.get(str(query.id), 0)
