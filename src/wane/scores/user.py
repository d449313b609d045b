"""A score of the user's own: two functions."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from wane.checks import INFINITY, described, flag, number, scalar
from wane.covered import holds
from wane.errors import InputError, InputTypeError
from wane.scores.base import EVERYWHERE, Score, each, missing, one_each, present, sequence, unlimited
from wane.scores.intervals import clipped
from wane.scores.sets import Interval, PredictionSet, UserSet

NEAR = 1e-9  # relative: a score that is so near to the radius may be on either side, by rounding


class Rows(list):
    """The model outputs of many rounds, each as the user gave it."""


class UserScore(Score):
    """A score made of two functions; outputs and labels are whatever these take.

    The functions are called for each round, maybe more than once, and must belong together: y is in the set of a radius
    when its score is at most that radius. Functions are not plain data: to load a state give them again, by name.

    Args:
        score_function: of an output and a label: a finite number, >= 0 unless ``signed``.
        set_function: of an output and a radius: a tuple (lower, upper), which is an interval, or a container that
            answers ``y in ...``, such as a Python set; a list could mean either and is refused.
        signed: whether scores may be negative.

    >>> import math
    >>> ratio = UserScore(lambda m, y: abs(math.log(y / m)), lambda m, r: (m / math.exp(r), m * math.exp(r)))
    >>> ratio.score(2.0, 2.0), ratio.set(2.0, 0.0)
    (0.0, Interval(lower=2.0, upper=2.0))
    """

    parameters = ("score_function", "set_function", "signed")

    def __init__(self, score_function: Any, set_function: Any, signed: bool = False) -> None:
        """Take the two functions."""
        for name, function in (("score_function", score_function), ("set_function", set_function)):
            if not callable(function):
                raise InputTypeError(f"must be a function, got {described(function)}", about=name)
        self.score_function = score_function
        self.set_function = set_function
        self.signed = flag("signed", signed)
        self.unsure = True

    def output(self, value: Any) -> Any:
        """A copy of the object; a scalar of numpy's as Python's own, as a file would give it back."""
        return value.item() if isinstance(value, np.generic) else copy.deepcopy(value)

    def outputs(self, values: Any) -> Rows:
        """The objects of a sequence."""
        return Rows(sequence("outputs", values))

    def row(self, outputs: Any, t: int) -> Any:
        """The object of round t, arrays copied."""
        return self.output(outputs[t])

    def label(self, y: Any) -> Any:
        """The object itself, arrays copied."""
        return self.output(present("y", y))

    def labels(self, values: Any, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """An array (T,) of the objects, None where unknown."""
        array = np.empty(rounds, dtype=object)
        for t, y in enumerate(one_each(values, rounds)):
            array[t] = None if missing(y) else y
        return array, np.array([y is not None for y in array], dtype=bool)

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """What the user's function says; 0 for unknown labels among many, about which it is not asked."""
        if not isinstance(output, Rows):
            return self.asked("score_function(output, y)", (output, y))
        pairs = list(zip(output, y, strict=True))
        return np.array(each("score_function(outputs, y)", pairs, self.asked), dtype=float)

    def asked(self, name: str, pair: tuple[Any, Any]) -> float:
        """The score of an output and its label, checked; 0 for an unknown label."""
        s = 0.0 if pair[1] is None else number(name, self.score_function(*pair))
        if s < 0.0 and not self.signed:
            raise InputError(f"must be >= 0, got {s!r}", about=name, cure="signed scores need signed=True")
        return s

    def compare(self, output: Any, y: Any, s: float, radii: tuple[float, ...]) -> None:
        """Warn once if the functions do not belong together: y in the set, and a score beyond the radius, or not."""
        for radius in radii if self.unsure else ():
            if abs(s - radius) > NEAR * abs(radius) and (y in self.set(output, radius)) != holds(radius, s):
                self.unsure = False
                warnings.warn(
                    f"score_function and set_function disagree: y = {y!r} has the score {s:.6g} and is "
                    f"{'not ' * bool(holds(radius, s))}in the set of the radius {radius:.6g}; coverage counts scores",
                    stacklevel=2,
                )
                return

    def floor(self, output: Any, u: Any = None) -> Any:
        """-inf: what the functions make of a small radius is theirs."""
        return np.full(len(output), -INFINITY) if isinstance(output, Rows) else -INFINITY

    def set(self, output: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """What the user's function gives: an interval for a pair, else its container."""
        given = self.set_function(output, radius)
        if isinstance(given, tuple) and len(given) == 2:
            lower, upper = scalar("the lower end of your set", given[0]), scalar("the upper end of your set", given[1])
            if lower != lower or upper != upper:
                problem = f"set_function(output, {radius!r}) must give two ends, got {given!r}"
                raise InputError(problem, argument="set_function")
            if lower > upper:
                return Interval(INFINITY, -INFINITY)  # empty, as the other scores write it
            return Interval(clipped(lower, *limits), clipped(upper, *limits))
        if isinstance(given, (tuple, list, np.ndarray)) or not hasattr(given, "__contains__"):
            raise InputTypeError(
                f"set_function(output, {radius!r}) must give a tuple (lower, upper), or a container such as a Python "
                f"set, got {described(given)}",
                argument="set_function",
            )
        unlimited("containers", limits)
        return given if isinstance(given, PredictionSet) else UserSet(given)

    def bounds(self, outputs: Any, radius: Any, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """The ends of every set, or None if not all of them are intervals."""
        sets = [self.set(m, r, None, limits) for m, r in zip(outputs, radius.tolist(), strict=True)]
        if not sets or not all(isinstance(s, Interval) for s in sets):
            return None
        return np.array([s.lower for s in sets], dtype=float), np.array([s.upper for s in sets], dtype=float)

    def width(self, outputs: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> np.ndarray:
        """The widths of the sets, one by one."""
        radii = np.asarray(radius).tolist()
        return np.array([self.set(m, r, u, limits).width for m, r in zip(outputs, radii, strict=True)], dtype=float)
