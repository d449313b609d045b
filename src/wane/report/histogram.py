"""How the coverage of many series is spread, beside how chance alone would spread it; a drawing without a script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from scipy.stats import binom

from wane.report.numbers import Numbers
from wane.report.sentences import percent, target

WIDTH, HEIGHT, LEFT, BOTTOM = 660, 220, 40, 36  # of the drawing, in its own units
BARS = 28  # at most
TICKS = 9  # likewise


def counted(found: Sequence[Numbers], alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The edges of the bars, how many series are in each, and how many chance would put there.

    >>> from wane.report.track import Track
    >>> from wane.report.numbers import judged
    >>> rng = np.random.default_rng(0)
    >>> ends = np.full(100, 1.645)
    >>> tracks = [Track(str(i), "m", None, rng.normal(size=100), None, [0.1], -ends, ends) for i in range(50)]
    >>> edges, there, expected = counted([judged(t, 0, 20) for t in tracks], 0.1)
    >>> int(there.sum()), round(float(expected.sum()))
    (50, 50)
    """
    known = [n for n in found if n.labels]
    shares, labels = np.array([n.coverage for n in known]), np.array([n.labels for n in known])
    lowest = min(float(shares.min()), float(binom.ppf(0.001, np.median(labels), 1.0 - alpha) / np.median(labels)))
    width = max((1.0 - lowest) / BARS, 1.0 / float(np.median(labels)))
    edges = 1.0 + width * (0.5 - np.arange(int(np.ceil((1.0 - lowest) / width)) + 2)[::-1])
    there = np.histogram(shares, edges)[0]
    expected = np.zeros(len(edges) - 1)
    for n, times in zip(*np.unique(labels, return_counts=True), strict=True):
        below = binom.cdf(np.ceil(edges * n - 1e-9) - 1.0, n, 1.0 - alpha)
        below[0] = 0.0  # the first bar holds everything that is lower, too
        expected += times * np.diff(below)
    return edges, there, expected


def drawing(found: Sequence[Numbers], alpha: float) -> str:
    """Bars of series by their coverage, the expected ones as an outline, and the target."""
    edges, there, expected = counted(found, alpha)
    most = max(float(there.max()), float(expected.max()), 1.0)
    first, last = float(edges[0]), float(edges[-1])

    def x(share: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * (share - first) / (last - first)

    def y(count: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 14) * count / most

    parts = []
    for n in dict.fromkeys((0, round(most / 2), round(most))):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y(n):.1f}" y2="{y(n):.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(n) + 4:.1f}" text-anchor="end">{n:,}</text>')
    for a, b, n, e in zip(edges[:-1], edges[1:], there.tolist(), expected.tolist(), strict=True):
        note = f"{percent(max(a, 0.0))} to {percent(min(b, 1.0))}: {n:,} series; chance would put {e:.1f} here"
        box = f'x="{x(a) + 0.5:.1f}" width="{max(x(b) - x(a) - 1.0, 0.5):.1f}"'
        parts.append(f'<rect class="c0" {box} y="{y(n):.1f}" height="{y(0) - y(n):.1f}"><title>{note}</title></rect>')
    steps = "".join(
        f"H{x(a):.1f}V{y(e):.1f}H{x(b):.1f}" for a, b, e in zip(edges[:-1], edges[1:], expected, strict=True)
    )
    parts.append(f'<path class="expected" d="M{x(first):.1f} {y(0):.1f}{steps}V{y(0):.1f}"/>')
    aim = x(1.0 - alpha)
    parts.append(f'<line class="axis" x1="{aim:.1f}" x2="{aim:.1f}" y1="10" y2="{y(0):.1f}"/>')
    parts.append(f'<text x="{aim - 4:.1f}" y="12" text-anchor="end">target {target(alpha)}</text>')
    step = next(step for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if (1.0 - first) / step <= TICKS or step == 0.2)
    for share in np.arange(1.0, max(first, 0.0) - 1e-9, -step):
        parts.append(
            f'<text x="{x(share):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{100 * share:.3g}</text>'
        )
    parts.append(
        f'<text x="{x((first + last) / 2):.1f}" y="{HEIGHT - 3}" text-anchor="middle">coverage of a series, %</text>'
    )
    shares = np.array([n.coverage for n in found if n.labels])
    quarters = [percent(float(q)) for q in np.quantile(shares, (0.0, 0.25, 0.5, 0.75, 1.0))]
    label = (
        f"Histogram of the coverage of {len(shares):,} series. Lowest, quartiles and highest: {', '.join(quarters)}."
    )
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}"'
    return f'<svg class="drawing" {box}>{"".join(parts)}</svg>'


def section(found: Sequence[Numbers], alpha: float) -> str:
    """The part of the page; nothing where fewer than two series have outcomes."""
    if sum(n.labels > 0 for n in found) < 2:
        return ""
    return (
        '<section aria-labelledby="spread-head"><h2 id="spread-head">Coverage over the series</h2>'
        "<p>Bars count series. The outline is what chance alone would give if every series were on target: bars to the "
        "left of it are series that are really missed too often.</p>"
        f'<div class="scroll">{drawing(found, alpha)}</div></section>'
    )
