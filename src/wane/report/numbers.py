"""What a report says about a track: numbers for its tables and curves for its charts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom

from wane import metrics
from wane.conformal.monitor import Monitor
from wane.metrics.verdict import EARLY, Judged, Verdict
from wane.report.labels import LabelTrack
from wane.report.track import Track

AnyTrack = Track | LabelTrack

WINDOWS = (100, 50, 20, 10, 5)  # rounds judged together: the first that fits twice into a typical stream
USUAL = 0.95  # the share of windows between the two lines, if misses were independent


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A track at one level; NaN where there is nothing to judge.

    Args:
        name: of the stream.
        method: of the track.
        rounds: how many.
        labels: rounds with an outcome.
        misses: outcomes outside.
        coverage: the share inside.
        worst: the lowest coverage of a window.
        worst_at: its first and last round; None if there is no window.
        width: the mean of the finite ones; infinite if none is finite.
        infinite: the share of infinite intervals.
        winkler: the mean interval score.
        longest: the most misses in a row.
    """

    name: str
    method: str
    rounds: int
    labels: int
    misses: int
    coverage: float
    worst: float
    worst_at: tuple[int, int] | None
    width: float
    infinite: float
    winkler: float
    longest: int

    @property
    def finite(self) -> int:
        """Rounds with a finite interval."""
        return round(self.rounds * (1.0 - self.infinite))


def window(tracks: Sequence[AnyTrack]) -> int:
    """How many rounds are judged together."""
    typical = float(np.median([np.count_nonzero(track.known) for track in tracks]))
    return next((k for k in WINDOWS if 2 * k <= typical), max(1, int(typical)))


def judged(track: AnyTrack, level: int, k: int) -> Numbers:
    """The numbers of a track.

    >>> track = Track("demo", "auto", None, [1.0, 5.0, 2.0], None, [0.1], [0.0] * 3, [3.0] * 3)
    >>> found = judged(track, 0, k=2)
    >>> found.misses, found.worst, found.worst_at, found.width
    (1, 0.5, (0, 1), 3.0)
    """
    covered, known = track.covered[:, level], np.flatnonzero(track.known)
    widths = track.widths(level)
    finite = widths[np.isfinite(widths)]
    common = {"width": metrics.width(finite) if len(finite) else math.inf, "infinite": 1.0 - len(finite) / len(widths)}
    about = {"name": track.name, "method": track.method, "rounds": len(track), "labels": len(known), **common}
    if not len(known):
        nothing = {"coverage": math.nan, "worst": math.nan, "worst_at": None, "winkler": math.nan}
        return Numbers(misses=0, longest=0, **about, **nothing)  # type: ignore[arg-type]
    local = metrics.local_coverage(covered, k)
    first = int(np.argmin(local)) if len(local) else 0
    return Numbers(
        misses=int(np.count_nonzero(covered == 0.0)),
        coverage=metrics.coverage(covered),
        worst=float(local[first]) if len(local) else math.nan,
        worst_at=(int(known[first]), int(known[first + k - 1])) if len(local) else None,
        winkler=track.interval_score(level),
        longest=metrics.longest_run(covered),
        **about,  # type: ignore[arg-type]
    )


def judging(tracks: Sequence[AnyTrack], level: int) -> Judged:
    """All outcomes of the tracks of one method, inside or not, from which the verdict on them comes.

    >>> rng = np.random.default_rng(0)
    >>> track = Track("demo", "auto", None, rng.normal(size=500), None, [0.1], -np.ones(500), np.ones(500))
    >>> judging([track], 0).verdict(series=1).cause
    'throughout'
    """
    known = [np.flatnonzero(track.known) for track in tracks]
    inside = np.concatenate([track.covered[rows, level] == 1.0 for track, rows in zip(tracks, known, strict=True)])
    early = np.concatenate([np.arange(len(rows)) < EARLY for rows in known])
    times: Any = None
    kinds = {None if track.time is None else track.time.dtype.kind for track in tracks}
    if len(kinds) == 1 and None not in kinds:  # in the order of time over all series
        times = np.concatenate([track.time[rows] for track, rows in zip(tracks, known, strict=True)])
        order = np.argsort(times, kind="stable")
        inside, early, times = inside[order], early[order], times[order]
    judged = Judged(tracks[0].levels[level])
    judged.add(inside, times, early)
    return judged


def verdict(tracks: Sequence[AnyTrack], level: int) -> Verdict | None:
    """The verdict on the coverage of all tracks of one method together; None if there is nothing bad to say."""
    return judging(tracks, level).verdict(sum(bool(track.known.any()) for track in tracks))


def alarms(track: AnyTrack, level: int, k: int) -> tuple[list[int], list[int]]:
    """The rounds at which a ``Monitor`` with a window of k outcomes raises an alarm: too few inside, too many inside.

    >>> low = Track("demo", "auto", None, [0.0] * 40 + [9.0] * 20, None, [0.1], [-1.0] * 60, [1.0] * 60)
    >>> alarms(low, 0, k=20)
    ([46], [])
    """
    rows = np.flatnonzero(track.known)
    if not len(rows):
        return [], []
    widths = track.widths(level)[rows]
    raised, _ = Monitor(track.levels[level], window=k).run(track.covered[rows, level] == 1.0, widths)
    return rows[raised < 0].tolist(), rows[raised > 0].tolist()


def curves(track: AnyTrack, level: int, k: int, discount: float = 1.0) -> dict[str, np.ndarray]:
    """Local coverage, local width and the sum of miss - alpha, at the last round of each window; NaN elsewhere.

    >>> track = Track("demo", "auto", None, [1.0, 5.0, 2.0], None, [0.5], [0.0] * 3, [3.0] * 3)
    >>> {name: curve.tolist() for name, curve in curves(track, 0, k=2).items()}
    {'coverage': [nan, 0.5, 0.5], 'width': [nan, 3.0, 3.0], 'sum': [-0.5, 0.0, -0.5]}
    """
    covered, known = track.covered[:, level], track.known
    made = {name: np.full(len(track), np.nan) for name in ("coverage", "width", "sum")}
    ends = np.flatnonzero(known)
    made["width"][k - 1 :] = metrics.local_width(track.widths(level), k)
    if len(ends):
        made["coverage"][ends[k - 1 :]] = metrics.local_coverage(covered, k)
        made["sum"][known] = lfilter([1.0], [1.0, -discount], (covered[known] == 0.0) - track.levels[level])
    return made


def usual(alpha: float, k: int) -> tuple[float, float]:
    """Between which shares the coverage of most windows would lie if misses were independent with the right chance."""
    low, high = binom.interval(USUAL, k, 1.0 - alpha)
    return float(low) / k, float(high) / k


def pooled(found: Sequence[Numbers]) -> Numbers:
    """Several streams as one: shares of all their rounds, the worst window of any."""
    labels, rounds = sum(n.labels for n in found), sum(n.rounds for n in found)
    misses, finite = sum(n.misses for n in found), sum(n.finite for n in found)
    known = [n for n in found if n.labels]
    worst: Any = min((n for n in known if n.worst_at), key=lambda n: n.worst, default=None)
    return Numbers(
        name=worst.name if worst else found[0].name,
        method=found[0].method,
        rounds=rounds,
        labels=labels,
        misses=misses,
        coverage=1.0 - misses / labels if labels else math.nan,
        worst=worst.worst if worst else math.nan,
        worst_at=worst.worst_at if worst else None,
        width=sum(n.width * n.finite for n in found if n.finite) / finite if finite else math.inf,
        infinite=sum(n.infinite * n.rounds for n in found) / rounds,
        winkler=sum(n.winkler * n.labels for n in known) / labels if labels else math.nan,
        longest=max(n.longest for n in found),
    )


def plain(track: AnyTrack, k: int) -> dict[str, Any]:
    """All levels of a track for JSON, which knows neither NaN nor infinity: None."""
    found = []
    for i, alpha in enumerate(track.levels):
        line = {"alpha": alpha, **dataclasses.asdict(judged(track, i, k))}
        del line["name"], line["method"]
        found.append({key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in line.items()})
    return {"name": track.name, "method": track.method, "levels": found}
