"""What the live page shows: how each series is doing, and its last rounds."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from wane.conformal import OnlineConformal
from wane.metrics.verdict import ERRORS, LEAST
from wane.serve.http.follow import Follower, fields_of
from wane.serve.parts import Parts, described, key_of
from wane.serve.responses import given, plain
from wane.state.journal import Journal

ROUNDS = 300  # of a part of a series that are kept for its chart
ALARMS = 50  # of a series that are kept
WAITING = 100  # predictions without a label that are shown
CALLS = 20_000  # in the logs that are read for the charts when the service starts
MOST_CHARTS = 10_000  # parts with a chart; of the one that was quiet the longest, the rounds are forgotten


class Round(NamedTuple):
    """A prediction with its label, as the chart shows it; the first level only."""

    sequence: int  # of the call that brought the label
    round: int  # labels of its part so far
    at: float  # seconds since 1970
    id: Any
    lower: float | None
    upper: float | None
    y: float | None
    covered: bool
    size: int | None = None  # of a set of labels


class Live:
    """How every series is doing.

    Args:
        parts: the series and their parts.
        sequence: of the last call before this began.
    """

    def __init__(self, parts: Parts, sequence: int) -> None:
        """Count nothing yet; every series is new."""
        self.parts = parts
        self.charts: OrderedDict[Any, deque[Round]] = OrderedDict()  # the last rounds, by part
        self.alarms: dict[Any, deque[dict[str, Any]]] = {}  # the last alarms, by series
        self.changed: dict[Any, int] = {name: sequence for name in parts.names()}  # the last call of each series
        self._rows: dict[Any, dict[str, Any]] = {}  # of the overview, as far as they are current

    def restore(self, journal: Journal) -> None:
        """Fill the charts from the last calls in the logs of a journal."""
        follower, ends = Follower(journal, max(0, journal.durable - CALLS)), {}
        rounds: dict[Any, list[tuple[Round, Any]]] = {}
        while records := follower.read(1_000):
            for number, record in records:
                fields = fields_of(number, record)
                said, key = fields["said"], key_of(fields["series"], fields.get("horizon"))
                if fields["call"] == "predict":
                    ends[key, fields["id"]] = ends_of(said)
                elif fields["call"] == "update" and "covered" in said:
                    row = Round(
                        sequence=number,
                        round=0,
                        at=said["at"],
                        id=fields["id"],
                        y=first(fields["y"]),
                        covered=bool(first(said["covered"])),
                        **(ends.pop((key, fields["id"]), None) or ends_of({})),
                    )
                    rounds.setdefault(key, []).append((row, said.get("alarms", ())))
        follower.close()
        for key, rows in rounds.items():  # rounds are counted back from the last
            last = self.parts.many.series[key].monitors[0].rounds if key in self.parts.many.series else 0
            for n, (row, alarms) in enumerate(rows):
                self.labelled(key, row._replace(round=last - len(rows) + 1 + n), alarms)

    # What has happened.

    def called(self, sequence: int, series: Any) -> None:
        """Note that a call has changed a series."""
        self.changed[series] = sequence
        self._rows.pop(series, None)

    def labelled(self, key: Any, row: Round, alarms: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Note a label, and return its alarms as the page shows them."""
        chart = self.charts.pop(key, None) or deque(maxlen=ROUNDS)
        chart.append(row)
        self.charts[key] = chart
        if len(self.charts) > MOST_CHARTS:
            self.charts.popitem(last=False)
        where = described(key)
        told = [{"sequence": row.sequence, "round": row.round, "at": row.at, **where, **alarm} for alarm in alarms]
        if told:
            self.alarms.setdefault(where["series"], deque(maxlen=ALARMS)).extend(told)
        return told

    # What is shown.

    def overview(self, offset: int = 0, limit: int = 100, search: str = "") -> dict[str, Any]:
        """A page of the rows of all series, the worst first."""
        names = [name for name in self.changed if search.lower() in str(name or "").lower()]
        rows = sorted(map(self.row, names), key=lambda row: row["badness"], reverse=True)
        return {"total": len(rows), "offset": offset, "rows": rows[offset : offset + limit]}

    def row(self, series: Any) -> dict[str, Any]:
        """How a series is doing, over all of its parts."""
        found = self._rows.get(series)
        if found is None:
            found = self._rows[series] = self._row(series)
        return found

    def _row(self, series: Any) -> dict[str, Any]:
        parts = [part_row(key, self.parts.many.series[key]) for key in self.parts.of(series)]
        labels = sum(part["labels"] for part in parts)
        alarms = self.alarms.get(series)
        worst = max(parts, key=lambda part: part["badness"])
        inside = sum(part["coverage"] * part["labels"] for part in parts if part["labels"])
        wide = [(part["width"], part["labels"]) for part in parts if part["width"] is not None]
        return {
            "series": series,
            "labels": labels,
            "predictions": sum(part["predictions"] for part in parts),
            "waiting": sum(part["waiting"] for part in parts),
            "expired": sum(part["expired"] for part in parts),
            "coverage": inside / labels if labels else None,
            "local_coverage": worst["local_coverage"],
            "target": worst["target"],
            "low": worst["low"] if len(parts) == 1 else band(worst["target"], labels)[0],
            "high": worst["high"] if len(parts) == 1 else band(worst["target"], labels)[1],
            "verdict": worst["verdict"],
            "badness": worst["badness"],
            "width": sum(w * n for w, n in wide) / max(1, sum(n for _, n in wide)) if wide else None,
            "last_alarm": alarms[-1] if alarms else None,
            "parts": len(parts),
            "groups": sum(part["groups"] for part in parts),
            "sequence": self.changed.get(series, 0),
        }

    def series(self, series: Any, horizon: Any = None) -> dict[str, Any]:
        """The last rounds of a series, or of one of its parts, with its alarms, its parts and its groups."""
        keys = self.parts.of(series)
        key = key_of(series, horizon) if key_of(series, horizon) in keys else keys[0]
        rounds = list(self.charts.get(key, ()))
        columns = {name: [getattr(r, name) for r in rounds] for name in Round._fields}
        return {
            "overview": self.row(series),
            "part": described(key),
            "parts": [part_row(k, self.parts.many.series[k]) for k in keys],
            "groups": groups_of(self.parts.many.series[key]),
            "rounds": columns,
            "waiting": waiting_of(self.parts.many.series[key]),
            "alarms": list(self.alarms.get(series, ())),
            "window": self.parts.many.series[key].monitors[0].window,
            "band": self.parts.many.series[key].monitors[0].band,
            "sequence": self.changed.get(series, 0),
        }

    def later(self, sequence: int, most: int) -> list[dict[str, Any]] | None:
        """The rows that have changed after a call; None if they are more than ``most``."""
        names = [name for name, last in self.changed.items() if last > sequence]
        return None if len(names) > most else [self.row(name) for name in names]


def part_row(key: Any, oc: OnlineConformal) -> dict[str, Any]:
    """How a part of a series is doing, at its first level."""
    monitor, target = oc.monitors[0], 1.0 - oc.alphas[0]
    low, high = band(target, monitor.rounds)
    coverage = monitor.coverage if monitor.rounds else None
    local = monitor.local_coverage if monitor.rounds else None
    off = 0.0 if coverage is None else (target - coverage) / deviation(target, monitor.rounds)
    bad = off if off > 0 else -off / 2.0  # too narrow is worse than too wide
    verdict = "few" if monitor.rounds < LEAST else "low" if off > ERRORS else "high" if off < -ERRORS else "good"
    return {
        **described(key),
        "labels": monitor.rounds,
        "predictions": oc.predictions,
        "waiting": len(oc._waiting.pending),
        "expired": oc.expired,
        "coverage": coverage,
        "local_coverage": plain(local),
        "target": target,
        "low": low,
        "high": high,
        "verdict": verdict,
        "badness": bad if verdict != "few" else min(bad, 1.0),
        "width": plain(monitor.width) if monitor.rounds else None,
        "groups": len(oc.grouping.names) if oc.grouping is not None else 0,
    }


def waiting_of(oc: OnlineConformal) -> list[dict[str, Any]]:
    """The last predictions without a label, the oldest first."""
    ids = list(itertools.islice(reversed(oc._waiting.pending), WAITING))
    return [{"id": plain(id), **ends_of(given(oc.recall(id)))} for id in reversed(ids)]


def ends_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The ends of an interval, or the size of a set of labels, at the first level.

    >>> ends_of({"lower": [0.5, 0.7], "upper": [2.0, 1.8]}), ends_of({"labels": [3, 5]})
    ({'lower': 0.5, 'upper': 2.0, 'size': None}, {'lower': None, 'upper': None, 'size': 2})
    """
    labels = answer.get("labels")
    if labels and isinstance(labels[0], (list, tuple)):
        labels = labels[0]
    size = None if labels is None else len(labels)
    return {"lower": first(answer.get("lower")), "upper": first(answer.get("upper")), "size": size}


def first(value: Any) -> Any:
    """A number or truth value, or that of the first level; None where there is none."""
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    return value if isinstance(value, (int, float)) else None


def groups_of(oc: OnlineConformal) -> list[dict[str, Any]]:
    """How each group is covered, at the first level; none if there are no groups."""
    if oc.grouping is None:
        return []
    found = oc.group_metrics()
    first = found[oc.alphas[0]] if isinstance(found, dict) else found
    return [
        {"group": g.name, "labels": g.labels, "coverage": plain(g.coverage), "chance": plain(g.chance)} for g in first
    ]


def deviation(target: float, labels: int) -> float:
    """The standard deviation of the coverage of this many independent labels."""
    return math.sqrt(target * (1.0 - target) / labels)


def band(target: float, labels: int) -> tuple[float, float]:
    """The coverage that chance allows: three standard deviations of that of independent labels.

    >>> [round(end, 3) for end in band(0.9, 900)]
    [0.87, 0.93]
    """
    if labels == 0:
        return 0.0, 1.0
    reach = ERRORS * deviation(target, labels)
    return max(0.0, target - reach), min(1.0, target + reach)
