"""Many series by name: one `OnlineConformal` for each, made when it is first asked for a prediction."""

from __future__ import annotations

import copy
import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from wane.checks import described, whole
from wane.conformal.online import OnlineConformal
from wane.conformal.predictions import Alarm, Explanation, Prediction
from wane.conformal.settings import learned_pattern
from wane.conformal.state import damaged
from wane.errors import InputError, InputTypeError, SeriesError
from wane.state import data as plain_data
from wane.state.encoding import checked_key, decode_value, encode_value
from wane.state.files import known


@dataclass(frozen=True)
class Learned:
    """What a label did: the explanation of its prediction (None where no history is kept), and the alarms it led to."""

    explanation: Explanation | None
    alarms: list[Alarm]


@known
class ManySeries:
    """One ``OnlineConformal`` for each series, all with the same settings; none knows of another.

    Every prediction of a series may wait for its label under an id, which is the series' own. For a batch of rows at a
    time, a ``Panel`` is faster. All methods may be called from several threads, and a ``Journal`` keeps it.

    Args:
        tracker: as for ``OnlineConformal``; a tracker is a pattern, and must have learned nothing.
        score: as for ``OnlineConformal``.
        alpha: as for ``OnlineConformal``.
        max_series: how many series there may be; one more is a ``SeriesError``.
        settings: as for ``OnlineConformal``, but for ``on_alarm``: ``update`` gives the alarms.

    >>> many = ManySeries("magl", alpha=0.1)
    >>> p, q = many.predict(0.25, series="north"), many.predict(0.5, series="south")
    >>> many.update(p.id, 1.0, series="north").explanation.score
    0.75
    >>> many.names(), many.pending("north"), many.pending("south")
    (['north', 'south'], [], [0])
    """

    on_alarm = None  # what a Journal asks for

    def __init__(
        self,
        tracker: Any = "auto",
        score: Any = "absolute",
        alpha: Any = None,
        *,
        max_series: int = 10_000,
        **settings: Any,
    ) -> None:
        """No series."""
        if settings.get("on_alarm") is not None:
            raise InputTypeError(
                "on_alarm is not for many series",
                argument="on_alarm",
                cure="update(...).alarms holds the alarms of a label",
            )
        self._take(OnlineConformal(tracker, score, alpha, **settings), max_series)
        if any(t.rounds for t in self.pattern.trackers):
            raise learned_pattern("all series")

    def _take(self, pattern: OnlineConformal, max_series: Any) -> None:
        self.pattern = pattern
        self.max_series = whole("max_series", max_series, 1)
        self.series: dict[Hashable, OnlineConformal] = {}
        self._lock = threading.RLock()

    def __getitem__(self, series: Hashable) -> OnlineConformal:
        """A series, or a SeriesError."""
        if series not in self.series:
            first = f", as {described(next(iter(self.series)))} did" if self.series else ""
            raise SeriesError(
                f"no series is named {described(series)}",
                argument="series",
                cure=f"it begins with its first prediction{first}",
            )
        return self.series[series]

    def __len__(self) -> int:
        """How many series."""
        return len(self.series)

    def names(self) -> list[Hashable]:
        """The names of the series, in the order in which they began; None is the one without a name."""
        with self._lock:
            return list(self.series)

    def predict(self, output: Any, id: Hashable | None = None, series: Hashable | None = None) -> Prediction:
        """The set around a model output of a series, which begins with its first prediction."""
        with self._lock:
            if series in self.series:
                return self.series[series].predict(output, id)
            if len(self.series) >= self.max_series:
                raise SeriesError(
                    f"no room for the series {described(series)}",
                    argument="max_series",
                    cure=f"there are {self.max_series} (max_series) already",
                )
            name = None if series is None else checked_key(series)
            new = copy.copy(self.pattern)
            made = new.predict(output, id)
            self.series[name] = new  # after the prediction: an error leaves no series behind
            return made

    def update(self, id: Hashable, y: Any, discount: Any = None, series: Hashable | None = None) -> Learned:
        """Learn the label of a prediction of a series."""
        with self._lock:
            oc, alarms = self[series], []  # type: ignore[var-annotated]
            oc.on_alarm = alarms.append
            try:
                oc.update(id, y, discount)
            finally:
                oc.on_alarm = None
            return Learned(oc.explain(id) if oc.history else None, alarms)

    def expire(
        self, id: Hashable | None = None, older_than: int | None = None, series: Hashable | None = None
    ) -> list[Hashable]:
        """Give up waiting for labels of a series; returns the ids."""
        with self._lock:
            return self[series].expire(id, older_than)

    def pending(self, series: Hashable | None = None) -> list[Hashable]:
        """The ids of a series that wait for a label, the oldest first."""
        with self._lock:
            return self[series].pending()

    def settings(self) -> dict[str, Any]:
        """As plain data, what every series begins with: equal for two objects that do the same."""
        return {"pattern": self.pattern.state_dict(), "max_series": self.max_series}

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            series = [[encode_value(name), oc.state_dict()] for name, oc in self.series.items()]
            return {**plain_data.header(type(self)), "parameters": self.settings(), "memory": {"series": series}}

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> ManySeries:
        """The object whose state this is; ``objects`` are what plain data cannot hold."""
        plain_data.refuse_other(cls, state)
        made = cls.__new__(cls)
        given, kept = damaged(lambda: (dict(state["parameters"]), list(state["memory"]["series"])))
        pattern = OnlineConformal.from_state_dict(damaged(lambda: given["pattern"]), **objects)
        made._take(pattern, damaged(lambda: given["max_series"]))
        pairs = damaged(lambda: [(decode_value(name), part) for name, part in kept])
        for series, part in pairs:
            made.series[series] = OnlineConformal.from_state_dict(part, **objects)
        if len(made.series) != len(kept) or len(kept) > made.max_series:
            raise InputError("the state of ManySeries is damaged: a series comes twice, or there are too many")
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles share nothing that changes, and are of one moment."""
        with self._lock:
            inside = {k: v for k, v in vars(self).items() if k != "_lock"}
            return inside | {"series": {name: copy.copy(oc) for name, oc in self.series.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As it was."""
        vars(self).update(state)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        """The number of series, and what each begins with."""
        return f"ManySeries({len(self)} series of {self.pattern!r})"
