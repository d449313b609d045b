"""The numbers behind the charts, as the browser reads them: which tracks have charts, and their packed columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wane.checks import described, number
from wane.errors import InputError
from wane.report import numbers
from wane.report.labels import LabelTrack
from wane.report.numbers import AnyTrack, Numbers
from wane.report.packing import packed
from wane.report.track import Track

SINGLE = 2.0**-24  # how far off single precision may be, as a share
BLUR = 1e-4  # of a typical width: how far off the ends of intervals may be in the page


def charted(tracks: Sequence[AnyTrack], ranked: Sequence[str], room: int, most: int) -> list[int]:
    """The tracks with charts: all if there is room, else those of the first series, which are the least likely.

    Args:
        tracks: all of them.
        ranked: the names of series, the least likely first.
        room: how many rounds may have charts.
        most: how many series may have charts.
    """
    if sum(map(len, tracks)) <= room and len({track.name for track in tracks}) <= most:
        return list(range(len(tracks)))
    sizes: dict[str, int] = dict.fromkeys(ranked, 0)
    for track in tracks:
        sizes[track.name] = sizes.get(track.name, 0) + len(track)
    kept: set[str] = set()
    for name, size in sizes.items():
        if len(kept) < most and (size <= room or not kept):
            kept.add(name)
            room -= size
    return [i for i, track in enumerate(tracks) if track.name in kept]


def charts(track: AnyTrack, found: list[Numbers], k: int, settings: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The numbers behind the charts of a track, of its last rounds if there are very many."""
    start = max(0, len(track) - most)
    shown = slice(start, None)
    made: dict[str, Any] = {"name": track.name, "method": track.method, "rounds": len(track) - start, "levels": []}
    if track.time is not None:
        made["dates"] = track.time.dtype.kind == "M"
        time = track.time[shown]
        made["time"] = packed(time.astype(np.int64) / 1e3 if made["dates"] else time, exact=True)
    fine = isinstance(track, Track) and _fine(track)
    if isinstance(track, Track):
        made["y"] = packed(track.y[shown], fine)
        if track.y_hat is not None:
            made["y_hat"] = packed(track.y_hat[shown], fine)
    # What the run itself knows of the theory goes before what the settings say.
    bounds, discounts = (
        _of_method(settings, name, track.method, len(found)) for name in ("coverage_bound", "discount")
    )
    if track.bounds is not None:
        bounds = [None if b is None or not math.isfinite(b) else b for b in track.bounds]
        discounts = [track.discount] * len(found)
    for i, n in enumerate(found):
        given = discounts[i]
        discount = 1.0 if given is None else given
        worst_at = n.worst_at if n.worst_at and n.worst_at[0] >= start else None
        columns = {"hit": track.covered[:, i], **numbers.curves(track, i, k, discount)}
        alarms = numbers.alarms(track, i, k)
        made["levels"].append(
            {name: packed(column[shown], fine) for name, column in _ends(track, i).items()}
            | {name: packed(column[shown]) for name, column in columns.items()}
            | {
                "worst": n.worst if n.worst_at else None,
                "worst_at": [at - start for at in worst_at] if worst_at else None,
                "alarms": [[at - start for at in side if at >= start] for side in alarms],
                "bound": bounds[i],
                "discount": discount,
                "gradients": None if track.gradients is None else track.gradients[i],
            }
        )
    return made


def _ends(track: AnyTrack, level: int) -> dict[str, np.ndarray]:
    """What the browser draws as the band: the ends of intervals, or the sizes of sets."""
    if isinstance(track, LabelTrack):
        return {"size": track.widths(level)}
    return {"lower": track.lower[:, level], "upper": track.upper[:, level]}


def _fine(track: Track) -> bool:
    """Whether single precision would blur the intervals: they are narrow beside the range of the series."""
    with np.errstate(over="ignore", invalid="ignore"):
        middles, widths = (track.lower + track.upper) / 2.0, track.upper - track.lower
    known = np.isfinite(middles) & (widths > 0.0)
    if not known.any():
        return False
    middles = middles[known]
    return float(np.abs(middles - np.median(middles)).max() * SINGLE) > BLUR * float(np.median(widths[known]))


def _of_method(settings: Mapping[str, Any], name: str, method: str, levels: int) -> list[float | None]:
    """A setting at each level; None where it is not there, or infinite."""
    value = settings.get(name)
    if isinstance(value, Mapping):
        value = value.get(method)
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) != levels:
            problem = f"must be a number, or one for each of the {levels} levels, got {described(value)}"
            raise InputError(problem, about=name)
        each = list(value)
    else:
        each = [value] + [None] * (levels - 1) if name == "coverage_bound" else [value] * levels
    return [None if v is None or v == math.inf else number(name, v) for v in each]
