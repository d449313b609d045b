"""A line as a request: what it must be, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

from wane.checks import described
from wane.conformal.horizons import MOST_STEPS
from wane.errors import InputError

MARK = b"\xef\xbb\xbf"  # which some systems put at the beginning of text in UTF-8

FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # of each op: those it needs, those it may have
    "predict": (("output",), ("id", "series", "groups", "horizon", "context")),
    "label": (("id", "y"), ("series",)),
    "expire": (("id",), ("series",)),
    "pending": ((), ("series",)),
    "stats": ((), ("series",)),
    "save": (("path",), ()),
    "version": ((), ()),
    "stop": ((), ()),
}
KNOWN = {op: {"op", "request", *needed, *allowed} for op, (needed, allowed) in FIELDS.items()}
NAMES = ("id", "series", "horizon")  # fields that are text or whole numbers
NUMBERS = ("output", "y", "context")  # fields that are made of numbers
KINDS = {  # of errors
    "json": "the line is not JSON in UTF-8, holds NaN or Infinity, or names a field twice",
    "too-long": "the line is longer than `--longest` bytes",
    "request": "not an object, no such op, a field that is missing, unknown or of the wrong type",
    "value": "`output` or `y` is not what the score needs",
    "unbounded": "the method has no finite set to give (yet): see `--on-unbounded`",
    "unknown": "no prediction has this id, or it was over long ago",
    "waiting": "a prediction with this id and another output waits for its label already",
    "labelled": "the prediction has had its label and cannot expire",
    "expired": "the prediction has expired: no label is waited for",
    "series": "no series has this name, or there are `--max-series` already",
    "full": "as many predictions wait for their label as `--max-waiting` allows",
    "file": "`save` could not write",
    "journal": "the journal could not be written: start the process again, which may undo this request",
    "internal": "a defect of wane; standard error has the details",
}


class Refused(Exception):
    """A request that cannot be done, and nothing has changed."""

    def __init__(self, kind: str, message: str) -> None:
        """A kind out of ``KINDS``."""
        super().__init__(message)
        self.kind = kind


def parsed(raw: bytes | None) -> Any:
    """The JSON of a line."""
    if raw is None:
        raise Refused("too-long", "the line is too long and was not read")
    try:
        return DECODER.decode(raw.removeprefix(MARK).decode())
    except (ValueError, RecursionError) as error:
        why = f"{error.msg} (character {error.pos + 1})" if isinstance(error, json.JSONDecodeError) else error
        raise Refused("json", f"the line must be one JSON object in UTF-8: {why}, got {described(raw)}") from error


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, whose names differ."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise InputError("a name comes twice in an object")
    return made


def no_number(text: str) -> None:
    """Refuse what Python would read."""
    raise InputError(f"JSON has no {text}, leave the field out until it is known")


DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=no_number)


def checked(request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The op and its fields; null is a field that was not given."""
    op = request.get("op")
    if not isinstance(op, str) or op not in FIELDS:
        said = f"got {described(op)}" if "op" in request else "got none"
        raise Refused("request", f"op must be one of {', '.join(FIELDS)}, {said}")
    needed, allowed = FIELDS[op]
    if not request.keys() <= KNOWN[op]:
        unknown = sorted(request.keys() - KNOWN[op])[0]
        takes = ", ".join((*needed, *allowed, "request"))
        raise Refused("request", f"{op} has no field {described(unknown)}: it takes {takes}")
    for field in needed:
        if request.get(field) is None:
            raise Refused("request", f"{op} needs the field {field!r}")
    fields = {}
    for field, value in request.items():
        if value is None or field in ("op", "request"):
            continue
        if field in NAMES:
            value = name(field, value)
        elif type(value) is not float and field in NUMBERS:
            refuse_booleans(field, value)
        fields[field] = value
    if "horizon" not in fields:
        return op, fields
    horizon = fields["horizon"]
    if not isinstance(horizon, int) or not 1 <= horizon <= MOST_STEPS:
        raise Refused("request", f"horizon must be a whole number from 1 to {MOST_STEPS}, got {described(horizon)}")
    return op, fields


def refuse_booleans(field: str, value: Any) -> None:
    """True and false are no numbers in JSON, and Python would take them for 1 and 0."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, bool):
            raise Refused("value", f"{field} must be made of numbers or names, got {str(one).lower()}: write 1 or 0")
        if isinstance(one, (list, dict)):
            waiting.extend(one.values() if isinstance(one, dict) else one)


def name(field: str, value: Any) -> Any:
    """Text or a whole number; 1.0 is 1, as some languages write it.

    >>> name("id", 7.0), name("id", "a")
    (7, 'a')
    """
    if type(value) is str or type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2.0**53:
        return int(value)
    raise Refused("request", f"{field} must be text or a whole number, got {described(value)}")
