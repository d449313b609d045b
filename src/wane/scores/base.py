"""What every score answers: one round at a time and for whole arrays, by one definition and with the same bits.

A model output has two forms. The *single* form is that of one round: a float, a tuple of floats, or an array. The
*columns* form holds many rounds: an array (T,), a tuple of such arrays, or an array (T, K). ``score`` and ``floor``
take either form, and answer with a float or an array (T,). Labels, radii and uniforms come in the form of the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wane.checks import EXTREME, INFINITY, described, real_array, scalar, whole
from wane.errors import InputError, InputTypeError, WaneError
from wane.state.stateful import Stateful

EVERYWHERE = (-INFINITY, INFINITY)  # limits that limit nothing


class Score(Stateful):
    """How wrong a model output was for a label, and the set {y : score(output, y) <= radius} that a radius makes of it.

    A score of your own is a subclass with the methods below; ``parameters`` names the arguments of its ``__init__``.
    """

    sides = 1  # 2: the ends move separately: scores and radii are pairs (lower, upper)
    signed = False  # True: scores may be negative
    finite = False  # True: the set is finite whatever the radius
    unsure = False  # True: ``compare`` checks a label, its score and its set against each other
    randomised = (
        False  # True: score, floor, set and width need a uniform u in [0, 1), one a round, from the attribute ``seed``
    )

    def __init__(self) -> None:
        """Most scores have nothing to set."""

    def output(self, value: Any) -> Any:
        """One model output, checked, in its single form, which shares no memory with ``value``."""
        raise NotImplementedError(f"{type(self).__name__} must define output")

    def outputs(self, values: Any) -> Any:
        """Many model outputs, checked, in their columns form; an error names the first bad row."""
        raise NotImplementedError(f"{type(self).__name__} must define outputs")

    def rows(self, outputs: Any) -> int:
        """The number of rounds of a columns form."""
        return len(outputs)

    def row(self, outputs: Any, t: int) -> Any:
        """The single form of round t of a columns form, as ``output`` gives it."""
        raise NotImplementedError(f"{type(self).__name__} must define row")

    def label(self, y: Any) -> Any:
        """One label, checked; a missing one, None or NaN, is a ValueError."""
        raise NotImplementedError(f"{type(self).__name__} must define label")

    def labels(self, values: Any, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Many labels, checked, and whether each is known: it is not where ``values`` holds None or NaN."""
        raise NotImplementedError(f"{type(self).__name__} must define labels")

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """How wrong the output was for the label; rows of unknown labels get any number."""
        raise NotImplementedError(f"{type(self).__name__} must define score")

    def compare(self, output: Any, y: Any, s: float, radii: tuple[float, ...]) -> None:
        """Warn if a label, its score and its sets contradict each other; asked where ``unsure``."""

    def centre(self, output: Any) -> Any:
        """The model's forecast as a number, of one round or of every one, where there is one; else 0."""
        return 0.0

    def ceiling(self, output: Any) -> float:
        """The largest score that a label can have, if labels crowd just below it; else infinite. ``auto`` uses it."""
        return INFINITY

    def floor(self, output: Any, u: Any = None) -> Any:
        """The smallest radius whose set is not empty; -inf where empty sets do not occur or are welcome."""
        raise NotImplementedError(f"{type(self).__name__} must define floor")

    def set(self, output: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """The set of one round; ``limits`` are bounds that every label is known to respect."""
        raise NotImplementedError(f"{type(self).__name__} must define set")

    def bounds(self, outputs: Any, radius: Any, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """The lower and the upper ends of every round, or None where sets are not intervals."""
        return None

    def width(self, outputs: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> Any:
        """The width of the set of every round, as ``set(...).width`` gives it."""
        raise NotImplementedError(f"{type(self).__name__} must define width")


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b, for floats and arrays; unlike a minimum it keeps the sign of a zero.

    >>> where(1.0 < 2.0, 3.0, 4.0)
    3.0
    """
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


def missing(y: Any) -> bool:
    """Whether a label is None, NaN, or the NA of pandas.

    >>> missing(None), missing(float("nan")), missing(np.float32("nan")), missing("nan")
    (True, True, True, False)
    """
    if getattr(y, "ndim", None) == 0:
        y = y.item()  # a scalar of numpy's
    return y is None or (isinstance(y, (float, np.floating)) and bool(y != y)) or type(y).__name__ == "NAType"


def present(name: str, y: Any) -> Any:
    """The label itself, or an error when it is missing."""
    if missing(y):
        raise InputError("is missing (None or NaN)", about=name, cure="leave this label out until it is known")
    return y


def single(value: Any) -> Any:
    """The number in an array of one, which is what models give for one row; anything else as it is.

    >>> single(np.array([2.5]))
    2.5
    """
    if getattr(value, "ndim", 0) > 0 and getattr(value, "size", 0) == 1:
        return np.asarray(value).reshape(-1)[0].item()
    return value


def moderate(name: str, value: Any) -> float:
    """A float of at most 1e150, so that differences and their squares are finite.

    >>> moderate("output", np.float32(1.5))
    1.5
    """
    x = scalar(name, single(value))
    if not -EXTREME <= x <= EXTREME:
        problem = f"must be finite, of at most {EXTREME:g}, got {value!r}"
        raise InputError(problem, about=name, cure="clean it or measure in a larger unit")
    return x


def all_moderate(array: np.ndarray) -> bool:
    """Whether every entry is finite and at most 1e150."""
    return not array.size or bool(array.max() <= EXTREME and array.min() >= -EXTREME)  # false for NaN too


def table(name: str, values: Any, check: Callable[[str, Any], Any], entries: int | None = None) -> np.ndarray:
    """A float64 array (T,), or (T, entries), with 0 for any number of them; not yet checked for NaN or size.

    Where no array can be made, ``check`` finds the row that is to blame.
    """
    try:
        array = real_array(name, values)
    except (TypeError, ValueError):
        each(name, values, check)
        raise
    if array.shape in ((0,), (0, entries)):
        return array.reshape(0) if entries is None else array.reshape(0, entries)
    if entries is None and array.ndim == 2 and array.shape[1] == 1:
        return np.ascontiguousarray(array[:, 0])  # one column, which is what models may give
    wanted = "(rounds,)" if entries is None else f"(rounds, {entries or 'entries'})"
    if array.ndim != (1 if entries is None else 2) or (entries and array.shape[1] != entries):
        raise InputError(f"must have shape {wanted}, one row a round, got {array.shape}", about=name)
    return array


def each(name: str, values: Any, check: Callable[[str, Any], Any]) -> list[Any]:
    """What a check says of every row; its error about the first bad one names the row."""
    found: list[Any] = []
    if hasattr(values, "__len__") and getattr(values, "ndim", 1) > 0 and not isinstance(values, np.ma.MaskedArray):
        try:
            for value in values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else values:
                found.append(check(name, value))
        except WaneError as error:
            error.argument, error.row = name, len(found)
            raise
    return found


def sequence(name: str, values: Any) -> Any:
    """Something with a length, whose entries are those of the rounds."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputTypeError("has masked entries", about=name, cure="fill them with NaN, or drop them")
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) == 0:
        raise InputTypeError(f"must be a sequence, one entry a round, got {described(values)}", about=name)
    return np.asarray(values) if hasattr(values, "__array__") else values  # a data frame would give its columns


def one_each(values: Any, rounds: int) -> Any:
    """Labels, as many as there are rounds."""
    values, rounds = sequence("y", values), whole("rounds", rounds, 0)
    if len(values) != rounds:
        problem = f"must hold {rounds} labels, one a round, got {len(values)}"
        raise InputError(problem, about="y", cure="None or NaN for an unknown one")
    return values


def if_known(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """A check that lets missing labels pass."""
    return lambda name, y: None if missing(y) else check(name, y)


def unlimited(what: str, limits: tuple[float, float]) -> None:
    """Refuse limits where they mean nothing."""
    if limits != EVERYWHERE:
        problem = f"limits cut intervals, and this score gives {what}, got limits={limits!r}"
        raise InputError(problem, argument="limits", cure="leave them out")
