"""The log of a journal: records that are whole, and at its end at most one that a crash cut short.

A record is one line::

    34 c23d31bb 17 ["update", [12, 3.5], {}, null]

that is the length and the CRC-32 of the rest of the line, and the rest: the number of the call, and as JSON its name,
its arguments, its keywords, the id that ``predict`` gave, and perhaps an object with remarks for readers of the log.

A process writes one record at a time, or a group of them, which begins with a line that has the number 0 and says how
many bytes follow. If the process dies, the log ends with the first bytes of one record; after a power failure the bytes
of the last record or group that the disk did not get may be zeros. Whatever else stands there was damaged later, and
may have been calls that were acknowledged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from wane.state.encoding import dumps, loads_small
from wane.state.files import refused
from wane.state.text import Text

HEAD = re.compile(rb"(\d{1,10}) ([0-9a-f]{8}) ")  # of what follows: the length and the CRC-32
BEGUN = re.compile(rb"\d{1,10}|\d{1,10} [0-9a-f]{0,8}")  # the first bytes of that
DIGITS = 18  # of the number of a call, at most
TEXT = re.compile(rb"[ -~]*")  # what JSON in ASCII consists of


@dataclass(frozen=True)
class Log:
    """What a log holds.

    Attributes:
        records: the number of each call, and its name, arguments, keywords and id.
        count: how many calls there are.
        size: the bytes of these records.
        torn: the bytes after them: of a record that a crash cut short, or none.
    """

    records: list[tuple[int, list[Any]]]
    count: int
    size: int
    torn: bytes


def line_of(number: int, record: list[Any]) -> bytes:
    """One line of the log.

    >>> line_of(17, ["update", [12, 3.5], {}, None])
    b'34 c23d31bb 17 ["update", [12, 3.5], {}, null]\\n'
    """
    text: Any = Text()
    text.put(f"{number} {dumps(record)}")
    text.seal()
    line: bytes = text.get()
    return line


def group_of(lines: list[bytes]) -> bytes:
    """Several lines of the log that are acknowledged together, with the line before them that says so."""
    together = b"".join(lines)
    return line_of(0, ["group", [len(together)], {}, None]) + together


def read_log(raw: bytes, path: str, each: Callable[[int, list[Any]], Any] | None = None) -> Log:
    """The records in the bytes of a log; a SavedFileError if a crash alone cannot have left them so.

    If ``each`` is given, it is called with every record, and none is kept: a million of them take much memory.
    """
    records: list[tuple[int, list[Any]]] = []
    last = count = 0  # the number of the last call, and how many there were
    position = longest = group = 0  # ``group`` is where the last group ends
    while (body := whole_at(raw, position)) is not None:
        number, record = parsed(raw[body], position, path)
        end = body.stop + 1  # a line feed
        if number == 0 and position >= group:
            group = end + size_of(record, position, path)
            longest = max(longest, group - position)
            position = end
            continue
        if count and number != last + 1:
            raise refused(path, f"is corrupted: call {number} follows call {last}", "restore it from a copy")
        if each is None:
            records.append((number, record))
        else:
            each(number, record)
        last, count = number, count + 1
        position, longest = end, max(longest, end - position)
    rest = raw[position:]
    unwritten = position < group and len(raw) <= group and b"\0" in rest  # a power failure within the last group
    if rest and not unwritten and not torn(rest, last + 1 if count else None, longest):
        upto = f"after call {last:,}" if count else "from its beginning"
        problem = (
            f"is corrupted {upto}, at byte {position}: a crash cuts one record short, and the {len(rest):,} bytes "
            "there are something else; nothing was changed"
        )
        cure = f"restore it from a copy, or keep its first {position} bytes only and give up the calls after them"
        raise refused(path, problem, cure)
    return Log(records, count, position, rest)


def whole_at(raw: bytes, position: int) -> slice | None:
    """Where the rest of the whole record is that begins there; None if it is not whole."""
    head = HEAD.match(raw, position)
    if head is None:
        return None
    begin = head.end()
    end = begin + int(head[1])
    if raw[end : end + 1] == b"\n" and crc32(raw[begin:end]) == int(head[2], 16):
        return slice(begin, end)
    return None


def parsed(body: bytes, position: int, path: str) -> tuple[int, list[Any]]:
    """The number and the call of a record; its checksum is right, but anybody can compute one."""
    try:
        number, _, text = body.decode().partition(" ")
        record = loads_small(text)
        well = type(record) is list and (len(record) == 4 or (len(record) == 5 and type(record[4]) is dict))
        well = well and type(record[0]) is str and type(record[1]) is list and type(record[2]) is dict
        if well and len(number) <= DIGITS and number.isascii() and number.isdigit():
            return int(number), record
    except (ValueError, TypeError, RecursionError, OverflowError):
        pass
    problem = f"is corrupted: the record at byte {position} holds no call, though its checksum is right"
    raise refused(path, problem, "restore it from a copy")


def torn(rest: bytes, number: int | None, longest: int) -> bool:
    """Whether these bytes are the beginning of one record, with zeros where the disk did not get the rest.

    Args:
        rest: what follows the last whole record.
        number: of the call that must come next; None if any may.
        longest: the bytes of the longest whole record, which zeros alone do not exceed.

    >>> line = line_of(17, ["update", [12, 3.5], {}, None])
    >>> [torn(line[:n], 17, 50) for n in (1, 5, 20, len(line) - 1)], torn(line[:20], 18, 50)
    ([True, True, True, True], False)
    >>> torn(line.replace(b"12", b"13"), 17, 50), torn(line[:20] + bytes(9), 17, 50), torn(bytes(51), 17, 50)
    (False, True, False)
    """
    written = rest.rstrip(b"\0")
    head = HEAD.match(written)
    if head is None:
        return (not written or BEGUN.fullmatch(written) is not None) and (rest == written or len(rest) <= longest)
    body, size = written[head.end() :], int(head[1])
    if len(rest) > head.end() + size + 1 or len(body) > size or not TEXT.fullmatch(body):
        return False
    if len(body) == size and crc32(body) != int(head[2], 16):  # all of it is there, and it is wrong
        return False
    begins = (b"",) if number is None else (b'%d ["' % number, b'0 ["group"')
    return any(body.startswith(text[: len(body)]) for text in begins)


def size_of(record: list[Any], position: int, path: str) -> int:
    """The bytes of a group, whose first line this record is."""
    if record[0] == "group" and len(record[1]) == 1 and type(record[1][0]) is int and record[1][0] >= 0:
        return int(record[1][0])
    raise refused(path, f"is corrupted: at byte {position} begins no group of records", "restore it from a copy")
