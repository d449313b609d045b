"""Which of the methods on a leaderboard to take, and in words why; and what each must be given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from wane import trackers
from wane.errors import UnboundedError
from wane.experiments import leaderboard
from wane.experiments.leaderboard import UNSCORED
from wane.panel import Panel

FAMILIAR = "auto"  # nothing to choose: taken where it is nearly as good as the best
NEARLY = 1.01  # times the pinball loss of the best
NEAR = 0.01  # of the target, in coverage; more where there are few rounds
FAR = 0.15  # from the target: how narrow such a method is says nothing
WORTH = 0.995  # a narrower one is named if it is narrower by half a percent
WARM_UP = 20  # labels before the first interval, for a method that has none to give before; more for a small alpha


def largest(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The largest score of the first rounds of all series, or a little more: what a method can be told.

    Of a long series these rounds are not judged. A series without scores says nothing.

    >>> largest([np.linspace(0.0, 3.0, 301), np.ones(300), np.array([0.5]), np.zeros(0)])
    array([1.])
    """
    found = [float(s[: max(1, min(UNSCORED, len(s) // 3))].max()) for s in scores if len(s)]
    return np.array([rounded_up(max(found, default=0.0) or 1.0)])


def advice(
    lines: Sequence[dict[str, Any]], alpha: float, rounds: int, default: str = FAMILIAR, what: str = "narrower"
) -> dict[str, Any]:
    """The method to take and why: of those near the target, the least pinball loss; the default if nearly that.

    Args:
        lines: of the leaderboard.
        alpha: the level.
        rounds: how many were judged.
        default: the method that needs no reason to be taken.
        what: how to call a method with a smaller width.

    Returns the name as ``method``, the ``recommendation`` in words, and the ``reason`` as plain data: the ``rule`` by
    which it was taken ("smallest loss", "default", "only one near" or "none near"), how many methods are ``near`` the
    target and how near that is (``within``), the ``best`` of them by pinball loss, and the names of a ``narrower`` one
    that was not taken. The figures of each are in the lines of the leaderboard.

    >>> row = {"infinite": 0.0, "lce_100": 0.1}
    >>> a = {"method": "a", "coverage": 0.9, "miss_of_target": 0.0, "pinball": 1.0, "width": 2.0, **row}
    >>> b = {"method": "b", "coverage": 0.8, "miss_of_target": 0.1, "pinball": 0.9, "width": 1.8, **row}
    >>> found = advice([a, b], 0.1, 1000)
    >>> for sentence in found["recommendation"].split(". "):
    ...     print(sentence)
    Take a: it covers 90.0 % (target 90 %), and no other method comes near the target
    b is 10.0 % narrower, but covers only 80.0 %.
    >>> found["reason"]["rule"], found["reason"]["narrower"]
    ('only one near', 'b')
    """
    rivals = [line for line in lines if line["method"] not in leaderboard.NO_RIVAL and not line["infinite"]]
    rivals = rivals or [line for line in lines if line["method"] not in leaderboard.NO_RIVAL] or list(lines)
    noise = 2.0 * math.sqrt(alpha * (1.0 - alpha) / max(rounds, 1))
    nearest = min(line["miss_of_target"] for line in rivals)
    there = nearest <= max(NEAR, noise)
    near = [line for line in rivals if line["miss_of_target"] <= max(NEAR, noise, nearest)]
    best = min(near, key=lambda line: line["pinball"])
    familiar = [line for line in near if line["method"] == default and line["pinball"] <= NEARLY * best["pinball"]]
    pick = familiar[0] if familiar else best
    # Say what it covers, by which rule it was taken, and what speaks against a narrower one.
    said = f"Take {pick['method']}: it covers {percent(pick['coverage'])} (target {100.0 * (1.0 - alpha):.4g} %)"
    if not there:
        rule = "none near"
        said += ". No other method comes nearer, but that is not near: look at the data, or take more of it."
    elif pick is best:
        rule = "smallest loss" if len(near) > 1 else "only one near"
        of_several = f" and has the smallest pinball loss of the {len(near)} methods near the target."
        said += of_several if len(near) > 1 else ", and no other method comes near the target."
    else:
        rule, more = "default", 100.0 * (pick["pinball"] / best["pinball"] - 1.0)
        said += f". It is the default, and its pinball loss is within {more:.1f} % of the best near the target "
        said += f"({best['method']})."
    narrower = min(serious(rivals), key=lambda line: line["width"], default=pick)
    rival = narrower if narrower["width"] < WORTH * pick["width"] else None
    if rival is not None:
        less = 100.0 * (1.0 - rival["width"] / pick["width"])
        but = f"covers {'only ' if rival['coverage'] < pick['coverage'] else ''}{percent(rival['coverage'])}"
        if rival in near:
            but = f"has a pinball loss that is {100.0 * (rival['pinball'] / pick['pinball'] - 1.0):.1f} % larger"
            if rival["lce_100"] > pick["lce_100"]:
                but = f"is off by {rival['lce_100']:.2f} in its worst 100 rounds, not by {pick['lce_100']:.2f}"
        said += f" {rival['method']} is {less:.1f} % {what}, but {but}."
    reason = {
        "rule": rule,
        "near": len(near),
        "within": max(NEAR, noise),
        "best": best["method"],
        "narrower": None if rival is None else rival["method"],
    }
    return {"method": pick["method"], "recommendation": said, "reason": reason}


def serious(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The methods whose coverage is not out of the question."""
    return [line for line in lines if line["miss_of_target"] <= FAR and line["method"] not in leaderboard.NO_RIVAL]


def needed(method: str, scores: Sequence[np.ndarray], alpha: float, warm: bool = True) -> dict[str, Any]:
    """What a panel must be given so that a method plays all of these series: the least that will do.

    The largest score where a method must know it, of the first rounds; labels to begin with where it has
    no finite radius before; and infinite intervals where it has none later either, or (not ``warm``) where rows are
    played one by one and cannot warm up.

    >>> needed("magl", [np.ones(300)], 0.1), needed("split", [np.ones(300)], 0.1)
    ({}, {'warm_up': 20})
    """
    told: dict[str, Any] = leaderboard.settings(method, largest(scores))
    if method == FAMILIAR or all(finite(trackers.make(method, alpha, **told), s) for s in scores):
        return told
    if not warm:
        return {**told, "on_unbounded": "allow"}
    warm_up = max(WARM_UP, math.ceil(2.0 / alpha)) if alpha else WARM_UP
    last = np.full(1, math.nan)  # an outcome that is to come
    y = np.concatenate([part for s in scores for part in (s, last)])
    ids = np.repeat(np.arange(len(scores)), [len(s) + 1 for s in scores])
    try:
        Panel(method, alpha, warm_up=warm_up, **told).run(ids, np.zeros(len(y)), y)
    except UnboundedError:
        return {**told, "warm_up": warm_up, "on_unbounded": "allow"}
    return {**told, "warm_up": warm_up}


def finite(tracker: Any, scores: np.ndarray) -> bool:
    """Whether the radius of every round, and of one to come, is finite."""
    if not math.isfinite(tracker.predict()):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trackers.CoverageWarning)
        return bool(np.isfinite(tracker.run(scores)).all()) and math.isfinite(tracker.predict())


def rounded_up(value: float) -> float:
    """A number with two digits that is not smaller.

    >>> rounded_up(3.14159), rounded_up(1234.5), rounded_up(0.5)
    (3.2, 1300.0, 0.5)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit) * unit:.2g}")


def percent(value: float) -> str:
    """A share in words."""
    return f"{100.0 * value:.1f} %"


def cells(lines: Sequence[dict[str, Any]], columns: dict[str, tuple[str, str]]) -> list[list[str]]:
    """The text of the table; a number that does not exist is a dash."""
    return [
        ["-" if line[key] != line[key] else format(line[key], form) for key, form in columns.values()] for line in lines
    ]
