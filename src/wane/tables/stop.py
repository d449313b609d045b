"""Ctrl-C while a table is played."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Stop:
    """Ctrl-C: while something is read at once, else after the chunk; a second one at once, and nothing is kept."""

    def __init__(self) -> None:
        """Nothing was asked for, and nothing has been read."""
        self.asked, self.reading = False, True

    def __call__(self, number: int, frame: Any) -> None:
        """The signal came."""
        if self.asked or self.reading:
            self.asked = True
            raise KeyboardInterrupt
        self.asked = True

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Signals come here; only a main thread can say so."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
