"""What a report is made from: outcomes, forecasts and intervals of one stream by one method."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from wane import metrics
from wane.checks import described, real_array, share
from wane.covered import contains
from wane.errors import InputError, InputTypeError

BY_ROUND = ("time", "y", "y_hat", "lower", "upper", "covered")


@dataclasses.dataclass(frozen=True, eq=False)
class Track:
    """One stream by one method; several methods on a stream are tracks of the same name.

    Args:
        name: of the stream.
        method: what made the intervals.
        time: (T,) numbers or dates that do not decrease; None numbers the rounds from 0. Dates with a zone become UTC.
        y: (T,), the outcomes; NaN where one is missing.
        y_hat: (T,), the forecasts; None if there is no single one, as with two quantiles.
        levels: (L,), the share of misses that each interval may have, such as 0.1; the headline is about the first.
        lower: (T, L), or (T,) with one level; it may be infinite.
        upper: the same; no interval has its upper end below its lower one unless it is empty.
        covered: (T, L), 1 or 0, and NaN where there is no label; None: an outcome at an end is inside.
        bounds: (L,), what the theory allows the sum of miss - alpha at each level, None where it says nothing.
        discount: of that sum.
        gradients: (L,), for a method whose loss counts no misses: at each level the sum of its gradients and its bound,
            or None.
        groups: what coverage is also judged by, such as {"region": (T,) names}; None for nothing but the times.

    >>> track = Track("demo", "auto", None, [1.0, 5.0], [1.5, 1.5], [0.1], [0.0, 0.0], [3.0, 3.0])
    >>> track.covered[:, 0]
    array([1., 0.])
    """

    name: str
    method: str
    time: Any
    y: Any
    y_hat: Any
    levels: Any
    lower: Any
    upper: Any
    covered: Any = None
    bounds: Any = None
    discount: float = 1.0
    gradients: Any = None
    groups: Any = None

    def __post_init__(self) -> None:
        """Arrays of the right shapes, or an error."""
        y = real_array("y", self.y)
        if y.ndim != 1 or not len(y):
            raise self._bad("y", f"must have shape (rounds,) with one round or more, got {y.shape}")
        if np.isinf(y).any():
            at = int(np.argmax(np.isinf(y)))
            raise self._bad(f"y[{at}]", "is infinite", "NaN is a missing outcome")
        levels = levels_of(self.levels, self.name)
        shape = (len(y), len(levels))
        lower, upper = self._table("lower", self.lower, shape), self._table("upper", self.upper, shape)
        if np.isnan(lower).any() or np.isnan(upper).any():
            raise self._bad("lower and upper", "must be numbers in every round, got NaN", "drop these rounds")
        inside = np.where(np.isnan(y)[:, None], np.nan, contains(lower, upper, y[:, None]))
        covered = inside if self.covered is None else self._table("covered", self.covered, shape)
        if not (np.isnan(covered) == np.isnan(inside)).all() or not np.isin(covered[~np.isnan(covered)], (0, 1)).all():
            raise self._bad("covered", "must be 1 or 0 where there is an outcome and NaN elsewhere")
        made = {
            "time": moments_of(self.time, len(y), self.name),
            "y": y,
            "y_hat": None if self.y_hat is None else self._table("y_hat", self.y_hat, (len(y), 1))[:, 0],
            "levels": levels,
            "lower": lower,
            "upper": upper,
            "covered": covered,
            "groups": groups_of(self.groups, len(y), self.name),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @classmethod
    def judged(cls, name: str, method: str, **columns: Any) -> Track | None:
        """The rounds that have an interval, in the order of their times; None if there is none.

        >>> Track.judged("demo", "auto", time=[2, 1], y=[5.0, 1.0], y_hat=None, levels=[0.1],
        ...     lower=np.array([[np.nan], [0.0]]), upper=np.array([[np.nan], [3.0]])).y
        array([1.])
        """
        known = ~(np.isnan(columns["lower"]) | np.isnan(columns["upper"])).any(axis=1)
        rows = np.flatnonzero(known)
        if not len(rows):
            return None
        if columns.get("time") is not None:
            rows = rows[np.argsort(np.asarray(columns["time"])[rows], kind="stable")]
        by_round: dict[str, Any] = {k: np.asarray(columns.pop(k))[rows] for k in BY_ROUND if columns.get(k) is not None}
        if columns.get("groups"):
            by_round["groups"] = {k: np.asarray(values)[rows] for k, values in columns.pop("groups").items()}
        return cls(name, method, **{"time": None, "y_hat": None, **columns, **by_round})

    def __len__(self) -> int:
        """Rounds."""
        return len(self.y)

    @property
    def known(self) -> np.ndarray:
        """(T,), whether the outcome of a round is there."""
        return ~np.isnan(self.y)

    def widths(self, level: int) -> np.ndarray:
        """(T,), the width of each interval; 0 for an empty one."""
        return np.maximum(self.upper[:, level] - self.lower[:, level], 0.0)

    def interval_score(self, level: int) -> float:
        """The mean interval score; an empty interval is a point to it."""
        lower = np.minimum(self.lower[:, level], self.upper[:, level])
        return metrics.winkler(lower, self.upper[:, level], self.y, self.levels[level])

    def since(self, first: int) -> Track:
        """The rounds from one on, without what the theory says of the sum over all of them."""
        columns = {name: getattr(self, name) for name in BY_ROUND}
        kept: dict[str, Any] = {name: None if column is None else column[first:] for name, column in columns.items()}
        groups = {name: values[first:] for name, values in self.groups.items()}
        return Track(self.name, self.method, levels=self.levels, groups=groups, **kept)

    def factors(self) -> dict[str, np.ndarray]:
        """What coverage is also judged by."""
        return dict(self.groups)

    def _bad(self, about: str, problem: str, cure: str | None = None) -> InputError:
        """The error about one argument, with the name of the stream."""
        return InputError(problem, about=about, cure=cure, where=self.name)

    def _table(self, name: str, values: Any, shape: tuple[int, int]) -> np.ndarray:
        return table_of(name, values, shape, self.name)


def levels_of(levels: Any, where: str) -> tuple[float, ...]:
    """Shares of misses, each once, or an error."""
    made = tuple(share("levels", a) for a in np.atleast_1d(levels).tolist())
    if not made or len(set(made)) < len(made):
        raise InputError(f"must be shares of misses, each once, got {described(levels)}", about="levels", where=where)
    return made


def table_of(name: str, values: Any, shape: tuple[int, int], where: str) -> np.ndarray:
    """Numbers with a row for each round and a column for each level, or an error."""
    array = real_array(name, values)
    if array.ndim == 1 and shape[1] == 1:
        array = array[:, None]
    if array.shape != shape:
        raise InputError(f"must have shape {shape}, a row a round, got {array.shape}", about=name, where=where)
    return array


def moments_of(time: Any, rounds: int, where: str) -> np.ndarray | None:
    """Times as float64 numbers or as datetime64, or an error; None stays None."""
    if time is None:
        return None
    moments = np.asarray(time)
    if moments.dtype.kind == "O":
        moments = np.array([np.datetime64(_universal(t)) if hasattr(t, "isoformat") else t for t in moments])
    if moments.dtype.kind not in "Mfiu" or moments.shape != (rounds,):
        problem = f"must be {rounds} numbers or dates, got {described(time)}"
        raise InputTypeError(problem, about="time", where=where)
    moments = moments.astype("datetime64[ms]") if moments.dtype.kind == "M" else moments.astype(np.float64)
    if not (moments[1:] >= moments[:-1]).all() or (moments != moments).any():
        cure = "sort the rounds by time first"
        raise InputError("must not decrease or be missing", about="time", cure=cure, where=where)
    return moments


def groups_of(groups: Any, rounds: int, where: str) -> dict[str, np.ndarray]:
    """The group of each round by the name of what groups them, or an error."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        wanted = "must be a mapping from names to one group a round"
        raise InputTypeError(f"{wanted}, got {described(groups)}", about="groups", where=where)
    made = {str(name): np.asarray(values) for name, values in groups.items()}
    for name, values in made.items():
        if values.shape != (rounds,):
            problem = f"must have shape ({rounds},), a group a round, got {values.shape}"
            raise InputError(problem, about=f"groups[{name!r}]", where=where)
    return made


def _universal(moment: Any) -> Any:
    """A date without a zone: in UTC, if it has one."""
    if getattr(moment, "tzinfo", None) is None:
        return moment
    return moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
