"""Reading the calls of a journal while it grows: its log, and the logs that it has kept."""

from __future__ import annotations

import glob
import os
from typing import Any, BinaryIO

from wane.serve.parts import described
from wane.state.encoding import decode_value
from wane.state.files import refused
from wane.state.journal import Journal
from wane.state.log import parsed, whole_at


def kept_logs(journal: Journal) -> list[tuple[int, str]]:
    """The logs that a journal has kept, each with the number of its last call, the oldest first."""
    found = [(path.rpartition("-")[2], path) for path in glob.glob(glob.escape(journal.log) + "-*")]
    return sorted((int(number), path) for number, path in found if number.isdigit())


def remove_logs(journal: Journal, upto: int) -> None:
    """Remove kept logs whose calls nobody needs any more; the newest stays, for the live page."""
    for last, path in kept_logs(journal)[:-1]:
        if last <= upto:
            os.unlink(path)


def fields_of(number: int, record: list[Any]) -> dict[str, Any]:
    """A record of the log as fields: ``call``, ``series``, ``id``, perhaps ``output`` or ``y``, and its remarks."""
    name, arguments, keywords, id, *remarks = record
    values = [decode_value(v) for v in arguments]
    found = {"sequence": number, "call": name, **described(decode_value(keywords.get("series")))}
    if name == "predict":
        found |= {"id": decode_value(id), "output": values[0]}
    elif name == "update":
        found |= {"id": values[0], "y": values[1]}
    else:
        found |= {"id": decode_value(keywords.get("id"))}
    return found | {"said": remarks[0] if remarks else {}}


class Follower:
    """The calls of a journal after some call, in order, as far as the disk has them.

    Args:
        journal: which is open in this process.
        after: the number of the last call that is known already.
    """

    def __init__(self, journal: Journal, after: int) -> None:
        """Nothing is read yet."""
        self.journal, self.after = journal, after
        self._file: BinaryIO | None = None
        self._current = False  # whether the file was the log that grows

    def read(self, most: int) -> list[tuple[int, list[Any]]]:
        """The next calls, at most so many; none if there are none yet."""
        found: list[tuple[int, list[Any]]] = []
        upto = self.journal.durable
        while len(found) < most and self.after < upto:
            if self._file is None:
                self._open()
            assert self._file is not None
            line = self._file.readline()
            if not line.endswith(b"\n"):
                if self._grows():
                    self._file.seek(-len(line), os.SEEK_CUR)
                    break
                self.close()
                continue
            body = whole_at(line, 0)
            if body is None:
                raise refused(self._file.name, "is corrupted", "restore it from a copy")
            number, record = parsed(line[body], 0, self._file.name)
            if number > upto:
                self._file.seek(-len(line), os.SEEK_CUR)
                break
            if number > self.after:
                found.append((number, record))
                self.after = number
        return found

    def _open(self) -> None:
        """Open the log with the next call: one that was kept, or the one that grows."""
        later = [path for last, path in kept_logs(self.journal) if last > self.after]
        self._current = not later
        self._file = open(later[0] if later else self.journal.log, "rb")

    def _grows(self) -> bool:
        """Whether the file may get more records."""
        assert self._file is not None
        if not self._current:
            return False
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.journal.log))
        except FileNotFoundError:
            return True

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None
