"""Labels that come at times of their own, in a panel whose series learn from each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.panel.arrays import Played
from wane.panel.batch import stretches


def play(panel: Any, places: np.ndarray, outputs: Any, y: Any, times: Any, arrived: Any) -> Played:
    """Play all rows of a panel with the method pool; the label of a row is known to rows after its arrival.

    Args:
        panel: whose lock the caller holds.
        places: of the series of each row in the index of the panel.
        outputs: of the model.
        y: the labels, NaN where there is none.
        times: of the rows, which are in this order.
        arrived: the time at which each label became known, NaN or NaT where that never happens.
    """
    moment, known = moments(np.asarray(times), np.asarray(arrived))
    order = np.argsort(places, kind="stable")
    streams, starts = stretches(places[order])
    return panel._run_sorted(streams, starts, outputs, y, 0, order, known, moment)


def moments(times: np.ndarray, arrived: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of the moment of each row, and of the first one that knows its label.

    >>> moments(np.array([1.0, 1.0, 2.0, 4.0]), np.array([2.0, np.nan, 2.0, 9.0]))
    (array([0, 0, 1, 2]), array([2, 3, 2, 3]))
    """
    distinct, moment = np.unique(times, return_inverse=True)
    there = ~np.isnan(arrived)
    known = np.full(len(moment), len(distinct))
    known[there] = np.searchsorted(distinct, arrived[there], side="right")
    return moment, np.maximum(known, moment + 1)
