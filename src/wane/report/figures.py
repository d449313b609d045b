"""The charts of a report for notebooks and papers, in the style of the other figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import whole
from wane.experiments.figures import COLOURS, GREY, STYLE, needed
from wane.report import numbers, sentences
from wane.report.track import Track

SIZE = (7.0, 6.0)  # inches
FLAT = 1e-6  # widths that differ by less, as a share, are the same to a reader
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
    alpha, found, curves = track.levels[i], numbers.judged(track, i, k), numbers.curves(track, i, k)
    series, coverage, width = axes
    missed = track.covered[:, i] == 0.0
    limits = _limits(track, i)
    ends = np.clip([track.lower[:, i], track.upper[:, i]], *limits)  # what is infinite reaches to the edges
    series.fill_between(x, *ends, color=COLOURS[0], alpha=0.2, lw=0, label=f"{sentences.target(alpha)} interval")
    if track.y_hat is not None:
        _line(series, x, track.y_hat, color=COLOURS[2], lw=0.8, ls="--", label="forecast")
    _line(series, x, track.y, color="black", lw=0.8, label="outcome")
    series.plot(x[missed], track.y[missed], ".", color=COLOURS[1], ms=3, label=f"outside: {missed.sum():,}")
    series.set_ylim(*limits)
    series.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    coverage.axhspan(*numbers.usual(alpha, k), color=GREY, alpha=0.12, lw=0)
    coverage.axhline(1.0 - alpha, color="black", lw=0.8, ls="--")
    _line(coverage, *_known(x, curves["coverage"]))
    coverage.set_ylabel(f"coverage of\nthe last {k}")
    _line(width, *(line := _known(x, curves["width"])))
    _level(width, line[1])
    width.set_ylabel(f"width, mean of\nthe last {k}")
    width.set_xlabel("round" if track.time is None else "time")
    if found.worst_at:
        first, last = found.worst_at
        for one in axes:
            one.axvspan(x[first], x[last], color=COLOURS[1], alpha=0.15, lw=0)
        coverage.set_title(f"inside: {found.coverage:.1%}; the worst window: {found.worst:.1%}", loc="left")


def _known(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = np.isfinite(y)
    return x[known], y[known]


def _line(axis: Any, x: np.ndarray, y: np.ndarray, color: str = COLOURS[0], **style: Any) -> None:
    """A line, with dots where it would show nothing: values without neighbours."""
    axis.plot(x, y, color=color, **style)
    known = np.pad(~np.isnan(y), 1)
    alone = known[1:-1] & ~known[:-2] & ~known[2:]
    if alone.any():
        axis.plot(x[alone], y[alone], ".", color=color, ms=3)


def _level(axis: Any, y: np.ndarray) -> None:
    """Room around a line that is level but for its last digits."""
    low, high = (y.min(), y.max()) if len(y) else (0.0, 0.0)
    if 0.0 < high and high - low <= FLAT * high:
        axis.set_ylim(0.9 * low, 1.1 * high)


def _limits(track: Track, i: int) -> tuple[float, float]:
    """All outcomes and most ends: intervals may be huge while little is known."""
    ends = [e[np.isfinite(e)] for e in (track.lower[:, i], track.upper[:, i])]
    low, high = (np.percentile(e, q) if len(e) else np.nan for e, q in zip(ends, (OUTER, 100.0 - OUTER), strict=True))
    low, high = np.nanmin([low, *track.y]), np.nanmax([high, *track.y])
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room
