"""Data sets in folders, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from wane.checks import described
from wane.errors import InputError, MissingFileError, WaneError
from wane.vision import cifar, tinyimagenet
from wane.vision.images import Data

READERS: dict[str, Callable[[Path], Data]] = {
    "tinyimagenet": tinyimagenet.read,
    "cifar10": functools.partial(cifar.read, "cifar10"),
    "cifar100": functools.partial(cifar.read, "cifar100"),
}


def read(name: str, root: Path) -> Data:
    """The data set of that name in a folder: tinyimagenet, cifar10 or cifar100."""
    if name not in READERS:
        cure = f"known are {', '.join(READERS)}"
        raise InputError(f"no data set is called {described(name)}", argument="name", cure=cure)
    try:
        if not root.is_dir():
            cure = "give the one that the archive was unpacked into"
            raise MissingFileError(f"there is no folder {root}", cure=cure)
        return READERS[name](root)
    except WaneError as error:
        error.argument = "root"
        raise
