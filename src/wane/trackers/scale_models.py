# cython: boundscheck=False, wraparound=False
"""How large the next score will be, from the scores so far: a scale, so that what is left to learn is a quantile.

Every model is scale-equivariant (scores times c, scales times c) and has bounded memory. A scale of 0 says that there
is none yet: nothing but zeros was seen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import LARGEST, MOST_HEARD, described, number, positive, whole
from wane.errors import InputTypeError
from wane.state.limits import MOST
from wane.state.stateful import Stateful
from wane.trackers.cholesky import solve
from wane.trackers.context import further, moment, output
from wane.trackers.room import given

STEADY = 500.0  # rounds: the half-life of a scale that must not jump
LONG = 80.0  # rounds: the half-life of the average that the others are compared with
OUTLIER = 30.0  # averages: a score counts as at most this many, so that one giant does not own them, and ten do
QUIET = 1e-12  # of the largest score: the least that a steady scale can be, after any silence
SHORTEST, FAINTEST = 0.2, 0.02  # of the long average: the least of a recent scale, and of another average
EVERY = 16  # rounds between two solutions of the regression: it hardly moves in fewer
LEAST = 0.01  # an average is at least this share of the mean of all scores: silence must not make a scale of 0
PERIODS = (7, 24, 48, 168)  # rounds in a week of days, a day of hours and of half hours, a week of hours
REMEMBERED, RIDGE = 0.9999, 1.0  # the discount of the regression, and the rounds that its prior is worth
SEASON_RATE, FLOOR = 0.2, 0.05  # of the mean at a place of a period; the share of the average that scores have at least
SURPRISE = 4.0  # the regression may change the scale by a factor exp(SURPRISE)
HALF_LIVES = (1.0, 3.0, 10.0, 40.0, 160.0, 640.0)
RECENT, NEAR = 0.99, 0.3  # the discount of averages of outputs; outputs nearer than this share of a score are the same
TENTH = 0.1  # of the usual size of a further number, which is added so that zeros have a logarithm
FURTHEST = 50.0  # a feature is a logarithm of a few units at most; one that a note has beyond this was not found here
HUGE = 1e150  # of an output: beyond it floats would end


class ScaleModel(Stateful):
    """A guess of the size of the next score: ``scale``, which ``learn`` moves."""

    def __init__(self) -> None:
        """Nothing seen."""
        self.scale = 0.0

    def learn(self, score: float) -> None:
        """A score, of either sign."""
        self._learn(number("score", score))

    def _learn(self, score):
        return self._undefined()

    def _undefined(self):
        raise NotImplementedError(f"{type(self).__name__} must define _learn")


class RecentScale(ScaleModel):
    r"""An exponentially weighted average of the absolute scores, and at least a fifth of a long one.

    Args:
        half_life: in rounds.

    >>> model = RecentScale(1.0)
    >>> for score in [1.0, 1.0, 3.0]:
    ...     model.learn(score)
    >>> round(model.scale, 4)     # (1/4 + 1/2 + 3) / (1/4 + 1/2 + 1)
    2.1429
    """

    parameters = ("half_life",)
    memory = ("scale", "short", "short_weight", "long", "long_weight")

    def __init__(self, half_life: float) -> None:
        """Nothing seen."""
        self.half_life = positive("half_life", half_life)
        self.kept = math.exp(-math.log(2.0) / self.half_life)
        self.long_kept = math.exp(-math.log(2.0) / LONG)
        self.scale = self.short = self.short_weight = self.long = self.long_weight = 0.0

    def limits(self) -> dict[str, tuple[float, float]]:
        """Averages of sizes, and their weights."""
        return nonnegative("scale", "short", "long") | shares("short_weight", "long_weight")

    def _fields(self, cells):
        self.scale = cells.number(self.scale)
        self.short = cells.number(self.short)
        self.short_weight = cells.number(self.short_weight)
        self.long = cells.number(self.long)
        self.long_weight = cells.number(self.long_weight)

    def _learn(self, score):
        return self._take(abs(score))

    def _take(self, size):
        if self.scale > 0.0:
            size = min(size, OUTLIER * self.scale)
        self.short = self.kept * self.short + (1.0 - self.kept) * size
        self.short_weight = self.kept * self.short_weight + (1.0 - self.kept)
        self.long = self.long_kept * self.long + (1.0 - self.long_kept) * size
        self.long_weight = self.long_kept * self.long_weight + (1.0 - self.long_kept)
        self.scale = max(self.short / self.short_weight, SHORTEST * self.long / self.long_weight)
        return 0


class SteadyScale(ScaleModel):
    """An average of half-life 500 that outliers cannot own and silence cannot end: a unit for what must not jump.

    >>> model = SteadyScale()
    >>> for score in [1.0] * 50 + [1e9]:
    ...     model.learn(score)
    >>> 1.0 < model.scale < 2.0
    True
    """

    memory = ("scale", "total", "weight", "record")

    def __init__(self) -> None:
        """Nothing seen."""
        self.kept = math.exp(-math.log(2.0) / STEADY)
        self.scale = self.total = self.weight = self.record = 0.0

    def limits(self) -> dict[str, tuple[float, float]]:
        """An average of sizes, its weight, and the largest."""
        return nonnegative("scale", "total", "record") | shares("weight")

    def _fields(self, cells):
        self.scale = cells.number(self.scale)
        self.total = cells.number(self.total)
        self.weight = cells.number(self.weight)
        self.record = cells.number(self.record)

    def _learn(self, score):
        return self._take(abs(score))

    def _take(self, size):
        self.record = max(self.record, size)
        if self.scale > 0.0:
            size = min(size, OUTLIER * self.scale)
        self.total = self.kept * self.total + (1.0 - self.kept) * size
        self.weight = self.kept * self.weight + (1.0 - self.kept)
        self.scale = max(self.total / self.weight, QUIET * self.record)
        return 0


def features(periods: tuple[int, ...], context: int) -> int:
    """How many features the regression has: a constant, averages, seasons, two of the output, and the user's."""
    return 1 + len(HALF_LIVES) + len(periods) + 2 + context


def room_for(periods: tuple[int, ...], context: int) -> int:
    """How many numbers a regression holds in its room."""
    size = features(periods, context)
    return 3 * len(HALF_LIVES) + len(periods) + sum(periods) + 3 * size + size * (size + 1) + 2 * context


class LogScale(ScaleModel):
    r"""A regression of the logarithm of the score on what is known before it: averages, seasons, the model's output.

    With :math:`m_t` the average of half-life 80, the features are a constant, :math:`\log(e_t^h / m_t)` for the
    averages :math:`e_t^h` of half-lives 1, 3, 10, 40, 160 and 640, for each period the logarithm of the mean of
    :math:`|s| / m` at this place of the period, and two of the output o of the model that the scores are about,
    :math:`\log((|o| + n) / (\bar o + n))` and :math:`\log((|o - o'| + 0.3 n) / (0.3 n))`. Here :math:`n` and
    :math:`\bar o` are averages of the scores and of the outputs, of discount 0.99, and :math:`o'` is the last output
    whose score is known. Both are 0 while outputs do not change. Each further number v has
    :math:`\log((|v| + 0.1 \bar v) / (1.1 \bar v))`. The target is :math:`\log(|s_t| / m_t)`, the scale
    :math:`m_t \exp(w_t \cdot x_t)`, and :math:`w_t` the ridge regression with discount 0.9999 (its prior, 0, is never
    forgotten: without evidence the scale is :math:`m_t`). It is solved anew in every 16th round.

    Args:
        periods: seasons, in rounds.
        context: how many further numbers are known of each round.

    >>> model = LogScale()
    >>> for t in range(700):
    ...     model.learn(5.0 if t % 7 == 0 else 1.0)
    >>> 4.0 < model.scale < 6.0     # round 700 is a fifth again
    True
    """

    parameters = ("periods", "context")
    memory = (
        "rounds", "mean", "long", "long_weight", "averages", "weights", "seasons", "w", "gram", "moment", "near",
        "level", "recent_weight", "last", "levels",
    )  # fmt: skip

    def __init__(self, periods: Any = PERIODS, context: int = 0, room: Any = None) -> None:
        """Nothing seen, in a room of its own or in one that is given."""
        if isinstance(periods, (str, bytes)) or not hasattr(periods, "__iter__"):
            raise InputTypeError(f"must be whole numbers of rounds, got {described(periods)}", about="periods")
        self.periods = tuple(whole("periods", p, 2, 100_001) for p in periods)
        self.context = whole("context", context, 0, MOST_HEARD + 1)
        self.long_kept = math.exp(-math.log(2.0) / LONG)
        self.mean = self.long = self.long_weight = 0.0
        self.rounds = 0
        size = features(self.periods, self.context)
        self.size = size
        lives, places, pairs = len(HALF_LIVES), sum(self.periods), size * (size + 1) // 2
        place = given(room, room_for(self.periods, self.context))
        self.kept: Any = place.cut(lives)
        self.averages: Any = place.cut(lives)
        self.weights: Any = place.cut(lives)
        self.lengths: Any = place.cut(len(self.periods))
        self.seasons: Any = place.cut(places)
        self.w: Any = place.cut(size)
        self.moment: Any = place.cut(size)
        self.x: Any = place.cut(size)
        self.gram: Any = place.cut(pairs)  # the lower triangle, row after row
        self.factor: Any = place.cut(pairs)
        self.levels: Any = place.cut(self.context)  # averages of the further numbers
        self.given: Any = place.cut(self.context)
        for i in range(lives):
            self.kept[i] = math.exp(-math.log(2.0) / HALF_LIVES[i])
        for i in range(len(self.periods)):
            self.lengths[i] = self.periods[i]
        for i in range(places):
            self.seasons[i] = 1.0
        self.near = self.level = self.recent_weight = 0.0  # averages of scores and of outputs, and their weight
        self.last = 0.0  # output whose score is known
        # What was looked at: it is no part of the memory, because it can be looked at again.
        self.scale = self.middle = self.place = self.output = 0.0

    def learn(self, score: float) -> None:
        """A score of either sign, of a round of which nothing else is known; then look at the next round."""
        self._learn(number("score", score))
        self._look_at(self.rounds)

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.mean = cells.number(self.mean)
        self.long = cells.number(self.long)
        self.long_weight = cells.number(self.long_weight)
        cells.vector(self.averages)
        cells.vector(self.weights)
        cells.vector(self.seasons)
        cells.vector(self.w)
        cells.vector(self.gram)
        cells.vector(self.moment)
        self.near = cells.number(self.near)
        self.level = cells.number(self.level)
        self.recent_weight = cells.number(self.recent_weight)
        self.last = cells.number(self.last)
        cells.vector(self.levels)

    def _note(self, cells):
        """What was looked at: keep it, or take it back."""
        self.scale = cells.number(self.scale)
        self.middle = cells.number(self.middle)
        self.place = cells.number(self.place)
        self.output = cells.number(self.output)
        cells.vector(self.x)
        for i in range(self.size):
            self.x[i] = min(max(self.x[i], -FURTHEST), FURTHEST)
        cells.vector(self.given)
        return 0

    def _long(self):
        """The average that the others are compared with."""
        return max(self.long / self.long_weight, LEAST * self.mean) if self.long_weight > 0.0 else 0.0

    def _look(self, given, t):
        """Find the features and the scale of a round, of which row t says what is known."""
        self.place = moment(given, t)
        self.output = min(max(output(given, t), -HUGE), HUGE)
        for i in range(self.given.shape[0]):
            self.given[i] = min(abs(further(given, t, i)), HUGE)
        return self._find()

    def _look_at(self, round):
        """Find them for a round of which only the number is known."""
        self.place, self.output = round, 0.0
        for i in range(self.given.shape[0]):
            self.given[i] = 0.0
        return self._find()

    def _find(self):
        """Find the features and the scale."""
        self.middle = self._long()
        if self.middle <= 0.0:
            self.scale = 0.0
            return 0
        self.x[0] = 1.0
        at = 1
        for i in range(self.averages.shape[0]):
            self.x[at] = math.log(max(self.averages[i] / self.weights[i], FAINTEST * self.middle) / self.middle)
            at += 1
        start, now = 0, int(self.place)
        for i in range(self.lengths.shape[0]):
            length = int(self.lengths[i])
            self.x[at] = math.log(max(self.seasons[start + now % length], FLOOR))
            start += length
            at += 1
        near = max(self.near / self.recent_weight, LEAST * self.mean)
        self.x[at] = relative(abs(self.output), self.level / self.recent_weight, near)
        self.x[at + 1] = relative(abs(self.output - self.last), 0.0, NEAR * near)
        at += 2
        for i in range(self.given.shape[0]):
            level = self.levels[i] / self.recent_weight
            self.x[at] = relative(self.given[i], level, TENTH * level)
            at += 1
        total = 0.0
        for i in range(self.size):
            total += self.w[i] * self.x[i]
        self.scale = self.middle * math.exp(min(max(total, -SURPRISE), SURPRISE))
        return 0

    @classmethod
    def least_numbers(cls, given: Any) -> int:
        """One for each place of each period, and one for each pair of further numbers."""
        periods, context = given.get("periods"), given.get("context")
        places = sum(p for p in periods if isinstance(p, int)) if isinstance(periods, list) else 0
        return max(places, context * (context + 1) // 2 if isinstance(context, int) else 0)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Averages of sizes and their weights, and seasons that are relative to them."""
        return {
            "rounds": (0, MOST),
            **nonnegative("mean", "long", "averages", "seasons", "near", "level", "levels"),
            **shares("long_weight", "weights", "recent_weight"),
        }

    def misfit(self) -> str | None:
        """Averages have weights once there was a score, and the regression can be solved: squares were added up."""
        least = min(self.long_weight, self.recent_weight, *self.weights)
        if least <= 0.0 and (self.rounds > 0 or self.long > 0.0):
            return "weights"
        gram = np.zeros((self.size, self.size))
        gram[np.tril_indices(self.size)] = self.gram
        try:
            np.linalg.cholesky(gram + RIDGE * np.eye(self.size))  # it reads the lower triangle only
        except np.linalg.LinAlgError:
            return "gram"
        return None

    def _learn(self, score):
        return self._take(abs(score))

    def _take(self, size):
        if self.middle > 0.0:
            self._fit(min(size / self.middle, OUTLIER))
        if self._long() > 0.0:
            size = min(size, OUTLIER * self._long())
        self.rounds = self.rounds + 1
        self.mean = self.mean + (size - self.mean) / self.rounds
        self.long = self.long_kept * self.long + (1.0 - self.long_kept) * size
        self.long_weight = self.long_kept * self.long_weight + (1.0 - self.long_kept)
        for i in range(self.averages.shape[0]):
            self.averages[i] = self.kept[i] * self.averages[i] + (1.0 - self.kept[i]) * size
            self.weights[i] = self.kept[i] * self.weights[i] + (1.0 - self.kept[i])
        self.near = RECENT * self.near + (1.0 - RECENT) * size
        self.level = RECENT * self.level + (1.0 - RECENT) * abs(self.output)
        self.recent_weight = RECENT * self.recent_weight + (1.0 - RECENT)
        self.last = self.output
        for i in range(self.given.shape[0]):
            self.levels[i] = RECENT * self.levels[i] + (1.0 - RECENT) * self.given[i]
        if self.rounds % EVERY == 0:
            solve(self.gram, self.moment, RIDGE, self.factor, self.w)
        return 0

    def _fit(self, ratio):
        """One observation of the regression, and of the seasons."""
        y = math.log(max(ratio, FLOOR))
        at = 0
        for i in range(self.size):
            self.moment[i] = REMEMBERED * self.moment[i] + y * self.x[i]
            for j in range(i + 1):
                self.gram[at] = REMEMBERED * self.gram[at] + self.x[i] * self.x[j]
                at += 1
        start, then = 0, int(self.place)
        for i in range(self.lengths.shape[0]):
            length = int(self.lengths[i])
            j = start + then % length
            rate = max(SEASON_RATE, 1.0 / (1.0 + self.rounds // length))
            self.seasons[j] += rate * (min(ratio, 1.0 / FLOOR) - self.seasons[j])
            start += length
        return 0


def nonnegative(*fields: str) -> dict[str, tuple[float, float]]:
    """Limits of fields that are sizes of scores, far above what they can be: beyond it quotients may be infinite."""
    return dict.fromkeys(fields, (0.0, LARGEST))


def shares(*fields: str) -> dict[str, tuple[float, float]]:
    """Limits of the weights of averages, which rounding may take a little above 1."""
    return dict.fromkeys(fields, (0.0, 1.0 + 1e-9))


def relative(value, usual, unit):
    """The logarithm of a value over its usual one, both plus a unit, within +-4; 0 where there is no unit.

    >>> relative(3.0, 1.0, 1.0) == math.log(2.0), relative(1e9, 1.0, 1.0), relative(1.0, 0.0, 0.0)
    (True, 4.0, 0.0)
    """
    if not unit > 0.0:
        return 0.0
    return min(max(math.log((value + unit) / (usual + unit)), -SURPRISE), SURPRISE)
