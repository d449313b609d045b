"""The charts of a report for notebooks and papers, in the style of the other figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import whole
from wane.experiments.figures import COLOURS, GREY, STYLE, needed
from wane.report import numbers
from wane.report.track import Track

SIZE = (7.0, 6.0)  # inches
OUTER = 0.5  # percent of the ends of intervals that may lie beyond the edges, on each side


def figure(track: Track, level: int = 0, window: int | None = None) -> Any:
    """A matplotlib figure: the series with its band, local coverage, local width. Needs matplotlib.

    Args:
        track: what is drawn.
        level: which of the track's levels.
        window: rounds that are judged together; 100, or fewer if the track is short.

    Returns the figure, which a notebook shows and ``figure.savefig("report.pdf")`` writes.
    """
    needed()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    i = whole("level", level, 0, len(track.levels))
    k = numbers.window([track]) if window is None else whole("window", window, 1)
    with matplotlib.rc_context(STYLE):
        made: Any = Figure(figsize=SIZE)
        FigureCanvasAgg(made)
        axes = made.subplots(3, 1, sharex=True, height_ratios=(2.0, 1.2, 1.0))
        _draw(axes, track, i, k)
    return made


def _draw(axes: Any, track: Track, i: int, k: int) -> None:
    x = np.arange(len(track)) if track.time is None else track.time
    target, found, curves = 1.0 - track.levels[i], numbers.judged(track, i, k), numbers.curves(track, i, k)
    series, coverage, width = axes
    missed = track.covered[:, i] == 0.0
    series.fill_between(
        x, track.lower[:, i], track.upper[:, i], color=COLOURS[0], alpha=0.2, lw=0, label=f"{target:.0%} interval"
    )
    if track.y_hat is not None:
        series.plot(x, track.y_hat, color=COLOURS[2], lw=0.8, ls="--", label="forecast")
    series.plot(x, track.y, color="black", lw=0.8, label="outcome")
    series.plot(x[missed], track.y[missed], ".", color=COLOURS[1], ms=3, label=f"outside: {missed.sum():,}")
    series.set_ylim(*_limits(track, i))
    series.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    coverage.axhspan(*numbers.usual(track.levels[i], k), color=GREY, alpha=0.12, lw=0)
    coverage.axhline(target, color="black", lw=0.8, ls="--")
    _line(coverage, x, curves["coverage"])
    coverage.set_ylabel(f"coverage of\nthe last {k}")
    _line(width, x, curves["width"])
    width.set_ylabel(f"width, mean of\nthe last {k}")
    width.set_xlabel("round" if track.time is None else "time")
    if found.worst_at:
        first, last = found.worst_at
        for one in axes:
            one.axvspan(x[first], x[last], color=COLOURS[1], alpha=0.15, lw=0)
        coverage.set_title(f"inside: {found.coverage:.1%}; the worst window: {found.worst:.1%}", loc="left")


def _line(axis: Any, x: np.ndarray, y: np.ndarray) -> None:
    known = np.isfinite(y)
    axis.plot(x[known], y[known], color=COLOURS[0])


def _limits(track: Track, i: int) -> tuple[float, float]:
    """All outcomes and most ends: intervals may be huge while little is known."""
    ends = [e[np.isfinite(e)] for e in (track.lower[:, i], track.upper[:, i])]
    low, high = (np.percentile(e, q) if len(e) else np.nan for e, q in zip(ends, (OUTER, 100.0 - OUTER), strict=True))
    low, high = np.nanmin([low, *track.y]), np.nanmax([high, *track.y])
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room
