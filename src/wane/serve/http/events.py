"""Server-sent events: each listener has a queue of bounded length, and whoever falls behind is told to ask again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from wane.serve.http.live import Live

QUEUE = 200  # events that wait for one listener; then it has fallen behind
LISTENERS = 200  # at most
EVERY = 1.0  # seconds between two looks at what has changed in the overview
ROWS = 500  # of the overview in one event
SILENCE = 15.0  # seconds after which a line shows that the connection lives


class Listener:
    """One open page.

    Args:
        series: whose rounds it shows; None for the overview.
    """

    def __init__(self, series: Any) -> None:
        """Nothing waits."""
        self.series = series
        self.queue: asyncio.Queue[bytes] = asyncio.Queue(QUEUE)
        self.behind = False

    def put(self, event: bytes) -> None:
        """Give it an event, or remember that it has missed one."""
        if not self.behind:
            try:
                self.queue.put_nowait(event)
            except asyncio.QueueFull:
                self.behind = True


class Events:
    """All listeners of one service.

    Events of a series: ``label`` (a round of its chart), ``prediction``, ``alarm``. Events of the overview:
    ``overview`` (the rows that have changed, at most once a second), ``alarm``. ``reset`` means: ask for all again.
    """

    most = LISTENERS

    def __init__(self, live: Live) -> None:
        """Nobody listens."""
        self.live = live
        self.listeners: set[Listener] = set()
        self.closed = asyncio.Event()

    def publish(self, kind: str, sequence: int, series: Any, data: dict[str, Any]) -> None:
        """Tell those who look at a series what has happened, and of alarms everybody."""
        if not self.listeners:
            return
        event = b""
        for listener in self.listeners:
            if listener.series == series or (kind == "alarm" and listener.series is None):
                event = event or written(kind, sequence, data)
                listener.put(event)

    def close(self) -> None:
        """Let all listeners end."""
        self.closed.set()
        for listener in self.listeners:
            listener.put(b": the service stops\n\n")

    async def of_series(self, series: Any, last: int | None) -> AsyncIterator[bytes]:
        """The events of a series; ``last`` is the number of the last one that the listener has seen."""
        listener = Listener(series)
        self.listeners.add(listener)
        try:
            now = self.live.changed.get(series, 0)
            yield written("reset" if last is not None and last != now else "hello", now, {})
            while not self.closed.is_set():
                try:
                    yield await asyncio.wait_for(listener.queue.get(), SILENCE)
                except asyncio.TimeoutError:
                    yield b": alive\n\n"
                if listener.behind and listener.queue.empty():
                    listener.behind = False
                    yield written("reset", self.live.changed.get(series, 0), {})
        finally:
            self.listeners.discard(listener)

    async def of_overview(self, last: int | None, sequence: Any) -> AsyncIterator[bytes]:
        """What changes in the overview; ``sequence`` gives the number of the last call."""
        listener = Listener(None)
        self.listeners.add(listener)
        seen, quiet = sequence() if last is None or last > sequence() else last, 0.0
        try:
            yield written("reset" if last is not None and last > seen else "hello", seen, {})
            while not self.closed.is_set():
                now = sequence()
                if now > seen:
                    rows = self.live.later(seen, ROWS)
                    kind = "reset" if rows is None else "overview"
                    yield written(kind, now, {} if rows is None else {"rows": rows})
                    seen, quiet = now, 0.0
                while not listener.queue.empty():
                    yield listener.queue.get_nowait()
                listener.behind = False
                quiet += EVERY
                if quiet >= SILENCE:
                    yield b": alive\n\n"
                    quiet = 0.0
                try:
                    await asyncio.wait_for(self.closed.wait(), EVERY)
                except asyncio.TimeoutError:
                    pass
        finally:
            self.listeners.discard(listener)


def written(kind: str, sequence: int, data: dict[str, Any]) -> bytes:
    """One event as text.

    >>> written("hello", 7, {})
    b'id: 7\\nevent: hello\\ndata: {}\\n\\n'
    """
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (sequence, kind.encode(), msgspec.json.encode(data))
