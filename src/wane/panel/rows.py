"""The state of a panel as rows of bytes, one for each stream: to split, merge and move streams by their ids.

A row is, little-endian and without gaps: the letter W, a version, a fingerprint of the settings, the fields of
``layout``, then the labels that the stream has not learned yet (``waiting_layout``), and, for methods whose state is of
no fixed size, the states of its trackers as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import described
from wane.conformal.levels import Levels
from wane.errors import InputError, InputTypeError
from wane.panel.batch import Tail
from wane.state import data as plain_data
from wane.state.encoding import dumps, loads
from wane.state.stateful import Stateful

if TYPE_CHECKING:
    from wane.panel.panel import Panel

VERSION = 1  # raised when a reader of the older version would go wrong
MARK = b"W" + bytes([VERSION])
OTHER = "give the settings that the rows were made with, the whole of `panel.rows()`, and the same version of wane"


def layout(panel: Panel) -> np.dtype:
    """The fields of fixed size: a stream's entries in the arrays of the panel, and how many labels it waits for."""
    kinds = {name: getattr(panel, name).dtype.newbyteorder("<") for name in panel.ARRAYS}
    fields = [(name, kinds[name], getattr(panel, name).shape[1:]) for name in panel.ARRAYS]
    return np.dtype([*fields, ("late", "<u4", ())])


def waiting_layout(panel: Panel) -> np.dtype:
    """The fields of one label that is not learned yet."""
    return np.dtype([("pos", "<i8"), ("below", "<f8"), ("above", "<f8"), ("radii", "<f8", (panel.settings.width,))])


def rows(panel: Panel) -> tuple[list[Any], list[bytes]]:
    """The ids, and a row of bytes for each; the lock is held."""
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


def from_rows(panel: Panel, ids: Any, given: Sequence[bytes]) -> None:
    """Fill a panel that has no stream; an error leaves one that must not be used."""
    given = [bytes(row) for row in given]
    places = panel.index.places(ids, add=True)
    if len(places) != len(given):
        raise InputError(f"must be one for each of the {len(places)} ids, got {len(given)}", about="rows")
    if len(np.unique(places)) < len(places):
        raise InputError("holds an id twice", about="ids", cure="merge what belongs together first")
    panel._make_room()
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
    for name in panel.ARRAYS:
        getattr(panel, name)[places] = records[name]
    if tails:
        waiting = np.concatenate(tails)
        columns = [
            np.ascontiguousarray(waiting[name], dtype=waiting[name].dtype.newbyteorder("="))
            for name in late.names or ()
        ]
        panel.tail = Tail(np.concatenate(owners), *columns)


def trackers(panel: Panel, text: bytes, i: int) -> Levels:
    """The trackers of a stream from the JSON at the end of its row."""
    try:
        states = loads(text)
        made = [plain_data.rebuild(plain_data.class_of(state, Stateful), state, {}) for state in states]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"holds no trackers that can be read: {error}", about="rows", row=i, cure=OTHER) from error
    if len(made) != panel.settings.width:
        raise InputError(f"must hold {panel.settings.width} trackers, got {len(made)}", about="rows", row=i, cure=OTHER)
    return Levels(made, panel.settings.score.sides)


def wrong(row: bytes, head: bytes) -> str:
    """What is wrong with a row that does not begin as it should."""
    if row[:1] != MARK[:1] or len(row) < len(head):
        return f"is not a row of a panel, got {described(row[:12])}"
    if row[1] != VERSION:
        return f"has version {row[1]}, this version of wane reads {VERSION}"
    if row[: len(head)] != head:
        return "was made with other settings"
    return f"is cut short, {len(row)} bytes"


def panel_like(cls: type[Panel], settings: Any) -> Panel:
    """A panel without streams, from another panel or from the arguments of one."""
    from wane.panel.state import empty_panel

    if isinstance(settings, cls):
        return empty_panel(cls, {**settings.settings.plain(), "threads": settings.threads})
    if isinstance(settings, Mapping):
        return cls(**settings)
    raise InputTypeError(
        f"must be a panel, or a dict of the arguments of one, got {described(settings)}", about="settings"
    )
