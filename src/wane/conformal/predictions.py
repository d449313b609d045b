"""What `OnlineConformal` gives out: predictions, explanations, metrics, alarms, tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.errors import AlarmError, InputTypeError, NotFoundError


class Prediction:
    """One set, or one for each level, around one model output.

    ``id`` names it when its label comes. With one level, ``set`` is the set and ``radius``, ``lower``, ``upper``,
    ``labels``, ``width`` are its own; with several, these are tuples in the order of ``alpha``, and ``p[0.1]`` is the
    set of one level. The radius of a score with two sides is a pair. ``cold`` says that no score has been seen yet.
    """

    __slots__ = ("alpha", "cold", "id", "radius", "sets")

    def __init__(self, id: Hashable, alpha: Any, sets: tuple[Any, ...], radius: Any, cold: bool) -> None:
        """``alpha`` and ``radius`` are tuples if there are several levels."""
        self.id = id
        self.alpha = alpha
        self.sets = sets
        self.radius = radius
        self.cold = cold

    @property
    def set(self) -> Any:
        """The set, where there is one level."""
        if isinstance(self.alpha, tuple):
            raise InputTypeError(
                f"this prediction has the levels {self.alpha}",
                argument="alpha",
                cure=f"name one, as in p[{self.alpha[0]}]",
            )
        return self.sets[0]

    def __getitem__(self, alpha: float) -> Any:
        """The set of one level."""
        levels = self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)
        for level, made in zip(levels, self.sets, strict=True):
            if math.isclose(level, alpha, rel_tol=1e-9):
                return made
        raise NotFoundError(f"no level {alpha!r}", argument="alpha", cure=f"there are {levels}")

    __iter__ = None  # else Python would try p[0], p[1], ...

    def __contains__(self, y: Any) -> bool:
        """Whether the label is inside; sets are closed."""
        return y in self.set

    def __eq__(self, other: object) -> bool:
        """The same id, levels, radii and sets."""
        if not isinstance(other, Prediction):
            return NotImplemented
        return all(getattr(self, k) == getattr(other, k) for k in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # the sets may hold arrays

    def _each(self, name: str) -> Any:
        if isinstance(self.alpha, tuple):
            return tuple([getattr(s, name) for s in self.sets])
        return getattr(self.sets[0], name)

    @property
    def lower(self) -> Any:
        """The lower end."""
        return self._each("lower")

    @property
    def upper(self) -> Any:
        """The upper end."""
        return self._each("upper")

    @property
    def labels(self) -> Any:
        """The labels of a set of labels, the most probable first."""
        return self._each("labels")

    @property
    def width(self) -> Any:
        """The length of an interval, the number of labels, the diameter of a ball."""
        return self._each("width")

    def __repr__(self) -> str:
        """The id, the sets and the levels."""
        sets = self.sets if isinstance(self.alpha, tuple) else self.sets[0]
        return f"Prediction(id={self.id!r}, {sets!r}, alpha={self.alpha!r}{', cold' if self.cold else ''})"


@dataclass(frozen=True)
class Explanation:
    """What is known of one prediction: ``status`` is "waiting", "labelled" or "expired".

    ``radius`` was played. Once labelled: its ``score`` (a pair for a score with two sides), whether it was ``covered``
    (radius > score), the radius that the trackers would play next ``before`` and ``after`` they learned this label, and
    how many later predictions were made while it was ``waited`` for. Several levels: tuples in the order of alpha.
    """

    id: Hashable
    status: str
    radius: Any
    score: Any = None
    covered: Any = None
    before: Any = None
    after: Any = None
    waited: int | None = None

    def __str__(self) -> str:
        """In words."""
        if self.status != "labelled":
            return f"prediction {self.id!r}, radius {shown(self.radius)}: {self.status}"
        return (
            f"prediction {self.id!r}, radius {shown(self.radius)}: the label came {self.waited} predictions later with "
            f"score {shown(self.score)}, covered: {shown(self.covered)}; it moved the next radius from "
            f"{shown(self.before)} to {shown(self.after)}"
        )


def shown(value: Any) -> str:
    """Numbers cut to six digits, also inside tuples."""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(shown, value)) + ")"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Metrics:
    """One level, over the labels that have come so far. A number that does not exist yet is NaN.

    ``coverage`` counts radius > score. ``local_`` is over the last ``window`` labels, ``worst_local_coverage`` the
    smallest over full windows, which ended with label number ``worst_round``. ``width`` is the mean of the finite ones,
    ``unbounded`` counts the others. Local coverage outside of ``band`` is an alarm. ``coverage_error`` is the
    (discounted) sum of miss - alpha, and ``coverage_bound`` what the paper's lemmas allow it, or None where they do not
    apply, for the reason in ``no_bound``.
    """

    alpha: float
    rounds: int
    coverage: float
    window: int
    local_coverage: float
    worst_local_coverage: float
    worst_round: int
    width: float
    local_width: float
    unbounded: int
    band: tuple[float, float]
    longest_misses: int
    coverage_error: float
    coverage_bound: float | None
    no_bound: str | None
    pending: int
    expired: int


@dataclass(frozen=True)
class Alarm:
    """Local coverage has left its band: below it ("low") or above it ("high").

    ``round`` is the number of the label that led to it, ``id`` the prediction that it belongs to.
    """

    round: int
    id: Hashable
    alpha: float
    side: str
    local_coverage: float
    band: tuple[float, float]
    step: int | None = None  # of Horizons


def tell(on_alarm: Callable[[Alarm], Any] | None, alarms: list[Alarm]) -> None:
    """Give the alarms, if somebody listens; an error of his comes after the last."""
    failed = None
    for alarm in alarms if on_alarm is not None else ():
        try:
            on_alarm(alarm)  # type: ignore[misc]
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise AlarmError(f"on_alarm has failed: {failed!r}; the label was learned", argument="on_alarm") from failed


@dataclass(frozen=True, repr=False)
class Table:
    """A replay, one row a round: ids, bounds, radii, widths, scores, and whether each label was covered.

    With several levels the arrays of bounds, radii, widths and ``covered`` have a column for each, in the order of
    alpha. A score with two sides gives ``radius`` and ``score`` a last axis (lower, upper). ``covered`` is 1, 0, or NaN
    where there is no label; it judges every label given, those that were not revealed in time to learn from too.
    ``lower`` and ``upper`` are None where sets are not intervals; ``members`` tells the labels in each set.
    """

    alpha: Any
    id: Any
    lower: np.ndarray | None
    upper: np.ndarray | None
    radius: np.ndarray
    width: np.ndarray
    score: np.ndarray
    covered: np.ndarray
    inside: Callable[[], list[np.ndarray]] | None = None

    def __len__(self) -> int:
        """How many rounds."""
        return len(self.covered)

    def __repr__(self) -> str:
        """The number of rounds and the coverage."""
        return f"Table({len(self)} rounds, alpha={self.alpha!r}, coverage={self.coverage!r})"

    @property
    def members(self) -> np.ndarray | None:
        """For sets of labels: whether each class is in the set, (rounds, classes), or (rounds, levels, classes)."""
        if self.inside is None:
            return None
        made = self.inside()
        return np.stack(made, axis=1) if isinstance(self.alpha, tuple) else made[0]

    @property
    def coverage(self) -> Any:
        """The share of labels covered: a number, or one for each level; NaN without labels."""
        known = ~np.isnan(self.covered)
        count = known.sum(axis=0)
        with np.errstate(invalid="ignore"):
            share = np.where(known, self.covered, 0.0).sum(axis=0) / count
        return share if isinstance(self.alpha, tuple) else float(share)

    def columns(self) -> dict[str, Any]:
        """The table as named columns for a data frame; those of several levels are called ``lower_0.1`` and so on."""
        given = {"id": self.id}
        for name in ("lower", "upper", "radius", "width", "score", "covered"):
            values = getattr(self, name)
            if values is None:
                continue
            if isinstance(self.alpha, tuple) and name != "score":
                parts = {f"{name}_{a:g}": values[:, i] for i, a in enumerate(self.alpha)}
            else:
                parts = {name: values}
            for key, column in parts.items():
                if column.ndim == 2:
                    given |= {f"{key}_below": column[:, 0], f"{key}_above": column[:, 1]}
                else:
                    given[key] = column
        return given
