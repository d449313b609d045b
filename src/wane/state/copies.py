"""Work that a copy of this process does: it has everything as it was at one moment, while this process goes on.

A copy is made by fork, which systems make in milliseconds however much memory is in use. It does one thing and ends.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable

from wane.errors import FileError

POSSIBLE = hasattr(os, "fork") and sys.platform != "darwin"  # whose libraries do not survive a fork
LONGEST = 1_000  # bytes of what a copy says about a failure
MOST_OPEN = 1 << 16  # descriptors that a copy may have to close
POLITE = 5  # how much less of the processor a copy asks for


class Copy:
    """A copy of this process that does some work.

    Args:
        work: what it does. It must not use threads, or files that are open here except those in ``keep``.
        keep: descriptors of the files that it needs.
    """

    def __init__(self, work: Callable[[], None], *keep: int) -> None:
        """Begin."""
        self._said, told = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            do(work, told, *keep)
        os.close(told)

    def wait(self) -> None:
        """Wait for its end; a failure is a FileError with what it says."""
        with open(self._said, "rb") as said:
            why = said.read().decode("utf-8", "replace")
        _, status = os.waitpid(self.process, 0)
        if status != 0:
            raise FileError(why or "the copy of this process that was to write it was stopped")

    def stop(self) -> None:
        """End it; ``wait`` then raises."""
        try:
            os.kill(self.process, signal.SIGKILL)
        except ProcessLookupError:  # it has ended
            pass


class Aside:
    """Something that a copy of this process does, while a thread of this one waits for it.

    Args:
        begin: called with this object in the thread. It makes the copy, calls ``wait_for``, and goes on from there.
        failed: called with the exception if ``begin`` raises one, unless it was stopped.
    """

    def __init__(self, begin: Callable[[Aside], None], failed: Callable[[Exception], None]) -> None:
        """Nothing begins before ``start``."""
        self.copy: Copy | None = None
        self.stopped = False
        self.thread = threading.Thread(target=self._do, args=(begin, failed), name="wane-copy", daemon=True)

    def start(self) -> None:
        """Begin, and return at once."""
        self.thread.start()

    def stop(self) -> None:
        """End the copy and wait for the thread."""
        self.stopped = True
        if self.copy is not None:
            self.copy.stop()
        self.thread.join()

    def wait_for(self, copy: Copy) -> None:
        """Wait for the end of the copy, which ``stop`` may bring about."""
        self.copy = copy
        if self.stopped:
            copy.stop()
        copy.wait()

    def _do(self, begin: Callable[[Aside], None], failed: Callable[[Exception], None]) -> None:
        try:
            begin(self)
        except Exception as error:
            if not self.stopped:
                failed(error)


def do(work: Callable[[], None], told: int, *keep: int) -> None:
    """In the copy: do the work and end, whatever happens."""
    code = 1
    try:
        gc.disable()  # it would write to pages that both processes share
        os.nice(POLITE)
        close_all_but(told, *keep)  # or connections of this process would live as long as the copy
        work()
        code = 0
    except BaseException as error:
        os.write(told, str(error).encode("utf-8", "replace")[:LONGEST])
    finally:
        os._exit(code)


def close_all_but(*keep: int) -> None:
    """Close all files except standard ones and those in ``keep``."""
    first = 3
    for kept in sorted(keep):
        os.closerange(first, kept)
        first = kept + 1
    os.closerange(first, MOST_OPEN)
