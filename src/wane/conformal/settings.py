"""The settings of online conformal prediction: score, levels, limits, and what to do about an unbounded radius.

``OnlineConformal`` and ``Panel`` (and with them ``Horizons``, ``ManySeries`` and tables) hold one ``Settings`` each. It
checks the user's arguments. It also answers every question that depends on nothing else: which scores the labels have,
and which radii cover them (by the rules of ``wane.covered``).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wane.checks import EXTREME, alpha_of, described, scalar, share
from wane.conformal.levels import Levels, covered_in_order, in_order
from wane.covered import covers, holds
from wane.errors import Cure, InputError, InputTypeError, Setting, UnboundedError
from wane.scores import IntervalScore, OneSided, Score
from wane.scores.base import EVERYWHERE
from wane.trackers import Tracker, make

POLICIES = ("error", "clip", "allow")
OUTSIDE = "correct it, or widen the limits"
LARGER = "measure in a larger unit"
SIGNED = "a score that may be negative needs signed=True"
TOO_FEW = "there are too few scores for a finite set, or so many misses that the method's level has left (0, 1)"


class Settings:
    """The checked settings of one object.

    Radii are kept in columns, one for each level, from the narrowest set to the widest. With a score of two sides, the
    columns of the lower side come first, then those of the upper side. The user counts the levels in the order of
    ``alpha``: ``columns[i]`` is the column of the user's i-th level.

    Args:
        score: how wrong an output was for a label.
        alpha: the share of labels that may be missed: a number, or a tuple of different ones.
        lower_limit: labels are never below this.
        upper_limit: labels are never above this.
        on_unbounded: what to do about an infinite radius: "error", "clip" to the limits, or "allow" it.
        past: the cure for an unbounded radius: how this kind of object learns from past data.
        unit: what the message about an unbounded radius calls a row.
    """

    def __init__(
        self, score: Score, alpha: Any, lower_limit: float, upper_limit: float, on_unbounded: str, past: Cure, unit: str
    ) -> None:
        """Check everything that does not depend on the trackers."""
        self.score = score
        self.alpha = alpha
        self.several = isinstance(alpha, tuple)
        self.one_sided = score.sides == 1
        self.alphas: tuple[float, ...] = alpha if self.several else (alpha,)
        self.limits = interval_limits(score, lower_limit, upper_limit)
        self.on_unbounded = policy(score, on_unbounded, self.limits)
        self.finite_only = on_unbounded == "error" and not score.finite
        self.past, self.unit = (past,) if isinstance(past, str) else past, unit
        order = sorted(range(len(self.alphas)), key=lambda i: -self.alphas[i])
        self.columns = tuple(order.index(i) for i in range(len(order)))
        short = tuple(f"_{a:g}" for a in self.alphas)
        exact = short if len(set(short)) == len(short) else tuple(f"_{a!r}" for a in self.alphas)
        self.suffixes = exact if self.several else ("",)  # by level, for the names of columns in tables
        self.closed = (False,) * self.width  # by column: whether the tracker learns a tie as covered

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy. ``EVERYWHERE`` stays the same object, because it is recognised by identity."""
        vars(self).update(state)
        self.limits = EVERYWHERE if self.limits == EVERYWHERE else self.limits

    @property
    def width(self) -> int:
        """The number of columns of radii."""
        return len(self.alphas) * self.score.sides

    def arranged(self, trackers: list[Tracker]) -> Levels:
        """Arrange trackers as levels. They are given in the order of alpha, those of the lower side first.

        From now on a tie counts for each level as its tracker learns it.
        """
        n, sides = len(self.alphas), self.score.sides
        narrowest_first = sorted(range(n), key=self.columns.__getitem__)
        by_column = [trackers[s * n + i] for s in range(sides) for i in narrowest_first]
        self.closed = tuple(tracker.at_tie == 0.0 for tracker in by_column)
        return Levels(by_column, sides)

    def in_user_order(self, trackers: list[Tracker]) -> list[Tracker]:
        """Undo ``arranged``: return the trackers of the levels in the order of alpha."""
        n = len(self.alphas)
        return [trackers[s * n + c] for s in range(self.score.sides) for c in self.columns]

    # For one round, values are tuples of numbers.

    def each(self, radii: tuple[float, ...]) -> tuple[Any, ...]:
        """Return the radius of each level, in the user's order: a number, or a pair for a score of two sides."""
        if len(radii) == 1:
            return radii
        if self.score.sides == 1:
            return in_order(radii, self.columns)
        return tuple([(radii[c], radii[len(self.alphas) + c]) for c in self.columns])

    def by_level(self, values: tuple[Any, ...]) -> Any:
        """Show values by level as the user wants them: a tuple for several levels, else the only value."""
        return values if self.several else values[0]

    def covered_each(self, below: float, above: float, radii: tuple[float, ...]) -> tuple[bool, ...]:
        """Return whether each level covered the label, as its trackers learned it, in the user's order."""
        if self.score.sides == 1:
            return covered_in_order(below, radii, self.columns, self.closed)
        return tuple([self.covered(below, above, radii, i) for i in range(len(self.alphas))])

    def scored(self, output: Any, y: Any, u: float | None, radii: tuple[float, ...]) -> tuple[float, float]:
        """Check a label, and return its scores for both sides; the second is 0 if there is one side."""
        score = self.score
        label = score.label(y)
        if self.limits is not EVERYWHERE and not self.limits[0] <= label <= self.limits[1]:
            raise InputError(f"= {y!r} is outside the limits {self._limits()}", about="y", cure=OUTSIDE)
        s = score.score(output, label, u)
        below, above = (s, 0.0) if score.sides == 1 else s
        if not (-EXTREME <= below <= EXTREME and -EXTREME <= above <= EXTREME):
            raise InputError(f"must be a number within +-{EXTREME:g}, got {s!r}", about="the score", cure=LARGER)
        if score.unsure:
            score.compare(output, label, s, self.each(radii))
        if below < 0.0 and not score.signed:
            raise InputError(f"must be >= 0, got {s!r}", about="the score", cure=SIGNED)
        return below, above

    # For many rounds, values are arrays with a row for each round.

    def labels(self, y: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Check labels, and return them with a mask of those that are known."""
        labels, known = self.score.labels(y, rows)
        if self.limits is not EVERYWHERE:
            low, high = self.limits
            outside = known & ~((labels >= low) & (labels <= high))
            if outside.any():
                t = int(np.argmax(outside))
                problem = f"= {labels[t]} is outside the limits {self._limits()}"
                raise InputError(problem, about="y", row=t, cure=OUTSIDE)
        return labels, known

    def scores(self, outputs: Any, labels: Any, known: np.ndarray, u: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of both sides, the same array twice if there is one side; NaN where there is no label."""
        scores = self.score.score(outputs, labels, u)
        sides = scores if self.score.sides == 2 else (scores,)
        for side in sides:
            if len(side) and not (side.max() <= EXTREME and side.min() >= -EXTREME):  # NaN comes here too
                refuse_rows(known & ~(np.abs(side) <= EXTREME), side, f"a number within +-{EXTREME:g}", LARGER)
            if not self.score.signed and not (len(side) and side.min() >= 0.0):
                refuse_rows(known & (side < 0.0), side, ">= 0", SIGNED)
        if not known.all():
            sides = tuple(np.where(known, side, math.nan) for side in sides)
        return sides[0], sides[-1]

    def floors(self, outputs: Any, u: Any = None) -> np.ndarray:
        """Return the smallest radius of each row whose set is not empty."""
        floors = np.asarray(self.score.floor(outputs, u), dtype=float)
        return np.array(np.broadcast_to(floors, self.score.rows(outputs)))

    def radii_of_level(self, radii: np.ndarray, i: int) -> Any:
        """Return the radii of the i-th level: an array, or a pair of arrays for a score with two sides."""
        c = self.columns[i]
        if self.score.sides == 1:
            return np.ascontiguousarray(radii[:, c])
        return np.ascontiguousarray(radii[:, c]), np.ascontiguousarray(radii[:, len(self.alphas) + c])

    def covered(self, below: Any, above: Any, radii: Any, i: int) -> Any:
        """Return whether the i-th level covered on all sides, as its trackers learned it.

        The answer is False where there is no label or no radius. ``radii[c]`` is column c: ``radii`` is a tuple of
        numbers, or the transpose of an array with a row for each round.
        """
        c = self.columns[i]
        inside = self._covers(radii, c, below)
        return inside if self.score.sides == 1 else inside & self._covers(radii, len(self.alphas) + c, above)

    def _covers(self, radii: Any, column: int, score: Any) -> Any:
        return holds(radii[column], score) if self.closed[column] else covers(radii[column], score)

    def shown(self, radii: np.ndarray, untaught: np.ndarray) -> np.ndarray:
        """Return the radii whose intervals a table of many rows shows: NaN in rows that are ``untaught``.

        Before the first label a finite radius rests on nothing, and the interval would be a confident guess. So tables
        and frames have none there. This is the one place that says so. Trackers play and learn the radius all the same,
        a single ``Prediction`` shows it and says that it is ``cold``, and what happens to an infinite radius is for
        ``on_unbounded`` to say.
        """
        if not isinstance(self.score, IntervalScore) or not untaught.any():
            return radii
        rows, radii = np.flatnonzero(untaught), radii.copy()
        radii[rows] = np.where(np.isfinite(radii[rows]), math.nan, radii[rows])
        return radii

    def refuse_unbounded(self, radii: np.ndarray, order: np.ndarray | None = None) -> None:
        """Raise an error about the first infinite radius, unless the user allows them; NaN means no prediction.

        Args:
            radii: a row for each prediction.
            order: row t of ``radii`` was row ``order[t]`` for the user.
        """
        if self.finite_only and (infinite := np.isinf(radii)).any():
            bad = np.flatnonzero(infinite.any(axis=1))
            rows = bad if order is None else order[bad]
            first = int(np.argmin(rows))
            raise self.unbounded(radii[bad[first]].tolist(), int(rows[first]))

    def unbounded(self, radii: Sequence[float], row: int | None = None) -> UnboundedError:
        """Make the error about an infinite radius."""
        cure = (
            *self.past, ", take another method (aci has ", Setting("clip", True), "), or choose ",
            Setting("on_unbounded", "clip"), " (to the limits) or ", Setting("on_unbounded", "allow"),
        )  # fmt: skip
        problem = f"the radius is {', '.join(map(str, radii))}: {TOO_FEW}"
        return UnboundedError(problem, row=row, cure=cure, unit=self.unit)

    def _limits(self) -> str:
        return f"[{self.limits[0]!r}, {self.limits[1]!r}]"


def trackers_for(tracker: Any, score: Score, alpha: Any, hyperparameters: dict[str, Any]) -> tuple[Any, list[Tracker]]:
    """Make the trackers that the user asked for, and return alpha (or a tuple of several) with them.

    There is one tracker for each level, in the order of alpha; with two sides, those of the lower side come first. This
    is the one place that understands what users may give as ``tracker``: a name, a tracker, or a sequence of trackers.
    """
    if isinstance(tracker, str):
        # A name. Each side may miss its part of alpha.
        levels, hyperparameters = levels_given(alpha, hyperparameters)
        if score.signed:  # radii may be negative
            hyperparameters = {"domain": "real", **hyperparameters}
        trackers = [make(tracker, a / score.sides, **hyperparameters) for a in per_side(levels, score)]
    else:
        # Trackers that exist already have their hyperparameters.
        if hyperparameters:
            given = ", ".join(hyperparameters)
            raise InputTypeError(
                f"{given}: hyperparameters go with the name of a method, not with a tracker made before",
                argument=next(iter(hyperparameters)),
            )
        if isinstance(tracker, Tracker):
            levels, trackers = from_pattern(tracker, score, alpha)
        else:
            levels, trackers = from_sequence(tracker, score, alpha)
    # Trackers must allow negative radii exactly if scores can be negative.
    for t in trackers:
        if t.signed != score.signed:
            wanted = "real" if score.signed else "nonnegative"
            raise InputError(
                f"the score {score!r} needs trackers with domain={wanted!r}, got {t!r}", argument="tracker"
            )
    return levels, trackers


def levels_given(alpha: Any, hyperparameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return one level or a tuple of several, given as alpha or as coverage, and the other hyperparameters."""
    if alpha is None and "coverage" in hyperparameters:
        hyperparameters = dict(hyperparameters)
        wanted = hyperparameters.pop("coverage")
        several = not isinstance(wanted, str) and (isinstance(wanted, Sequence) or getattr(wanted, "ndim", 0) > 0)
        alpha = [alpha_of(c) for c in wanted] if several else alpha_of(wanted)
    if alpha is None:
        raise InputTypeError(
            "give alpha, the share of labels that may be missed",
            argument="alpha",
            cure="0.1 covers 90 %; or coverage=0.9",
        )
    return checked_levels(alpha), hyperparameters


def per_side(levels: Any, score: Score) -> list[float]:
    """Return the levels as a list, repeated for each side."""
    return list(levels if isinstance(levels, tuple) else (levels,)) * score.sides


def checked_levels(alpha: Any) -> Any:
    """Check alpha, and return one level as a number, several as a tuple."""
    if isinstance(alpha, str) or (getattr(alpha, "ndim", 0) == 0 and not isinstance(alpha, (Sequence, set))):
        return share("alpha", alpha)
    levels = tuple(share("alpha", a) for a in alpha)
    if not levels or len(set(levels)) < len(levels):
        raise InputError(f"must be one level or several different ones, got {described(alpha)}", about="alpha")
    return levels


def from_pattern(tracker: Tracker, score: Score, alpha: Any) -> tuple[Any, list[Tracker]]:
    """Return the given tracker if one is enough, else a copy of it for each level and side."""
    levels = checked_levels(tracker.alpha if alpha is None else alpha)
    if not isinstance(levels, tuple) and score.sides == 1:
        if levels != tracker.alpha:
            raise InputError(
                f"the tracker has alpha {tracker.alpha!r}, given is {levels!r}",
                argument="alpha",
                cure="leave alpha out",
            )
        return levels, [tracker]
    if tracker.rounds:
        raise learned_pattern("several")
    trackers = []
    for a in per_side(levels, score):
        trackers.append(copy.copy(tracker))
        trackers[-1].alpha = a / score.sides
    return levels, trackers


def from_sequence(trackers: Any, score: Score, alpha: Any) -> tuple[Any, list[Tracker]]:
    """Check that there is one tracker for each level and side, and that each has the right alpha."""
    trackers = list(trackers) if isinstance(trackers, Sequence) else [trackers]
    for t in trackers:
        if not isinstance(t, Tracker):
            raise InputTypeError(
                f"must be the name of a method, a Tracker or several, got {described(t)}", about="tracker"
            )
    if len(set(map(id, trackers))) < len(trackers):
        raise InputError("each level needs a tracker of its own, got the same one twice", argument="tracker")
    n = len(trackers) // score.sides
    if not n:
        raise InputError(f"{score!r} needs at least {score.sides} trackers, got {len(trackers)}", argument="tracker")
    levels = checked_levels(tuple(t.alpha * score.sides for t in trackers[:n]) if alpha is None else alpha)
    wanted = per_side(levels, score)
    if len(wanted) != len(trackers):
        problem = f"the levels {levels} of {score!r} need {len(wanted)} trackers, got {len(trackers)}"
        raise InputError(problem, argument="tracker")
    for t, a in zip(trackers, wanted, strict=True):
        if not math.isclose(t.alpha * score.sides, a, rel_tol=1e-9):
            problem = f"the tracker of level {a!r} must have alpha {a / score.sides!r}, got {t.alpha!r}"
            raise InputError(problem, argument="tracker")
    return levels, trackers


def interval_limits(score: Score, lower: Any, upper: Any) -> tuple[float, float]:
    """Check the limits of the labels, and return them as a pair."""
    low, high = scalar("lower_limit", lower), scalar("upper_limit", upper)
    if not low < high:
        raise InputError(f"must be below upper_limit, got {lower!r} and {upper!r}", about="lower_limit")
    if (low > -math.inf or high < math.inf) and not isinstance(score, IntervalScore):
        raise InputError(f"limits are for intervals, not for the sets of {score!r}", argument="lower_limit")
    return EVERYWHERE if (low, high) == EVERYWHERE else (low, high)


def checked_band(band: Any) -> tuple[Any, Any]:
    """Return the two ends of the band of local coverage; None stands for the default."""
    if band is None:
        return None, None
    try:
        low, high = band
    except (TypeError, ValueError):
        raise InputTypeError(
            f"must be a pair, the lowest and the highest coverage, got {described(band)}", about="band"
        ) from None
    return low, high


def policy(score: Score, on_unbounded: str, limits: tuple[float, float]) -> str:
    """Check what the user wants to be done about an infinite radius, and return it."""
    if not isinstance(on_unbounded, str) or on_unbounded not in POLICIES:
        raise InputError(f"must be one of {', '.join(POLICIES)}, got {described(on_unbounded)}", about="on_unbounded")
    if on_unbounded == "clip" and not score.finite:
        needed = [limits[1 if score.side == "upper" else 0]] if isinstance(score, OneSided) else list(limits)
        if not isinstance(score, IntervalScore) or not all(map(math.isfinite, needed)):
            raise InputError(
                f"needs an interval and finite lower_limit and upper_limit, got {limits}",
                about="on_unbounded='clip'",
                cure=("give ", Setting("lower_limit"), " and ", Setting("upper_limit")),
            )
    return on_unbounded


def learned_pattern(what: str) -> InputError:
    """Make the error about a tracker that should be copied but has learned already."""
    return InputError(
        f"a tracker that has learned cannot be the pattern for {what}", argument="tracker", cure="make a new one"
    )


def refuse_rows(bad: np.ndarray, values: np.ndarray, wanted: str, cure: str) -> None:
    """Raise an error about the first bad score, if there is one."""
    if bad.any():
        t = int(np.argmax(bad))
        raise InputError(f"must be {wanted}, got {values[t]}", about="score", row=t, cure=cure)
