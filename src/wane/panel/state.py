"""The state of a panel as plain data, and back: arrays as text in base 64."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.conformal.levels import Levels
from wane.errors import InputError
from wane.panel.batch import Tail
from wane.panel.index import Index
from wane.state import data as plain_data
from wane.state.stateful import Stateful

if TYPE_CHECKING:
    from wane.panel.panel import Panel

TAIL = ("place", "pos", "below", "above", "radii")


def packed(array: np.ndarray) -> dict[str, Any]:
    """An array as plain data: little-endian bytes in base 64."""
    kind = array.dtype.newbyteorder("<")
    data = np.ascontiguousarray(array, dtype=kind)
    return {"dtype": kind.str, "shape": list(array.shape), "base64": base64.b64encode(data.tobytes()).decode()}


def unpacked(data: Any) -> np.ndarray:
    """The array that was packed."""
    kind = np.dtype(data["dtype"])
    array = np.frombuffer(base64.b64decode(data["base64"], validate=True), dtype=kind).reshape(data["shape"])
    return array.astype(kind.newbyteorder("="))


def state_dict(panel: Panel) -> dict[str, Any]:
    """Parameters and memory."""
    n = len(panel.index)
    return {
        **plain_data.header(type(panel)),
        "parameters": {**panel.settings.plain(), "threads": panel.threads},
        "memory": {
            "index": panel.index.state(),
            **{name: packed(getattr(panel, name)[:n]) for name in panel.ARRAYS},
            "trackers": [[t.state_dict() for t in levels.trackers] for levels in panel.objects[:n]],
            "tail": {name: packed(getattr(panel.tail, name)) for name in TAIL},
        },
    }


def rebuild(cls: type[Panel], state: Any) -> Panel:
    """The panel whose state this is, or an error and nothing."""
    plain_data.refuse_other(cls, state)
    try:
        return restored(cls, dict(state["parameters"]), state["memory"])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"the state of a panel is damaged or incomplete: {error!r}") from error


def empty_panel(cls: type[Panel], given: dict[str, Any]) -> Panel:
    """A panel with these settings, which are plain data, and no stream."""
    score = plain_data.rebuild(plain_data.class_of(given["score"], Stateful), given["score"], {})
    low, high = given["limits"]
    return cls(
        given["method"],
        given["alpha"],
        score,
        warm_up=given["warm_up"],
        lower_limit=float(low),
        upper_limit=float(high),
        on_unbounded=given["on_unbounded"],
        threads=given["threads"],
        **given["hyperparameters"],
    )


def restored(cls: type[Panel], given: dict[str, Any], memory: Any) -> Panel:
    """The panel, with its memory."""
    panel = empty_panel(cls, given)
    panel.index = Index.from_state(memory["index"])
    n = len(panel.index)
    panel._allot(n)
    kept = memory["trackers"]
    for name in panel.ARRAYS:
        array, pattern = unpacked(memory[name]), getattr(panel, name)
        if name == "states" and kept and panel.flat:  # written when this method was not kept in rows
            continue
        if array.shape != pattern.shape or not np.can_cast(array.dtype, pattern.dtype):
            raise InputError(f"{name} must have shape {pattern.shape}, got {array.shape}")
        setattr(panel, name, array.astype(pattern.dtype))  # counts had 32 bits once
    if len(kept) != (n if kept or not panel.flat else 0):
        raise InputError(f"{n} streams need as many sets of trackers, got {len(kept)}")
    for i, parts in enumerate(kept):
        trackers = [plain_data.rebuild(plain_data.class_of(t, Stateful), t, {}) for t in parts]
        if len(trackers) != panel.settings.width:
            raise InputError(f"a stream needs {panel.settings.width} trackers, got {len(trackers)}")
        levels = Levels(trackers, panel.settings.score.sides)
        if panel.flat:
            levels.write(panel.states, i)
        else:
            panel.objects.append(levels)
    panel.tail = restored_tail([unpacked(memory["tail"][name]) for name in TAIL], panel.tail, n)
    return panel


def restored_tail(arrays: list[np.ndarray], like: Tail, streams: int) -> Tail:
    """The rows that wait, or an error: the loops trust them."""
    rows = len(arrays[0])
    for name, array in zip(TAIL, arrays, strict=True):
        pattern = getattr(like, name)
        if array.shape != (rows, *pattern.shape[1:]) or array.dtype != pattern.dtype:
            raise InputError(f"{name} of the labels that wait must be {pattern.dtype}, {rows} rows, got {array.shape}")
    tail = Tail(*arrays)
    if rows and not 0 <= tail.place.min() <= tail.place.max() < streams:
        raise InputError(f"labels wait for streams beyond the {streams} that there are")
    return tail
