"""Scores of class labels: the sets are sets of labels, from the probabilities that a model gives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wane.checks import EXTREME, INFINITY, MOST_COORDINATES, described, flag, listed, real_array, room, scalar, whole
from wane.covered import holds
from wane.errors import InputError, InputTypeError
from wane.scores.base import EVERYWHERE, Score, each, if_known, one_each, present, single, table, unlimited
from wane.scores.sets import LabelSet

BELOW = "must be below {}, the number of classes of its output, got {}"
SLACK = 1e-3  # how far probabilities may be from adding up to 1: as much as rounding to half precision can cost
BLOCK = 2**18  # entries of a (T, K) array that are worked on at a time, which bounds the memory


class LabelScore(Score):
    """A score of class labels; a subclass defines ``every``: the score of every label.

    Labels are indices 0, ..., K - 1, or the names in ``classes``, of which there is one for each probability.
    """

    finite = True
    allow_empty = True

    def __init__(self, classes: Any = None) -> None:
        """Take the names of the labels."""
        self.classes = None if classes is None else names_of(classes)
        self.index = {} if self.classes is None else {name: k for k, name in enumerate(self.classes)}

    def every(self, p: np.ndarray, u: Any) -> np.ndarray:
        """The scores of all labels, from probabilities (K,) or (T, K); u has one axis less than p."""
        raise NotImplementedError(f"{type(self).__name__} must define every")

    def largest(self, classes: int) -> float:
        """A bound on the scores when there are so many classes: with this radius the set holds all of them."""
        return 1.0

    def output(self, value: Any) -> np.ndarray:
        """Probabilities (K,), copied."""
        return self.checked("output", value).copy()

    def checked(self, name: str, value: Any) -> np.ndarray:
        """Probabilities, under the name that an error gives them."""
        p = real_array(name, in_order(name, value, self.classes, "index"))
        p = p[0] if p.ndim == 2 and len(p) == 1 else p  # one row, which is what models give
        wanted = "at least 2" if self.classes is None else str(len(self.classes))
        if p.ndim != 1 or (len(p) < 2 if self.classes is None else len(p) != len(self.classes)):
            raise InputError(f"must hold {wanted} probabilities, one for each class, got shape {p.shape}", about=name)
        if not (p.min() >= 0.0 and p.max() <= 1.0 + SLACK):
            k = int(np.argmin((p >= 0.0) & (p <= 1.0 + SLACK)))
            problem = f"must hold probabilities, got {p[k]} for class {k}"
            raise InputError(problem, about=name, cure="of logits take the softmax")
        if abs(p.sum() - 1.0) > SLACK:
            problem = f"must hold probabilities that add up to 1, got {p.sum():.6g}"
            raise InputError(problem, about=name, cure="divide by their sum")
        return p

    def outputs(self, values: Any) -> np.ndarray:
        """Probabilities (T, K)."""
        values = in_order("outputs", values, self.classes, "columns")
        p = table("outputs", values, self.checked, entries=len(self.index))
        shares = p.size == 0 or (p.shape[1] >= 2 and p.min() >= 0.0 and p.max() <= 1.0 + SLACK)
        if not (shares and (abs(p.sum(axis=1) - 1.0) <= SLACK).all()):
            each("outputs", p, self.checked)
        return p

    def row(self, outputs: Any, t: int) -> np.ndarray:
        """The probabilities of round t, copied."""
        return outputs[t].copy()

    def label(self, y: Any) -> int:
        """The index of the class."""
        return self.named("y", single(present("y", y)))

    def named(self, name: str, y: Any) -> int:
        """The index of the class, under the name that an error gives the label."""
        if self.classes is not None:
            try:
                return self.index[y.item() if isinstance(y, np.ndarray) and y.ndim == 0 else y]
            except (KeyError, TypeError):
                raise InputError(f"must be one of the classes, got {described(y)}: {self!r}", about=name) from None
        try:
            k = scalar(name, y)
        except TypeError:
            raise InputTypeError(
                f"must be the index of a class, got {described(y)}",
                about=name,
                cure=f"give names to the score: score=wane.scores.{type(self).__name__}(classes=[...])",
            ) from None
        if not (0.0 <= k < 2.0**53 and k.is_integer()):
            raise InputError(f"must be the index of a class, a whole number >= 0, got {described(y)}", about=name)
        return int(k)

    def labels(self, values: Any, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """The indices (T,), 0 where unknown."""
        values = one_each(values, rounds)
        found = each("y", values, if_known(self.named))
        known = np.array([k is not None for k in found], dtype=bool)
        return np.array([k or 0 for k in found], dtype=np.int64), known

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """The score of the label among those of all labels."""
        u = self.uniform(output, u)
        if output.ndim == 1:
            if y >= len(output):
                raise InputError(BELOW.format(len(output), y), about="y")
            return float(self.every(output, u)[y])
        if len(y) and y.max() >= output.shape[1]:
            t = int(np.argmax(y >= output.shape[1]))
            raise InputError(BELOW.format(output.shape[1], y[t]), about="y", row=t)
        scores = np.empty(len(output))
        for b in blocks(output):
            scores[b] = np.take_along_axis(self.every(output[b], u[b]), y[b, None], axis=1)[:, 0]
        return scores

    def floor(self, output: Any, u: Any = None) -> Any:
        """The smallest score of a label; -inf when empty sets are allowed."""
        if self.allow_empty:
            return -INFINITY if output.ndim == 1 else np.full(len(output), -INFINITY)
        u = self.uniform(output, u)
        if output.ndim == 1:
            return float(self.every(output, u).min())
        smallest = np.empty(len(output))
        for b in blocks(output):
            smallest[b] = self.every(output[b], u[b]).min(axis=1)
        return smallest

    def set(self, output: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> LabelSet:
        """The labels whose score is at most the radius, the most probable first."""
        unlimited("sets of labels", limits)
        inside = np.flatnonzero(holds(radius, self.every(output, self.uniform(output, u))))
        ranked = inside[np.argsort(-output[inside], kind="stable")].tolist()
        return LabelSet(tuple(ranked if self.classes is None else (self.classes[k] for k in ranked)))

    def width(self, outputs: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> np.ndarray:
        """The number of labels in each set."""
        unlimited("sets of labels", limits)
        return self.members(outputs, radius, u).sum(axis=1).astype(float)

    def members(self, outputs: Any, radius: Any, u: Any = None) -> np.ndarray:
        """Whether each class is in the set of each round: (rounds, classes)."""
        u = self.uniform(outputs, u)
        inside = np.empty(outputs.shape, dtype=bool)
        for b in blocks(outputs):
            inside[b] = holds(radius[b, None], self.every(outputs[b], u[b]))
        return inside

    def uniform(self, output: np.ndarray, u: Any) -> Any:
        """The uniform of each round; 0 for a score that is not randomised."""
        if not self.randomised:
            return 0.0 if output.ndim == 1 else np.zeros(len(output))
        if u is None:
            problem = "a randomised score needs u, a uniform in [0, 1)"
            raise InputTypeError(problem, argument="u", cure="take it from wane.scores.uniforms")
        return u


class LAC(LabelScore):
    """One minus the probability of the label; the set holds the labels of probability at least 1 - radius.

    Of all sets with their coverage these are the smallest on average, but they may be empty, and they under-cover what
    is hard. Sadinle, Lei and Wasserman (2019).

    >>> score = LAC(classes=["cat", "dog", "cow"])
    >>> p = score.output([0.25, 0.5, 0.25])
    >>> score.score(p, score.label("cat")), score.set(p, 0.75)
    (0.75, LabelSet(labels=('dog', 'cat', 'cow')))
    """

    parameters = ("classes",)

    def ceiling(self, output: Any) -> float:
        """1: unlikely labels crowd below it."""
        return self.largest(output.shape[-1])

    def every(self, p: np.ndarray, u: Any) -> np.ndarray:
        """1 - p, at least 0."""
        return np.maximum(1.0 - p, 0.0)


class APS(LabelScore):
    """The probability of all labels at least as likely as this one: adaptive prediction sets.

    Labels are sorted by decreasing probability, ties by index; the score is the sum down to the label, minus u times
    the probability of the label itself when a ``seed`` makes it randomised. Then a label drawn from the probabilities
    has a uniform score. Romano, Sesia and Candes (2020).

    Args:
        classes: the names of the labels; without, labels are indices.
        seed: for the uniforms, in ``wane.scores.uniforms``; None is u = 0.
        allow_empty: False: ``floor`` is the score of the most probable label, which keeps that label in the set.

    >>> score = APS()
    >>> p = score.output([0.25, 0.5, 0.25])
    >>> [score.score(p, y) for y in range(3)], score.set(p, 0.8)
    ([0.75, 0.5, 1.0], LabelSet(labels=(1, 0)))
    """

    parameters = ("classes", "seed", "allow_empty")  # type: tuple[str, ...]

    def __init__(self, classes: Any = None, seed: int | None = None, allow_empty: bool = True) -> None:
        """Set up the labels and the randomisation."""
        super().__init__(classes)
        self.seed = None if seed is None else whole("seed", seed, 0, 2**64)
        self.randomised = seed is not None
        self.allow_empty = flag("allow_empty", allow_empty)

    def ceiling(self, output: Any) -> float:
        """1, and the penalties: unlikely labels crowd below it."""
        return self.largest(output.shape[-1])

    def every(self, p: np.ndarray, u: Any) -> np.ndarray:
        """Sums from the most probable label down, at most 1 where rounded probabilities add up to more."""
        order = self.ranking(p)
        ranked = np.take_along_axis(p, order, axis=-1)
        sums = np.cumsum(ranked, axis=-1) - np.expand_dims(u, -1) * ranked
        scores = np.empty_like(p)
        np.put_along_axis(scores, order, np.minimum(sums, 1.0) + self.penalties(p.shape[-1]), axis=-1)
        return scores

    def ranking(self, p: np.ndarray) -> np.ndarray:
        """The labels, the most probable first."""
        return np.argsort(-p, axis=-1, kind="stable")

    def penalties(self, classes: int) -> Any:
        """What is added for each rank, the most probable first."""
        return 0.0


class RAPS(APS):
    """APS plus a penalty for each rank beyond the first ``k_reg``, which keeps sets small: regularised APS.

    The score is that of ``APS`` plus penalty * max(0, rank - k_reg), where the most probable label has rank 1.
    Angelopoulos, Bates, Malik and Jordan (2021).

    Args:
        penalty: of one rank, >= 0.
        k_reg: the ranks that are free; None is a tenth of the classes, at least 1.
        classes: the names of the labels; without, labels are indices.
        seed: for the uniforms, in ``wane.scores.uniforms``; None is u = 0.
        allow_empty: False: ``floor`` is the score of the most probable label, which keeps that label in the set.
        published: penalty * sqrt(max(0, rank - k_reg)) with ranks from 0, and ties by decreasing index, as in the code
            of the experiments of Bhatnagar et al. (2023) and of Zhang et al. (2024), not in their text.

    >>> score = RAPS(penalty=0.5, k_reg=1)
    >>> p = score.output([0.25, 0.5, 0.25])
    >>> [score.score(p, y) for y in range(3)], score.largest(3)
    ([1.25, 0.5, 2.0], 2.0)
    """

    parameters = ("penalty", "k_reg", "classes", "seed", "allow_empty", "published")

    def __init__(
        self,
        penalty: float = 0.01,
        k_reg: int | None = None,
        classes: Any = None,
        seed: int | None = None,
        allow_empty: bool = True,
        published: bool = False,
    ) -> None:
        """Set up the labels, the randomisation and the penalty."""
        super().__init__(classes, seed, allow_empty)
        self.penalty = scalar("penalty", penalty)
        if not 0.0 <= self.penalty <= EXTREME:
            raise InputError(f"must be a number in [0, {EXTREME:g}], got {penalty!r}", about="penalty", cure="0 is APS")
        self.k_reg = None if k_reg is None else whole("k_reg", k_reg, 0, 2**53)
        self.published = flag("published", published)

    def ranking(self, p: np.ndarray) -> np.ndarray:
        """The labels, the most probable first; of equally probable ones the last first, as published."""
        return np.argsort(p, axis=-1, kind="stable")[..., ::-1] if self.published else super().ranking(p)

    def growth(self, rank: Any, classes: int) -> Any:
        """How many penalties a rank costs, counted from 1, or from 0 as published."""
        beyond = np.maximum(0, rank - (max(1, classes // 10) if self.k_reg is None else self.k_reg))
        return np.sqrt(beyond) if self.published else beyond

    def penalties(self, classes: int) -> np.ndarray:
        """What is added for each rank, the most probable first."""
        first = 0 if self.published else 1
        return self.penalty * self.growth(np.arange(first, first + classes), classes)

    def largest(self, classes: int) -> float:
        """1 plus the penalty of rank K: the largest score, or as published a bound that no label reaches.

        >>> round(RAPS(0.01, k_reg=20, published=True).largest(200), 3)
        1.134
        """
        return float(1.0 + self.penalty * self.growth(classes, classes))


def in_order(name: str, values: Any, classes: Any, axis: str) -> Any:
    """Probabilities of a data frame, or of a series of one row, in the order of the classes if it names them."""
    named = getattr(values, axis, None)
    if classes is None or named is None or not hasattr(values, "reindex"):
        return values
    given = list(named)
    if given == list(classes) or given == list(range(len(classes))):
        return values
    if sorted(map(repr, given)) == sorted(map(repr, classes)):
        return values[list(classes)]
    problem = f"has the {axis} {given}, and the classes are {list(classes)}"
    raise InputError(problem, about=name, cure="rename them, or give an array")


def uniforms(seed: int, start: int, count: int) -> np.ndarray:
    """Uniforms in [0, 1) for the rounds start, ..., start + count - 1: a function of the seed and the round alone.

    They are the upper 53 bits of the outputs of SplitMix64 (Steele, Lea and Flood, 2014), a mixed counter: so any
    stretch can be had at any time, and there is no state to save.

    >>> uniforms(0, 0, 3).round(4).tolist(), uniforms(0, 2, 1).round(4).tolist()
    ([0.8833, 0.4315, 0.0264], [0.0264])
    """
    seed, start, count = (
        whole("seed", seed, 0, 2**64),
        whole("start", start, 0, 2**63),
        room("count", count, 0, MOST_COORDINATES),
    )
    z = (np.arange(count, dtype=np.uint64) + np.uint64(start + 1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * math.ldexp(1.0, -53)


def names_of(classes: Any) -> tuple[Any, ...]:
    """The names of the labels, as plain data."""
    names = tuple(c.item() if isinstance(c, np.generic) else c for c in listed("classes", classes))
    for k, name in enumerate(names):
        if not isinstance(name, (str, int, float)) or name != name:
            problem = f"must be text or a number, got {described(name)}"
            raise InputTypeError(problem, about="classes", row=k, cure="use str(...) of it")
    if len(names) < 2 or len({*names}) < len(names):
        raise InputError(f"must be at least 2 different names, got {described(classes)}", about="classes")
    return names


def blocks(p: np.ndarray) -> Iterator[Any]:
    """Slices of rows, so small that the arrays made from them stay small."""
    step = max(1, BLOCK // max(1, p.shape[1]))
    return (slice(t, t + step) for t in range(0, len(p), step))
