"""Small multiples: the local coverage of the least likely series, side by side; each leads to its charts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from wane.report import numbers
from wane.report.numbers import AnyTrack
from wane.report.sentences import percent

MOST = 24  # series
POINTS = 110  # of a curve
WIDTH, HEIGHT = 220, 64  # of a drawing, in its own units


def section(ranked: Sequence[AnyTrack], level: int, k: int) -> str:
    """The part of the page, of tracks of one method with the least likely first; nothing for a single series."""
    shown = [(track, numbers.curves(track, level, k)["coverage"]) for track in ranked[:MOST]]
    shown = [(track, curve[np.isfinite(curve)]) for track, curve in shown]
    shown = [(track, curve) for track, curve in shown if len(curve)]
    if len(ranked) < 2 or not shown:
        return ""
    aim = 1.0 - ranked[0].levels[level]
    usual = numbers.usual(1.0 - aim, k)
    low = min(min(float(curve.min()) for _, curve in shown), usual[0])
    arts = "".join(_one(track, curve, level, aim, usual, low) for track, curve in shown)
    which = (
        f"the {len(shown)} least likely series" if len(ranked) > len(shown) else "all series, the least likely first"
    )
    return (
        '<section aria-labelledby="multiples-head"><h2 id="multiples-head">Series side by side</h2>'
        f"<p>Each picture shows the coverage of the last {k} outcomes over time, on one scale from {percent(low)} to "
        f"100\u00a0%, of {which}. The grey band is where 95\u00a0% of windows would lie by chance. Choose one to see "
        "its charts.</p>"
        f'<div class="multiples">{arts}</div></section>'
    )


def _one(track: AnyTrack, curve: np.ndarray, level: int, aim: float, usual: tuple[float, float], low: float) -> str:
    """The lowest value of each stretch of a curve, so that no dip is lost."""
    span = 1.0 - low or 1.0

    def y(share: float) -> float:
        return 2.0 + (HEIGHT - 4.0) * (1.0 - share) / span

    cuts = np.linspace(0, len(curve), min(POINTS, len(curve)) + 1).astype(int)[:-1]
    lowest = np.minimum.reduceat(curve, cuts)
    step = WIDTH / max(len(lowest) - 1, 1)
    path = "L".join(f"{step * i:.1f} {y(v):.1f}" for i, v in enumerate(lowest.tolist()))
    inside = track.covered[:, level]
    labels = int(np.count_nonzero(track.known))
    said = f"{percent(float(np.nanmean(inside)))} of {labels:,}"
    return (
        f'<button type="button" class="multiple" data-name="{escape(track.name)}"><span>{escape(track.name)}</span>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" preserveAspectRatio="none">'
        f'<rect class="usual" x="0" width="{WIDTH}" y="{y(usual[1]):.1f}" height="{y(usual[0]) - y(usual[1]):.1f}"/>'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{y(aim):.1f}" y2="{y(aim):.1f}"/>'
        f'<path class="curve" d="M{path}"/></svg><small>{said}; lowest {percent(float(curve.min()))}</small></button>'
    )
