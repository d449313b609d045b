"""What the lines are about: a service that begins, or goes on where it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from wane.checks import described
from wane.conformal import ManySeries
from wane.errors import InputError, SavedFileError
from wane.serve.answers import Lines
from wane.state.files import Path, load
from wane.state.journal import Journal


def opened(
    fresh: ManySeries,
    journal: Path | None = None,
    saved: Path | None = None,
    sync: bool | str = False,
    every: int = 10_000,
    background: bool = False,
    **more: Any,
) -> Lines:
    """Lines about a service that goes on where it was, or begins.

    Args:
        fresh: a service with the settings that are wanted, which has seen nothing.
        journal: the path of a journal, made if there is none.
        saved: a file that ``save`` wrote, to begin from; a journal that exists is later, and goes before.
        sync: as for ``Journal``.
        every: records in the log of the journal before the next snapshot.
        background: as for ``Journal``.
        more: settings of ``Lines``; with ``remarks`` the journal also keeps its old logs.
    """

    def start() -> ManySeries:
        return fresh if saved is None else agreeing(load(saved), fresh, saved)

    if journal is None:
        return Lines(start(), **more)
    keep = bool(more.get("remarks"))
    kept = Journal(journal, start, sync=sync, compact_every=every, background=background, keep_logs=keep)
    try:
        agreeing(kept.object, fresh, journal)
        return Lines(kept, **more)
    except BaseException:
        kept.close()
        raise


def agreeing(there: Any, fresh: ManySeries, path: Path) -> ManySeries:
    """What a file holds, if it was made with the settings of ``fresh``."""
    if not isinstance(there, ManySeries):
        raise SavedFileError(f"{os.fspath(path)!r} holds a {type(there).__name__}, not what this command writes")
    found = list(differences(there.settings(), fresh.settings(), ""))
    if found:
        found.sort(key=lambda difference: difference.count("."))
        said = "; ".join(found[:3])
        problem = f"{os.fspath(path)!r} was made with other settings: {said}"
        raise InputError(problem, argument="path", cure="give the same again, or another path")
    return there


def differences(there: Any, here: Any, where: str) -> Iterator[str]:
    """The places in which two pieces of plain data differ.

    >>> list(differences({"alpha": 0.1, "window": 5}, {"alpha": 0.2, "window": 5}, ""))
    ['alpha is 0.1 there, 0.2 here']
    """
    if isinstance(there, dict) and isinstance(here, dict):
        kinds = [d["class"] for d in (there, here) if "class" in d]
        if len(kinds) == 2 and kinds[0] != kinds[1]:
            yield f"{where} is {kinds[0]} there, {kinds[1]} here"
            return
        for key in sorted((there.keys() | here.keys()) - {"memory"}):  # which is that of a fresh start
            hidden = key in ("pattern", "parameters", "state")
            place = where if hidden else f"{where}.{key}".lstrip(".")
            yield from differences(there.get(key), here.get(key), place)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for pair in zip(there, here, strict=True):
            yield from differences(*pair, where)
    elif there != here:
        yield f"{where} is {said(there)} there, {said(here)} here"


def said(value: Any) -> str:
    """A setting in plain data, in an error.

    >>> said({"float": "-inf"}), said("auto"), said([{"format": 1}, {"format": 1}])
    ('-inf', "'auto'", 'a list of 2')
    """
    if isinstance(value, dict) and value.keys() == {"float"}:
        return str(value["float"])
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return f"a list of {len(value)}"
    return described(value).rpartition(" (")[0]
