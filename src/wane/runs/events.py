"""Sessions that play a table row by row: sets of labels, and true values that come at times of their own.

A panel learns true values a fixed number of rows later, and makes intervals. Here each series is an
``OnlineConformal``: its predictions wait for their labels by number, and labels may come in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.conformal.series import ManySeries
from wane.errors import InputError, Setting, located
from wane.panel import Panel
from wane.panel.frames import COLD
from wane.runs.forecasts import as_floats
from wane.runs.records import LabelRecord, Record
from wane.runs.session import Session
from wane.scores import APS, LAC, RAPS
from wane.state.files import known
from wane.tables.chunks import Rows
from wane.tables.columns import Columns

UNLIMITED = 2**40  # series, and predictions that wait
SEED = 0  # of the scores of labels: the same table always has the same sets
SETS = {
    "lac": lambda classes: LAC(classes),
    "aps": lambda classes: APS(classes, seed=SEED),
    "raps": lambda classes: RAPS(classes=classes, seed=SEED),
}
BETWEEN = "|"  # the labels of a set in a cell


@known
class EventSession(Session):
    """A session in which each row is predicted, and learned when its true value comes.

    ``panel`` holds the names of the series and how many rows each has had, and learns nothing itself. ``waiting`` has
    for each series the predictions that wait: when the true value comes, the number of the prediction, and the value.
    """

    def __init__(self, panel: Panel, columns: Columns, delay: int = 0, many: ManySeries | None = None) -> None:
        """Begin at the first row of a table; ``many`` has learned nothing, or is what a state holds."""
        super().__init__(panel, columns, delay)
        design = panel.settings
        if design.warm_up:
            cure = ("leave it out; ", Setting("on_unbounded", "allow"), " allows infinite intervals at first")
            raise InputError("cannot be used where rows are played one by one", about="warm_up", cure=cure)
        if many is None:
            more: dict[str, Any] = {"max_pending": UNLIMITED, "history": 0, "max_series": UNLIMITED}
            if not columns.classes:
                more |= {"lower_limit": design.limits[0], "upper_limit": design.limits[1]}
                more |= {"on_unbounded": design.on_unbounded}
            many = ManySeries(design.method, self._score(), design.alpha, **more, **design.hyperparameters)
        self.many = many
        self.waiting: dict[Any, list[tuple[float, int, Any]]] = {}

    def _score(self) -> Any:
        return self.panel.settings.score

    def play(self, rows: Rows, duplicates: str) -> Any:
        """Play some rows: the places of their series in the panel, and what was made for each row."""
        panel, levels = self.panel, len(self.panel.settings.alphas)
        places = panel.index.places(rows.ids, add=True)
        panel._make_room()
        with located(lambda row: rows.where(row or 0)):
            if rows.times is not None and len(places):
                self._check_times(rows, rows.times, places, duplicates)
        np.add.at(panel.seen, places, 1)
        made = self._empty(len(rows.y), levels)
        outputs = np.column_stack(rows.y_hat) if len(rows.y_hat) > 1 else rows.y_hat[0]
        keys = rows.ids.tolist() if isinstance(rows.ids, np.ndarray) else rows.ids
        times, arrived = (None if c is None else as_floats(c).tolist() for c in (rows.times, rows.arrived))
        for i, (key, y) in enumerate(zip(keys, rows.y.tolist(), strict=True)):
            waiting = self.waiting.setdefault(key, [])
            count = self.many.series[key].predictions if key in self.many.series else 0
            now = count if arrived is None or times is None else times[i]
            with located(lambda row: rows.where(i)):  # noqa: B023
                self._learn(key, waiting, now)
                prediction = self.many.predict(self._output(outputs[i]), series=key)
                self._take(made, i, prediction, bool(self.many.series[key].monitors[0].rounds))
                if y == y:
                    when = count + self.delay if arrived is None else arrived[i]
                    waiting.append((when, int(prediction.id), self._label(y)))  # type: ignore[call-overload]
                else:
                    self.many.expire(prediction.id, series=key)
        self.rows += len(places)
        self.met = self.met or bool((places < self.older).any())
        return places, *made

    def _learn(self, key: Any, waiting: list[tuple[float, int, Any]], now: float) -> None:
        """Let a series learn the true values that have come by now, in the order in which they came."""
        for one in sorted(one for one in waiting if one[0] < now):
            self.many.update(one[1], one[2], series=key)
            waiting.remove(one)

    def _empty(self, rows: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for what will be made."""
        return np.full((rows, levels), np.nan), np.full((rows, levels), np.nan)

    def _take(self, made: Any, i: int, prediction: Any, taught: bool) -> None:
        """Take over the sets of row i; a series that has learned nothing yet shows none."""
        if taught:
            made[0][i], made[1][i] = prediction.lower, prediction.upper

    def _output(self, output: Any) -> Any:
        return tuple(output.tolist()) if output.ndim else float(output)

    def _label(self, y: float) -> Any:
        return y

    def _memory(self) -> dict[str, Any]:
        waiting = [list(map(list, self.waiting.get(key, []))) for key in self.many.names()]
        return {"panel": self.panel.state_dict(), "many": self.many.state_dict(), "waiting": waiting}

    @classmethod
    def _from_memory(cls, memory: dict[str, Any], columns: Columns, delay: int) -> Session:
        many = ManySeries.from_state_dict(memory["many"])
        session = cls(Panel.from_state_dict(memory["panel"]), columns, delay, many)
        for key, waiting in zip(many.names(), memory["waiting"], strict=True):
            session.waiting[key] = [(float(when), int(id), y) for when, id, y in waiting]
        return session


@known
class LabelSession(EventSession):
    """A session that makes sets of labels from the probabilities of a classifier."""

    kind = "raps"

    @classmethod
    def of(cls, kind: str, panel: Panel, columns: Columns, delay: int) -> LabelSession:
        """Begin with a score of this name; ``panel`` has the method and the levels."""
        many = ManySeries(
            panel.settings.method, SETS[kind](list(columns.classes)), panel.settings.alpha, max_pending=UNLIMITED,
            history=0, max_series=UNLIMITED, **panel.settings.hyperparameters,
        )  # fmt: skip
        return cls(panel, columns, delay, many)

    @property
    def score(self) -> str:
        """The name of the score."""
        return type(self.many.pattern.score).__name__.lower()

    def record(self, keep: bool) -> Record:
        """Begin to count what this session makes."""
        return LabelRecord(self.panel.settings.alphas, keep)

    def names(self) -> list[str]:
        """The names of the columns that this session makes."""
        return [*(f"{what}{end}" for end in self.panel.settings.suffixes for what in ("set", "size")), COLD]

    def columns_made(self, sets: np.ndarray, cold: np.ndarray) -> list[np.ndarray]:
        """The new columns of some rows: the labels of each set, and how many there are; none in a row that is cold."""
        classes, made = np.array(self.columns.classes, dtype=object), []
        for level in range(sets.shape[1]):
            text = np.array([BETWEEN.join(classes[one]) for one in sets[:, level]], dtype=object)
            text[cold] = None
            made += [text, sets[:, level].sum(axis=1)]
        return [*made, cold.astype(np.int64)]

    def expanded(self, made: Any, at: np.ndarray, rows: int) -> Any:
        """What was made for some rows, among those that were left out because they have no probabilities."""
        sets, cold = np.zeros((rows, *made[0].shape[1:]), dtype=bool), np.ones(rows, dtype=bool)
        sets[at], cold[at] = made
        return sets, cold

    def _empty(self, rows: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((rows, levels, len(self.columns.classes)), dtype=bool), np.ones(rows, dtype=bool)

    def _take(self, made: Any, i: int, prediction: Any, taught: bool) -> None:
        made[1][i] = not taught
        for level, found in enumerate(prediction.sets if taught else ()):
            made[0][i, level, [self.columns.classes.index(name) for name in found.labels]] = True

    def _output(self, output: Any) -> Any:
        return output

    def _label(self, y: float) -> Any:
        return self.columns.classes[int(y)]
