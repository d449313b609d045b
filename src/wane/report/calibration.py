"""Calibration by level: what was asked for and what was got, as a drawing that needs no script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from wane.report.sentences import percent, target

SIZE, LEFT, EDGE = 320, 46, 34  # of the drawing, in its own units
STEPS, MOST_STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5), 6  # of the grid
MARKS = ("circle", "square", "diamond", "triangle")


def drawing(by_method: Mapping[str, Sequence[float]], alphas: Sequence[float]) -> str:
    """Coverage against its target: a point a level and method, on the diagonal if they are equal."""
    shares = [1.0 - a for a in alphas] + [c for found in by_method.values() for c in found if c == c]
    reach = min(1.0, 1.25 * (1.0 - min(shares)) + 0.005)
    step = next(step for step in STEPS if reach <= MOST_STEPS * step)
    steps = math.ceil(reach / step)
    span = min(1.0, steps * step)
    low = 1.0 - span

    def x(share: float) -> float:
        return LEFT + (SIZE - LEFT - 12) * (share - low) / span

    def y(share: float) -> float:
        return SIZE - EDGE - (SIZE - EDGE - 12) * (share - low) / span

    # The diagonal, a grid with its numbers, the names of the axes.
    parts = [f'<line class="axis" x1="{x(low):.1f}" y1="{y(low):.1f}" x2="{x(1):.1f}" y2="{y(1):.1f}"/>']
    for i in range(steps + 1):
        share = 1.0 - span * (steps - i) / steps
        parts.append(f'<line class="grid" x1="{x(low):.1f}" x2="{x(1):.1f}" y1="{y(share):.1f}" y2="{y(share):.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{100 * share:.3g}</text>')
        parts.append(f'<text x="{x(share):.1f}" y="{SIZE - EDGE + 16}" text-anchor="middle">{100 * share:.3g}</text>')
    parts.append(f'<text x="{x(low + span / 2):.1f}" y="{SIZE - 2}" text-anchor="middle">target, %</text>')
    parts.append(
        f'<text transform="translate(11 {y(low + span / 2):.1f}) rotate(-90)" text-anchor="middle">inside, %</text>'
    )
    # A mark for each level of each method, and the same in words for those who do not see it.
    for i, (method, found) in enumerate(by_method.items()):
        for alpha, coverage in zip(alphas, found, strict=True):
            if coverage == coverage:
                note = f"{method} target {target(alpha)}, inside {percent(coverage)}".strip()
                parts.append(f"{_mark(i, x(1.0 - alpha), y(coverage))}<title>{escape(note)}</title></path>")
    spoken = "; ".join(
        f"{method or 'coverage'}: "
        + ", ".join(f"{percent(c)} of {target(a)}" for a, c in zip(alphas, found, strict=True))
        for method, found in by_method.items()
    )
    label = escape(f"Calibration by level, inside against target. {spoken}")
    art = f'<svg class="calibration" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return f"<div>{art}{_legend(list(by_method)) if len(by_method) > 1 else ''}</div>"


def _legend(methods: Sequence[str]) -> str:
    marks = (f'<svg viewBox="0 0 14 14" aria-hidden="true">{_mark(i, 7, 7)}</path></svg>' for i in range(len(methods)))
    lines = (f"<li>{mark} {escape(method)}</li>" for mark, method in zip(marks, methods, strict=True))
    return f'<ul class="legend">{"".join(lines)}</ul>'


def _mark(i: int, x: float, y: float) -> str:
    """The beginning of a path: its form tells methods apart as its colour does."""
    r = 5
    form = {
        "circle": f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0",
        "square": f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z",
        "diamond": f"M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}z",
        "triangle": f"M{x:.1f} {y - r - 1:.1f}l{r + 1} {2 * r}h{-2 * r - 2}z",
    }[MARKS[i % len(MARKS)]]
    return f'<path class="mark c{i % 6}" d="{form}">'
