"""A tracker that is one round behind: what the paper's published code plays."""

from __future__ import annotations

from typing import Any

from wane.checks import described
from wane.errors import InputTypeError
from wane.trackers.base import Tracker
from wane.trackers.losses import AT_TIE

INFINITY = float("inf")


class Lagged(Tracker):
    """Play in each round what the tracker inside would have played in the round before, and 0 in the first.

    The tracker inside learns as if its own radius were played, with every label in time: a late label's radius is not
    passed on. It belongs to this one from now on.

    >>> import wane
    >>> scores = [1.0] * 9
    >>> a, b = wane.trackers.make("magl", alpha=0.1), Lagged(wane.trackers.make("magl", alpha=0.1))
    >>> bool((b.run(scores)[1:] == a.run(scores)[:-1]).all())
    True
    """

    parameters = ("tracker",)
    memory = ("rounds", "stale", "infinite")
    ties = tuple(AT_TIE)

    def __init__(self, tracker: Tracker) -> None:
        """Take over the tracker."""
        if not isinstance(tracker, Tracker):
            raise InputTypeError(f"must be a Tracker, got {described(tracker)}", about="tracker")
        self.tracker = tracker
        super().__init__(tracker.alpha, tracker.domain, tracker.on_missing, tracker.tie)
        self.stale = 0.0
        self.infinite = 0.0  # the sign of an infinite radius, which plain data cannot hold

    def level_changed(self, miss: float) -> None:
        """The level lives in the tracker inside as well."""
        self.miss = miss
        self.tracker.alpha = miss

    def warm_start(self, scores: Any) -> None:
        """Warm the tracker inside; what it plays then is played one round later."""
        self.tracker.warm_start(scores)
        self.rounds = self.tracker.rounds

    def limits(self) -> dict[str, tuple[float, float]]:
        """The sign of an infinite radius, or 0."""
        return super().limits() | {"infinite": (-1.0, 1.0)}

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.stale = cells.number(self.stale)
        self.infinite = cells.number(self.infinite)
        self.tracker._fields(cells)

    def _predict(self) -> float:
        return self.stale if self.infinite == 0.0 else self.infinite * INFINITY

    def _update(self, score: float, radius: float, discount: float) -> None:
        now = self.tracker._predict()
        self.tracker._ingest(score, now, discount)
        self.infinite = 1.0 if now == INFINITY else -1.0 if now == -INFINITY else 0.0
        self.stale = now if self.infinite == 0.0 else 0.0
