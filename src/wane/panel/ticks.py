"""One time step of many streams: ``Panel.predict`` makes a prediction for each, ``Panel.update`` learns the labels."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.conformal.levels import Levels
from wane.conformal.rounds import predict_streams, ready_streams, update_streams
from wane.errors import InputError
from wane.panel import pooled
from wane.panel.batch import (
    NEVER,
    PIECE,
    Played,
    Tail,
    choose_epsilons,
    judge,
    over_threads,
    play_warm,
    restored_on_error,
    rows_counted_from,
    stretches,
)

if TYPE_CHECKING:
    from wane.panel.panel import Panel


@dataclass(frozen=True)
class Batch:
    """The labels of several streams, checked and scored, ready to be learned."""

    places: np.ndarray
    known: np.ndarray  # where a label has come
    cold: np.ndarray  # where it has come to a stream that still warms up
    pieces: list[tuple[slice, np.ndarray, np.ndarray]]  # scores of the two sides, NaN where there is no label


def play(
    panel: Panel, levels: Levels, places: np.ndarray, columns: np.ndarray, radii: np.ndarray, ends: np.ndarray
) -> None:
    """Predict for the stream at each place, and fill in the radii and the ends of the intervals."""
    settings = panel.settings
    outputs = settings.outputs_of(columns)
    floors = settings.floors(outputs)
    if panel.pools:
        pooled.predict(panel, places, columns, radii)
    elif panel.flat:
        own = np.empty((1, radii.shape[1]))
        predict_streams(levels, panel.states.data, places.data, floors.data, radii.data, own.data)
    else:
        for j, place in enumerate(places.tolist()):
            radii[j] = panel.objects[place].predict(floors[j])
    warm = panel.warm[places]
    if not warm.all():
        radii[~warm] = math.nan
    for i in range(len(settings.alphas)):
        ends[0, :, i], ends[1, :, i], _ = settings.intervals(outputs, radii, i)


def checked(panel: Panel, ids: Any, y: Any) -> Batch:
    """Check labels and score them, so that ``learn`` cannot fail because of its input. No stream learns here."""
    settings = panel.settings
    places = panel.index.places(ids)
    panel._refuse_repeated(places)
    waiting = panel.waiting[places]
    if not waiting.all():
        id = panel.ids()[places[np.argmin(waiting)]]
        raise InputError(
            f"stream {id!r} has no prediction that waits for a label", argument="ids", cure="call predict first"
        )
    labels, known = settings.labels(y, len(places))
    # Score the labels piece by piece, as they will be learned.
    scored = []
    for p in slices(len(places)):
        with rows_counted_from(p.start):
            outputs = settings.outputs_of(panel.outputs[places[p]])
            scored.append((p, *settings.scores(outputs, labels[p], known[p])))
    batch = Batch(places, known, known & ~panel.warm[places], scored)
    # A tracker may refuse a score. Ask all of them before the first one learns.
    if panel.flat and not panel.pools:
        over_threads(
            panel, lambda piece, levels: through(panel, ready_streams, levels, batch, *piece), scored, len(places)
        )
    return batch


def undone_on_error(panel: Panel, batch: Batch) -> AbstractContextManager[None]:
    """Restore the streams of a batch after an error, if learning it can still fail."""
    return restored_on_error(panel, batch.places) if panel.fragile or batch.cold.any() else nullcontext()


def learn(panel: Panel, batch: Batch) -> None:
    """Learn the labels of a batch. Those of streams that still warm up are kept until there are enough of them."""
    places, cold = batch.places, batch.cold
    if panel.pools:
        pooled.update(panel, places, *(np.concatenate([piece[side] for piece in batch.pieces]) for side in (1, 2)))
    over_threads(panel, lambda piece, levels: learn_piece(panel, levels, batch, *piece), batch.pieces, len(places))
    panel.waiting[places[batch.known]] = False
    if cold.any():
        below, above = (np.concatenate([piece[side] for piece in batch.pieces])[cold] for side in (1, 2))
        new = Tail(
            places[cold],
            panel.seen[places[cold]] - 1,
            below,
            above,
            panel.radii[places[cold]],
            np.zeros((int(cold.sum()), 0)),
        )
        panel.tail = Tail.joined([panel.tail, new])
        warm_streams(panel, places[cold])


def warm_streams(panel: Panel, places: np.ndarray) -> None:
    """Let the streams at these places leave the warm-up if they have enough labels: choose epsilon, and learn them.

    This serves ``Panel.update``, where labels come one at a time and wait in ``panel.tail``.
    """
    tail = panel.tail
    labels = np.bincount(tail.place[~np.isnan(tail.below)], minlength=len(panel.seen))
    mine = np.isin(tail.place, places[labels[places] >= panel.settings.warm_up])
    if not mine.any():
        return
    order = np.flatnonzero(mine)
    rows = tail.take(order[np.argsort(tail.place[order], kind="stable")])
    ready, bounds = stretches(rows.place)
    warm, levels = np.full(len(ready), True), panel.settings.levels
    choose_epsilons(panel, levels, ready, bounds, warm, rows.below, rows.above)
    # All rows are old: there is nothing to predict, and every label is known.
    news, ends, floors = bounds[1:].copy(), np.full(len(ready), NEVER, dtype=np.int64), np.zeros(len(order))
    arrays = (ready, bounds, news, news.copy(), rows.pos, ends, floors, rows.below, rows.above, rows.radii)
    play_warm(panel, levels, warm, 1, *arrays)
    panel.warm[ready] = True
    panel.tail = tail.take(np.flatnonzero(~mine))


def through(
    panel: Panel, loop: Any, levels: Levels, batch: Batch, p: slice, below: np.ndarray, above: np.ndarray, *more: Any
) -> None:
    """Call a loop over streams with the scores of one piece, leaving out the streams that still warm up."""
    lower = np.where(batch.cold[p], math.nan, below)
    loop(levels, panel.states.data, batch.places[p].data, lower.data, above.data, *more)


def learn_piece(panel: Panel, levels: Levels, batch: Batch, p: slice, below: np.ndarray, above: np.ndarray) -> None:
    """Learn the labels of one piece, except those of the warm-up, and add them to the counts of ``Panel.summary``."""
    settings, places = panel.settings, batch.places[p]
    radii = panel.radii[places]
    if panel.flat and not panel.pools:
        through(panel, update_streams, levels, batch, p, below, above, radii.data)
    elif not panel.flat:
        for j in np.flatnonzero((batch.known & ~batch.cold)[p]).tolist():
            panel.objects[places[j]].update(below[j], above[j], tuple(radii[j].tolist()), math.nan)
    alone = np.arange(len(places) + 1, dtype=np.intp)  # each stream has one row
    outputs = settings.outputs_of(panel.outputs[places])
    played = Played.empty(len(places), panel)
    played.radii[:] = radii
    judge(panel, places, alone, outputs, below, above, played)


def slices(rows: int) -> list[slice]:
    """Cut rows into pieces that fit the processor's cache."""
    return [slice(i, min(i + PIECE, rows)) for i in range(0, rows, PIECE)]
