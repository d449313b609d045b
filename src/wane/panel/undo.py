"""Changes to panels that are made whole or not at all, also when a signal interrupts them.

A change is either made by ``wane.state.one_step``, or it is undone after an exception, by ``Undo``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.state import data as plain_data

if TYPE_CHECKING:
    from wane.panel.panel import Panel


class Undo:
    """A block that changes panels, whole or not at all: after an exception they are as they were before it.

    The index, the tail, what streams share, and streams that are new are put back by themselves. The streams at other
    places are put back if ``keep`` was called before they changed, anywhere in the block. There is one such block for
    each call of a user: if blocks were nested, an interrupt could come when the inner one is over and the outer is not.
    """

    def __init__(self, *panels: Panel) -> None:
        """Name the panels."""
        self.panels = panels
        self.done = False  # whether the change is whole already, so that an exception undoes nothing any more
        self.steps: list[Callable[[], Any]] = []  # more that is to be done after an exception

    def __enter__(self) -> Undo:
        """Keep what is replaced, never written to."""
        replaced = ("tail", "clock", "lag")
        self.before = [
            {"index": copy.copy(panel.index), **{name: getattr(panel, name) for name in replaced}}
            for panel in self.panels
        ]
        for panel in self.panels:
            panel.kept = [partial(np.copyto, pool.memory, pool.memory.copy()) for pool in panel.pools]
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """After an exception put everything back, the last change first."""
        kind = None if self.done else kind
        for panel, before in zip(self.panels, self.before, strict=True):
            if kind is not None:
                for put_back in reversed(panel.kept):
                    put_back()
                vars(panel).update(before)
                panel._clear(len(panel.index))
            panel.kept = []
        if kind is not None:
            for step in self.steps:
                step()


def keep(panel: Panel, places: np.ndarray) -> None:
    """Keep the streams at these places, for the ``Undo`` whose block this is in."""
    arrays = {name: getattr(panel, name)[places] for name in panel.ARRAYS}
    trackers = [] if panel.flat else [t for p in places.tolist() for t in panel.objects[p].trackers]
    memories = [plain_data.snapshot(t) for t in trackers]

    def put_back() -> None:
        for name, values in arrays.items():
            getattr(panel, name)[places] = values
        for tracker, memory in zip(trackers, memories, strict=True):
            plain_data.put_back(tracker, memory)

    panel.kept.append(put_back)
