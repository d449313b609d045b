"""Every method on the series of a table: all series are played together, and all their rows are judged together.

The rules, the same for all: nothing is tuned; rows are played in order of time, as ``wane run`` plays them; a series of
200 labels or more is judged from its 300th row on, or after its first third, and a shorter one from its first row on.
A true value at the very end of its interval is inside. Losses and widths of a series are divided by its mean score, so
that large series do not count more. A row without an interval has lost its whole score, and an infinite radius counts
as the largest score of the series so far.
"""

from __future__ import annotations

import math
import time as clock
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane import metrics, trackers
from wane.conformal import OnlineConformal
from wane.covered import contains
from wane.errors import InputError
from wane.experiments import compare, compare_late, leaderboard
from wane.experiments.compare_late import Lateness
from wane.experiments.leaderboard import LEAST, UNSCORED, WINDOW
from wane.metrics.verdict import EARLY, Judged
from wane.panel import Panel, arrivals
from wane.panel.backtests import Backtest
from wane.panel.settings import POOL, default_method
from wane.trackers.registry import refuse_unknown

ROWS = 30_000  # that are judged, if the user does not say how many series
SERIES = 300  # likewise; trackers of auto take 0.3 MB each
COLUMNS = {  # head: key, form
    "method": ("method", ""),
    "coverage": ("coverage", ".1%"),
    f"first {EARLY}": ("first", ".1%"),
    "off target": ("miss_of_target", ".4f"),
    "LCE_100": ("lce_100", ".3f"),
    "pinball": ("pinball_ratio", ".3f"),
    "width": ("width_ratio", ".3f"),
    "infinite": ("infinite", ".2%"),
    "ns": ("nanoseconds", ".0f"),
}
CAPTION = (
    f"first {EARLY} is the coverage of the first {EARLY} labels of each series; off target is the distance of the "
    "coverage from the target, and LCE_100 that of the worst 100 rows in order of time; pinball is the loss divided by "
    "the smallest; width is divided by the narrowest within 0.15 of the target; ns is the time of a row in nanoseconds"
)


@dataclass(frozen=True, eq=False)
class PanelRows:
    """The rows of a panel, in order of time.

    Args:
        series: a number for the series of each row.
        times: of the rows; None means that the k-th rows of all series are one moment.
        cutoffs: of a backtest, else None.
        outputs: of the model, as the score takes them.
        y: the labels, NaN where there is none.
        scores: of the rows, NaN where there is no label.
        score: the name of the score.
        delay: a label is known so many rows of its series later; in a backtest, so many times later.
        arrived: the time at which each label became known; None if that is a number of rows later.
    """

    series: np.ndarray
    times: np.ndarray | None
    cutoffs: np.ndarray | None
    outputs: Any
    y: np.ndarray
    scores: np.ndarray
    score: str
    delay: int = 0
    arrived: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> PanelRows:
        """Some rows."""
        outputs = tuple(c[rows] for c in self.outputs) if isinstance(self.outputs, tuple) else self.outputs[rows]
        times, cutoffs, arrived = (None if c is None else c[rows] for c in (self.times, self.cutoffs, self.arrived))
        mine = self.series[rows], times, cutoffs, outputs, self.y[rows], self.scores[rows]
        return PanelRows(*mine, self.score, self.delay, arrived)


def judged(
    rows: PanelRows,
    methods: Sequence[str] | None = None,
    alpha: float = 0.1,
    most: int | None = None,
    started: Callable[[str, int], Callable[[], Any]] = lambda name, ticks: lambda: None,
) -> dict[str, Any]:
    """The methods on a panel, and which to take.

    Args:
        rows: of the panel.
        methods: names; None is all of them.
        alpha: the share of labels that may be missed.
        most: the number of series that are judged, taken at even distances; None: up to 300, and 30,000 rows.
        started: (name, ticks) -> tick.
    """
    names = [POOL, *trackers.names()] if methods is None else list(methods)
    refuse_unknown(names, POOL)
    every = np.unique(rows.series)
    if most is None:
        most = max(2, min(SERIES, int(ROWS / max(len(rows.y) / max(len(every), 1), 1.0))))
    taken = every if len(every) <= most else every[np.linspace(0, len(every) - 1, most).astype(int)]
    rows = rows.take(np.flatnonzero(np.isin(rows.series, taken)))
    labels = int(np.count_nonzero(~np.isnan(rows.scores)))
    if labels < LEAST:
        raise InputError(f"methods are judged on at least {LEAST} labels, the table has {labels}")
    told = compare.largest([of_series(rows, k) for k in taken])
    scored, scale = to_judge(rows), scales(rows)
    tick, found, verdicts = started("methods", len(names)), [], {}
    for name in names:
        settings = {} if name == POOL else leaderboard.settings(name, told)
        line, verdicts[name] = judge(name, rows, alpha, settings, scored, scale)
        found.append({"stream": "panel", "method": name, **line})
        tick()
    lines = ranked(found)
    advised = compare.advice(lines, alpha, int(scored.sum()), default_method(len(every)))
    rests = f" The advice rests on {len(taken):,} of {len(every):,} series and {int(scored.sum()):,} rows."
    rests = rests if len(every) > 1 else ""
    return {
        "alpha": alpha,
        "series": len(taken),
        "series_in_all": len(every),
        "too_short": 0,
        "rounds": int(scored.sum()),
        "leaderboard": lines,
        **advised,
        "recommendation": advised["recommendation"] + rests,
        "bad": verdicts[advised["method"]],
        "settings": needed(advised["method"], rows, alpha),
        "rules": __doc__,
    }


def needed(method: str, rows: PanelRows, alpha: float) -> dict[str, Any]:
    """What a panel must be given so that a method plays all of these series."""
    if method == POOL:
        return {}
    every = [s for k in np.unique(rows.series) if len(s := of_series(rows, k))]
    return compare.needed(method, every, alpha, warm=rows.arrived is None)


def of_series(rows: PanelRows, key: Any) -> np.ndarray:
    """The scores of one series, without missing ones."""
    mine = rows.scores[rows.series == key]
    return mine[~np.isnan(mine)]


def to_judge(rows: PanelRows) -> np.ndarray:
    """Which rows are judged: those with a label, but not the beginning of long series, nor the first moment of all."""
    known = ~np.isnan(rows.scores)
    series, code = np.unique(rows.series, return_inverse=True)
    counts = np.bincount(code[known], minlength=len(series))
    leave = np.where(counts >= LEAST, np.minimum(UNSCORED, counts // 3), 0)
    scored = known & (ages(code, known) >= leave[code])
    when = rows.times if rows.times is not None else ages(code, np.ones(len(code), dtype=bool))
    return scored & (when > when.min())


def ages(code: np.ndarray, known: np.ndarray) -> np.ndarray:
    """How many earlier rows of its series are known, for each row."""
    order = np.argsort(code, kind="stable")
    before = np.cumsum(known[order]) - known[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(code[order]) != 0]))
    found = np.empty(len(code), dtype=np.int64)
    found[order] = before - np.repeat(before[starts], np.diff(starts, append=len(code)))
    return found


def scales(rows: PanelRows) -> np.ndarray:
    """The mean score of the series of each row, and of all where that is 0."""
    series, code = np.unique(rows.series, return_inverse=True)
    known = ~np.isnan(rows.scores)
    sums = np.bincount(code[known], rows.scores[known], len(series))
    means = sums / np.maximum(np.bincount(code[known], minlength=len(series)), 1)
    return np.where(means > 0.0, means, float(rows.scores[known].mean()) or 1.0)[code]


def played(name: str, rows: PanelRows, alpha: float, settings: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The radius of each row, NaN where there is no interval, and whether the interval holds the true value."""

    def make() -> Panel:
        return Panel(name, alpha, rows.score, on_unbounded="allow", **settings)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trackers.CoverageWarning)
        if rows.cutoffs is not None:
            backtest = Backtest.of(rows.series, rows.times, rows.cutoffs, ("time", "cutoff"))  # type: ignore[arg-type]
            made, _ = backtest.play(make, rows.outputs, rows.y, rows.delay)
        elif rows.arrived is not None and name != POOL:
            return one_by_one(name, rows, alpha, settings)
        else:
            panel = make()
            with panel._lock:
                places = panel.index.places(rows.series, add=True)
                if rows.arrived is None:
                    made = panel._run_at(places, rows.outputs, rows.y, rows.delay, rows.times)
                else:
                    made = arrivals.play(panel, places, rows.outputs, rows.y, rows.times, rows.arrived)
    lower, upper = made.lower[:, 0], made.upper[:, 0]
    return np.where(np.isnan(lower), math.nan, made.radii[:, 0]), contains(lower, upper, rows.y)


def one_by_one(name: str, rows: PanelRows, alpha: float, settings: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Play each series by itself, by labels that come at times of their own."""
    made = np.empty((len(rows.y), 4))
    late = Lateness(*(as_numbers(np.asarray(column)) for column in (rows.times, rows.arrived)))
    for key in np.unique(rows.series):
        at = np.flatnonzero(rows.series == key)
        mine = rows.take(at)
        oc = OnlineConformal(
            name, rows.score, alpha, on_unbounded="allow", history=0, max_pending=len(at) + 1, **settings
        )
        pair = isinstance(mine.outputs, tuple)
        outputs = zip(*(c.tolist() for c in mine.outputs), strict=True) if pair else mine.outputs.tolist()
        rounds = compare_late.played(oc, outputs, mine.y.tolist(), late.take(at))
        made[at] = [(p.radius, p.lower, p.upper, taught) for p, taught in rounds]
    radii, lower, upper, taught = made.T
    return np.where(taught == 1.0, radii, math.nan), (taught == 1.0) & contains(lower, upper, rows.y)


def as_numbers(times: np.ndarray) -> np.ndarray:
    """Times as floats, NaN where there is none."""
    return np.where(np.isnat(times), math.nan, times.astype(float)) if times.dtype.kind == "M" else times.astype(float)


def judge(
    name: str, rows: PanelRows, alpha: float, settings: dict[str, Any], scored: np.ndarray, scale: np.ndarray
) -> tuple[dict[str, Any], Any]:
    """The measures of one method, and the verdict on its coverage."""
    begun = clock.perf_counter()
    radii, covered = played(name, rows, alpha, settings)
    seconds = clock.perf_counter() - begun
    code = np.unique(rows.series, return_inverse=True)[1]
    known = ~np.isnan(rows.scores)
    young = ages(code, known) < EARLY
    shown = scored & ~np.isnan(radii)
    early = known & young & ~np.isnan(radii)  # also of long series, whose beginning is not judged
    infinite = np.isinf(radii)
    # An infinite radius counts as the largest score of the series so far, and no interval as a radius of 0.
    used = np.where(np.isnan(radii), 0.0, np.where(infinite, largest_so_far(code, rows.scores), np.maximum(radii, 0.0)))
    truth = rows.scores[scored]
    ours = used[scored] / scale[scored]
    hits = covered[shown].astype(float)
    result = Judged(alpha)
    result.add(covered[shown], None if rows.times is None else rows.times[shown], young[shown])
    coverage = metrics.coverage(hits) if len(hits) else math.nan
    line = {
        "rounds": len(truth),
        "coverage": coverage,
        "first": float(covered[early].mean()) if early.any() else math.nan,
        "miss_of_target": abs(coverage - (1.0 - alpha)),
        "lce_100": metrics.lce(hits, alpha, WINDOW) if len(hits) >= WINDOW else math.nan,
        "pinball": metrics.pinball(ours, truth / scale[scored], alpha),
        "width": metrics.width(2.0 * ours),
        "infinite": float(infinite[scored].mean()),
        "nanoseconds": 1e9 * seconds / len(rows.y),
    }
    return line, result.verdict(len(np.unique(code)))


def largest_so_far(code: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The largest earlier score of the series of each row, 0 if there is none."""
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(code[order]) != 0]))
    found = np.zeros(len(code))
    for begin, end in zip(starts, [*starts[1:], len(code)], strict=True):
        mine = order[begin:end]
        found[mine[1:]] = np.maximum.accumulate(np.nan_to_num(scores[mine]))[:-1]
    return found


def ranked(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines with their ratios to the best, the smallest pinball loss first."""
    lines = leaderboard.ranked([{**line, "winkler": line["pinball"]} for line in found])
    narrowest = min((line["width"] for line in compare.serious(lines)), default=0.0)
    for line in lines:
        line["width_ratio"] = line["width"] / narrowest if narrowest > 0.0 else 1.0
    return sorted(lines, key=lambda line: (line["method"] in leaderboard.NO_RIVAL, line["pinball_ratio"]))
