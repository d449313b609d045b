"""Scores of real labels: the sets are intervals around a forecast."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import EXTREME, INFINITY, described, one_of, positive
from wane.errors import InputError, InputTypeError
from wane.scores.base import (
    EVERYWHERE,
    Score,
    all_moderate,
    each,
    if_known,
    moderate,
    one_each,
    present,
    table,
    where,
)
from wane.scores.sets import HalfLine, Interval


class IntervalScore(Score):
    """A score of real labels, whose output is one forecast; a subclass defines ``score``, ``floor`` and ``ends``.

    Limits cut the interval: both its ends are moved into them. So a forecast that lies outside by more than the radius
    gives the limit alone, and never an empty set.
    """

    def output(self, value: Any) -> Any:
        """A finite float of at most 1e150."""
        return value if type(value) is float and -EXTREME <= value <= EXTREME else moderate("output", value)

    def outputs(self, values: Any) -> Any:
        """An array (T,) of such numbers."""
        array = table("outputs", values, moderate)
        if not all_moderate(array):
            each("outputs", array, moderate)
        return array

    def row(self, outputs: Any, t: int) -> Any:
        """The forecast of round t."""
        return float(outputs[t])

    def label(self, y: Any) -> float:
        """A finite float of at most 1e150."""
        return y if type(y) is float and -EXTREME <= y <= EXTREME else moderate("y", present("y", y))

    def labels(self, values: Any, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """An array (T,) of such numbers, 0 where unknown."""
        values = one_each(values, rounds)
        if getattr(values, "dtype", np.dtype(object)).kind not in "fiub":  # a list may hold None
            values = [np.nan if y is None else y for y in values]
        array = table("y", values, if_known(moderate))
        known = ~np.isnan(array)
        array = np.where(known, array, 0.0)
        if not all_moderate(array):
            each("y", array, moderate)
        return array, known

    def centre(self, output: Any) -> Any:
        """The forecast."""
        return output

    def ends(self, output: Any, radius: Any) -> tuple[Any, Any]:
        """The two ends where labels have no limits; (inf, -inf) below the floor."""
        raise NotImplementedError(f"{type(self).__name__} must define ends")

    def bounds(self, outputs: Any, radius: Any, limits: tuple[float, float] = EVERYWHERE) -> tuple[Any, Any]:
        """The two ends, within the limits; of one round or of every one."""
        if type(outputs) is float:
            lower, upper = self.ends(outputs, radius)
        else:
            with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
                lower, upper = self.ends(outputs, radius)
        return within(lower, upper, limits)

    def set(self, output: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """The interval between the bounds."""
        lower, upper = self.ends(output, radius)
        return Interval(lower, upper) if limits is EVERYWHERE else Interval(*within(lower, upper, limits))

    def width(self, outputs: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """The length of every interval; 0 for an empty one."""
        lower, upper = self.bounds(outputs, radius, limits)
        with np.errstate(over="ignore", invalid="ignore"):  # inf - inf, of an empty one, is not used
            return where(upper > lower, upper - lower, 0.0)


class PairScore(IntervalScore):
    """A score of real labels, whose output is a pair of numbers; a subclass also says how to check one, in ``pair``.

    Many outputs are an array (T, 2), or a tuple of two columns.
    """

    def pair(self, name: str, first: Any, second: Any) -> tuple[float, float]:
        """The two numbers, checked."""
        raise NotImplementedError(f"{type(self).__name__} must define pair")

    def output(self, value: Any) -> tuple[float, float]:
        """A tuple of two floats."""
        return self.checked("output", value)

    def checked(self, name: str, value: Any) -> tuple[float, float]:
        """A pair, under the name that an error gives it."""
        try:
            first, second = value
        except (TypeError, ValueError):
            raise InputTypeError(f"must be a pair of numbers, got {described(value)}", about=name) from None
        return self.pair(name, first, second)

    def outputs(self, values: Any) -> tuple[np.ndarray, np.ndarray]:
        """A tuple of two arrays (T,)."""
        if isinstance(values, tuple):
            columns = [table(f"column {i} of outputs", column, moderate) for i, column in enumerate(values)]
            if len(columns) != 2 or len(columns[0]) != len(columns[1]):
                problem = f"outputs, when a tuple, must be two columns of one length, got {described(values)}"
                raise InputError(problem, argument="outputs", cure="give rows as a list or an array")
            values = np.column_stack(columns)
        array = table("outputs", values, self.checked, entries=2)
        first, second = np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])
        if not self.all_good(first, second):
            each("outputs", array, self.checked)
        return first, second

    def all_good(self, first: np.ndarray, second: np.ndarray) -> bool:
        """Whether ``pair`` would accept every row; False only costs time."""
        return all_moderate(first) and all_moderate(second)

    def centre(self, output: Any) -> Any:
        """The first of the pair."""
        return output[0]

    def rows(self, outputs: Any) -> int:
        """The number of rounds of the columns."""
        return len(outputs[0])

    def row(self, outputs: Any, t: int) -> tuple[float, float]:
        """The pair of round t."""
        return float(outputs[0][t]), float(outputs[1][t])


class Absolute(IntervalScore):
    """The distance to the forecast, |y - output|; the set is [output - radius, output + radius].

    >>> score = Absolute()
    >>> score.score(3.0, 5.0), score.set(3.0, 2.0)
    (2.0, Interval(lower=1.0, upper=5.0))
    >>> score.score(np.array([3.0, 4.0]), np.array([5.0, 1.0]))
    array([2., 3.])
    """

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """|y - output|."""
        return abs(y - output)

    def floor(self, output: Any, u: Any = None) -> Any:
        """0."""
        return output - output

    def ends(self, output: Any, radius: Any) -> tuple[Any, Any]:
        """The forecast, minus and plus the radius."""
        if type(radius) is float and radius >= 0.0:  # one round, in half the time
            return output - radius, output + radius
        return around(output, radius, radius)


class Signed(IntervalScore):
    """Each side on its own: (output - y, y - output); the set is [output - radius[0], output + radius[1]].

    Where errors are skewed this is shorter than the symmetric interval of ``Absolute``; empty when the radii cross.

    >>> score = Signed()
    >>> score.score(3.0, 5.0), score.set(3.0, (1.0, 4.0))
    ((-2.0, 2.0), Interval(lower=2.0, upper=7.0))
    """

    sides = 2
    signed = True

    def score(self, output: Any, y: Any, u: Any = None) -> tuple[Any, Any]:
        """How far the label lies below the forecast, and how far above."""
        return output - y, y - output

    def floor(self, output: Any, u: Any = None) -> Any:
        """-inf: no single radius decides."""
        return output - output - INFINITY

    def ends(self, output: Any, radius: Any) -> tuple[Any, Any]:
        """The forecast, minus the first and plus the second radius."""
        return output - radius[0], output + radius[1]


class Normalised(PairScore):
    """The distance in units of a scale that the model gives: |y - center| / scale, for outputs (center, scale).

    The set is [center - radius * scale, center + radius * scale]. A scale that is not positive is an error.

    >>> score = Normalised()
    >>> score.score((3.0, 0.5), 5.0), score.set((3.0, 0.5), 4.0)
    (4.0, Interval(lower=1.0, upper=5.0))
    """

    def pair(self, name: str, first: Any, second: Any) -> tuple[float, float]:
        """A forecast and a scale in [1e-150, 1e150], so that the score is finite."""
        return moderate(f"the forecast of {name}", first), positive(f"the scale of {name}", second)

    def all_good(self, first: np.ndarray, second: np.ndarray) -> bool:
        """Whether every row is a forecast and a scale."""
        return super().all_good(first, second) and bool((second >= 1.0 / EXTREME).all())

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """|y - center| / scale."""
        center, scale = output
        return abs(y - center) / scale

    def floor(self, output: Any, u: Any = None) -> Any:
        """0."""
        return output[1] - output[1]

    def ends(self, output: Any, radius: Any) -> tuple[Any, Any]:
        """The forecast, minus and plus so many scales."""
        center, scale = output
        return around(center, radius, radius * scale)


class CQR(PairScore):
    """How far y lies outside of two model quantiles, max(lower - y, y - upper): conformalised quantile regression.

    The set is [lower - radius, upper + radius]; a negative radius shrinks it, down to the midpoint. The quantiles may
    cross: then the smallest radius is positive. Romano, Patterson and Candes (2019).

    >>> score = CQR()
    >>> score.score((1.0, 3.0), 4.0), score.score((1.0, 3.0), 2.5), score.set((1.0, 3.0), 1.0)
    (1.0, -0.5, Interval(lower=0.0, upper=4.0))
    >>> score.floor((1.0, 3.0)), score.set((1.0, 3.0), -1.0)
    (-1.0, Interval(lower=2.0, upper=2.0))
    """

    signed = True

    def pair(self, name: str, first: Any, second: Any) -> tuple[float, float]:
        """Two quantiles."""
        return moderate(f"the lower quantile of {name}", first), moderate(f"the upper quantile of {name}", second)

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """max(lower - y, y - upper)."""
        below, above = output[0] - y, y - output[1]
        return where(below >= above, below, above)

    def centre(self, output: Any) -> Any:
        """The midpoint."""
        return 0.5 * output[0] + 0.5 * output[1]

    def floor(self, output: Any, u: Any = None) -> Any:
        """Minus half the distance of the quantiles; positive where they cross."""
        return 0.5 * (output[0] - output[1])

    def ends(self, output: Any, radius: Any) -> tuple[Any, Any]:
        """The quantiles, moved outwards; the midpoint lies between them from the floor on, whatever is rounded."""
        lower, upper = output[0] - radius, output[1] + radius
        middle = 0.5 * (output[0] + output[1])
        empty = radius < self.floor(output)
        return (
            where(empty, INFINITY, where(lower > middle, middle, lower)),
            where(empty, -INFINITY, where(upper < middle, middle, upper)),
        )


class OneSided(IntervalScore):
    """A bound on one side only: y - output, and everything up to output + radius; for "lower" the mirror image.

    The width of such a set is the distance from the forecast to the bound: the radius, unless a limit cuts it.

    >>> score = OneSided("upper")
    >>> score.score(3.0, 5.0), score.set(3.0, 2.0)
    (2.0, HalfLine(lower=-inf, upper=5.0, width=2.0))
    >>> OneSided("lower").set(3.0, 2.0, limits=(0.0, 10.0))
    HalfLine(lower=1.0, upper=10.0, width=2.0)
    """

    parameters = ("side",)
    signed = True

    def __init__(self, side: str = "upper") -> None:
        """Bound the labels from above or from below."""
        self.side = one_of("side", side, ("upper", "lower"))

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """How far the label lies beyond the forecast."""
        return y - output if self.side == "upper" else output - y

    def floor(self, output: Any, u: Any = None) -> Any:
        """-inf: a half-line is never empty."""
        return output - output - INFINITY

    def ends(self, output: Any, radius: Any) -> tuple[Any, Any]:
        """The bound, and infinity on the other side."""
        endless = output - output + INFINITY
        return (-endless, output + radius) if self.side == "upper" else (output - radius, endless)

    def set(self, output: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> HalfLine:
        """The half-line up to the bound."""
        lower, upper = self.bounds(output, radius, limits)
        return HalfLine(lower, upper, self.width(output, radius, u, limits))

    def width(self, outputs: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """The distance from each forecast to its bound."""
        low, high = limits
        if self.side == "upper":
            return clipped(radius, low - outputs, high - outputs)
        return clipped(radius, outputs - high, outputs - low)


def around(center: Any, radius: Any, reach: Any) -> tuple[Any, Any]:
    """The ends at that reach of the center; none for a negative radius, which rounding must not hide."""
    if type(radius) is float:  # one round, in half the time
        return (INFINITY, -INFINITY) if radius < 0.0 else (center - reach, center + reach)
    empty = radius < 0.0
    if not empty.any():
        return center - reach, center + reach
    return where(empty, INFINITY, center - reach), where(empty, -INFINITY, center + reach)


def within(lower: Any, upper: Any, limits: tuple[float, float]) -> tuple[Any, Any]:
    """Both ends, moved into the limits."""
    return (lower, upper) if limits == EVERYWHERE else (clipped(lower, *limits), clipped(upper, *limits))


def clipped(x: Any, low: Any, high: Any) -> Any:
    """x, moved into [low, high].

    >>> clipped(3.0, 0.0, 1.0)
    1.0
    """
    if type(x) is float:  # one round, in a third of the time
        return low if x < low else high if x > high else x
    return where(x < low, low, where(x > high, high, x))
