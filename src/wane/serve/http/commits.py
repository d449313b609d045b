"""Group commit: requests that wait for the disk at the same time share one wait."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from wane.state.journal import Journal


class Commits:
    """Commits of a journal for the requests of one event loop.

    While one commit is under way, the calls of further requests gather, and the next commit takes all of them.

    Args:
        journal: whose calls are committed.

    Attributes:
        failed: why the journal could not be written; from then on every request is refused. None if all is well.
    """

    def __init__(self, journal: Journal) -> None:
        """Nothing waits."""
        self.journal = journal
        self.failed: str | None = None
        self._thread = ThreadPoolExecutor(1, "wane-commit")
        self._next: asyncio.Future[None] | None = None  # of the requests that the next commit is for
        self._running: asyncio.Task[None] | None = None

    async def durable(self) -> None:
        """Wait until every call so far is committed; a failure is an OSError or RuntimeError."""
        journal = self.journal
        if journal.durable >= journal.sequence:
            return
        if journal.sync == "none":  # nothing to wait for: a write to the system takes microseconds
            self._commit()
            return
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        waited = self._next
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await asyncio.shield(waited)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._next is not None:
                await asyncio.sleep(0)  # requests that have arrived already join this commit
                waiting, self._next = self._next, None
                try:
                    await loop.run_in_executor(self._thread, self._commit)
                except (OSError, RuntimeError) as error:
                    waiting.set_exception(error)
                    waiting.exception()  # if its requests are gone, nobody else reads it
                else:
                    waiting.set_result(None)
        finally:
            self._running = None

    def _commit(self) -> None:
        """Write what was done; called in the thread for commits, or where nothing is waited for."""
        try:
            self.journal.commit()
            self.journal.compact_if_due()
        except (OSError, RuntimeError) as error:
            if self.failed is None:
                logging.getLogger(__name__).error("the journal cannot be written: %s", error)
            self.failed = str(error)
            raise

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown()
