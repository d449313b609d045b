"""Ctrl-C while a table is played."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Stop:
    """Ctrl-C: while rows are read it stops at once, else after the chunk; a second one stops at once."""

    def __init__(self) -> None:
        """Nothing was asked for, and nothing has been read."""
        self.asked, self.reading = False, True

    def __call__(self, number: int, frame: Any) -> None:
        """Handle the signal."""
        if self.asked or self.reading:
            self.asked = True
            raise KeyboardInterrupt
        self.asked = True

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Handle signals while this is entered; only a main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
