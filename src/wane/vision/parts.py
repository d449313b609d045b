"""Features in a folder, chunk by chunk, each in a file that is called after what it depends on.

So a run that was interrupted goes on, a change of the settings is computed anew where it matters, and two schedules
of one data set share what they have in common.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wane.state.files import replace_file

MINE = re.compile(
    r"[0-9a-f]{32}\.npy|\.[0-9a-f]{32}\.npy\.\d+-[0-9a-f]{8}\.tmp"
)  # the latter when a process was killed


class Parts:
    """Arrays in a folder, which is made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = Parts(Path(folder) / "parts")
    ...     first = parts.of(["a"], 1, lambda: np.ones((1, 2)))
    ...     again = parts.of(["a"], 1, lambda: np.zeros((1, 2)))
    >>> again, parts.found
    (array([[1., 1.]]), 1)
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder."""
        self.folder, self.found = folder, 0
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, depends: Any, rows: int, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """What was computed for the same plain data, or is now; ``found`` counts the rows that were there."""
        path = self.folder / f"{hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:32]}.npy"
        there = _read(path, rows)
        if there is not None:
            self.found += rows
            return there
        made = compute()
        buffer = io.BytesIO()
        np.save(buffer, made, allow_pickle=False)
        replace_file(path, buffer.getvalue(), sync=False)
        return made

    def remove(self) -> None:
        """Delete the files, and the folder if nothing else is in it."""
        for path in self.folder.iterdir():
            if MINE.fullmatch(path.name):
                path.unlink()
        with contextlib.suppress(OSError):  # something else is in it
            self.folder.rmdir()


def _read(path: Path, rows: int) -> np.ndarray | None:
    """An array of so many rows; None if there is none, or none that can be read: it is computed again."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)  # takes no memory for rows that the file does not hold
    except (FileNotFoundError, ValueError, EOFError):
        return None
    return np.array(found) if found.ndim == 2 and len(found) == rows else None
