"""What the theorem about ``pool`` says of each series of a panel, beside what has happened."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import described
from wane.errors import InputError, InputTypeError
from wane.theory import pool_bound

if TYPE_CHECKING:
    from wane.panel.panel import Panel

GROWTH = 1e6  # scores are assumed to grow at most so much, from the first one of a series that is not 0


def bounds(panel: Panel, growth: float = GROWTH) -> dict[str, Any]:
    """Return how far the coverage of each series of a panel of the method "pool" can be off, beside how far it is.

    There is a row for each series, in the order of ``panel.ids()``. ``labels`` are those that were learned for a row
    with an interval. For each level, ``coverage_error`` is the number of misses minus alpha times the labels. It lies
    between ``lower_bound`` and ``upper_bound``, whatever the labels are and whatever the other series do, if the delay
    was always that of the last call (:func:`wane.theory.pool_bound`). The bounds are about the long run, and say little
    about a few hundred labels. A score with two sides has columns for each side.

    Args:
        panel: of the method "pool".
        growth: no score of a series is larger than this many times its first score that is not 0.

    >>> from wane import Panel
    >>> panel = Panel(alpha=0.1)
    >>> _ = panel.run(np.repeat(["a", "b"], 2000), np.zeros(4000), np.random.default_rng(0).normal(size=4000))
    >>> found = bounds(panel)
    >>> [found[k].round().tolist() for k in ("lower_bound", "coverage_error", "upper_bound")]
    [[-27.0, -27.0], [-1.0, -1.0], [128.0, 128.0]]
    """
    if not hasattr(panel, "pools"):
        raise InputTypeError(f"must be a Panel, got {described(panel)}", about="panel")
    with panel._lock:
        return columns(panel, growth)


def columns(panel: Panel, growth: float = GROWTH) -> dict[str, Any]:
    """Return the columns of ``bounds``; the caller holds the lock."""
    settings = panel.settings
    if not panel.pools:
        problem = f"bounds for all series are those of the method pool, the panel has {settings.method!r}"
        cure = "metrics() of an OnlineConformal has the bounds of other methods"
        raise InputError(problem, argument="method", cure=cure)
    bound = lru_cache(maxsize=None)(pool_bound)  # many series have the same counts
    made: dict[str, Any] = {"id": panel.ids()}
    for side, pool in enumerate(panel.pools):
        end = "" if len(panel.pools) == 1 else ("_below", "_above")[side]
        labels, misses = pool.learned(panel.states[: len(panel)])
        alphas = np.asarray(pool.alphas)
        sides = np.empty((len(labels), len(alphas), 2))
        for s, (n, missed) in enumerate(zip(labels.tolist(), misses.tolist(), strict=True)):
            narrower = None
            for c, alpha in enumerate(alphas.tolist()):  # from the narrowest level to the widest
                narrower = sides[s, c] = bound(n, missed[c], alpha, panel.lag - 1, growth, narrower)
        made[f"labels{end}"] = labels.astype(np.int64)
        for suffix, c in zip(settings.suffixes, settings.columns, strict=True):
            made[f"coverage_error{suffix}{end}"] = misses[:, c] - alphas[c] * labels
            made[f"lower_bound{suffix}{end}"], made[f"upper_bound{suffix}{end}"] = sides[:, c].T.copy()
    return made
