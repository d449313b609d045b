"""Labels that come late, where methods are compared: each is learned when it is known, by the rules of ``wane run``."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wane.conformal import OnlineConformal


class Lateness(NamedTuple):
    """When rows are predicted, and when their labels come: a row has learned the labels that came before its moment.

    Both are numbers for each row: its place in its series and that of the last row without its label, or two times.
    """

    now: np.ndarray
    when: np.ndarray

    def take(self, rows: np.ndarray) -> Lateness:
        """Some rows."""
        return Lateness(self.now[rows], self.when[rows])


def played(conformal: OnlineConformal, outputs: Any, y: Sequence[Any], late: Lateness) -> Iterator[tuple[Any, bool]]:
    """Play one series: the prediction of each row, and whether anything had been learned before it.

    >>> late = Lateness(np.arange(4.0), np.array([2.0, 1.0, 2.0, 3.0]))
    >>> oc = OnlineConformal("trailing-window", alpha=0.5, window=5, on_unbounded="allow")
    >>> [taught for _, taught in played(oc, [0.0, 0.0, 0.0, 0.0], [5.0, 1.0, 7.0, 2.0], late)]
    [False, False, True, True]
    """
    waiting: list[tuple[float, Any, Any]] = []  # when a label comes, the id of its prediction, and the label
    for output, label, now, when in zip(outputs, y, late.now.tolist(), late.when.tolist(), strict=True):
        while waiting and waiting[0][0] < now:
            _, id, known = heapq.heappop(waiting)
            conformal.update(id, known)
        prediction = conformal.predict(output)
        yield prediction, conformal.monitors[0].rounds > 0
        if label is not None and label == label:
            heapq.heappush(waiting, (when, prediction.id, label))
        else:
            conformal.expire(prediction.id)
