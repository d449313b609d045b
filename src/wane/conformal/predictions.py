"""The objects that `OnlineConformal` returns: predictions, explanations, metrics, alarms and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wane import showing
from wane.checks import scalar
from wane.errors import AlarmError, InputError, InputTypeError, NotFoundError


class Prediction:
    """The prediction set around one model output, or one set for each level.

    Give its ``id`` to ``update`` when the label comes. With one level, ``set`` is the set, and ``radius``, ``lower``,
    ``upper``, ``labels`` and ``width`` describe it. With several levels these are tuples in the order of ``alpha``, and
    ``p[0.1]`` is the set of one level. The radius of a score with two sides is a pair. ``cold`` says that too few
    scores had been seen when the prediction was made, so that the set means nothing yet.
    """

    __slots__ = ("alpha", "cold", "id", "radius", "sets")

    def __init__(self, id: Hashable, alpha: Any, sets: tuple[Any, ...], radius: Any, cold: bool) -> None:
        """Keep the parts; ``alpha`` and ``radius`` are tuples if there are several levels."""
        self.id = id
        self.alpha = alpha
        self.sets = sets
        self.radius = radius
        self.cold = cold

    @property
    def set(self) -> Any:
        """The set, if there is one level; with several, name one as in ``p[0.1]``."""
        if isinstance(self.alpha, tuple):
            raise InputTypeError(
                f"this prediction has the levels {self.alpha}",
                argument="alpha",
                cure=f"name one, as in p[{self.alpha[0]}]",
            )
        return self.sets[0]

    def __getitem__(self, alpha: float) -> Any:
        """Return the set of one level."""
        levels = self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)
        wanted = scalar("alpha", alpha)
        for level, found in zip(levels, self.sets, strict=True):
            if math.isclose(level, wanted, rel_tol=1e-9):
                return found
        raise NotFoundError(f"no level {alpha!r}", argument="alpha", cure=f"there are {levels}")

    __iter__ = None  # else Python would try p[0], p[1], ...

    def __contains__(self, y: Any) -> bool:
        """Return whether a label is in the set. Sets are closed: their ends belong to them."""
        return y in self.set

    def __eq__(self, other: object) -> bool:
        """Compare ids, levels, radii and sets."""
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
        """The lower end of the interval."""
        return self._each("lower")

    @property
    def upper(self) -> Any:
        """The upper end of the interval."""
        return self._each("upper")

    @property
    def labels(self) -> Any:
        """The labels in a set of labels, the most probable first."""
        return self._each("labels")

    @property
    def width(self) -> Any:
        """The size of the set: the length of an interval, the number of labels, or the diameter of a ball."""
        return self._each("width")

    def __repr__(self) -> str:
        """Show the id, the sets and the levels."""
        sets = self.sets if isinstance(self.alpha, tuple) else self.sets[0]
        return f"Prediction(id={self.id!r}, {sets!r}, alpha={self.alpha!r}{', cold' if self.cold else ''})"

    def columns(self) -> dict[str, list[Any]]:
        """Return named columns for a data frame, with a row for each level."""
        levels = list(self.alpha) if isinstance(self.alpha, tuple) else [self.alpha]
        named: dict[str, list[Any]] = {"id": [self.id] * len(levels), "alpha": levels}
        for name in ("lower", "upper", "labels", "width"):
            if all(hasattr(s, name) for s in self.sets):
                named[name] = [getattr(s, name) for s in self.sets]
        return named

    def to_frame(self) -> Any:
        """Return a data frame of pandas with a row for each level."""
        return showing.to_frame(self.columns())

    def plot(self, ax: Any = None) -> Any:
        """Draw the interval of each level, or the labels in the sets, and return the axes of matplotlib."""
        levels = self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)
        named, title = self.columns(), f"Prediction {self.id!r}"
        if "lower" in named:
            names = [f"{100.0 * (1.0 - a):.4g} %" for a in levels]
            return showing.bars(names, named["lower"], named["upper"], title, "interval", ax)
        if "labels" not in named:
            raise InputError("a set of this kind cannot be drawn", argument="score", cure="draw it by a chart of yours")
        # Each label up to the smallest coverage whose set holds it; that of several levels is nested.
        least: dict[str, float] = {}
        for alpha, labels in sorted(zip(levels, named["labels"], strict=True)):
            least |= {str(label): 100.0 * (1.0 - alpha) for label in labels}
        return showing.bars(least, 0.0, list(least.values()), title, "in the set of this coverage, %", ax)

    def _repr_html_(self) -> str:
        """Show the prediction in a notebook."""
        named = self.columns()
        title = f"Prediction {named.pop('id')[0]!r}" + (" (cold: no label is known yet)" if self.cold else "")
        return showing.html(title, [(name, tuple(values)) for name, values in named.items()])


@dataclass(frozen=True)
class Explanation:
    """What happened to one prediction; ``explain`` returns it.

    ``status`` is "waiting", "labelled" or "expired", and ``radius`` is the radius that was played. The other fields are
    None until the label has come. ``score`` is the score of the label (a pair for a score with two sides), and
    ``covered`` says whether radius > score. ``before`` and ``after`` are the radii that the trackers would play next
    before and after they learned the label. ``waited`` counts the predictions that were made while the label was
    missing. With several levels, radii and ``covered`` are tuples in the order of alpha.
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
        """Say it in one sentence."""
        if self.status != "labelled":
            return f"prediction {self.id!r}, radius {shown(self.radius)}: {self.status}"
        return (
            f"prediction {self.id!r}, radius {shown(self.radius)}: the label came {self.waited} predictions later with "
            f"score {shown(self.score)}, covered: {shown(self.covered)}; it moved the next radius from "
            f"{shown(self.before)} to {shown(self.after)}"
        )


def shown(value: Any) -> str:
    """Write numbers with six digits, also inside tuples."""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(shown, value)) + ")"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Metrics:
    """How well one level has done on the labels so far. A number that does not exist yet is NaN.

    ``coverage`` is the share of labels with radius > score, or radius >= score if the tracker was told
    ``tie="covered"``. Names with ``local_`` are about the last ``window`` labels.
    ``worst_local_coverage`` is the smallest local coverage of a full window, and ``worst_round`` the label with which
    that window ended. ``width`` is the mean of the finite widths; ``unbounded`` counts the other ones. Local coverage
    outside of ``band`` raises an alarm. ``coverage_error`` is the (discounted) sum of miss - alpha. ``coverage_bound``
    is what theory proves that its absolute value is at most, or None where nothing is proved about misses; then
    ``no_bound`` says why. ``gradient_sum`` is minus the (discounted) sum of the gradients of the loss that ``magl`` and
    ``magl-d`` learn from, and ``gradient_bound`` the bound of the paper's lemmas for it: with the pinball loss both are
    about misses, with another loss they are not. They are None where the lemmas do not apply.
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
    gradient_sum: float | None
    gradient_bound: float | None
    pending: int
    expired: int

    def to_frame(self) -> Any:
        """Return a data frame of pandas with one row."""
        return showing.to_frame({f.name: [getattr(self, f.name)] for f in fields(self)})

    def plot(self, ax: Any = None) -> Any:
        """Draw the coverage of all labels, of the last ones and of the worst window, and return the axes of matplotlib.

        The line is the target, and the shaded part the band that raises no alarm.
        """
        shown = {"all labels": self.coverage, f"the last {self.window}": self.local_coverage}
        shown[f"the worst {self.window}"] = self.worst_local_coverage
        known = {name: 100.0 * value for name, value in shown.items() if value == value}
        ax = showing.bars(known, 0.0, list(known.values()), f"Coverage of {self.rounds:,} labels", "inside, %", ax)
        ax.axvspan(100.0 * max(self.band[0], 0.0), 100.0 * min(self.band[1], 1.0), color="#dddddd", zorder=0)
        ax.axvline(100.0 * (1.0 - self.alpha), color=showing.TRUE, linestyle="--")
        return ax

    def _repr_html_(self) -> str:
        """Show the numbers in a notebook."""
        known = [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) is not None]
        title = f"Coverage {self.coverage:.3f} of {self.rounds:,} labels (target {1.0 - self.alpha:g})"
        return showing.html(title, [(name.replace("_", " "), value) for name, value in known])


@dataclass(frozen=True)
class Alarm:
    """The news that local coverage has left its band: below it (``side`` is "low") or above it ("high").

    ``round`` is the number of the label that caused the alarm, and ``id`` is the prediction of that label.
    """

    round: int
    id: Hashable
    alpha: float
    side: str
    local_coverage: float
    band: tuple[float, float]
    step: int | None = None  # how many steps ahead, with Horizons


def alarms_of(label: Any, id: Hashable) -> list[Alarm]:
    """Return the alarms that a label has raised."""
    return [Alarm(round, id, *rest) for round, *rest in label.alarms]


def tell(on_alarm: Callable[[Alarm], Any] | None, alarms: list[Alarm]) -> None:
    """Call ``on_alarm`` for each alarm. If a call fails, deliver the other alarms, and then raise an error."""
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
    """The result of a replay, with one row for each round; ``columns`` gives it to a data frame.

    With several levels, the arrays of bounds, radii, widths and ``covered`` have a column for each, in the order of
    alpha. With a score of two sides, ``radius`` and ``score`` have a last axis (lower, upper). ``covered`` is 1, 0, or
    NaN where there is no label. It says whether radius > score, for every label that was given, even if it came too
    late to learn from. Before the first label is learned, the intervals are what the method starts from, mostly of
    width 0. ``lower`` and ``upper`` are None if the sets are not intervals; ``members`` holds sets of labels.
    ``y`` and ``y_hat`` are the labels and forecasts that were given, where they are numbers.
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
    y: np.ndarray | None = None
    y_hat: np.ndarray | None = None
    method: str = ""

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.covered)

    def __repr__(self) -> str:
        """Show the number of rounds and the coverage."""
        return f"Table({len(self)} rounds, alpha={self.alpha!r}, coverage={self.coverage!r})"

    @property
    def members(self) -> np.ndarray | None:
        """For sets of labels: whether each class is in the set, (rounds, classes), or (rounds, levels, classes)."""
        if self.inside is None:
            return None
        by_level = self.inside()
        return np.stack(by_level, axis=1) if isinstance(self.alpha, tuple) else by_level[0]

    @property
    def coverage(self) -> Any:
        """The share of labels that were covered: a number, or one for each level; NaN without labels."""
        known = ~np.isnan(self.covered)
        count = known.sum(axis=0)
        with np.errstate(invalid="ignore"):
            share = np.where(known, self.covered, 0.0).sum(axis=0) / count
        return share if isinstance(self.alpha, tuple) else float(share)

    def to_frame(self) -> Any:
        """Return a data frame of pandas with a row for each round."""
        return showing.to_frame(self.columns())

    def plot(self, alpha: float | None = None, ax: Any = None, last: int | None = showing.LAST) -> Any:
        """Draw the intervals and the true values of the last rounds, and return the axes of matplotlib.

        Args:
            alpha: which level to draw; by default the first.
            ax: axes to draw into; by default new ones.
            last: how many rounds to show; None shows all of them.
        """
        lower, upper, y = self._intervals()
        levels = list(self.alpha) if isinstance(self.alpha, tuple) else [self.alpha]
        if alpha is not None and alpha not in levels:
            raise NotFoundError(f"no level {alpha!r}", argument="alpha", cure=f"there are {levels}")
        i = 0 if alpha is None else levels.index(alpha)
        title = f"{1.0 - levels[i]:.4g} coverage wanted, {np.atleast_1d(self.coverage)[i]:.3f} reached"
        return showing.band(np.arange(len(self)), lower[:, i], upper[:, i], y, title, ax, last)

    def report(self, path: Any, title: str | None = None) -> None:
        """Write an HTML page about this run, which opens in any browser."""
        lower, upper, y = self._intervals()
        levels = self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)
        # What the metrics count decides at the very ends of an interval; rounds without an interval are not judged.
        covered = np.where(np.isnan(y)[:, None], math.nan, showing.two_dimensional(self.covered))
        track: dict[str, Any] = {
            "name": "run",
            "method": self.method or "wane",
            "time": None,
            "y": y,
            "y_hat": self.y_hat,
        }
        track |= {"levels": levels, "lower": lower, "upper": upper, "covered": covered}
        showing.report(path, [track], title or "Intervals", {})

    def _intervals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return lower and upper ends with a column for each level, and the labels."""
        if self.lower is None or self.upper is None or self.y is None:
            raise InputError(
                "only intervals around numbers can be drawn",
                argument="score",
                cure="columns() has the widths and what was covered",
            )
        return showing.two_dimensional(self.lower), showing.two_dimensional(self.upper), self.y

    def _repr_html_(self) -> str:
        """Show what the run came to in a notebook."""
        mean = np.nanmean(self.width[np.isfinite(self.width).reshape(len(self), -1).all(axis=1)], axis=0)
        rows = [("rounds", len(self)), ("coverage", self.coverage), ("target", 1.0 - np.asarray(self.alpha))]
        rows += [("mean width", mean)]
        plain = [(k, v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v) for k, v in rows]
        return showing.html("Replay: to_frame(), plot() and report(path) show more", plain)

    def columns(self) -> dict[str, Any]:
        """Return named columns for a data frame; those of several levels are called ``lower_0.1`` and so on."""
        named: dict[str, Any] = {"id": self.id}
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
                    named |= {f"{key}_below": column[:, 0], f"{key}_above": column[:, 1]}
                else:
                    named[key] = column
        return named
