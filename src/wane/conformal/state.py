"""Saving an `OnlineConformal` as plain data, with the predictions that wait, and loading it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wane.checks import LARGEST, described, whole
from wane.conformal.grouping import Grouping
from wane.conformal.monitor import Monitor
from wane.conformal.waiting import Made
from wane.errors import InputError, InputTypeError
from wane.state import data as plain_data
from wane.state.encoding import decode_key, decode_value, encode_key, encode_value
from wane.state.limits import MOST, refuse_unbacked
from wane.state.stateful import Stateful

if TYPE_CHECKING:
    from wane.conformal.online import OnlineConformal

PARAMETERS = ("on_unbounded", "max_pending", "history")
MEMORY = {"predictions": "made", "expired": "expired", "next_id": "next_id"}  # names in a file, and in ``Waiting``


def state_dict(oc: OnlineConformal) -> dict[str, Any]:
    """Return the parameters and the memory as plain data, in the form that trackers have too."""
    encode = plain_data.encode
    monitor = oc.monitors[0]  # all have the same window and band
    return {
        **plain_data.header(type(oc)),
        "parameters": {
            "tracker": [t.state_dict() for t in oc.trackers],
            "score": oc.score.state_dict(),
            "alpha": encode(oc.alpha),
            "lower_limit": encode(oc.limits[0]),
            "upper_limit": encode(oc.limits[1]),
            **{k: getattr(oc, k) for k in PARAMETERS},
            "window": monitor.window,
            "band": [monitor.low, monitor.high],
            "method": oc.method,
            **({} if oc.grouping is None else {"groups": oc.grouping.plain()}),
        },
        # Lists keep the order of predictions, and allow ids that JSON has no keys for.
        "memory": {
            **{k: getattr(oc._waiting, name) for k, name in MEMORY.items()},
            "alarmed": [[*key, round] for key, round in sorted(oc._alarmed.items())],
            "monitors": [plain_data.memory(m) for m in oc.monitors],
            "pending": [
                [
                    encode_key(id),
                    made.number,
                    encode_value(made.output),
                    made.u,
                    encode(made.radii),
                    encode(made.widths),
                    *([encode(made.note)] if made.note else []),
                ]
                for id, made in oc._waiting.pending.items()
            ],
            "closed": [[encode_key(id), *map(encode, what)] for id, what in oc._waiting.closed.items()],
        },
    }


def rebuild(cls: type[OnlineConformal], state: Any, objects: dict[str, Any]) -> OnlineConformal:
    """Make the object whose state this is. ``objects`` are what plain data cannot hold: functions, by name."""
    plain_data.refuse_other(cls, state)
    used = {"on_alarm"}
    given = damaged(lambda: dict(state["parameters"]))
    trackers = [part(t, objects, used) for t in damaged(lambda: list(given.pop("tracker")))]
    score = part(damaged(lambda: given.pop("score")), objects, used)
    method = damaged(lambda: given.pop("method", ""))
    groups = damaged(lambda: Grouping.from_plain(given.pop("groups")) if "groups" in given else None)
    if unused := objects.keys() - used:
        raise InputTypeError(f"nothing in this state asks for {', '.join(sorted(unused))}")
    on_alarm = objects.get("on_alarm")
    oc = damaged(lambda: restored(cls, trackers, score, given, on_alarm, state["memory"], groups))
    oc.method = method if isinstance(method, str) and method else oc.method  # a file of 0.1.0 does not say it
    return oc


def damaged(read: Callable[[], Any]) -> Any:
    """Return what ``read`` returns. If it fails, raise an error that says that the state is damaged."""
    try:
        return read()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"the state of an OnlineConformal is damaged or incomplete: {error!r}") from error


def part(state: Any, objects: dict[str, Any], used: set[str]) -> Any:
    """Make a tracker or a score from its state, and add the names of the objects it needs to ``used``."""
    left = dict(objects)
    made = plain_data.rebuild(plain_data.class_of(state, Stateful), state, left)
    used |= objects.keys() - left.keys()
    return made


def restored(
    cls: Any, trackers: Any, score: Any, given: Any, on_alarm: Any, memory: Any, groups: Grouping | None
) -> OnlineConformal:
    """Make the object with these parts, and check that the memory fits."""
    refuse_unbacked(Monitor, given, memory["monitors"])
    settings = {k: decoded(v) for k, v in given.items()}
    if groups is not None and any(getattr(t, "groups", None) != groups.labels() for t in trackers):
        raise InputError("the trackers know other groups", argument="groups")
    oc: OnlineConformal = cls(trackers, score, on_alarm=on_alarm, groups=groups, **settings)
    waiting = oc._waiting
    for k, name in MEMORY.items():
        most = math.inf if k == "next_id" else MOST + 1  # an id may be larger than any count
        setattr(waiting, name, whole(k, memory[k], 0, most))
    oc._alarmed = {(float(alpha), str(side)): whole("round", at, 0) for alpha, side, at in memory["alarmed"]}
    for monitor, inside in zip(oc.monitors, memory["monitors"], strict=True):
        plain_data.restore(monitor, inside)
    for id, number, output, u, radii, widths, *note in memory["pending"]:
        radii, widths = numbers(radii, len(trackers)), numbers(widths, len(oc.alphas))
        kept = checked_note(numbers(note[0], oc._levels.noted), radii) if note else ()
        output = oc.score.output(decode_value(output))
        key = decode_key(id)
        waiting.pending[key] = Made(key, whole("number", number, 0, waiting.made), output, u, radii, widths, kept)
    for id, status, radii, *rest in memory["closed"]:
        more = [tuple(v) if isinstance(v, list) else v for v in map(decoded, rest)]
        waiting.closed[decode_key(id)] = (status, numbers(radii, len(trackers)), *more)
    if len(waiting.pending) > waiting.most or len(waiting.closed) > waiting.history:
        raise InputError("more predictions than may be")
    return oc


def checked_note(note: tuple[float, ...], radii: tuple[float, ...]) -> tuple[float, ...]:
    """Return what trackers kept with a prediction; an error for NaN, and for giants and infinity beside smaller radii.

    Trackers learn from it as if they had found it themselves.
    """
    most = max(map(abs, radii))
    if not all(abs(x) <= max(most, LARGEST) for x in note):
        raise InputError(f"a note must hold numbers of at most {max(most, LARGEST):g} in size, got {note}")
    return note


def decoded(value: Any) -> Any:
    """Decode a piece of plain data."""
    return plain_data.decode(value, "state", {})


def numbers(value: Any, count: int) -> tuple[float, ...]:
    """Read a tuple of so many numbers; they may be infinite."""
    row = tuple([float(v) for v in decoded(value)])
    if len(row) != count:
        raise InputError(f"{count} numbers were wanted, got {described(value)}")
    return row
