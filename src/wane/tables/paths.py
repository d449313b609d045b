"""The files of a run, looked at before anything is computed: each is one thing only, and can be written."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping
from itertools import combinations

STANDARD = "-"  # standard input or output
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what only writing can lead to
FILE = "FILE"  # what the table that is read is called


def refuse_same(given: Mapping[str, str | None]) -> None:
    """An error where one file would be two things; ``given`` are paths by option, None where there is none.

    >>> refuse_same({"FILE": "a.csv", "--out": "./a.csv"})
    Traceback (most recent call last):
        ...
    ValueError: ./a.csv would be FILE and --out at once: give another --out
    """
    named = [(option, path) for option, path in given.items() if path is not None and path != STANDARD]
    for (one, first), (two, second) in combinations(named, 2):
        if same(first, second):
            raise ValueError(f"{second} would be {one} and {two} at once: give another {two}")


def same(first: str, second: str) -> bool:
    """Whether two paths are one file, also by links; a terminal or a pipe may be two things."""
    if os.path.exists(first) and os.path.exists(second):
        return os.path.isfile(first) and os.path.samefile(first, second)
    return os.path.realpath(first) == os.path.realpath(second)


def refuse_unwritable(given: Mapping[str, str | None]) -> None:
    """An error where a file could not be written at the end; ``given`` are paths by option."""
    for option, path in given.items():
        if path is None:
            continue
        if path == STANDARD:
            raise ValueError(f"{option} is a file, not standard output: give a name")
        if os.path.isdir(path):
            raise ValueError(f"{path} is a folder: give a file as {option}")
        if os.path.exists(path) and not os.path.isfile(path):  # /dev/full, for one, has no end
            raise ValueError(f"{path} is not a regular file: give another {option}")
        try:
            with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
                pass
        except OSError as error:
            raise OSError(unwritable(path, error, option)) from None


def unwritable(path: str, error: OSError, option: str) -> str:
    """What is said of a file that cannot be written."""
    return f"{path} cannot be written ({error.strerror or error}): choose another {option}"
