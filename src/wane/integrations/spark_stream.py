"""Structured Streaming: predictions and labels as events of series, with one small state for each series in RocksDB."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StreamingQueryListener
from pyspark.sql.types import BooleanType, DoubleType, StringType, StructField, StructType, TimestampType

from wane.checks import described, positive
from wane.errors import InputError, InputTypeError, NotFoundError, WaneError
from wane.panel.frames import COLD, new_columns
from wane.panel.one_series import OneSeries

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
    names = [prefix + name for name in new_columns(OneSeries(**processor.given).settings)]
    kinds = {prefix + COLD: BooleanType()}
    made = [
        StructField(n, kinds.get(n, BooleanType() if n.startswith(prefix + "covered") else DoubleType())) for n in names
    ]
    head = [StructField(id, events.schema[id].dataType), StructField(prediction, StringType())]
    event, reason = (StructField(prefix + name, StringType()) for name in ("event", "reason"))
    more = [StructField(time, TimestampType()), event, StructField(y, DoubleType())]
    schema = StructType([*head, *more, *made, reason])
    processor.names = schema.names
    if taken := sorted({name for name in schema.names if schema.names.count(name) > 1}):
        problem = f"the result would have two columns {', '.join(taken)}"
        raise InputError(problem, argument="prefix", cure="choose another prefix, or rename that of the events")

    session = events.sparkSession
    session.conf.set(PROVIDER, ROCKS)
    watch(session)
    numbers = [F.col(c).cast("double").alias(f"f{i}") for i, c in enumerate(forecasts)]
    columns = [F.col(id).alias("id"), F.col(prediction).cast("string").alias("prediction"), F.col(time).alias("time")]
    columns += [F.unix_micros(time).alias("at"), F.col(y).cast("double").alias("y")]  # a number, whatever the zone
    rows = events.select(*columns, *numbers).withWatermark("time", watermark)
    return rows.groupBy("id").transformWithState(processor, schema, "Append", "EventTime")


class Series(StatefulProcessor):
    """What Spark calls for the events of one series: it reads the state, plays the events, and writes the state.

    The states are those of ``OneSeries``. What waits begins with a letter, P for a prediction and L for a label, and
    with the time until which it waits; what a prediction keeps follows, or the value of the label.

    Args:
        given: the method, alpha, score and other settings.
        expire_after: seconds.
        parts: how many columns of forecasts there are.
    """

    def __init__(self, given: dict[str, Any], expire_after: float, parts: int) -> None:
        """Check the settings on the driver."""
        self.given, self.expire_after, self.parts = given, expire_after, parts
        self.names: list[str] = []  # of the columns of the result
        wanted = OneSeries(**given).settings.parts
        if wanted != parts:
            raise InputError(f"must be {wanted} columns for this score, got {parts}", about="y_hat")

    def init(self, handle: Any) -> None:
        """Open the state, on a worker."""
        self.handle = handle
        self.kept = handle.getValueState("series", "state BINARY")
        self.waiting = handle.getMapState("waiting", "prediction STRING", "kept BINARY")
        self.player = OneSeries(**self.given)
        self.grain = max(int(self.expire_after * 1000.0 / TICKS), 1)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Play the events of one series in one micro-batch, in order of time; labels come before predictions."""
        # Spark warns about every state that is asked for and does not exist, so ask first whether it does.
        self.made, self.last = self.player.read(bytes(self.kept.get()[0]) if self.kept.exists() else None)
        waiting = Waiting(self.waiting)
        for row in sorted(rows, key=order):
            try:
                yield from self.play(key, row, waiting)
            except WaneError as error:
                yield self.row(key, row, "refused", row["y"], None, str(error))
        waiting.write()
        self.kept.update((self.player.write(self.made, self.last),))

    def play(self, key: Any, row: Row, waiting: Waiting) -> Iterator[Row]:
        """Play one event."""
        name, y, outputs = row["prediction"], row["y"], [row[f"f{i}"] for i in range(self.parts)]
        there = [x is not None for x in outputs]
        if None in (key[0], name, row["at"]) or (any(there) if y is not None else not all(there)):
            problem = "an event has an id, a prediction, a time, and either a forecast or a true value"
            raise InputError(problem, argument="events")
        kept = waiting.get(name)
        until = -(-(row["at"] // 1000 + int(self.expire_after * 1000.0)) // self.grain) * self.grain
        if y is not None and kept is None:  # a label whose prediction may still come
            waiting.put(name, b"L" + struct.pack("<qd", until, y))
            self.wake(until)
        elif y is not None and kept[:1] == b"P":
            shown = self.player.learn(kept[9:], y)
            waiting.put(name, None)
            yield self.row(key, row, "learned", y, shown)
        elif y is not None:
            raise InputError("a label for this prediction waits already", argument="events")
        elif kept is not None and kept[:1] == b"P":
            raise InputError("a prediction with this id waits for its label", argument="events")
        else:
            shown, note = self.player.predict(outputs, self.made)
            self.made += 1
            note = b"P" + struct.pack("<q", until) + note
            waiting.put(name, note)
            yield self.row(key, row, "predicted", None, shown)
            if kept is None:
                self.wake(until)
            else:  # its label came first
                (y,) = struct.unpack("<d", kept[9:])
                shown = self.player.learn(note[9:], y)
                waiting.put(name, None)
                yield self.row(key, row, "learned", y, shown)

    def wake(self, until: int) -> None:
        """Have a timer for when predictions that are made now expire, unless there is one already."""
        if until > self.last:
            self.handle.registerTimer(until)
            self.last = until

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Give up what has waited until now."""
        now = expiredTimerInfo.getExpiryTimeInMs()
        all_of_it = [(name, bytes(kept)) for (name,), (kept,) in self.waiting.iterator()]
        for name, kept in sorted(all_of_it):
            if struct.unpack("<q", kept[1:9])[0] <= now:
                self.waiting.removeKey((name,))
                label = kept[:1] == b"L"
                reason = "no prediction with this id came" if label else "no label came"
                y = struct.unpack("<d", kept[9:])[0] if label else None
                yield self.row(key, {"prediction": name, "time": None}, "expired", y, None, reason)

    def row(self, key: Any, event: Any, what: str, y: Any, shown: Any, reason: str | None = None) -> Row:
        """Make a row of the result."""
        values = shown or [None] * self.player.columns
        return Row(*self.names)(key[0], event["prediction"], event["time"], what, y, *values, reason)


class Waiting:
    """What waits in one series, read when it is asked for and written once at the end of a micro-batch."""

    def __init__(self, state: Any) -> None:
        """Take the map state of Spark."""
        self.state = state
        self.before: dict[str, bytes | None] = {}
        self.now: dict[str, bytes | None] = {}

    def get(self, name: str) -> Any:
        """Return what waits under the id of a prediction, or None."""
        if name not in self.now:
            there = self.state.containsKey((name,))
            self.before[name] = self.now[name] = bytes(self.state.getValue((name,))[0]) if there else None
        return self.now[name]

    def put(self, name: str, kept: bytes | None) -> None:
        """Let something wait, or nothing any more."""
        self.now[name] = kept

    def write(self) -> None:
        """Write what has changed."""
        for name, kept in self.now.items():
            if kept is not None and kept != self.before[name]:
                self.state.updateValue((name,), (kept,))
            elif kept is None and self.before[name] is not None:
                self.state.removeKey((name,))


def order(row: Row) -> tuple[Any, ...]:
    """The order in which the events of a series are played: by time, labels first, then by the id of the prediction."""
    return row["at"] or 0, row["y"] is None, row["prediction"] or ""


class Late(StreamingQueryListener):
    """Counts the rows of each query that came later than the watermark and were dropped, and warns about them."""

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
            name, total = progress.name or progress.id, self.dropped[str(progress.id)]
            said = f"{count} events of the query {name} came later than its watermark and were dropped, {total} so far"
            warnings.warn(said, RuntimeWarning, stacklevel=2)

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
