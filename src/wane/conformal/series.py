"""``ManySeries``: one `OnlineConformal` for each of many named series, made with the first prediction."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from wane.checks import described, whole
from wane.conformal.monitor import Monitor
from wane.conformal.online import OnlineConformal, key_of
from wane.conformal.predictions import Alarm, Explanation, Prediction
from wane.conformal.settings import learned_pattern
from wane.conformal.state import damaged
from wane.conformal.waiting import Waiting
from wane.errors import InputError, InputTypeError, SeriesError
from wane.state import data as plain_data
from wane.state.encoding import checked_key, decode_value, encode_value
from wane.state.files import known
from wane.state.forks import CONTAINER, SINGLE, lock_of
from wane.state.stateful import Stateful


@dataclass(frozen=True)
class Learned:
    """What a label did: the explanation of its prediction (None if no history is kept), and the alarms it caused."""

    explanation: Explanation | None
    alarms: list[Alarm]


@known
class ManySeries:
    """One ``OnlineConformal`` for each of many series, which share their settings and nothing else.

    Use it where predictions come one at a time and labels come late, as in a service. Each series has its own ids,
    under which its predictions wait for their labels. For a batch of rows at a time, ``Panel`` is faster. All methods
    may be called from several threads, and a ``Journal`` can keep the state on disk.

    Args:
        tracker: as for ``OnlineConformal``. A tracker is copied for each series, so it must have learned nothing.
        score: as for ``OnlineConformal``.
        alpha: as for ``OnlineConformal``.
        max_series: how many series there may be; one more is a ``SeriesError``.
        settings: as for ``OnlineConformal``, except ``on_alarm``: ``update`` returns the alarms.

    >>> many = ManySeries("magl", alpha=0.1)
    >>> p, q = many.predict(0.25, series="north"), many.predict(0.5, series="south")
    >>> many.update(p.id, 1.0, series="north").explanation.score
    0.75
    >>> many.names(), many.pending("north"), many.pending("south")
    (['north', 'south'], [], [0])
    """

    on_alarm = None  # a Journal reads it

    def __init__(
        self,
        tracker: Any = "auto",
        score: Any = "absolute",
        alpha: Any = None,
        *,
        max_series: int = 10_000,
        **settings: Any,
    ) -> None:
        """Begin without series."""
        if settings.get("on_alarm") is not None:
            raise InputTypeError(
                "on_alarm is not for many series",
                argument="on_alarm",
                cure="update(...).alarms holds the alarms of a label",
            )
        self._set_parts(OnlineConformal(tracker, score, alpha, **settings), max_series)
        if any(t.rounds for t in self.pattern.trackers):
            raise learned_pattern("all series")

    def _set_parts(self, pattern: OnlineConformal, max_series: Any) -> None:
        self.pattern = pattern
        self.max_series = whole("max_series", max_series, 1)
        self.series: dict[Hashable, OnlineConformal] = {}
        self._lock = lock_of(self, CONTAINER)

    def __getitem__(self, series: Hashable) -> OnlineConformal:
        """Return the object of one series; an unknown name is a SeriesError."""
        if named(series) not in self.series:
            first = f", as {described(next(iter(self.series)))} did" if self.series else ""
            raise SeriesError(
                f"no series is named {described(series)}",
                argument="series",
                cure=f"it begins with its first prediction{first}",
            )
        return self.series[named(series)]

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.series)

    def names(self) -> list[Hashable]:
        """Return the names of the series, in the order in which they began; None is the series without a name."""
        with self._lock:
            return list(self.series)

    def predict(
        self,
        output: Any,
        id: Hashable | None = None,
        series: Hashable | None = None,
        context: Any = None,
        groups: Any = None,
    ) -> Prediction:
        """Make the set around a model output of a series. A series begins with its first prediction."""
        with self._lock:
            series = named(series)
            if series in self.series:
                return self.series[series].predict(output, id, context, groups)
            if len(self.series) >= self.max_series:
                raise SeriesError(
                    f"no room for the series {described(series)}",
                    argument="max_series",
                    cure=f"there are {self.max_series} (max_series) already",
                )
            new = twin(self.pattern)
            prediction = new.predict(output, id, context, groups)
            self.series[series] = new  # after the prediction: an error leaves no series behind
            return prediction

    def update(self, id: Hashable, y: Any, discount: Any = None, series: Hashable | None = None) -> Learned:
        """Learn the label of a prediction of a series, and return what it did."""
        with self._lock:
            oc = self[series]
            key = key_of(id)
            with oc._lock:
                alarms = oc._learn(key, y, oc._discount(discount))
                return Learned(oc.explain(key) if oc.history else None, alarms)

    def expire(
        self, id: Hashable | None = None, older_than: int | None = None, series: Hashable | None = None
    ) -> list[Hashable]:
        """Give up waiting for labels of a series, and return the ids, as ``OnlineConformal.expire`` does."""
        with self._lock:
            return self[series].expire(id, older_than)

    def pending(self, series: Hashable | None = None) -> list[Hashable]:
        """Return the ids of a series that wait for a label, the oldest first."""
        with self._lock:
            return self[series].pending()

    def settings(self) -> dict[str, Any]:
        """Return what every series begins with, as plain data, to compare the settings of two objects."""
        return {"pattern": self.pattern.state_dict(), "max_series": self.max_series}

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            series = [[encode_value(name), oc.state_dict()] for name, oc in self.series.items()]
            return {**plain_data.header(type(self)), "parameters": self.settings(), "memory": {"series": series}}

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> ManySeries:
        """Make the object whose state this is; ``objects`` are what plain data cannot hold, by name."""
        plain_data.refuse_other(cls, state)
        made = cls.__new__(cls)
        given, saved = damaged(lambda: (dict(state["parameters"]), list(state["memory"]["series"])))
        pattern = OnlineConformal.from_state_dict(damaged(lambda: given["pattern"]), **objects)
        made._set_parts(pattern, damaged(lambda: given["max_series"]))
        pairs = damaged(lambda: [(decode_value(name), part) for name, part in saved])
        for series, part in pairs:
            made.series[series] = OnlineConformal.from_state_dict(part, **objects)
        if len(made.series) != len(saved) or len(saved) > made.max_series:
            raise InputError("the state of ManySeries is damaged: a series comes twice, or there are too many")
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Let copies and pickles share nothing that changes, and be of one moment."""
        with self._lock:
            inside = {k: v for k, v in vars(self).items() if k != "_lock"}
            return inside | {"series": {name: copy.copy(oc) for name, oc in self.series.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from the state of a copy or pickle."""
        vars(self).update(state)
        self._lock = lock_of(self, CONTAINER)

    def __repr__(self) -> str:
        """Show the number of series, and what each begins with."""
        return f"ManySeries({len(self)} series of {self.pattern!r})"


def twin(pattern: OnlineConformal) -> OnlineConformal:
    """Return what a copy of an object without predictions is, in a hundredth of the time: a service makes many."""
    made = OnlineConformal.__new__(OnlineConformal)
    vars(made).update(vars(pattern))
    made._waiting = Waiting(pattern.max_pending, pattern.history)
    made._alarmed = {}
    made.grouping = copy.copy(pattern.grouping)
    made.monitors = [Monitor(m.alpha, m.window, m.discount, m.low, m.high) for m in pattern.monitors]
    made._levels = made.settings.arranged([same(tracker) for tracker in pattern.trackers])
    made._lock = lock_of(made, SINGLE)
    return made


def same(thing: Any) -> Any:
    """Return another object in the same state; both share the arguments that have no state."""
    if not thing.flat():
        return copy.deepcopy(thing)
    given = ((k, getattr(thing, k)) for k in thing.parameters)
    made = type(thing)(**{k: same(v) if isinstance(v, Stateful) else v for k, v in given})
    made.set_row(thing.as_row())
    return made


def named(series: Any) -> Hashable:
    """Return the name of a series that a user gave; None is the series without a name."""
    return None if series is None else checked_key(series)
