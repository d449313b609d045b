"""Folders for results."""

from __future__ import annotations

import tempfile
from pathlib import Path


def made_folder(path: Path, option: str = "--out") -> None:
    """Make a folder, if it is not there; an error in words where nothing can be written to it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise OSError(f"{path} cannot be a folder for results ({error.strerror}): choose another {option}") from None
