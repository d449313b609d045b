"""Text that is put together from many small pieces, as a record of a journal is."""

from __future__ import annotations

import json
import zlib
from typing import Any

try:
    import cython
except ImportError:
    from wane import _cython as cython

LARGEST = 1 << 63  # longer whole numbers are not read back
quoted = json.encoder.encode_basestring_ascii


class Text:
    """ASCII text that grows."""

    def __init__(self) -> None:
        """Begin without text."""
        self.clear()  # type: ignore[attr-defined]

    if cython.compiled:

        def __dealloc__(self) -> None:
            """Give the room back."""
            PyMem_Free(self.room)  # type: ignore[attr-defined, name-defined]  # noqa: F821


if not cython.compiled:  # compiled, these are in the .pxd

    class Pieces:
        """What ``Text`` does."""

        def clear(self: Any) -> None:
            """Begin again."""
            self.pieces: list[str] = []

        def put(self: Any, text: str) -> None:
            """Add text."""
            self.pieces.append(text)

        def put_whole(self: Any, value: int) -> None:
            """Add a whole number of at most 63 bits."""
            self.pieces.append(repr(value))

        def put_float(self: Any, value: float) -> None:
            """Add a finite number, from which the text gives back the same."""
            self.pieces.append(repr(value))

        def put_name(self: Any, text: str) -> bool:
            """Add text in quotes; False if it has characters that JSON writes in another way."""
            found = quoted(text)
            if len(found) > len(text) + 2:
                return False
            self.pieces.append(found)
            return True

        def end(self: Any) -> int:
            """Return where it ends, for ``cut``."""
            return len(self.pieces)

        def cut(self: Any, end: int) -> None:
            """Take away what was added since it ended there."""
            del self.pieces[end:]

        def seal(self: Any) -> None:
            """Make it a line of the log: its length and its CRC-32 before it, and a line feed after it."""
            text = "".join(self.pieces)
            self.pieces = [f"{len(text)} {zlib.crc32(text.encode()):08x} {text}\n"]

        def get(self: Any) -> bytes:
            """Return all of it."""
            return "".join(self.pieces).encode()

        def sent(self: Any, descriptor: int) -> bool:
            """Write it to a file; False if the file did not take it, and ``get`` then returns what is left."""
            return False

    for name, method in vars(Pieces).items():
        if not name.startswith("__"):
            setattr(Text, name, method)


def put_object(to: Any, fields: dict[str, Any]) -> bool:
    """Add a JSON object whose values are plain; else return False, and a part of it may have been added."""
    to.put("{")
    first = True
    for name, value in fields.items():
        if not first:
            to.put(", ")
        if not to.put_name(name):
            return False
        to.put(": ")
        if not put_plain(to, value):
            return False
        first = False
    to.put("}")
    return True


def put_list(to: Any, values: Any) -> bool:
    """Add a JSON list whose values are plain; else return False, and a part of it may have been added."""
    to.put("[")
    first = True
    for value in values:
        if not first:
            to.put(", ")
        if not put_plain(to, value):
            return False
        first = False
    to.put("]")
    return True


def put_plain(to: Any, value: Any) -> bool:
    """Add a value in JSON, if that gives it back as it is; else return False, and a part of it may have been added.

    Such values are finite numbers of Python, text, None, and lists of these.

    >>> text = Text()
    >>> put_plain(text, [0.1, "é", None, 7])
    True
    >>> put_plain(text, (1, 2))
    False
    """
    kind = type(value)
    if kind is float:
        number = value
        if number - number != 0.0:  # not finite
            return False
        to.put_float(number)
    elif kind is int:
        if not -LARGEST < value < LARGEST:
            return False
        to.put_whole(value)
    elif kind is str:
        if not to.put_name(value):
            to.put(quoted(value))
    elif kind is list:
        return put_list(to, value)
    elif value is None:
        to.put("null")
    elif kind is bool:
        to.put("true" if value else "false")
    else:
        return False
    return True
