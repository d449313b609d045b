"""Every method on the table of a classifier: how often the sets hold the label, and how many labels are in them.

The rules are those of one series: nothing is tuned, and the first third of a series, or 300 rounds, is not judged. The
loss is the pinball loss of the radius, as elsewhere; the width is the number of labels in a set.
"""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wane import metrics, trackers
from wane.covered import holds
from wane.errors import InputError
from wane.experiments import compare, leaderboard
from wane.experiments.leaderboard import LEAST, UNSCORED, WINDOW
from wane.metrics.verdict import Judged
from wane.trackers.registry import refuse_unknown

COLUMNS = {("size" if head == "width" else head): cell for head, cell in compare.COLUMNS.items() if head != "infinite"}
COLUMNS["size"] = ("width", ".2f")
CAPTION = (
    "means over the series; off target: distance of the coverage from 1 - alpha; LCE_100: the same, of the worst 100 "
    "rounds; pinball: divided by the best; size: labels in a set; ns: time per round in nanoseconds"
)
Sizes = Callable[[int, np.ndarray], np.ndarray]


def judged(
    scores: Sequence[np.ndarray],
    sizes: Sizes,
    methods: Sequence[str] | None = None,
    alpha: float = 0.1,
    most: int | None = None,
    started: Callable[[str, int], Callable[[], Any]] = lambda name, ticks: lambda: None,
) -> dict[str, Any]:
    """The methods on the series of a classifier, and which to take.

    Args:
        scores: of each series.
        sizes: gives the number of labels in the sets of a series, by its number and the radii.
        methods: names; None is all of them.
        alpha: the share of labels that may be missed.
        most: the number of series that are judged, taken at even distances.
        started: (name, ticks) -> tick.
    """
    names = trackers.names() if methods is None else list(methods)
    refuse_unknown(names)
    long = [k for k, s in enumerate(scores) if len(s) >= LEAST]
    if not long:
        longest = max(map(len, scores), default=0)
        raise InputError(f"methods are judged on series of at least {LEAST} labels, the longest has {longest}")
    taken = (
        long
        if most is None or len(long) <= most
        else [long[i] for i in np.linspace(0, len(long) - 1, most).astype(int)]
    )
    told = compare.largest([scores[k] for k in long])
    tick, rows, verdicts = started("methods", len(names)), [], {}
    for name in names:
        settings, result, parts = leaderboard.settings(name, told), Judged(alpha), []
        for k in taken:
            parts.append(judge(name, scores[k], partial(sizes, k), alpha, settings, result))
        rows.append({"stream": "table", "method": name, **leaderboard.mean(parts)})
        rows[-1]["miss_of_target"] = float(np.mean([abs(part["coverage"] - (1.0 - alpha)) for part in parts]))
        verdicts[name] = result.verdict(len(taken))
        tick()
    lines = leaderboard.ranked([{**row, "winkler": row["pinball"]} for row in rows])
    lines.sort(key=lambda line: (line["method"] in leaderboard.NO_RIVAL, line["pinball_ratio"]))
    advised = compare.advice(lines, alpha, int(lines[0]["rounds"] * len(taken)), what="smaller")
    return {
        "alpha": alpha,
        "series": len(taken),
        "series_in_all": len(scores),
        "too_short": len(scores) - len(long),
        "rounds": sum(len(scores[k]) for k in taken),
        "leaderboard": lines,
        **advised,
        "bad": verdicts[advised["method"]],
        "settings": leaderboard.settings(advised["method"], told),
        "rules": __doc__,
    }


def judge(
    method: str,
    scores: np.ndarray,
    sizes: Callable[[np.ndarray], np.ndarray],
    alpha: float,
    settings: dict[str, Any],
    result: Judged,
) -> dict[str, float]:
    """A method on one series; ``result`` counts its labels too."""
    tracker, begun = trackers.make(method, alpha, **settings), clock.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trackers.CoverageWarning)
        radii = tracker.run(scores)
    seconds = clock.perf_counter() - begun
    rows = slice(min(UNSCORED, len(scores) // 3), None)
    covered, size = holds(radii, scores)[rows], sizes(radii)[rows]
    result.add(covered)
    top = float(scores.max())
    return {
        "rounds": len(covered),
        "coverage": metrics.coverage(covered.astype(float)),
        "lce_100": metrics.lce(covered.astype(float), alpha, WINDOW),
        "pinball": metrics.pinball(np.clip(radii, 0.0, top)[rows], scores[rows], alpha),
        "width": float(size.mean()),
        "infinite": 0.0,
        "nanoseconds": 1e9 * seconds / len(scores),
    }
