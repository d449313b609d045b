"""The parts of a series: one for each number of steps ahead, which learn on their own.

A series is a name. Its predictions may look some steps ahead, and each number of steps is a series of its own in
``ManySeries``, so that coverage holds for each. The ids of a series are shared by its parts: whoever brings the label
needs to know the id only.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from wane.conformal import ManySeries, OnlineConformal

Key = Hashable  # the name of a part in ManySeries


class Parts:
    """Which parts each series has.

    >>> many = ManySeries("magl", alpha=0.1)
    >>> p = many.predict(1.0, id="monday", series=key_of("shop", 2))
    >>> parts = Parts(many)
    >>> parts.of("shop"), parts.holding("shop", "monday")
    ([('shop', 'horizon', 2)], ('shop', 'horizon', 2))
    """

    def __init__(self, many: ManySeries) -> None:
        """Find the parts of every series."""
        self.many = many
        self.split: dict[Hashable, list[Key]] = {}  # the keys of series that look some steps ahead
        for key in many.names():
            self.add(key)

    def add(self, key: Key) -> None:
        """Note that a part exists."""
        if isinstance(key, tuple) and key not in self.split.setdefault(key[0], []):
            self.split[key[0]].append(key)

    def of(self, series: Hashable) -> list[Key]:
        """The keys of a series; none if it does not exist."""
        whole = [series] if series in self.many.series else []
        return whole + self.split.get(series, [])

    def names(self) -> list[Hashable]:
        """The names of all series, in the order in which they began."""
        return list(dict.fromkeys(key[0] if isinstance(key, tuple) else key for key in self.many.names()))

    def holding(self, series: Hashable, id: Any) -> Key:
        """The key of the part whose prediction has this id: one that waits, or else one that is remembered."""
        if series not in self.split:
            return series
        for where in ("pending", "closed"):
            for key in self.of(series):
                if id in getattr(self.many.series[key]._waiting, where):
                    return key
        return series if series in self.many.series else self.split[series][0]

    def waiting(self, series: Hashable, id: Any) -> OnlineConformal | None:
        """The part in which a prediction waits under this id."""
        found = self.many.series.get(self.holding(series, id))
        return found if found is not None and id in found._waiting.pending else None

    def next_id(self, series: Hashable) -> int | None:
        """A whole number that is no id of any part; None where the only part has its own count."""
        if series not in self.split:
            return None
        return max(self.many.series[key].next_id for key in self.of(series))


def key_of(series: Hashable, horizon: int | None = None) -> Key:
    """The name of a part in ``ManySeries``."""
    return series if horizon is None else (series, "horizon", horizon)


def described(key: Key) -> dict[str, Any]:
    """The series and the number of steps ahead of a part, as fields.

    >>> described(("shop", "horizon", 2)), described("shop")
    ({'series': 'shop', 'horizon': 2}, {'series': 'shop'})
    """
    if not isinstance(key, tuple):
        return {"series": key}
    return {"series": key[0], **dict(zip(key[1::2], key[2::2], strict=True))}
