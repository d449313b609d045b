"""Whole histories of many streams through a panel, over threads where compiled."""

from __future__ import annotations

import copy
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import whole
from wane.panel.loops import play_streams

if TYPE_CHECKING:
    from wane.panel.panel import Panel

COMPILED = not str(play_streams.__code__.co_filename if hasattr(play_streams, "__code__") else "").endswith(".py")
FEW = 50_000  # rows that are not worth a second thread
NEVER = 2**62


@dataclass(frozen=True)
class Tail:
    """Rows whose labels are not learned yet: of late labels, or of streams that are still warming up."""

    place: np.ndarray
    pos: np.ndarray
    below: np.ndarray
    above: np.ndarray
    radii: np.ndarray

    @classmethod
    def empty(cls, width: int) -> Tail:
        """No rows."""
        none = np.zeros(0)
        return cls(none.astype(np.intp), none.astype(np.int64), none, none, np.zeros((0, width)))

    def joined(self, other: Tail) -> Tail:
        """These rows, then those."""
        pairs = [(getattr(self, k), getattr(other, k)) for k in ("place", "pos", "below", "above", "radii")]
        return Tail(*[np.concatenate(pair) for pair in pairs])

    def chosen(self, rows: np.ndarray) -> Tail:
        """Some of the rows."""
        return Tail(self.place[rows], self.pos[rows], self.below[rows], self.above[rows], self.radii[rows])


def by_stream(panel: Panel, ids: Any, rows: int) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """An order that brings the rows of each stream together (None: they are), the streams, and where each begins."""
    if len(ids) != rows:
        raise ValueError(f"ids must be one for each of the {rows} rows, got {len(ids)}")
    places = panel.index.places(ids, add=True)
    panel._make_room()
    order = None
    changes = np.flatnonzero(np.diff(places)) + 1
    streams = places[np.concatenate([[0], changes])] if rows else places
    if len(np.unique(streams)) < len(streams):
        order = np.argsort(places, kind="stable")
        places = places[order]
        changes = np.flatnonzero(np.diff(places)) + 1
        streams = places[np.concatenate([[0], changes])]
    starts = np.concatenate([[0], changes, [rows]]) if rows else np.zeros(1)
    return order, streams.astype(np.intp), starts.astype(np.intp)


def replay(
    panel: Panel,
    places: np.ndarray,
    starts: np.ndarray,
    outputs: Any,
    y: Any,
    delay: Any,
    pos: np.ndarray | None = None,
    ends: np.ndarray | None = None,
) -> np.ndarray:
    """The radii of rows that are sorted by stream; after an error the panel is as before.

    ``pos`` are the moments of the rows and ``ends`` those after the last of each stream, where they are not counted.
    """
    design = panel.design
    lag = whole("delay", delay, 0) + 1
    below, above = design.scores(outputs, y)
    floors = design.floors(outputs)
    rows, width = len(below), panel._own.shape[1]
    lengths = np.diff(starts)
    if pos is None:
        pos = np.arange(rows) + np.repeat(panel.seen[places] - starts[:-1], lengths)
    if ends is None:
        ends = panel.seen[places] + lengths
    radii = np.empty((rows, width))

    # Rows of earlier calls that are not learned yet come first in their streams.
    mine = np.isin(panel.tail.place, places) if len(panel.tail.place) else np.zeros(0, dtype=bool)
    older = panel.tail.chosen(np.flatnonzero(mine))
    order = None
    if len(older.place):
        segment = np.repeat(np.arange(len(places)), lengths)
        rank = np.argsort(places, kind="stable")
        owner = rank[np.searchsorted(places[rank], older.place)]
        order = np.argsort(np.concatenate([owner, segment]), kind="stable")
        k = np.bincount(owner, minlength=len(places))
        bounds = np.concatenate([[0], np.cumsum(lengths + k)]).astype(np.intp)
        pos, below, above, floors = (
            np.concatenate(pair)[order]
            for pair in ((older.pos, pos), (older.below, below), (older.above, above), (np.zeros(len(owner)), floors))
        )
        radii = np.concatenate([older.radii, radii])[order]
        news = (bounds[:-1] + k).astype(np.intp)
    else:
        bounds, news = starts, starts[:-1].copy()

    begins, warmed = beginnings(panel, places, bounds, news, below, lag)
    backup = panel.states[places].copy()
    objects = {} if panel.flat else {p: copy.copy(panel.objects[p]) for p in places.tolist()}
    try:
        choose_epsilons(panel, places, bounds, warmed, below, above)
        play(panel, places, objects, bounds, news, begins, warmed, pos, ends, lag, floors, below, above, radii)
        played = radii if order is None else radii[order.argsort()[len(older.place) :]]
        design.refuse_unbounded(played)
    except BaseException:
        panel.states[places] = backup
        raise
    for place, levels in objects.items():
        panel.objects[place] = levels
    panel.seen[places] = ends
    panel.warm[places] |= warmed
    waiting = Tail.empty(width)
    if (news < bounds[1:]).any():
        lengths = np.diff(bounds)
        left = np.flatnonzero(np.arange(bounds[-1]) >= np.repeat(news, lengths))
        waiting = Tail(np.repeat(places, lengths)[left], pos[left], below[left], above[left], radii[left])
    panel.tail = panel.tail.chosen(np.flatnonzero(~mine)).joined(waiting) if len(panel.tail.place) else waiting
    count(panel, places, starts, outputs, below, above, radii, order, len(older.place))
    return played


def beginnings(
    panel: Panel, places: np.ndarray, bounds: np.ndarray, news: np.ndarray, below: np.ndarray, lag: int
) -> tuple[np.ndarray, np.ndarray]:
    """The first row with a prediction in each stream, and which streams are warm, or become so."""
    warm = panel.warm[places].copy()
    begins = news.copy()
    if not warm.all():
        come = np.concatenate([[0], np.cumsum(~np.isnan(below))])
        last = np.searchsorted(come, come[bounds[:-1]] + panel.design.warm_up)  # one after the last label needed
        found = (last - 1 + lag < bounds[1:]) & (come[bounds[1:]] - come[bounds[:-1]] >= panel.design.warm_up)
        begins = np.where(warm, news, np.where(found, last - 1 + lag, bounds[1:])).astype(np.intp)
        warm |= found
    return begins, warm


def choose_epsilons(
    panel: Panel, places: np.ndarray, bounds: np.ndarray, warmed: np.ndarray, below: np.ndarray, above: np.ndarray
) -> None:
    """Where streams have just become warm: epsilon from their first labels."""
    design = panel.design
    new = np.flatnonzero(warmed & ~panel.warm[places])
    if not design.auto or not len(new):
        return
    known = np.flatnonzero(~np.isnan(below))
    first = np.searchsorted(known, bounds[new])
    rows = known[first[:, None] + np.arange(design.warm_up)]
    states, at = panel.states[places[new]], 0
    for c, tracker in enumerate(design.levels.trackers):
        tracker.choose_epsilon(states, at, (below if c < design.levels.count else above)[rows])  # type: ignore[attr-defined]
        at += tracker.flat()
    panel.states[places[new]] = states


def play(panel, places, objects, bounds, news, begins, warmed, pos, ends, lag, floors, below, above, radii):
    """All streams that are warm, over threads."""
    chosen = np.flatnonzero(warmed)
    skipped = np.flatnonzero(~warmed)
    for s in skipped:  # too few labels yet: everything waits
        radii[news[s] : bounds[s + 1]] = math.nan
        news[s] = bounds[s]
    if not len(chosen):
        return
    rows = bounds[-1]
    wanted = panel.threads or os.cpu_count() or 1
    threads = max(1, min(wanted, len(chosen), int(rows // FEW))) if COMPILED else 1
    ends = np.asarray(ends, dtype=np.int64)
    pos = np.ascontiguousarray(pos, dtype=np.int64)

    def some(part):
        own = np.empty((1, radii.shape[1]))
        levels = copy.copy(panel.design.levels)
        for first, last in stretches(part):
            if panel.flat:
                play_streams(levels, panel.states.data, places.data, bounds.data, news.data, begins.data, first, last, pos.data, ends.data, lag, floors.data, below.data, above.data, radii.data, own.data)  # fmt: skip  # noqa: E501
                continue
            for s in range(first, last):
                play_streams(objects[int(places[s])], panel.states.data, places.data, bounds.data, news.data, begins.data, s, s + 1, pos.data, ends.data, lag, floors.data, below.data, above.data, radii.data, own.data)  # fmt: skip  # noqa: E501

    if threads == 1:
        some(chosen)
        return
    cuts = np.searchsorted(bounds[chosen], np.linspace(0, rows, threads + 1)[1:-1])
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(some, part) for part in np.split(chosen, cuts)]:
            done.result()


def stretches(numbers: np.ndarray) -> list[tuple[int, int]]:
    """Runs of consecutive numbers.

    >>> stretches(np.array([1, 2, 3, 7, 8]))
    [(1, 4), (7, 9)]
    """
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]


def count(panel, places, starts, outputs, below, above, radii, order, older):
    """The labels of the new rows, in the counts of ``summary``."""
    design = panel.design
    if order is not None:
        back = order.argsort()[older:]
        below, above, radii = below[back], above[back], radii[back]
    judged = ~np.isnan(below) & ~np.isnan(radii[:, 0])
    some = np.flatnonzero(np.diff(starts) > 0)
    if not len(some):
        return
    cuts = starts[:-1][some]
    panel.labels[places[some]] += np.add.reduceat(judged, cuts, dtype=np.int32)
    for i in range(len(design.alphas)):
        missed = judged & ~design.covered(below, above, radii, i)
        wide = design.score.width(outputs, design.at(radii, i), None, design.limits)
        panel.misses[places[some], i] += np.add.reduceat(missed, cuts, dtype=np.int32)
        panel.widths[places[some], i] += np.add.reduceat(np.where(judged & np.isfinite(wide), wide, 0.0), cuts)


def warm_streams(panel: Panel, places: np.ndarray) -> None:
    """Streams that have their first labels now, row by row: choose epsilon, and learn them."""
    tail = panel.tail
    for place in places.tolist():
        mine = np.flatnonzero(tail.place == place)
        if len(mine) < panel.design.warm_up:
            continue
        rows = tail.chosen(mine)
        at, bounds = np.array([place]), np.array([0, len(mine)])
        choose_epsilons(panel, at, bounds, np.array([True]), rows.below, rows.above)
        levels = panel.design.levels if panel.flat else panel.objects[place]
        news, begins, ends = np.array([len(mine)]), np.array([len(mine)]), np.array([NEVER], dtype=np.int64)
        floors, own = np.zeros(len(mine)), np.empty((1, rows.radii.shape[1]))
        play_streams(levels, panel.states.data, at.data, bounds.data, news.data, begins.data, 0, 1, rows.pos.data, ends.data, 1, floors.data, rows.below.data, rows.above.data, rows.radii.data, own.data)  # fmt: skip  # noqa: E501
        panel.warm[place] = True
        panel.tail = tail = tail.chosen(np.flatnonzero(tail.place != place))
