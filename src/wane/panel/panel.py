"""The state of many streams: intervals for a batch of them at a time, and for whole histories at once."""

from __future__ import annotations

import copy
import math
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.conformal.levels import Levels
from wane.panel.design import Design
from wane.panel.index import Index
from wane.panel.loops import predict_streams, update_streams
from wane.panel.replay import Tail, replay, warm_streams
from wane.panel.state import rebuild, state_dict
from wane.saving import known


@dataclass(frozen=True)
class Intervals:
    """Predictions for several streams, a row each; with several levels the arrays have a column for each alpha."""

    alpha: Any
    ids: Any
    lower: np.ndarray
    upper: np.ndarray
    radius: np.ndarray


@known
class Panel:
    """The trackers of many streams, each with its own state: one more stream costs a row of numbers, not an object.

    ``predict(ids, outputs)`` and ``update(ids, y)`` serve a batch of streams; streams that are new begin with their
    first prediction. A stream's results are those of an ``OnlineConformal`` of its own, bit for bit, and depend on no
    other stream. Each call is one step under a lock, so threads may share a panel.

    Args:
        method: the name of a method.
        alpha: the share of labels that may be missed, or several.
        score: a score of real labels: "absolute", "signed", "normalised", "cqr", "one-sided".
        warm_up: the number of labels with which each stream begins, without intervals; ``epsilon="auto"`` needs them.
        lower_limit: labels are never below this.
        upper_limit: labels are never above this.
        on_unbounded: as for ``OnlineConformal``.
        threads: for long histories; None is one for each processor.
        hyperparameters: of the method.

    >>> import numpy as np
    >>> panel = Panel("magl", alpha=0.1)
    >>> for t in range(60):
    ...     p = panel.predict([7, 3], [0.0, 0.0])
    ...     panel.update([7, 3], [1.0, 100.0 * (-1.0) ** t])
    >>> panel.predict([3, 7, 5], [0.0, 0.0, 0.0]).radius.round(1)
    array([18.7,  1. ,  0. ])
    """

    def __init__(
        self,
        method: str,
        alpha: Any = 0.1,
        score: Any = "absolute",
        *,
        warm_up: int = 0,
        lower_limit: float = -math.inf,
        upper_limit: float = math.inf,
        on_unbounded: str = "error",
        threads: int | None = None,
        **hyperparameters: Any,
    ) -> None:
        """No stream."""
        self.design = Design(method, score, alpha, lower_limit, upper_limit, on_unbounded, warm_up, hyperparameters)
        self.threads = threads
        self.index = Index()
        self.flat = self.design.levels.flat()
        self.fresh = np.zeros((1, self.flat))
        if self.flat:
            self.design.levels.write(self.fresh, 0)
        self._own = np.empty((1, len(self.design.levels.trackers)))
        self._lock = threading.RLock()
        self._allot(0)

    def _allot(self, room: int) -> None:
        """Empty arrays for so many streams."""
        width, n = len(self.design.levels.trackers), len(self.design.alphas)
        self.states = np.repeat(self.fresh, room, axis=0)
        self.objects: list[Levels] = []  # of methods whose state no fixed number of floats holds
        self.seen = np.zeros(room, dtype=np.int64)  # rows
        self.warm = np.full(room, not self.design.warm_up)
        self.outputs = np.zeros((room, self.design.parts))  # of the last prediction
        self.radii = np.full((room, width), math.nan)
        self.waiting = np.zeros(room, dtype=bool)  # for its label
        self.labels = np.zeros(room, dtype=np.int32)
        self.misses = np.zeros((room, n), dtype=np.int32)
        self.widths = np.zeros((room, n))  # added up, the finite ones
        self.tail = Tail.empty(width)

    ARRAYS = ("states", "seen", "warm", "outputs", "radii", "waiting", "labels", "misses", "widths")

    def _make_room(self) -> None:
        """Room for every stream of the index."""
        need, room = len(self.index), len(self.seen)
        if need > room:
            more = need - room if need > 2 * room or room > 1_000_000 else room
            old = {name: getattr(self, name) for name in self.ARRAYS}
            objects, tail = self.objects, self.tail
            self._allot(room + more)
            for name, values in old.items():
                getattr(self, name)[:room] = values
            self.objects, self.tail = objects, tail
        if not self.flat:
            self.objects += [copy.copy(self.design.levels) for _ in range(need - len(self.objects))]

    def __len__(self) -> int:
        """How many streams."""
        return len(self.index)

    def ids(self) -> list[Any]:
        """The ids of the streams, in the order in which they came."""
        return self.index.ids()

    def predict(self, ids: Any, outputs: Any) -> Intervals:
        """One interval for each of these streams; the last prediction of a stream waits for its label.

        Args:
            ids: of the streams, each once; new ones are added.
            outputs: what the score needs of the model, a row for each id.
        """
        design = self.design
        columns = design.columns(outputs)
        with self._lock:
            before = copy.copy(self.index)
            places = self.index.places(ids, add=True)
            try:
                if len(places) != len(columns):
                    raise ValueError(f"outputs must be one for each of the {len(places)} ids, got {len(columns)}")
                refuse_repeated(ids, places)
                self._make_room()
                form = design.form(columns)
                radii = np.empty((len(places), self._own.shape[1]))
                if self.flat:
                    predict_streams(design.levels, self.states.data, places.data, design.floors(form).data, radii.data, self._own.data)  # fmt: skip  # noqa: E501
                else:
                    floors = design.floors(form)
                    for j, place in enumerate(places.tolist()):
                        radii[j] = self.objects[place].predict(floors[j])
                radii[~self.warm[places]] = math.nan
                design.refuse_unbounded(radii)
            except BaseException:
                self.index = before
                raise
            self.outputs[places], self.radii[places], self.waiting[places] = columns, radii, True
            self.seen[places] += 1
            return self._intervals(ids, form, radii)

    def _intervals(self, ids: Any, form: Any, radii: np.ndarray) -> Intervals:
        design = self.design
        each = [design.at(radii, i) for i in range(len(design.alphas))]
        ends = [design.score.bounds(form, radius, design.limits) for radius in each]
        if isinstance(design.alpha, tuple):
            lower, upper = np.stack([e[0] for e in ends], 1), np.stack([e[1] for e in ends], 1)
            radius = np.stack([np.stack(r, 1) if isinstance(r, tuple) else r for r in each], 1)
        else:
            (lower, upper), radius = ends[0], np.stack(each[0], 1) if isinstance(each[0], tuple) else each[0]
        return Intervals(design.alpha, ids, lower, upper, radius)

    def update(self, ids: Any, y: Any) -> None:
        """Learn the labels of the last predictions of these streams; NaN or None is a label that has not come.

        Args:
            ids: of the streams, each once; its last prediction must wait for a label.
            y: a label for each.
        """
        design = self.design
        with self._lock:
            places = self.index.places(ids)
            refuse_repeated(ids, places)
            if not self.waiting[places].all():
                j = int(np.argmin(self.waiting[places]))
                raise ValueError(f"stream {ids[j]!r} has no prediction that waits for a label: call predict first")
            form = design.form(self.outputs[places])
            below, above = design.scores(form, y)
            come, warm = ~np.isnan(below), self.warm[places]
            radii = np.ascontiguousarray(self.radii[places])
            if self.flat:
                lower = np.where(warm, below, math.nan)
                update_streams(design.levels, self.states.data, places.data, lower.data, above.data, radii.data)
            else:
                for j in np.flatnonzero(come & warm).tolist():
                    self.objects[places[j]].update(below[j], above[j], tuple(radii[j].tolist()), math.nan)
            self._count(places, form, below, above, radii)
            cold = come & ~warm
            if cold.any():
                at = self.seen[places[cold]] - 1
                self.tail = self.tail.joined(Tail(places[cold], at, below[cold], above[cold], radii[cold]))
                warm_streams(self, np.unique(places[cold]))
            self.waiting[places[come]] = False

    def _count(self, places: np.ndarray, form: Any, below: np.ndarray, above: np.ndarray, radii: np.ndarray) -> None:
        """One label for each place, in the counts of ``summary``."""
        design = self.design
        judged = ~np.isnan(below) & ~np.isnan(radii[:, 0])
        self.labels[places] += judged
        for i in range(len(design.alphas)):
            wide = design.score.width(form, design.at(radii, i), None, design.limits)
            self.misses[places, i] += judged & ~design.covered(below, above, radii, i)
            self.widths[places, i] += np.where(judged & np.isfinite(wide), wide, 0.0)

    def run(self, ids: Any, outputs: Any, y: Any, delay: int = 0) -> Intervals:
        """Whole histories, row by row as ``predict`` and ``update`` would do it, at native speed.

        Args:
            ids: of the stream of each row; the rows of one stream are in time.
            outputs: model outputs, a row each.
            y: labels, a row each; NaN or None never comes.
            delay: the label of a row is learned after the prediction of the row that is so many later in its stream.
        """
        from wane.panel.replay import by_stream

        with self._lock:
            form = self.design.score.outputs(outputs)
            order, places, starts = by_stream(self, ids, self.design.score.rows(form))
            columns = self.design.columns(outputs)
            sorted_form = form if order is None else self.design.form(columns[order])
            labels = y if order is None else [y[i] for i in order] if isinstance(y, list) else np.asarray(y)[order]
            radii = replay(self, places, starts, sorted_form, labels, delay)
            if order is not None:
                back = np.empty_like(radii)
                back[order] = radii
                radii = back
            return self._intervals(ids, form, radii)

    def summary(self) -> dict[str, Any]:
        """For each stream, in the order of ``ids()``: labels judged, coverage and mean width (of each level)."""
        with self._lock:
            n = len(self.index)
            labels = self.labels[:n]
            with np.errstate(invalid="ignore"):
                coverage = 1.0 - self.misses[:n] / labels[:, None]
                width = self.widths[:n] / labels[:, None]
            made: dict[str, Any] = {"id": self.ids(), "rows": self.seen[:n].copy(), "labels": labels.copy()}
            for i, a in enumerate(self.design.alphas):
                end = f"_{a:g}" if isinstance(self.design.alpha, tuple) else ""
                made |= {f"coverage{end}": coverage[:, i], f"width{end}": width[:, i]}
            return made

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            return state_dict(self)

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Panel:
        """The panel whose state this is."""
        return rebuild(cls, state)

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles have a lock of their own."""
        return self.state_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As it was."""
        vars(self).update(vars(type(self).from_state_dict(state)))

    def __repr__(self) -> str:
        """The method and the number of streams."""
        d = self.design
        return f"Panel({d.method!r}, alpha={d.alpha!r}, score={d.score!r}: {len(self)} streams)"


def refuse_repeated(ids: Any, places: np.ndarray) -> None:
    """An error if a stream comes twice in a batch."""
    if len(places) > 1 and not (np.diff(places) > 0).all():
        unique, counts = np.unique(places, return_counts=True)
        if len(unique) < len(places):
            j = int(np.argmax(places == unique[np.argmax(counts > 1)]))
            raise ValueError(f"stream {ids[j]!r} comes more than once in this batch: give it one row, or use run")
