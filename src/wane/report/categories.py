"""Coverage by category: by weekday, by hour, by the true label and by the groups of the user, each with its chance."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from wane.report import tables
from wane.report.chance import band, surprise
from wane.report.numbers import AnyTrack
from wane.report.sentences import Words, percent

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAY = np.timedelta64(1, "D")
LEAST = 20  # outcomes of a typical weekday or hour, below which these tables would show noise
MOST = 40  # categories of a table; of more, those that are the most surprising


class Category(NamedTuple):
    """One weekday, hour or group.

    Args:
        name: of it.
        labels: outcomes.
        misses: those of them outside.
        coverage: the share inside.
        low, high: what chance allows of so many.
        surprise: how unlikely that is.
        width: the mean of the finite widths, or of the sizes.
    """

    name: str
    labels: int
    misses: int
    coverage: float
    low: float
    high: float
    surprise: float
    width: float

    @property
    def outside(self) -> bool:
        """Whether chance does not explain the coverage."""
        return not self.low <= self.coverage <= self.high


def by_factor(tracks: Sequence[AnyTrack], level: int) -> dict[str, list[Category]]:
    """The coverage of all tracks of one method by each factor: true label and groups, then weekday and hour of dates.

    >>> from wane.report.track import Track
    >>> at = np.datetime64("2024-01-01") + np.arange(140)
    >>> ends = np.where(np.arange(140) % 7 == 0, 0.5, 2.0)  # on Mondays the interval is too narrow
    >>> track = Track("demo", "auto", at, np.ones(140), None, [0.1], -ends, ends, groups={"half": np.arange(140) // 70})
    >>> found = by_factor([track], 0)
    >>> {name: [c.name for c in rows if c.outside] for name, rows in found.items()}
    {'half': [], 'weekday': ['Monday']}
    """
    made = {}
    for name in dict.fromkeys(name for track in tracks for name in track.factors()):
        made[name] = _counted(tracks, level, lambda track, name=name: track.factors().get(name), MOST)
    if all(track.time is not None and track.time.dtype.kind == "M" for track in tracks):
        step = _step(tracks)
        if step <= DAY:
            made["weekday"] = _counted(tracks, level, _weekday, 7)
        if step < DAY:
            made["hour"] = _counted(tracks, level, _hour, 24)
        for name in ("weekday", "hour"):  # of a few outcomes, or of a single hour, there is nothing to see
            rows = made.get(name)
            if rows is not None and (len(rows) < 2 or np.median([c.labels for c in rows]) < LEAST):
                del made[name]
    return {name: rows for name, rows in made.items() if rows}


def _step(tracks: Sequence[AnyTrack]) -> np.timedelta64:
    """The usual time between two rounds of a series."""
    steps = [np.diff(track.time) for track in tracks if track.time is not None and len(track) > 1]
    later = np.concatenate(steps) if steps else np.zeros(0, "timedelta64[ms]")
    later = later[later > np.timedelta64(0, "ms")]
    return np.median(later) if len(later) else np.timedelta64(10_000, "D")


def _weekday(track: Any) -> np.ndarray:
    return (track.time.astype("datetime64[D]").astype(np.int64) + 3) % 7  # the first of January 1970 was a Thursday


def _hour(track: Any) -> np.ndarray:
    return np.asarray(track.time.astype("datetime64[h]").astype(np.int64) % 24)


def _counted(tracks: Sequence[AnyTrack], level: int, factor: Any, most: int) -> list[Category]:
    """The categories of a factor, in their natural order; of too many the most surprising."""
    sums: dict[Any, np.ndarray] = {}  # by category: outcomes, misses, finite widths and how many they are
    for track in tracks:
        found = factor(track)
        if found is None:
            continue
        rows = np.flatnonzero(track.known)
        here, place = _coded(found[rows])
        widths = track.widths(level)[rows]
        finite = np.isfinite(widths)
        columns = (None, track.covered[rows, level] == 0.0, np.where(finite, widths, 0.0), finite)
        counts = np.array([np.bincount(place, weights, len(here)) for weights in columns])
        for i, name in enumerate(here):
            sums[name] = sums.get(name, 0.0) + counts[:, i]
    if not sums:
        return []
    labels, misses, widths, finite = np.array(list(sums.values())).T
    alpha = tracks[0].levels[level]
    low, high = band(alpha, labels)
    strange = surprise(alpha, labels, misses)
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.where(finite > 0, widths / finite, np.inf)
    names = list(sums)
    shown = _said(names, factor)
    made = [
        Category(shown[i], int(labels[i]), int(misses[i]), *map(float, more))
        for i, more in enumerate(zip(1.0 - misses / labels, low, high, strange, width, strict=True))
    ]
    order = sorted(range(len(made)), key=lambda i: _natural(names[i]))
    if len(made) > most:
        order = sorted(order, key=lambda i: -made[i].surprise)[:most]
    return [made[i] for i in order]


def _coded(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The categories, and the place of each value among them; numbers stay numbers, everything else is text."""
    if values.dtype.kind not in "iufb":
        values = np.array([str(v) for v in values], dtype=object)
    names, place = np.unique(values, return_inverse=True)
    return names.tolist(), place.reshape(-1)


def _natural(name: Any) -> tuple[int, Any]:
    try:
        return 0, float(name)
    except ValueError:
        return 1, name


def _said(names: list[Any], factor: Any) -> list[str]:
    if factor is _weekday:
        return [DAYS[name] for name in names]
    return [
        f"{name:02d}:00" if factor is _hour else f"{name:g}" if isinstance(name, float) else str(name) for name in names
    ]


def section(found: dict[str, list[Category]], alpha: float, words: Words) -> str:
    """The tables of all factors, in which the browser draws; nothing where there is no factor."""
    return "".join(_part(i, name, rows, alpha, words) for i, (name, rows) in enumerate(found.items()))


def _part(i: int, factor: str, rows: list[Category], alpha: float, words: Words) -> str:
    table = f"by-{i}"
    far = [c for c in rows if c.outside]
    head = f"Coverage by {factor}"
    said = f"{len(far)} of {len(rows)} leave the grey band." if far else "All of them stay within the grey band."
    if far:
        worst = max(far, key=lambda c: c.surprise)
        said += f" The clearest is {worst.name}, with {percent(worst.coverage)} of {worst.labels:,}."
    said += " The band is what chance allows; about one in 370 is outside of it by luck. The line is the target."
    if len(rows) == MOST:
        said += f" At most {MOST} are shown, the most surprising first."
    lines = [
        [
            tables.text(c.name),
            tables.drawn(c.coverage, c.low, c.high),
            tables.share(c.coverage),
            (f"{percent(c.low)} to {percent(c.high)}", c.low),
            tables.count(c.labels),
            tables.real(c.width),
        ]
        for c in rows
    ]
    heads = [factor.capitalize(), "", "Inside", "Chance allows", words.outcomes.capitalize(), words.mean_width]
    made = tables.table(table, head, heads, lines)
    return tables.section(table, head, escape(said), made, f' data-target="{1.0 - alpha!r}"')
