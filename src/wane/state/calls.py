"""The records of calls in the log of a journal, as text that is written in one go."""

from __future__ import annotations

from typing import Any

from wane.state.encoding import decode_value, dumps, encode_value, loads
from wane.state.recovery import CALLS
from wane.state.text import put_list, put_object

CALLED = {name: f' ["{name}", ' for name in CALLS}  # how the record of a call goes on after its number


def put_call(text: Any, number: int, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Begin the record of a call, up to the id; False if an argument is not plain.

    Most calls have plain arguments, which the log gives back as they are.
    """
    text.clear()
    text.put_whole(number)
    text.put(CALLED[name])
    if not put_list(text, arguments):
        return False
    text.put(", ")
    if not put_object(text, keywords):
        return False
    text.put(", ")
    return True


def put_any_call(
    text: Any, number: int, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Begin the record of a call, and return the arguments that the object gets: those that the log will give it."""
    shown = dumps([[encode_value(v) for v in arguments], {k: encode_value(v) for k, v in keywords.items()}])
    text.clear()
    text.put(f'{number} ["{name}", {shown[1:-1]}, ')
    plain, plainly = loads(shown)
    return tuple([decode_value(v) for v in plain]), {k: decode_value(v) for k, v in plainly.items()}
