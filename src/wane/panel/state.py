"""Saving a panel as plain data, with arrays as text in base 64, and loading it."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import described, whole
from wane.conformal.levels import Levels
from wane.errors import InputError, WaneError
from wane.panel.index import Index
from wane.panel.limits import refuse_impossible, refuse_unbacked
from wane.panel.tail import Tail
from wane.state import data as plain_data
from wane.state.stateful import Stateful
from wane.trackers.base import Tracker

if TYPE_CHECKING:
    from wane.panel.panel import Panel

TAIL = ("place", "pos", "below", "above", "radii", "notes")


def packed(array: np.ndarray) -> dict[str, Any]:
    """Write an array as plain data: little-endian bytes in base 64."""
    kind = array.dtype.newbyteorder("<")
    data = np.ascontiguousarray(array, dtype=kind)
    return {"dtype": kind.str, "shape": list(array.shape), "base64": base64.b64encode(data.tobytes()).decode()}


def unpacked(data: Any, kinds: str = "biuf") -> np.ndarray:
    """Read an array that ``packed`` has written; its kind must be one of these, such as "M" for dates."""
    kind = np.dtype(data["dtype"])
    if kind.kind not in kinds:
        raise InputError(
            f"an array of a panel holds numbers, got the type {described(data['dtype'])}", argument="state"
        )
    array = np.frombuffer(base64.b64decode(data["base64"], validate=True), dtype=kind).reshape(data["shape"])
    return array.astype(kind.newbyteorder("="))


def packed_time(time: Any) -> Any:
    """Return the last time that a panel has seen as plain data; None if it has seen none."""
    return None if time is None else packed(np.atleast_1d(time))


def unpacked_time(data: Any) -> Any:
    """Read what ``packed_time`` has written."""
    if data is None:
        return None
    times = unpacked(data, "iufM")
    if times.shape != (1,) or np.isnan(times[0]):  # of dates too
        raise InputError(f"the last time must be one number or date, got {times}", argument="state")
    return times[0]


def state_dict(panel: Panel) -> dict[str, Any]:
    """Return the settings and the memory of a panel as plain data."""
    n = len(panel.index)
    return {
        **plain_data.header(type(panel)),
        "parameters": {**panel.settings.plain(), "threads": panel.threads},
        "memory": {
            "index": panel.index.state(),
            **{name: packed(getattr(panel, name)[:n]) for name in panel.ARRAYS},
            "trackers": [[t.state_dict() for t in levels.trackers] for levels in panel.objects[:n]],
            "tail": {name: packed(getattr(panel.tail, name)) for name in TAIL},
            **({"shared": shared_state(panel)} if panel.pools else {}),
        },
    }


def shared_state(panel: Panel) -> dict[str, Any]:
    """Return what the streams of the method "pool" share, as plain data."""
    pools = [packed(pool.memory) for pool in panel.pools]
    return {"pools": pools, "clock": packed_time(panel.clock), "lag": panel.lag}


def restore_shared(panel: Panel, shared: Any) -> None:
    """Fill in what ``shared_state`` has written."""
    for pool, saved in zip(panel.pools, shared["pools"], strict=True):
        array = unpacked(saved)
        if array.shape != pool.memory.shape or array.dtype != pool.memory.dtype or not np.isfinite(array).all():
            raise InputError(f"the shared part must be {pool.memory.shape[0]} finite numbers, got {array.shape}")
        pool.memory[:] = array
        if not pool.sound():
            raise InputError("the shared part holds numbers that no labels could have left")
    panel.clock = unpacked_time(shared["clock"])
    panel.lag = whole("lag", shared["lag"], 1)


def rebuild(cls: type[Panel], state: Any) -> Panel:
    """Make the panel whose state this is; a damaged state is an error that says so."""
    plain_data.refuse_other(cls, state)
    try:
        return restored(cls, dict(state["parameters"]), state["memory"])
    except WaneError as error:
        problem = f"the state of a panel is damaged or incomplete: {plain_data.sentence(error)}"
        raise InputError(problem, argument="state", cure=error.parts) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"the state of a panel is damaged or incomplete: {error!r}") from error


def empty_panel(cls: type[Panel], given: dict[str, Any]) -> Panel:
    """Make a panel without streams from settings that are plain data."""
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
    """Make the panel with these settings and this memory, and check that the memory fits."""
    refuse_unbacked(given["hyperparameters"], memory)
    panel = empty_panel(cls, given)
    panel.index = Index.from_state(memory["index"])
    n = len(panel.index)
    if unpacked(memory["seen"]).shape != (n,):  # before so many streams take memory
        raise InputError(f"the index has {n} streams, and seen has shape {memory['seen']['shape']}")
    panel._allot(n)
    # Check each array against that of an empty panel with as many streams.
    saved = memory["trackers"]  # empty if the trackers are rows of the array ``states``
    for name in panel.ARRAYS:
        array, pattern = unpacked(memory[name]), getattr(panel, name)
        if name == "states" and saved and panel.flat:
            continue  # an older version wrote this file, for which the method had no state of fixed size
        if array.shape != pattern.shape or not np.can_cast(array.dtype, pattern.dtype):
            raise InputError(f"{name} must have shape {pattern.shape}, got {array.shape}")
        setattr(panel, name, array.astype(pattern.dtype))  # older versions counted with 32 bits
    # Trackers that were saved one by one become rows if their method has a state of fixed size by now.
    if len(saved) != (n if saved or not panel.flat else 0):
        raise InputError(f"{n} streams need as many sets of trackers, got {len(saved)}")
    for i, parts in enumerate(saved):
        try:
            levels = levels_of(panel, parts)
        except WaneError as error:
            problem = f"the trackers of the series {panel.ids()[i]!r}: {plain_data.sentence(error)}"
            raise InputError(problem, argument="state", cure=error.parts) from error
        if panel.flat:
            levels.write(panel.states, i)
        else:
            panel.objects.append(levels)
    tail = dict(memory["tail"])
    if "notes" not in tail:  # an older version wrote this file; NaN says that nothing was kept
        tail["notes"] = packed(np.full((len(unpacked(tail["place"])), panel.tail.notes.shape[1]), math.nan))
    panel.tail = restored_tail([unpacked(tail[name]) for name in TAIL], panel.tail, n)
    if panel.pools:
        restore_shared(panel, memory["shared"])
    refuse_impossible(panel)
    return panel


def levels_of(panel: Panel, states: Any) -> Levels:
    """Make the trackers of a stream from their states; they must have the settings of the panel."""
    made = [plain_data.rebuild(plain_data.class_of(state, Tracker), state, {}) for state in states]
    wanted = [t.alpha for t in panel.settings.levels.trackers]
    if [t.alpha for t in made] != wanted or any(t.signed != panel.settings.score.signed for t in made):
        raise InputError(f"must be {len(wanted)}, of the levels {wanted}, got {described(made)}", about="trackers")
    return Levels(made, panel.settings.score.sides)


def restored_tail(arrays: list[np.ndarray], like: Tail, streams: int) -> Tail:
    """Make the tail from its arrays. Check them well, because the compiled loops do not."""
    rows = len(arrays[0])
    for name, array in zip(TAIL, arrays, strict=True):
        pattern = getattr(like, name)
        if array.shape != (rows, *pattern.shape[1:]) or array.dtype != pattern.dtype:
            raise InputError(f"{name} of the labels that wait must be {pattern.dtype}, {rows} rows, got {array.shape}")
    tail = Tail(*arrays)
    if rows and not 0 <= tail.place.min() <= tail.place.max() < streams:
        raise InputError(f"labels wait for streams beyond the {streams} that there are")
    return tail
