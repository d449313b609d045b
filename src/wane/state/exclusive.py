"""The lock of the system on an open file, which ends with the process that holds it."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

BEYOND = 1 << 30  # where Windows locks a byte: what stands before it can still be read


def lock(descriptor: int) -> None:
    """Lock a file, or raise an OSError at once: somebody else holds it, or its disk has no locks."""
    if sys.platform == "win32":
        os.lseek(descriptor, BEYOND, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def still(descriptor: int, path: str) -> bool:
    """Whether an open file is the one that its path names; another process may have removed or replaced that."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
