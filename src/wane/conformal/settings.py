"""The trackers and the settings of an `OnlineConformal`, made and checked from what its user gave."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

from wane.checks import described, scalar, share
from wane.scores import IntervalScore, OneSided, Score
from wane.scores.base import EVERYWHERE
from wane.trackers import Tracker, make

POLICIES = ("error", "clip", "allow")


def crew(tracker: Any, score: Score, alpha: Any, hyperparameters: dict[str, Any]) -> tuple[Any, list[Tracker]]:
    """Alpha, or a tuple of several, and one tracker for each level (of the lower side, then of the upper side)."""
    if isinstance(tracker, str):
        if alpha is None and "coverage" in hyperparameters:
            hyperparameters = dict(hyperparameters)
            wanted = hyperparameters.pop("coverage")
            several = isinstance(wanted, Sequence) or bool(getattr(wanted, "ndim", False))
            alpha = [round(1.0 - c, 12) for c in wanted] if several else round(1.0 - wanted, 12)
        if alpha is None:
            raise TypeError("give alpha, the share of labels that may be missed: 0.1 covers 90 %; or coverage=0.9")
        levels = checked_levels(alpha)
        if score.signed:
            hyperparameters = {"domain": "real", **hyperparameters}
        trackers = [make(tracker, a / score.sides, **hyperparameters) for a in each(levels, score.sides)]
    else:
        if hyperparameters:
            given = ", ".join(hyperparameters)
            raise TypeError(f"{given}: hyperparameters go with the name of a method, not with a tracker made before")
        if isinstance(tracker, Tracker):
            levels, trackers = from_pattern(tracker, score, alpha)
        else:
            levels, trackers = from_sequence(tracker, score, alpha)
    for t in trackers:
        if t.signed != score.signed:
            wanted = "real" if score.signed else "nonnegative"
            raise ValueError(f"the score {score!r} needs trackers with domain={wanted!r}, got {t!r}")
    return levels, trackers


def each(levels: Any, sides: int) -> list[float]:
    """The levels as a list, once for each side."""
    return list(levels if isinstance(levels, tuple) else (levels,)) * sides


def checked_levels(alpha: Any) -> Any:
    """One level as a number, several as a tuple."""
    if getattr(alpha, "ndim", 0) == 0 and not isinstance(alpha, (Sequence, set)):
        return share("alpha", alpha)
    levels = tuple(share("alpha", a) for a in alpha)
    if not levels or len(set(levels)) < len(levels):
        raise ValueError(f"alpha must be one level or several different ones, got {described(alpha)}")
    return levels


def from_pattern(tracker: Tracker, score: Score, alpha: Any) -> tuple[Any, list[Tracker]]:
    """The tracker itself where one is enough, else copies of it."""
    levels = checked_levels(tracker.alpha if alpha is None else alpha)
    if not isinstance(levels, tuple) and score.sides == 1:
        if levels != tracker.alpha:
            raise ValueError(f"the tracker has alpha {tracker.alpha!r}, given is {levels!r}: leave alpha out")
        return levels, [tracker]
    if tracker.rounds:
        raise ValueError("a tracker that has learned cannot be the pattern for several: make a new one")
    trackers = []
    for a in each(levels, score.sides):
        trackers.append(copy.copy(tracker))
        trackers[-1].alpha = a / score.sides
    return levels, trackers


def from_sequence(trackers: Any, score: Score, alpha: Any) -> tuple[Any, list[Tracker]]:
    """One tracker for each level and side, as given."""
    trackers = list(trackers) if isinstance(trackers, Sequence) else [trackers]
    for t in trackers:
        if not isinstance(t, Tracker):
            raise TypeError(f"tracker must be the name of a method, a Tracker or several, got {described(t)}")
    if len(set(map(id, trackers))) < len(trackers):
        raise ValueError("each level needs a tracker of its own, got the same one twice")
    n = len(trackers) // score.sides
    if not n:
        raise ValueError(f"{score!r} needs at least {score.sides} trackers, got {len(trackers)}")
    levels = tuple(t.alpha * score.sides for t in trackers[:n]) if alpha is None else alpha
    levels = checked_levels(levels)
    wanted = each(levels, score.sides)
    if len(wanted) != len(trackers):
        raise ValueError(f"the levels {levels} of {score!r} need {len(wanted)} trackers, got {len(trackers)}")
    for t, a in zip(trackers, wanted, strict=True):
        if not math.isclose(t.alpha * score.sides, a, rel_tol=1e-9):
            raise ValueError(f"the tracker of level {a!r} must have alpha {a / score.sides!r}, got {t.alpha!r}")
    return levels, trackers


def interval_limits(score: Score, lower: Any, upper: Any) -> tuple[float, float]:
    """The limits of the labels."""
    low, high = scalar("lower_limit", lower), scalar("upper_limit", upper)
    if not low < high:
        raise ValueError(f"lower_limit must be below upper_limit, got {lower!r} and {upper!r}")
    if (low > -math.inf or high < math.inf) and not isinstance(score, IntervalScore):
        raise ValueError(f"limits are for intervals, not for the sets of {score!r}")
    return EVERYWHERE if (low, high) == EVERYWHERE else (low, high)


def checked_band(band: Any) -> tuple[Any, Any]:
    """The two ends of local coverage, None where the default serves."""
    if band is None:
        return None, None
    try:
        low, high = band
    except (TypeError, ValueError):
        raise TypeError(f"band must be a pair, the lowest and the highest coverage, got {described(band)}") from None
    return low, high


def policy(score: Score, on_unbounded: str, limits: tuple[float, float]) -> str:
    """What to do about an infinite radius."""
    if on_unbounded not in POLICIES:
        raise ValueError(f"on_unbounded must be one of {', '.join(POLICIES)}, got {described(on_unbounded)}")
    if on_unbounded == "clip" and not score.finite:
        needed = [limits[1 if score.side == "upper" else 0]] if isinstance(score, OneSided) else list(limits)
        if not isinstance(score, IntervalScore) or not all(map(math.isfinite, needed)):
            raise ValueError(
                f"on_unbounded='clip' needs an interval and finite lower_limit and upper_limit, got {limits}"
            )
    return on_unbounded


def bound_of(tracker: Any) -> tuple[float | None, str | None]:
    """What the paper's lemmas allow the coverage sum, or None and why they do not apply."""
    if not hasattr(tracker, "coverage_bound"):
        return None, f"there is a bound for auto, magl and magl-d, not for {type(tracker).__name__}"
    try:
        return tracker.coverage_bound(), None
    except (TypeError, ValueError) as error:
        return None, str(error)
