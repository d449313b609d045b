"""Numbers about the service, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
KNOWN = ("predict", "label", "expire", "pending", "stats")


class Numbers:
    """Counts of requests, and gauges of the journal and the series, which are read when they are asked for.

    Args:
        service: whose numbers these are.
    """

    def __init__(self, service: Any) -> None:
        """Count from zero."""
        self.service = service
        self.registry = CollectorRegistry()
        self.operations = Counter(
            "wane_operations_total", "Operations by kind and result.", ("op", "result"), registry=self.registry
        )
        self.seconds = Histogram(
            "wane_request_seconds", "Time from a request to its answer.", buckets=SECONDS, registry=self.registry
        )
        self.alarms = Counter("wane_alarms_total", "Alarms of local coverage.", registry=self.registry)
        self.refused = Counter("wane_refused_total", "Requests refused at the door.", ("kind",), registry=self.registry)
        self._by: dict[tuple[str, str], Any] = {}  # counters by operation and result, made once
        self.registry.register(self)

    def answered(self, requests: list[Any], answers: list[dict[str, Any]], seconds: float) -> None:
        """Count a request with its operations."""
        self.seconds.observe(seconds)
        found: dict[tuple[str, str], int] = {}
        for request, answer in zip(requests, answers, strict=True):
            op = request.get("op") if isinstance(request, dict) else None
            key = op if op in KNOWN else "other", "ok" if answer["ok"] else answer["error"]["kind"]
            found[key] = found.get(key, 0) + 1
        for key, count in found.items():
            counter = self._by.get(key)
            if counter is None:
                counter = self._by[key] = self.operations.labels(*key)
            counter.inc(count)

    def collect(self) -> Iterator[Metric]:
        """The gauges."""
        service = self.service
        parts = list(service.lines.many.series.values())
        gauges = {
            "wane_series": ("Series, groups and horizons counted apart.", len(parts)),
            "wane_waiting_predictions": ("Predictions that wait for their label.", service.lines.waiting),
            "wane_journal_calls": ("Calls in the journal since it was made.", service.journal.sequence),
            "wane_journal_durable_calls": ("Calls that the log has.", service.journal.durable),
            "wane_ready": ("1 if requests are answered.", float(service.unready() is None)),
            "wane_live_listeners": ("Open live pages.", len(service.events.listeners)),
        }
        for sink in service.sinks:
            gauges[f"wane_{sink.sink}_lag_calls"] = (f"Calls that the {sink.sink} lacks.", sink.lag())
        for name, (about, value) in gauges.items():
            yield GaugeMetricFamily(name, about, value)

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)
