"""The results of a panel, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from wane.panel.panel import Panel


@dataclass(frozen=True)
class Played:
    """The results of rows: radii by column; by level the ends, and 1 for covered, 0 for missed, -1 for neither.

    Rows before the first label of their stream have radii, which were played, and no ends.
    """

    radii: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    covered: np.ndarray

    @classmethod
    def empty(cls, rows: int, panel: Panel, radii: np.ndarray | None = None) -> Played:
        """Make arrays for so many rows, to be filled in; those of the radii may be there already."""
        n = len(panel.settings.alphas)
        radii = np.empty((rows, panel.settings.width)) if radii is None else radii
        return cls(radii, np.empty((rows, n)), np.empty((rows, n)), np.empty((rows, n), dtype=np.int8))

    def take(self, rows: Any) -> Played:
        """Select rows. A slice shares the memory, so that it can be filled in."""
        return Played(self.radii[rows], self.lower[rows], self.upper[rows], self.covered[rows])

    def unsorted(self, order: np.ndarray) -> Played:
        """Bring the rows back into the order that they had before ``order`` sorted them."""
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return self.take(back)


@dataclass(frozen=True)
class Intervals:
    """Predictions for several streams, one row each. With several levels, the arrays have a column for each alpha.

    Before the first label of a stream there is no interval: ``lower`` and ``upper`` are NaN, whatever ``radius`` the
    method plays and learns.
    """

    alpha: Any
    ids: Any
    lower: np.ndarray
    upper: np.ndarray
    radius: np.ndarray
