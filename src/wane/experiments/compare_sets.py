"""Every method on the table of a classifier: how often the sets hold the label, and how many labels are in them.

The rules are those of one series: nothing is tuned, and the first third of a series, or 300 rounds, is not judged. The
loss is the pinball loss of the radius, as elsewhere; the width is the number of labels in a set.
"""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wane import metrics, trackers
from wane.conformal import OnlineConformal
from wane.errors import InputError
from wane.experiments import compare, leaderboard
from wane.experiments.compare_late import Lateness, played
from wane.experiments.leaderboard import LEAST, UNSCORED, WINDOW
from wane.metrics.verdict import Judged
from wane.trackers.registry import refuse_unknown

COLUMNS = {  # head: key, form
    "method": ("method", ""),
    "coverage": ("coverage", ".1%"),
    "off target": ("miss_of_target", ".4f"),
    "LCE_100": ("lce_100", ".3f"),
    "pinball": ("pinball_ratio", ".3f"),
    "size": ("width", ".2f"),
    "ns": ("nanoseconds", ".0f"),
}
CAPTION = (
    "off target is the distance of the coverage from the target, and LCE_100 that of the worst 100 rounds; pinball is "
    "the loss divided by the smallest; size is the number of labels in a set; ns is the time of a round in nanoseconds"
)


class Labelled(NamedTuple):
    """One series of a classifier: its probabilities, the true labels, their scores, and when the labels come.

    ``late`` is None if each label is known at once.
    """

    outputs: np.ndarray
    labels: Sequence[Any]
    scores: np.ndarray
    late: Lateness | None = None


def judged(
    series: Sequence[Labelled],
    scorer: Any,
    methods: Sequence[str] | None = None,
    alpha: float = 0.1,
    most: int | None = None,
    started: Callable[[str, int], Callable[[], Any]] = lambda name, ticks: lambda: None,
) -> dict[str, Any]:
    """The methods on the series of a classifier, and which to take.

    Args:
        series: the rounds whose labels are known, of each series.
        scorer: the score, which knows the classes.
        methods: names; None is all of them.
        alpha: the share of labels that may be missed.
        most: the number of series that are judged, taken at even distances.
        started: (name, ticks) -> tick.
    """
    names = trackers.names() if methods is None else list(methods)
    refuse_unknown(names)
    long = [one for one in series if len(one.scores) >= LEAST]
    if not long:
        longest = max((len(one.scores) for one in series), default=0)
        raise InputError(f"methods are judged on series of at least {LEAST} labels, the longest has {longest}")
    taken = (
        long
        if most is None or len(long) <= most
        else [long[i] for i in np.linspace(0, len(long) - 1, most).astype(int)]
    )
    told = compare.largest([one.scores for one in long])
    tick, rows, verdicts = started("methods", len(names)), [], {}
    for name in names:
        settings, result, parts = leaderboard.settings(name, told), Judged(alpha), []
        for one in taken:
            parts.append(judge(name, one, scorer, alpha, settings, result))
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
        "series_in_all": len(series),
        "too_short": len(series) - len(long),
        "rounds": sum(len(one.scores) for one in taken),
        "leaderboard": lines,
        **advised,
        "bad": verdicts[advised["method"]],
        "settings": leaderboard.settings(advised["method"], told),
        "rules": __doc__,
    }


def judge(
    method: str, series: Labelled, scorer: Any, alpha: float, settings: dict[str, Any], result: Judged
) -> dict[str, float]:
    """A method on one series; ``result`` counts its labels too."""
    count, begun = len(series.scores), clock.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trackers.CoverageWarning)
        oc = OnlineConformal(method, scorer, alpha, history=0, max_pending=count + 1, **settings)
        if series.late is None:
            table = oc.run(series.outputs, series.labels)
            place = {name: k for k, name in enumerate(scorer.classes)}
            at = [place[label] for label in series.labels]
            radii, size, inside = table.radius, table.width, np.asarray(table.members)[np.arange(count), at]
        else:
            rounds = played(oc, series.outputs, series.labels, series.late)
            made = [(p.radius, p.width, y in p) for (p, _), y in zip(rounds, series.labels, strict=True)]
            radii, size, inside = np.array(made, dtype=float).T
    seconds = clock.perf_counter() - begun
    rows = slice(min(UNSCORED, count // 3), None)
    covered = inside.astype(bool)[rows]
    result.add(covered)
    top = float(series.scores.max())
    return {
        "rounds": len(covered),
        "coverage": metrics.coverage(covered.astype(float)),
        "lce_100": metrics.lce(covered.astype(float), alpha, WINDOW),
        "pinball": metrics.pinball(np.clip(radii, 0.0, top)[rows], series.scores[rows], alpha),
        "width": float(size[rows].mean()),
        "infinite": 0.0,
        "nanoseconds": 1e9 * seconds / count,
    }
