"""``GroupedPanel``: a panel in which each of several groups of rows, which may overlap, is covered as asked."""

from __future__ import annotations

import copy
from functools import partial
from operator import setitem
from typing import Any

import numpy as np

from wane.errors import InputError
from wane.metrics.groups import GroupMetrics
from wane.panel import ticks
from wane.panel.arrays import Intervals, Played
from wane.panel.correction import Correction
from wane.panel.panel import Panel
from wane.panel.undo import Undo
from wane.state import data as plain_data
from wane.state.files import known
from wane.state.forks import CONTAINER, lock_of


@known
class GroupedPanel:
    """A panel whose intervals are corrected so that every group of rows misses a share alpha, over all series.

    Use it where coverage must hold on Sundays, in every region and for large forecasts at once. A row belongs to one
    group of each column. Groups are shared by the series: a new series begins with what its groups know, and a new
    group with what the others say. Nothing is to be tuned. ``Groups`` is another thing: there each series has separate
    trackers for each of its groups, which must be disjoint.

    Args:
        groups: the columns of groups: names, or ``Quantiles`` of columns of numbers.
        method, alpha, score: as for ``Panel``.
        settings: as for ``Panel``.

    >>> panel = GroupedPanel(["day"], "magl", alpha=0.1)
    >>> for t in range(300):
    ...     day = ["mo" if t % 2 else "su"] * 2
    ...     p = panel.predict([7, 3], [0.0, 0.0], {"day": day})
    ...     panel.update([7, 3], [1.0 + (t % 2), 10.0 * (1 + t % 2)])
    >>> [(group.name, group.labels) for group in panel.group_metrics()]
    [('day su', 298), ('day mo', 300)]
    """

    def __init__(
        self, groups: Any, method: str | None = None, alpha: Any = 0.1, score: Any = "absolute", **settings: Any
    ) -> None:
        """Begin without series and groups."""
        self.base = Panel(method, alpha, score, **settings)
        self.correction = Correction(self.base.settings, groups)
        self._lock = lock_of(self, CONTAINER)

    settings = property(lambda self: self.base.settings, doc="The settings of the panel.")

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.base)

    def ids(self) -> list[Any]:
        """Return the ids of the series, in the order in which they came."""
        return self.base.ids()

    def summary(self) -> dict[str, Any]:
        """Return the columns of ``Panel.summary``, about the corrected intervals."""
        return self.base.summary()

    def group_metrics(self) -> list[GroupMetrics] | dict[float, list[GroupMetrics]]:
        """Return how well each group is covered over all series, and what is proved; with several levels, by alpha."""
        with self._lock:
            return self.correction.metrics()

    def predict(self, ids: Any, outputs: Any, groups: Any) -> Intervals:
        """Make one interval for each of these series; ``groups`` has a value for each of them, by column."""
        base, settings = self.base, self.settings
        with self._lock:
            columns = settings.columns_of(outputs)
            own = settings.outputs_of(columns)
            correction = copy.copy(self.correction)  # it takes the place of the other with the predictions of the panel
            members = correction.grouping.take_rows(groups, len(columns)).astype(np.intp)
            played = shown = np.empty((0, settings.width))

            def correct(places: np.ndarray, radii: np.ndarray, cold: np.ndarray) -> list[partial[Any]]:
                nonlocal played, shown
                correction.make_room(int(places.max(initial=-1)) + 1)
                bare = np.where(cold[:, None], np.nan, radii)
                played = correction.predict(places, bare, settings.floors(own), members)
                shown = np.where(cold[:, None], radii, played)
                return [partial(setitem, vars(self), "correction", correction)]

            base._predict(ids, outputs, correct)
            ends = [settings.intervals(own, played, i)[:2] for i in range(len(settings.alphas))]
            lower, upper = (np.stack([end[side] for end in ends], axis=1) for side in (0, 1))
            return base._intervals(ids, shown, lower, upper)

    def update(self, ids: Any, y: Any) -> None:
        """Learn the labels of the last predictions of these series, as ``Panel.update`` does."""
        with self._lock, self.base._lock:
            correction = self.correction
            batch = ticks.checked(self.base, ids, y)
            places = batch.places
            # The counts are about the intervals that were shown.
            own, played = self.base.radii[places], correction.radii[places]
            counts = ticks.counting(batch, np.where(np.isnan(played), own, played))[:4]
            learning = correction.learning(places, batch.below, batch.above, played, correction.members[places])
            ticks.learn(batch, also=[*counts, learning])

    def run(self, ids: Any, outputs: Any, y: Any, groups: Any, delay: int = 0, *, times: Any = None) -> Intervals:
        """Play whole histories, as ``Panel.run`` does; ``groups`` has an array for each column.

        Groups are shared by the series, so rows are played in order of time. Without ``times`` the k-th rows of all
        series are taken as one moment.
        """
        with self._lock, self.base._lock, self._undo():
            places = self.base.index.places(ids, add=True)
            played = self._run_at(places, outputs, y, delay, times, groups)
            return self.base._intervals(ids, played.radii, played.lower, played.upper)

    def _undo(self) -> Undo:
        """Return the block in which ``_run_at`` is called."""
        undo = Undo(self.base)
        undo.steps.append(partial(setattr, self, "correction", self.correction))
        return undo

    def _run_at(
        self, places: np.ndarray, outputs: Any, y: Any, delay: Any, times: Any, groups: Any, more: bool = False
    ) -> Played:
        """Do what ``run`` does for rows whose series are at these places; the caller holds locks and ``_undo``."""
        correction = copy.copy(self.correction)
        played = correction.run(self.base, places, outputs, y, delay, times, groups, more)
        self.correction = correction
        return played

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            return {
                **plain_data.header(type(self)),
                "panel": self.base.state_dict(),
                "correction": self.correction.plain(len(self.base)),
            }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> GroupedPanel:
        """Make the object whose state this is."""
        plain_data.refuse_other(cls, state)
        made = cls.__new__(cls)
        try:
            made.base = Panel.from_state_dict(state["panel"])
            made.correction = Correction.from_plain(made.base.settings, state["correction"], len(made.base))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"the state of {cls.__name__} is damaged or incomplete: {error}") from error
        made._lock = lock_of(made, CONTAINER)
        return made

    def __copy__(self) -> GroupedPanel:
        """Return a copy that shares nothing that changes."""
        with self._lock:
            made = type(self).__new__(type(self))
            made.base, made.correction = copy.copy(self.base), copy.copy(self.correction)
            made._lock = lock_of(made, CONTAINER)
            return made

    def __deepcopy__(self, memo: Any) -> GroupedPanel:
        """Return a copy, as ``copy.copy`` does."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state; a pickle holds what a file would."""
        return self.state_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from the state of a pickle."""
        vars(self).update(vars(type(self).from_state_dict(state)))
