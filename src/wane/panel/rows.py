"""The state of a panel as one row of bytes for each stream, to split, merge and move streams by their ids.

A row is little-endian and has no gaps. It consists of the letter W, a version, a fingerprint of the settings, the
fields of ``layout``, and the labels that the stream has not learned yet (``waiting_layout``). If the method has no
state of fixed size, the states of the trackers follow as JSON.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import described, listed
from wane.conformal.levels import Levels
from wane.errors import InputError, InputTypeError
from wane.panel.limits import refuse_impossible
from wane.panel.state import empty_panel, levels_of, restore_shared, shared_state
from wane.panel.tail import Tail
from wane.state.encoding import dumps, loads

if TYPE_CHECKING:
    from wane.panel.panel import Panel

VERSION = 1  # raised when an older reader would misread the rows
MARK = b"W" + bytes([VERSION])
SHARED = "give what `panel.shared()` returned, from a panel with the same settings"
OTHER = "give the settings that the rows were made with, the whole of `panel.rows()`, and the same version of wane"


def layout(panel: Panel) -> np.dtype:
    """Return the fields of fixed size: a stream's entries in the panel's arrays, and the number of its late labels."""
    kinds = {name: getattr(panel, name).dtype.newbyteorder("<") for name in panel.ARRAYS}
    fields = [(name, kinds[name], getattr(panel, name).shape[1:]) for name in panel.ARRAYS]
    return np.dtype([*fields, ("late", "<u4", ())])


def waiting_layout(panel: Panel) -> np.dtype:
    """Return the fields of one label that is not learned yet."""
    radii, notes = panel.settings.width, panel.tail.notes.shape[1]
    parts = [("pos", "<i8"), ("below", "<f8"), ("above", "<f8"), ("radii", "<f8", (radii,)), ("notes", "<f8", (notes,))]
    return np.dtype(parts)


def rows(panel: Panel) -> tuple[list[Any], list[bytes]]:
    """Return the ids and a row of bytes for each; the caller holds the lock."""
    n, tail = len(panel.index), panel.tail
    head = MARK + panel.settings.fingerprint()
    fixed = np.zeros(n, dtype=layout(panel))
    for name in panel.ARRAYS:
        fixed[name] = getattr(panel, name)[:n]
    fixed["late"] = np.bincount(tail.place, minlength=n)
    order = np.argsort(tail.place, kind="stable")
    late = np.zeros(len(order), dtype=waiting_layout(panel))
    for name in late.dtype.names or ():
        late[name] = getattr(tail, name)[order]
    ends = np.cumsum(fixed["late"], dtype=np.int64).tolist()
    made, begin = [], 0
    for i, end in enumerate(ends):
        made.append(head + fixed[i].tobytes() + late[begin:end].tobytes())
        begin = end
    for i, levels in enumerate(panel.objects[:n]):
        made[i] += dumps([t.state_dict() for t in levels.trackers]).encode()
    return panel.ids(), made


def shared(panel: Panel) -> bytes:
    """Return what the streams of the method "pool" share; the caller holds the lock."""
    return MARK + panel.settings.fingerprint() + zlib.compress(dumps(shared_state(panel)).encode())


def use_shared(panel: Panel, given: Any) -> None:
    """Fill in what ``shared`` has returned, in a panel with the same settings."""
    if not isinstance(given, (bytes, bytearray, memoryview)):
        raise InputTypeError(f"must be bytes, got {described(given)}", about="shared", cure=SHARED)
    head, given = MARK + panel.settings.fingerprint(), bytes(given)
    if given[: len(head)] != head:
        raise InputError(wrong(given, head), about="shared", cure=SHARED)
    # The size is known before anything is unpacked: a small file must not take much memory.
    most = 1024 + 64 * sum(len(pool.memory) for pool in panel.pools)
    try:
        text = zlib.decompressobj().decompress(given[len(head) :], most)
        restore_shared(panel, loads(text))
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise InputError(f"is damaged: {error}", about="shared", cure=SHARED) from error


def from_rows(panel: Panel, ids: Any, given: Sequence[bytes]) -> None:
    """Fill a panel that has no streams yet. After an error the panel must not be used."""
    # Give each id a place in the panel.
    given = listed("rows", given)
    for i, row in enumerate(given):
        if not isinstance(row, (bytes, bytearray, memoryview)):
            raise InputTypeError(f"must be bytes, got {described(row)}", about="rows", row=i, cure=OTHER)
    given = [bytes(row) for row in given]
    places = panel.index.places(ids, add=True)
    if len(places) != len(given):
        raise InputError(f"must be one for each of the {len(places)} ids, got {len(given)}", about="rows")
    if len(np.unique(places)) < len(places):
        raise InputError("holds an id twice", about="ids", cure="merge what belongs together first")
    panel._make_room()

    # Take each row apart, and check that it is as long as its fields say.
    fixed, late = layout(panel), waiting_layout(panel)
    head = MARK + panel.settings.fingerprint()
    begin = len(head)
    records = np.empty(len(given), dtype=fixed)
    tails, owners = [], []
    for i, row in enumerate(given):
        if row[:begin] != head or len(row) < begin + fixed.itemsize:
            raise InputError(wrong(row, head), about="rows", row=i, cure=OTHER)
        records[i] = np.frombuffer(row, fixed, 1, begin)[0]
        count = int(records[i]["late"])
        end = begin + fixed.itemsize + count * late.itemsize
        if len(row) < end or (panel.flat and len(row) > end):
            raise InputError(
                f"has {len(row)} bytes, which its fields do not add up to", about="rows", row=i, cure=OTHER
            )
        if count:
            tails.append(np.frombuffer(row, late, count, begin + fixed.itemsize))
            owners.append(np.full(count, places[i], dtype=np.intp))
        if not panel.flat:
            panel.objects[places[i]] = trackers(panel, row[end:], i)

    # Fill in the arrays, and collect the labels that are not learned yet. Bytes take the order of this machine.
    for name in panel.ARRAYS:
        getattr(panel, name)[places] = records[name]
    if tails:
        waiting = np.concatenate(tails)
        columns = [
            np.ascontiguousarray(waiting[name], dtype=waiting[name].dtype.newbyteorder("="))
            for name in late.names or ()
        ]
        panel.tail = Tail(np.concatenate(owners), *columns)
    refuse_impossible(panel)


def trackers(panel: Panel, text: bytes, i: int) -> Levels:
    """Make the trackers of a stream from the JSON at the end of row i."""
    try:
        return levels_of(panel, loads(text))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"holds no trackers that can be read: {error}", about="rows", row=i, cure=OTHER) from error


def wrong(row: bytes, head: bytes) -> str:
    """Say what is wrong with a row that does not begin with the right bytes."""
    if row[:1] != MARK[:1] or len(row) < len(head):
        return f"is not a row of a panel, got {described(row[:12])}"
    if row[1] != VERSION:
        return f"has version {row[1]}, this version of wane reads {VERSION}"
    if row[: len(head)] != head:
        return "was made with other settings"
    return f"is cut short, {len(row)} bytes"


def panel_like(cls: type[Panel], settings: Any) -> Panel:
    """Make a panel without streams, with the settings of another panel or with the given arguments."""
    if isinstance(settings, cls):
        return empty_panel(cls, {**settings.settings.plain(), "threads": settings.threads})
    if isinstance(settings, Mapping):
        try:
            return cls(**settings)
        except TypeError as error:
            raise InputTypeError(f"must hold the arguments of a Panel: {error}", about="settings") from error
    raise InputTypeError(
        f"must be a panel, or a dict of the arguments of one, got {described(settings)}", about="settings"
    )
