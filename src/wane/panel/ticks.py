"""One tick of many streams: a prediction for each, and later the label of each."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.conformal.levels import Levels
from wane.conformal.rounds import predict_streams, ready_streams, update_streams
from wane.errors import InputError
from wane.panel.batch import PIECE, Tail, kept, over_threads, warm_streams

if TYPE_CHECKING:
    from wane.panel.panel import Panel


@dataclass(frozen=True)
class Batch:
    """Labels of several streams, checked: nothing is wrong with them."""

    places: np.ndarray
    known: np.ndarray
    cold: np.ndarray  # labels of the warm-up
    pieces: list[tuple[slice, np.ndarray, np.ndarray]]  # scores of the two sides, NaN where there is no label


def play(
    panel: Panel, levels: Levels, places: np.ndarray, columns: np.ndarray, radii: np.ndarray, ends: np.ndarray
) -> None:
    """One prediction for each place; fills in radii and ends."""
    settings = panel.settings
    form = settings.outputs_of(columns)
    floors = settings.floors(form)
    if panel.flat:
        own = np.empty((1, radii.shape[1]))
        predict_streams(levels, panel.states.data, places.data, floors.data, radii.data, own.data)
    else:
        for j, place in enumerate(places.tolist()):
            radii[j] = panel.objects[place].predict(floors[j])
    warm = panel.warm[places]
    if not warm.all():
        radii[~warm] = math.nan
    for i in range(len(settings.alphas)):
        ends[0, :, i], ends[1, :, i], _ = settings.intervals(form, radii, i)


def checked(panel: Panel, ids: Any, y: Any) -> Batch:
    """All that can be wrong with labels."""
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
    pieces = slices(len(places))
    made = [(p, *settings.scores(settings.outputs_of(panel.outputs[places[p]]), labels[p], known[p])) for p in pieces]
    batch = Batch(places, known, known & ~panel.warm[places], made)
    if panel.flat:
        over_threads(
            panel, lambda piece, levels: through(panel, ready_streams, levels, batch, *piece), made, len(places)
        )
    return batch


def undone(panel: Panel, batch: Batch) -> AbstractContextManager[None]:
    """After an error the streams are as before, where one is possible still."""
    return kept(panel, batch.places) if panel.fragile or batch.cold.any() else nullcontext()


def learn(panel: Panel, batch: Batch) -> None:
    """Learn the labels of a batch; those of streams that still warm up wait until there are enough."""
    places, cold = batch.places, batch.cold
    over_threads(panel, lambda piece, levels: learn_piece(panel, levels, batch, *piece), batch.pieces, len(places))
    panel.waiting[places[batch.known]] = False
    if cold.any():
        below, above = (np.concatenate([piece[side] for piece in batch.pieces])[cold] for side in (1, 2))
        new = Tail(places[cold], panel.seen[places[cold]] - 1, below, above, panel.radii[places[cold]])
        panel.tail = Tail.joined([panel.tail, new])
        warm_streams(panel, places[cold])


def through(
    panel: Panel, loop: Any, levels: Levels, batch: Batch, p: slice, below: np.ndarray, above: np.ndarray, *more: Any
) -> None:
    """The labels of a piece through a loop, those of the warm-up left out."""
    lower = np.where(batch.cold[p], math.nan, below)
    loop(levels, panel.states.data, batch.places[p].data, lower.data, above.data, *more)


def learn_piece(panel: Panel, levels: Levels, batch: Batch, p: slice, below: np.ndarray, above: np.ndarray) -> None:
    """One label for each place that is warm, and the counts of ``summary``."""
    settings, places = panel.settings, batch.places[p]
    radii = panel.radii[places]
    if panel.flat:
        through(panel, update_streams, levels, batch, p, below, above, radii.data)
    else:
        for j in np.flatnonzero((batch.known & ~batch.cold)[p]).tolist():
            panel.objects[places[j]].update(below[j], above[j], tuple(radii[j].tolist()), math.nan)
    judged = ~np.isnan(below) & ~np.isnan(radii[:, 0])
    form = settings.outputs_of(panel.outputs[places])
    panel.labels[places] += judged
    for i in range(len(settings.alphas)):
        wide = settings.intervals(form, radii, i)[2]
        panel.misses[places, i] += judged & ~settings.covered(below, above, radii.T, i)
        finite = np.isfinite(wide)
        panel.widths[places, i] += np.where(judged & finite, wide, 0.0)
        panel.unbounded[places, i] += judged & ~finite


def slices(rows: int) -> list[slice]:
    """Rows in pieces that stay in the cache."""
    return [slice(i, min(i + PIECE, rows)) for i in range(0, rows, PIECE)]
