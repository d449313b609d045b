"""How an `OnlineConformal` goes so far: its metrics, a sentence, and small tables for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from wane.conformal.certificates import bound_of, gradients_of
from wane.conformal.predictions import Metrics

if TYPE_CHECKING:
    from wane.conformal.online import OnlineConformal

ONE_SIDE = "the lemmas are about one tracker a level"


def metrics(oc: OnlineConformal, i: int) -> Metrics:
    """Return how well level ``i`` has done so far. The caller holds the lock."""
    m, tracker = oc.monitors[i], oc.trackers[i]
    proved = bound_of(tracker, m.coverage_error) if oc.score.sides == 1 else (None, ONE_SIDE)
    told = gradients_of(tracker) if oc.score.sides == 1 else (None, None)
    seen = (m.alpha, m.rounds, m.coverage, m.window, m.local_coverage, m.worst_local_coverage, m.worst_round)
    wide = (m.width, m.local_width, m.unbounded, m.band, m.longest_misses, m.coverage_error)
    return Metrics(*seen, *wide, *proved, *told, len(oc._waiting.pending), oc.expired)


def sentence(oc: OnlineConformal) -> str:
    """Say what it is, and how many labels it has covered. The caller holds the lock."""
    levels = ", ".join(f"{100 * (1 - a):.4g} %" for a in oc.alphas)
    labels, waiting = oc.monitors[0].rounds, len(oc._waiting.pending)
    seen = ", ".join(f"{100 * m.coverage:.1f} %" for m in oc.monitors)
    so_far = f"{seen} of {labels:,} labels covered" if labels else "no labels yet"
    return f"OnlineConformal({oc.method}, {oc.score!r}, target {levels}: {so_far}, {waiting:,} waiting)"


def html(oc: OnlineConformal) -> str:
    """Show the sentence, and below it the metrics of each level that has some."""
    found = oc.metrics()
    each = found.values() if isinstance(found, dict) else [found]
    return f"<p>{escape(repr(oc))}</p>" + "".join(m._repr_html_() for m in each if m.rounds)
