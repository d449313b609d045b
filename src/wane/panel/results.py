"""``Result``: what ``wane.panel.run`` returns, and how it shows itself in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wane import showing
from wane.errors import InputError, NotFoundError
from wane.panel.frame_kinds import Arrays, Frame
from wane.panel.index import as_list
from wane.panel.sorting import moments

ONE = "all"  # the name of a stream in a frame without ids


@dataclass(frozen=True)
class Roles:
    """Which columns of the frame of a result hold what."""

    method: str
    levels: tuple[float, ...]
    suffixes: tuple[str, ...]
    prefix: str
    y: str
    y_hat: str | None
    id: str | None
    time: str | None

    @classmethod
    def of(cls, settings: Any, prefix: str, y: str, forecasts: list[str], id: str | None, time: str | None) -> Roles:
        """The roles in the frame of a run; two columns of forecasts are no single one."""
        single = forecasts[0] if len(forecasts) == 1 else None
        return cls(settings.method, settings.alphas, tuple(settings.suffixes), prefix, y, single, id, time)

    def numbers(self, table: Arrays | Frame, what: str) -> np.ndarray:
        """The new columns of one kind, such as "lower", with a column for each level."""
        return np.column_stack([table.numbers(f"{self.prefix}{what}{end}") for end in self.suffixes])

    def tracks(self, table: Arrays | Frame) -> dict[Any, dict[str, Any]]:
        """The columns of each stream, in order of time, as ``wane.report.Track.judged`` takes them."""
        columns = {what: self.numbers(table, what) for what in ("lower", "upper", "covered")}
        columns["covered"] = np.where(np.isnan(columns["lower"]), math.nan, columns["covered"])
        columns["y"] = table.numbers(self.y)
        if self.y_hat is not None:
            columns["y_hat"] = table.numbers(self.y_hat)
        if self.time is not None:
            columns["time"] = moments(self.time, table.array(self.time))
        order, starts, ids = table.streams(self.id, self.time, "keep")
        order = np.arange(len(columns["y"])) if order is None else order
        made = {}
        for id, start, end in zip(as_list(ids), starts[:-1], starts[1:], strict=True):
            name = ONE if self.id is None else id
            own = {what: values[order[start:end]] for what, values in columns.items()}
            made[name] = {"name": str(name), "method": self.method, "levels": self.levels, **own}
        return made


@dataclass(frozen=True)
class Result:
    """What ``run`` returns.

    ``frame`` is the given frame with new columns, ``summary`` has a row for each stream, and ``panel`` holds the state,
    from which the next call can go on. Of a backtest, ``panel`` is a dict of panels by the number of steps ahead.
    """

    frame: Any
    summary: Any
    panel: Any
    _roles: Roles = field(repr=False)

    def to_frame(self) -> Any:
        """Return ``frame`` as a data frame of pandas."""
        if isinstance(self.frame, Mapping):
            return showing.to_frame(self.frame)
        return self.frame.to_pandas() if hasattr(self.frame, "to_pandas") else self.frame

    def plot(self, id: Any = None, ax: Any = None, last: int | None = showing.LAST) -> Any:
        """Draw the intervals and the true values of one stream, and return the axes of matplotlib.

        Args:
            id: the stream; by default the first.
            ax: axes to draw into; by default new ones.
            last: how many of its rows to show; None shows all of them.
        """
        tracks = self._roles.tracks(self._table())
        if not tracks:
            raise InputError("the frame has no rows", argument="frame", cure="there is nothing to draw")
        first = next(iter(tracks))
        name = first if id is None else id
        if name not in tracks:
            raise NotFoundError(
                f"no stream {id!r}", argument="id", cure=f"there are {len(tracks):,}, such as {first!r}"
            )
        track = tracks[name]
        x = track.get("time", np.arange(len(track["y"])))
        title = f"{name}: {1.0 - self._roles.levels[0]:.4g} coverage wanted"
        ends = (track["lower"][:, 0], track["upper"][:, 0])
        return showing.band(x, *ends, track["y"], title, ax, last, self._roles.time or "row")

    def report(self, path: Any, title: str | None = None) -> None:
        """Write an HTML page about this run, which opens in any browser."""
        showing.report(path, self._roles.tracks(self._table()).values(), title or "Intervals", {})

    def _table(self) -> Arrays | Frame:
        return Arrays(self.frame) if isinstance(self.frame, Mapping) else Frame(self.frame)

    def __repr__(self) -> str:
        """What the run came to, in a line."""
        said = dict(self._facts())
        judged = said["labels judged"]
        inside = f"{100.0 * said['coverage']:.1f} % of {judged:,} labels inside" if judged else "no labels yet"
        target = f"target {100.0 * said['target']:.4g} %"
        return f"Result({self._roles.method}, {said['rows']:,} rows, {target}: {inside})"

    def _repr_html_(self) -> str:
        """Show what the run came to in a notebook."""
        return showing.html("Intervals: frame, summary, plot(id) and report(path) show more", self._facts())

    def _facts(self) -> list[tuple[str, Any]]:
        """What the run came to: names and numbers."""
        table, roles = self._table(), self._roles
        cold = np.isnan(roles.numbers(table, "lower")[:, 0])
        hits = roles.numbers(table, "covered")[~cold, 0]
        known = hits[~np.isnan(hits)]
        return [
            ("rows", len(cold)),
            ("rows without an interval", int(cold.sum())),
            ("labels judged", len(known)),
            ("coverage", float(known.mean()) if len(known) else math.nan),
            ("target", 1.0 - roles.levels[0]),
        ]
