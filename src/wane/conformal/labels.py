"""Learning labels whole or not at all, also when a signal interrupts the call.

Python handles signals between two steps of its interpreter, and a handler may raise, as Ctrl-C does. Compiled,
everything that ``learn`` changes is changed without running the interpreter, so that no handler can come in between.
What runs Python code, such as a score or an alarm of the user's, comes before or after it. Where trackers are written
in Python, and uncompiled, the states are kept first, and any exception puts them back.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from wane import _cython as cython

from wane.conformal.levels import Levels
from wane.conformal.monitor import Monitor
from wane.conformal.waiting import Made, Waiting
from wane.state import data as plain_data


class Label:
    """A label of one object that is checked and scored, and all that it changes.

    Args:
        levels: the trackers that learn it.
        waiting: where its prediction waits.
        monitors: one for each level, in the user's order.
        alarmed: the number of the label of the last alarm, by level and side.
        made: its prediction.
        below, above: its scores of the two sides; the second counts only if there are two.
        said: the scores that count.
        covered: whether each level covered it, in the user's order.
        discount: how much to keep of what was learned before; NaN stands for the method's own.

    Attributes:
        alarms: after ``learn``, what makes an ``Alarm`` of each level that raised one: the number of the label, the
            level, the side, the local coverage and the band.
    """

    def __init__(
        self,
        levels: Levels,
        waiting: Waiting,
        monitors: list[Monitor],
        alarmed: dict[tuple[float, str], int],
        made: Made,
        below: float,
        above: float,
        said: tuple[float, ...],
        covered: tuple[bool, ...],
        discount: float,
    ) -> None:
        """Keep the parts. Nothing changes yet."""
        self.levels = levels
        self.waiting = waiting
        self.monitors = monitors
        self.alarmed = alarmed
        self.made = made
        self.below = below
        self.above = above
        self.said = said
        self.covered = covered
        self.discount = discount
        self.alarms: list[tuple[Any, ...]] = []
        self.before: Any = None
        self.after: Any = None
        self.trackers: Any = None
        self.counts: Any = None

    def _keep(self):
        """Keep what an error could leave half changed: of compiled trackers that cannot fail, nothing."""
        if self.levels.fragile:
            self.trackers = self.levels.keep()
        if not cython.compiled:
            closed, id = self.waiting.closed, self.made.id
            again = closed.copy() if id in closed else None  # its entry moves to the end, and must find back
            first = next(iter(closed), None)  # it may have to leave
            oldest = None if first is None else (first, closed[first])
            monitors = [plain_data.snapshot(monitor) for monitor in self.monitors]
            self.counts = (monitors, dict(self.alarmed), again, oldest)

    def _put_back(self):
        """Undo whatever the other steps have done so far."""
        if self.levels.fragile:
            self.levels.put_back(self.trackers)
        if self.made.id not in self.waiting.pending:
            self.waiting.wait_again(self.made)
        if self.counts is not None:
            monitors, alarmed, again, oldest = self.counts
            for monitor, kept in zip(self.monitors, monitors, strict=True):
                plain_data.put_back(monitor, kept)
            self.alarmed.clear()
            self.alarmed.update(alarmed)
            self.waiting.reopen(self.made.id, again, oldest)

    def _take(self):
        """Let the prediction wait no more. The key is the stored one, so that its ``__eq__`` is not called."""
        del self.waiting.pending[self.made.id]

    def _teach(self):
        self.before, self.after = self.levels.teach(
            self.below, self.above, self.made.radii, self.discount, self.made.note
        )

    def _count(self):
        """Record the round in the monitors, and note the alarms."""
        for i in range(len(self.monitors)):
            monitor = self.monitors[i]
            rate = monitor.discount if self.discount != self.discount else self.discount
            side = monitor._add(0 if self.covered[i] else 1, self.made.widths[i], rate)
            if side != 0:
                note(self.alarms, self.alarmed, monitor, monitor.rounds - 1, side, monitor.local_coverage)

    def _close(self):
        """Remember what the label did. Return the exception that comes afterwards, if there is one."""
        made = self.made
        try:
            self.waiting.labelled(made.id, made.number, made.radii, self.said, self.covered, self.before, self.after)
        except BaseException as error:
            return error
        return None


def learn(labels):
    """Learn labels, each of an object of its own: all of them or, after an exception, none."""
    interrupted = None
    for label in labels:
        label._keep()
    # A tracker may refuse a label, or warn about it, before any of them learns.
    if len(labels) > 1:
        for label in labels:
            label.levels.ready(label.below, label.above)
    try:
        for label in labels:
            label._take()
        for label in labels:
            label._teach()
        for label in labels:
            label._count()
        for label in labels:
            interrupted = label._close() or interrupted
    except BaseException:
        for label in labels:
            label._put_back()
        raise
    if interrupted is not None:
        raise interrupted


def note(alarms, alarmed, monitor, round, side, local):
    """Note an alarm, unless there was one on this side so recently that the windows overlap."""
    key = (monitor.alpha, "low" if side < 0 else "high")
    if round - alarmed.get(key, -monitor.window) >= monitor.window:
        alarmed[key] = round
        alarms.append((round, *key, local, monitor.band))
