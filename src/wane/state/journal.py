"""A log of calls beside a snapshot: what was acknowledged survives a crash.

``path`` holds a snapshot of the object, written by ``save``, which says which call is the last that it includes. The
log ``path.log`` holds the calls since, one line each (``wane.state.log``). Nothing is ever thrown away: a record that a
crash cut short is moved to ``path.log.dropped``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from wane.checks import file_path, flag, function, mapping, one_of, whole
from wane.errors import AlarmError, JournalError
from wane.state import opening
from wane.state.calls import put_any_call, put_call
from wane.state.copies import POSSIBLE, Aside, Copy
from wane.state.encoding import decode_key, dumps, encode_key
from wane.state.files import Path, leftovers, replace_file, replacing, save
from wane.state.forks import OUTERMOST, PROCESS, lock_of
from wane.state.locks import remove
from wane.state.log import group_of
from wane.state.opening import JournalWarning
from wane.state.recovery import LOG, Recovery, Snapshot, ids_of, read_journal
from wane.state.text import Text, put_object, put_plain

SYNC = ("group", "each", "none")  # when the disk is waited for


class Journal:
    """An object with ``predict``, ``update`` and ``expire`` that loses no acknowledged call when its process dies.

    Each call is done on ``journal.object`` and written to the log before it returns. To open the journal again, after a
    crash or not, is to load the snapshot and repeat the calls of the log: the object is then what it was, bit for bit,
    provided that the calls depend on their arguments only and that nobody changes ``journal.object`` behind its back.

    A journal belongs to one process; its threads may share it. A lock keeps other processes out (``wane.state.locks``),
    and tells them which process has the journal.

    A program that answers many requests at once does not wait for the disk at each: ``call`` does a call and keeps its
    record, and ``commit`` writes all records that were kept since the last time and waits once.

    Args:
        path: of the snapshot; the log is ``path.log``.
        start: makes the object when there is no journal yet; not called otherwise.
        sync: "group", or True: a call waits until the disk has its record, and calls of threads that wait at the same
            time share one wait. "each": the disk is waited for once for each record. "none", or False: calls do not
            wait; this is as safe when the process dies, but the last calls may be lost when the power fails.
        compact_every: records in the log before the next snapshot is taken and the log starts afresh.
        background: take snapshots in a copy of this process (a fork), where the system has that, so that calls do not
            wait for them. For programs whose other libraries survive a fork.
        keep_logs: keep each log when the next one starts, as ``path.log-NUMBER`` with the number of its last call, for
            programs that read the calls of the past. Whoever needs them no more removes them.
        objects: the arguments of the object that a file cannot hold (functions of yours), by name, as for ``load``.

    Attributes:
        object: the live object. Look at it, and change it through the journal only.
        sequence: the number of calls since the journal was made.
        durable: the number of the last call that is in the log.
        on_snapshot: called after a snapshot was taken and the log has started afresh; None for nobody.
        recovered: a ``Recovery`` if the journal existed, else None.
    """

    def __init__(
        self,
        path: Path,
        start: Callable[[], Any] | None = None,
        *,
        sync: bool | str = True,
        compact_every: int = 10_000,
        background: bool = False,
        keep_logs: bool = False,
        objects: Mapping[str, Any] | None = None,
    ) -> None:
        """Open the journal, or make one."""
        compact_every = whole("compact_every", compact_every, 1)
        if start is not None:
            function("start", start)
        self.path = os.path.realpath(file_path("path", path))
        self.log = self.path + LOG
        self.sync = {True: "group", False: "none"}[sync] if isinstance(sync, bool) else one_of("sync", sync, SYNC)
        self.compact_every = compact_every
        self.background = flag("background", background) and POSSIBLE
        self.keep_logs = flag("keep_logs", keep_logs)
        self.on_snapshot: Callable[[], Any] | None = None
        self.object: Any = None
        self.sequence = self.durable = 0
        self.recovered: Recovery | None = None
        self._objects = {} if objects is None else dict(mapping("objects", objects))
        self._mutex = lock_of(self, OUTERMOST, "_mutex")
        self._disk = threading.RLock()  # of the thread that writes to the log; it is taken before the other
        self._process = PROCESS[0]
        self._waits = self.sync != "none"  # for the disk
        self._closed = False
        self._text: Any = Text()  # of the record of a call
        self._lines: list[bytes] = []  # records that are not in the log yet
        self._aside: Aside | None = None  # a snapshot that is taken in the background
        self._records = 0  # in the log, after the snapshot
        self._behind = False  # whether the log may lack a call that the object has seen
        self._lock = opening.locked(self.path)
        try:
            remove(leftovers(self.log))
            if os.path.exists(self.path):
                self._recover()
            else:
                self.object = opening.begin(self.path, self.log, start, self._objects)
            self._open()
        except BaseException:
            self._lock.release()
            raise

    def predict(self, output: Any, id: Any = None, **keywords: Any) -> Any:
        """``object.predict``, logged."""
        if id is None:
            return self._logged("predict", (output,), keywords)
        kind = type(id)
        if kind is not int and kind is not str:
            id = decode_key(encode_key(id))
        return self._logged("predict", (output, id), keywords)

    def update(self, id: Any, y: Any, **keywords: Any) -> Any:
        """``object.update``, logged."""
        return self._logged("update", (id, y), keywords)

    def expire(self, id: Any = None, older_than: Any = None, **keywords: Any) -> Any:
        """``object.expire``, logged."""
        given = {"id": id, "older_than": older_than, **keywords}
        return self._logged("expire", (), {k: v for k, v in given.items() if v is not None})

    def call(
        self,
        name: str,
        arguments: list[Any],
        keywords: dict[str, Any],
        remark: Callable[[Any], dict[str, Any]] | None = None,
    ) -> Any:
        """Do a call and keep its record. It is in the log after the next ``commit``, and not acknowledged before.

        Args:
            name: "predict", "update" or "expire".
            arguments: of the call.
            keywords: of the call.
            remark: makes plain data out of the result, to be logged beside the call for those who read the log.
        """
        with self._mutex:
            result = self._call(name, tuple(arguments), keywords, remark)
            self._keep()
            told = self._told
        if told is not None:
            raise told
        return result

    def commit(self) -> None:
        """Wait until the log has every call so far, and the disk too unless ``sync`` is "none"."""
        if not self._waits:  # so that no other thread is held up
            with self._mutex:
                self._check()
                self._write()
            return
        self._check_process()
        with self._disk:
            upto = self.sequence
            with self._mutex:
                if self.durable >= upto:  # by the thread that held the disk before
                    return
                self._check()
                lines, self._lines, last = self._lines, [], self.sequence
            self._put(lines, last)

    def compact(self) -> None:
        """Take a snapshot now, and start the log afresh; a crash in between does no harm."""
        self._check_process()
        self._stop_aside()
        with self._disk, self._mutex:
            self._check()
            self.commit()
            save(self.path, Snapshot(self.sequence, self.object))
            self._cut_log(self.sequence, os.path.getsize(self.log))
        if self.on_snapshot is not None:
            self.on_snapshot()

    def compact_if_due(self) -> bool:
        """Take a snapshot if the log has ``compact_every`` records; one that cannot be taken is a JournalWarning."""
        if self._records < self.compact_every or self._aside is not None:
            return False
        if self.background:
            self._aside = Aside(self._compact_aside, self._untaken)
            self._aside.start()
            return True
        try:
            self.compact()
        except Exception as error:  # the call is logged: it must not look as if it had failed
            self._untaken(error, 6)
        return True

    def _compact_aside(self, aside: Aside) -> None:
        """Take a snapshot in a copy of this process, while calls go on."""
        try:
            with replacing(self.path, sync=True) as file:
                with self._disk, self._mutex:
                    self._check()
                    self.commit()
                    sequence, size = self.sequence, os.path.getsize(self.log)
                    copy = Copy(partial(opening.write_snapshot, file, sequence, self.object), file.fileno())
                aside.wait_for(copy)
            # The log still has calls that the snapshot includes: opening the journal passes over them.
            self._cut_log(sequence, size)
            if self.on_snapshot is not None:
                self.on_snapshot()
        finally:
            self._aside = None

    def _stop_aside(self) -> None:
        """Give up a snapshot in the background."""
        if (aside := self._aside) is not None:
            aside.stop()

    def _untaken(self, error: Exception, level: int = 2) -> None:
        """Warn that no snapshot could be taken; the next is due after as many calls."""
        self._records = 0
        problem = f"no snapshot of {self.path!r} could be taken: {error}"
        warnings.warn(problem, JournalWarning, stacklevel=level)

    def _cut_log(self, sequence: int, size: int) -> None:
        """Let the log begin after the call of this number, whose record ends at byte ``size``.

        Most of what follows is copied while calls go on. For the last of it, and to change from one file to the other,
        nobody may write.
        """
        with contextlib.ExitStack() as held, open(self.log, "rb") as old:
            old.seek(size)
            with replacing(self.log, sync=True) as new:
                shutil.copyfileobj(old, new)
                new.flush()
                os.fsync(new.fileno())
                held.enter_context(self._disk)
                held.enter_context(self._mutex)
                self._check()
                shutil.copyfileobj(old, new)
                if self.keep_logs and os.path.getsize(self.log):
                    opening.keep_file(self.log, f"{self.log}-{self.durable:018d}")
                old.close()  # some systems do not replace an open file
                self._file.close()
                held.callback(self._open)
            self._records = self.durable - sequence

    def close(self) -> None:
        """Write what is left to be written, and let others open the journal."""
        if PROCESS[0] is not self._process:
            self._file.close()
            return
        self._stop_aside()
        with self._disk, self._mutex:
            if not self._closed:
                try:
                    if not self._behind:
                        self.commit()
                finally:
                    self._closed = True
                    self._file.close()
                    self._lock.release()

    def __enter__(self) -> Journal:
        """The journal, closed at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def _open(self) -> None:
        self._file = open(self.log, "ab", buffering=0)
        self._descriptor = self._file.fileno()

    def _check_process(self) -> None:
        """Refuse a process that was forked, in which another thread's lock would never be released."""
        if PROCESS[0] is not self._process:
            raise self._refusal()

    def _check(self) -> None:
        """Refuse calls that cannot be logged. The caller holds the lock: during a call the log is behind."""
        if self._behind or self._closed or PROCESS[0] is not self._process:
            raise self._refusal()

    def _refusal(self) -> JournalError:
        return opening.refusal(self.path, PROCESS[0] is not self._process, self._closed)

    def _logged(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Do a call, and wait until it is logged."""
        mutex = self._mutex
        mutex.acquire()  # ``with`` would take longer
        try:
            result = self._call(name, arguments, keywords, None)
            told = self._told
            if not self._waits and not self._lines and self._text.sent(self._descriptor):
                self.durable, self._behind = self.sequence, False
                self._records += 1
            else:
                self._keep()
        finally:
            mutex.release()
        if self.durable < self.sequence:  # else another thread has written it
            self.commit()
        if self._records >= self.compact_every:
            self.compact_if_due()
        if told is not None:
            raise told
        return result

    def _call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], remark: Any) -> Any:
        """Do a call and write its record into ``_text``; the caller holds the lock.

        The label whose alarm could not be told was learned all the same: ``_told`` is the error to raise later.
        """
        self._check()
        text, number = self._text, self.sequence + 1
        if not put_call(text, number, name, arguments, keywords):
            arguments, keywords = put_any_call(text, number, name, arguments, keywords)
        self._behind = True
        result = self._told = None
        try:
            if keywords:
                result = getattr(self.object, name)(*arguments, **keywords)
            else:
                result = getattr(self.object, name)(*arguments)
        except AlarmError as error:
            self._told = error
        except Exception:
            self._behind = False  # the object is as before
            raise
        if name != "predict":
            text.put("null")
        elif not put_plain(text, getattr(result, "id", ())):
            text.put(dumps(ids_of(result)))
        if remark is not None:
            said = remark(result)
            text.put(", ")
            end = text.end()
            if not put_object(text, said):
                text.cut(end)
                text.put(dumps(said))
        text.put("]")
        text.seal()
        self.sequence = number
        return result

    def _keep(self) -> None:
        """Keep the record of the last call until the next commit."""
        self._lines.append(self._text.get())
        self._behind = False

    def _write(self) -> None:
        """Write the records that were kept; the caller holds the lock."""
        lines, self._lines = self._lines, []
        if lines:
            self._put(lines, self.sequence)

    def _put(self, lines: list[bytes], last: int) -> None:
        """Write these records, the last of which is of the call of this number, and wait for the disk."""
        pieces = lines
        if len(lines) > 1 and self.sync != "each":
            pieces = [group_of(lines) if self.sync == "group" else b"".join(lines)]
        try:
            for piece in pieces:
                while (taken := self._file.write(piece)) < len(piece):  # a full disk may take a part
                    piece = piece[taken:]
                if self._waits:
                    opening.sync_data(self._file.fileno())
        except OSError as error:
            self._behind = True
            raise opening.not_logged(len(lines), self.log, error) from error
        self.durable = last
        self._records += len(lines)

    def _recover(self) -> None:
        found = read_journal(self.path, self._objects)
        self.object = found.object
        self.sequence = self.durable = found.snapshot + found.replayed
        self._records = found.replayed
        self.recovered = Recovery(found.snapshot, found.replayed, len(found.log.torn))
        # A torn record is moved away before the log loses it.
        if found.log.torn:
            opening.keep_torn(self.log, found.log.torn, self._waits)
        if found.log.count and not found.replayed:  # a crash between the snapshot and the new log
            replace_file(self.log, b"", sync=True)
        elif found.log.torn:
            os.truncate(self.log, found.log.size)
        # Calls that were written and not synced, because the process died, have been seen from now on.
        if self._waits:
            opening.sync_file(self.log)
