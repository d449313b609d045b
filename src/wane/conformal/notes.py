"""Where the notes of a batch are kept: what trackers need to learn the label of a prediction when it comes late."""

from __future__ import annotations

import numpy as np

from wane.conformal.levels import Levels


def room(
    levels: Levels, pos: np.ndarray, ends: np.ndarray, lag: int, below: np.ndarray, older: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return an array for notes, all NaN, and the row of it that each row of the batch has; nothing if none are kept.

    A row whose label is learned within the batch needs its note for ``lag`` moments, so that those take turns. The
    others keep theirs: older rows, whose notes are there before, and rows that still wait at the end.

    Args:
        levels: the trackers.
        pos: the moment of each row.
        ends: the moment after the last row of its stream, for each row.
        lag: how many moments after its row a label is known.
        below: scores, NaN where there is no label.
        older: whether a row was predicted before the batch.
    """
    if not levels.noted:
        return np.zeros((0, 0)), np.zeros(0, dtype=np.intp)
    slots = pos % lag
    lasting = np.flatnonzero(older | np.isnan(below) | (pos + lag > ends))
    slots[lasting] = lag + np.arange(len(lasting))
    return np.full((lag + len(lasting), levels.noted), np.nan), slots.astype(np.intp)
