"""What ``wane run`` made, as tracks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wane.conformal.settings import bound_of
from wane.report.track import Track
from wane.runs import Report

MANY = 1_000  # series, beyond which no bounds are computed: few of them are charted


def tracks(made: Report, name: str) -> list[Track]:
    """The series of a run that kept its rows, as tracks; ``name`` is that of a table with one series."""
    found = []
    kept = made.record.tracks(made.panel.ids()) if made.record is not None else []
    for t in kept:
        own = name if made.columns.id is None else str(t.id)
        columns: dict[str, Any] = {"time": t.time, "y": t.y, "y_hat": t.y_hat, "lower": t.lower, "upper": t.upper}
        bounds, discount = (None, 1.0) if len(kept) > MANY else theory(made, t)
        track = Track.judged(own, made.method, levels=made.alpha, bounds=bounds, discount=discount, **columns)
        if track is not None:
            found.append(track)
    return found


def theory(made: Report, track: Any) -> tuple[Sequence[float | None] | None, float]:
    """What the theory allows the sum of misses of a series at each level, and its discount.

    There is no bound if the chart shows another sum than the theory speaks of: if the run goes on from a state or warms
    up, if the score has two sides, or if a true value lies at the very end of an interval, which the methods count as
    missed.
    """
    design = made.panel.settings
    if made.resumed or design.warm_up or design.score.sides == 2:
        return None, 1.0
    y = track.y[:, None]
    if np.any((y == track.lower) | (y == track.upper)):
        return None, 1.0
    trackers = made.panel.trackers(track.id)
    learner = getattr(trackers[0], "learner", None)
    bounds = [bound_of(trackers[column])[0] for column in design.columns]
    return bounds, float(getattr(learner, "discount", 1.0))
