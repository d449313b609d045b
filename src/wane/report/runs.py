"""What ``wane run`` made, as tracks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wane.conformal.certificates import bound_of, gradients_of
from wane.experiments.leaderboard import LEAST, UNSCORED
from wane.report.labels import LabelTrack
from wane.report.track import Track
from wane.runs import Report

MANY = 1_000  # series, beyond which no bounds are computed: few of them are charted


def tracks(made: Report, name: str) -> list[Any]:
    """The series of a run that kept its rows, as tracks; ``name`` is that of a table with one series."""
    found: list[Any] = []
    kept = made.record.tracks(made.panel.ids()) if made.record is not None else []
    for t in kept:
        own = name if made.columns.id is None and made.columns.cutoff is None else str(t.id)
        if made.columns.classes:
            found += label_track(made, t, own)
            continue
        columns: dict[str, Any] = {"time": t.time, "y": t.y, "y_hat": t.y_hat, "lower": t.lower, "upper": t.upper}
        columns["groups"] = {name: t.groups[:, i] for i, name in enumerate(made.columns.by)} or None
        known = {} if len(kept) > MANY else theory(made, t)
        track = Track.judged(own, made.method, levels=made.alpha, **known, **columns)
        if track is not None:
            found.append(track)
    return found


def label_track(made: Report, track: Any, name: str) -> list[LabelTrack]:
    """One series of a classifier, without the rows that have no set; none if there are no others."""
    rows, classes = np.flatnonzero(~track.cold), made.columns.classes
    if not len(rows):
        return []
    label = [None if k != k else classes[int(k)] for k in track.label[rows].tolist()]
    time = None if track.time is None else track.time[rows]
    return [LabelTrack(name, made.method, time, label, made.alpha, track.sets[rows], list(classes))]


def judged_rounds(found: list[Any], labels: Mapping[str, int]) -> list[Any]:
    """The rounds that a comparison of methods judges: the beginning of each long series is left out.

    Args:
        found: the tracks of one method.
        labels: how many outcomes each series has, also before its first interval; a single one may have any name.
    """
    made = []
    for track in found:
        known = np.flatnonzero(track.known)
        count = next(iter(labels.values())) if len(labels) == len(found) == 1 else labels.get(track.name, len(known))
        judged = count - (min(UNSCORED, count // 3) if count >= LEAST else 0)
        made.append(track.since(int(known[-judged]) if 0 < judged < len(known) else 0))
    return made


def theory(made: Report, track: Any) -> dict[str, Any]:
    """What the theory says of a series: the ``bounds``, ``discount`` and ``gradients`` of its track.

    There is nothing if the chart shows another sum than the theory speaks of: if the run goes on from a state or warms
    up, if the score has two sides, or if a true value lies at the very end of an interval, which the methods count as
    missed.
    """
    design = made.panel.settings
    if made.resumed or made.columns.cutoff is not None or made.columns.arrived is not None:
        return {}
    if design.pooled or design.warm_up or design.score.sides == 2 or made.groups:
        return {}
    y = track.y[:, None]
    if np.any((y == track.lower) | (y == track.upper)):
        return {}
    trackers = made.panel.trackers(track.id)
    learner = getattr(trackers[0], "learner", None)
    # Rounds before the first interval are in the sum of the theory, not in the chart's; each moves it by less than 1.
    hidden = int(np.count_nonzero(np.isnan(track.lower[:, 0]) & ~np.isnan(track.y)))
    bounds = [bound_of(trackers[column])[0] for column in design.columns]
    bounds = [None if bound is None else bound + hidden for bound in bounds]
    gradients = [finite(gradients_of(trackers[c])) if bounds[i] is None else None for i, c in enumerate(design.columns)]
    return {"bounds": bounds, "discount": float(getattr(learner, "discount", 1.0)), "gradients": gradients}


def finite(pair: tuple[float | None, float | None]) -> tuple[float, float] | None:
    """A sum and its bound, unless one of them is missing or infinite."""
    total, bound = pair
    return None if total is None or bound is None or not np.isfinite([total, bound]).all() else (total, bound)
