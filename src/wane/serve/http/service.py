"""What the addresses have in common: requests are checked, done, committed, shown on the live page, and counted."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from wane.serve.answers import Lines
from wane.serve.http.commits import Commits
from wane.serve.http.events import Events
from wane.serve.http.follow import remove_logs
from wane.serve.http.guard import Guard
from wane.serve.http.limits import Limits
from wane.serve.http.live import Live, Round, ends_of, first
from wane.serve.http.metrics import Numbers
from wane.serve.http.shards import Shard
from wane.serve.http.sinks import Sink
from wane.serve.parts import described
from wane.serve.requests import Refused
from wane.serve.responses import failure, given

NAME = "journal.wane"  # of the journal in its folder
OPERATIONS = ("predict", "label", "expire", "pending", "stats")  # those of serve-lines that a batch may have
AT_ONCE = 100  # operations of a batch after which other requests have their turn


class Service:
    """The requests of one process.

    Args:
        lines: the answers, of a journal.
        guard: who may ask.
        limits: how much a request may ask for.
        shard: which series are here.
    """

    def __init__(self, lines: Lines, guard: Guard, limits: Limits | None = None, shard: Shard | None = None) -> None:
        """Ready to serve."""
        assert lines.journal is not None
        self.lines, self.journal = lines, lines.journal
        self.guard = guard
        self.limits, self.shard = limits or Limits(), shard or Shard()
        self.journal.on_snapshot = self.forget_logs
        self.commits = Commits(self.journal)
        self.sinks: list[Sink] = []
        self.live = Live(lines.parts, self.journal.sequence)
        self.live.restore(self.journal)
        self.events = Events(self.live)
        self.numbers = Numbers(self)
        self.stopping = False

    def forget_logs(self) -> None:
        """Remove the logs that everybody has read."""
        remove_logs(self.journal, min([sink.taken for sink in self.sinks], default=self.journal.durable))

    def unready(self) -> str | None:
        """Why no request can be done now; None if the service is ready."""
        if self.stopping:
            return "the service is stopping"
        if self.commits.failed is not None:
            return f"the journal cannot be written: {self.commits.failed}"
        return None

    async def one(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request, given after the journal has it."""
        return (await self.several([request]))[0]

    async def several(self, requests: list[Any]) -> list[dict[str, Any]]:
        """The answers to several requests, done in order and committed together."""
        began = time.perf_counter()
        if (why := self.unready()) is not None:
            raise Refused("journal" if self.commits.failed else "stopping", why)
        answers, told = [], []
        for n, request in enumerate(requests):
            if n and n % AT_ONCE == 0:
                await asyncio.sleep(0)
            answer, events = self._done(request)
            answers.append(answer)
            told += events
        try:
            await self.commits.durable()
        except (OSError, RuntimeError) as error:
            raise Refused("journal", str(error)) from error
        for event in told:
            self.events.publish(*event)
        self.numbers.answered(requests, answers, time.perf_counter() - began)
        return answers

    def _done(self, request: Any) -> tuple[dict[str, Any], list[Any]]:
        """Do a request that is not committed yet: the answer, and the events to be told when it is."""
        try:
            if not isinstance(request, dict):
                raise Refused("request", "each operation must be an object")
            op, series = request.get("op"), request.get("series")
            if op not in OPERATIONS:
                raise Refused("request", f"op must be one of {', '.join(OPERATIONS)}")
            self.limits.check_names(request)
            self.shard.check(series)
        except Refused as error:
            return failure(error.kind, error), []
        if op == "label":
            return self._labelled(request, series)
        answer = self.lines.operate(request)
        if answer["ok"] and op in ("predict", "expire") and "repeated" not in answer:
            self.live.called(self.journal.sequence, series)
            if op == "predict" and self.events.listeners:
                return answer, [("prediction", self.journal.sequence, series, answer)]
        return answer, []

    def _labelled(self, request: dict[str, Any], series: Any) -> tuple[dict[str, Any], list[Any]]:
        """Do a label, and note the round for the live page."""
        id, parts = request.get("id"), self.lines.parts
        there = parts.waiting(series, id) if isinstance(id, (int, str)) else None
        if there is None:
            return self.lines.operate(request), []
        key, before = parts.holding(series, id), given(there.recall(id))
        answer = self.lines.operate(request)
        if not answer["ok"]:
            return answer, []
        sequence = self.journal.sequence
        row = Round(
            sequence=sequence,
            round=there.monitors[0].rounds,
            at=round(time.time(), 3),
            id=id,
            y=first(request.get("y")),
            covered=bool(first(answer.get("covered"))),
            **ends_of(before),
        )
        self.live.called(sequence, series)
        alarms = self.live.labelled(key, row, answer.get("alarms", ()))
        if alarms:
            self.numbers.alarms.inc(len(alarms))
        if not self.events.listeners:
            return answer, []
        told = [("label", sequence, series, {**described(key), **row._asdict()})]
        return answer, told + [("alarm", sequence, series, alarm) for alarm in alarms]

    def about(self) -> dict[str, Any]:
        """The settings, for people."""
        said = self.lines.operate({"op": "version"})
        said["journal"] = os.path.basename(os.path.dirname(self.journal.path))
        return {**said, "shard": str(self.shard), "sync": self.journal.sync}

    async def close(self) -> None:
        """Commit what was done, take a snapshot, and let the journal go."""
        self.stopping = True
        self.events.close()
        try:
            if self.commits.failed is None:
                await self.commits.durable()
                self.journal.compact()
        finally:
            for sink in self.sinks:
                sink.stop()
            self.commits.close()
            self.journal.close()
