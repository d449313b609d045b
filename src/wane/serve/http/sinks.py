"""Sinks: what is told to others after the journal has it, at their speed, so that no answer waits for them."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from typing import Any

from wane.serve.http.follow import Follower
from wane.state.files import replace_file
from wane.state.journal import Journal

AT_ONCE = 500  # calls that are told together
LONGEST_WAIT = 60.0  # seconds between two attempts
IDLE = 0.25  # seconds between two looks at the journal


class Sink(threading.Thread):
    """A thread that follows the journal, and tells each call until it has been taken.

    The number of the last call that was taken is in the file ``NAME.position`` beside the journal. What fails is tried
    again, after longer and longer waits, and nothing is left out.

    Args:
        journal: what is followed.
        name: of the sink.
        first_wait: seconds after the first failure.
    """

    def __init__(self, journal: Journal, name: str, first_wait: float = 0.5) -> None:
        """Begin after the last call that was taken; ``start`` begins."""
        super().__init__(name=f"wane-{name}", daemon=True)
        self.journal, self.sink, self.first_wait = journal, name, first_wait
        self.place = os.path.join(os.path.dirname(journal.path), f"{name}.position")
        self.taken = 0
        with contextlib.suppress(FileNotFoundError, ValueError), open(self.place, encoding="ascii") as file:
            self.taken = int(file.read())
        self._stopped = threading.Event()
        self._failing = False

    def take(self, records: list[tuple[int, list[Any]]]) -> None:
        """Tell these calls, or raise."""
        raise NotImplementedError

    def release(self) -> None:
        """Let connections go."""

    def lag(self) -> int:
        """How many calls the sink lacks."""
        return self.journal.durable - self.taken

    def run(self) -> None:
        """Follow the journal until ``stop``."""
        follower, wait = Follower(self.journal, self.taken), self.first_wait
        log = logging.getLogger(__name__)
        while not self._stopped.is_set():
            try:
                if records := follower.read(AT_ONCE):
                    self.take(records)
                    self.note(records[-1][0])
                    if self._failing:
                        log.warning("the %s is reached again", self.sink)
                    self._failing, wait = False, self.first_wait
                    continue
                pause = IDLE
            except Exception as error:  # whatever it is, the service goes on
                if not self._failing:
                    log.warning("the %s cannot be reached and will be tried again: %s", self.sink, type(error).__name__)
                self._failing = True
                follower.close()
                follower = Follower(self.journal, self.taken)
                self.release()
                pause, wait = wait, min(2.0 * wait, LONGEST_WAIT)
            self._stopped.wait(pause)
        follower.close()
        self.release()

    def note(self, number: int) -> None:
        """Remember that every call up to this one was taken."""
        self.taken = number
        replace_file(self.place, b"%d\n" % number, sync=False)

    def stop(self) -> None:
        """End after what is being told; the rest is told after the next start."""
        self._stopped.set()
        self.join(5.0)
