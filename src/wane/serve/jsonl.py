"""Lines between two streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from wane.serve.answers import Lines

LONGEST = 1_000_000  # bytes of a line, its end not counted


def lines_of(reader: BinaryIO, longest: int) -> Iterator[bytes | None]:
    """The lines of a stream; None for one that is too long, of which no more than a piece is held at a time."""
    while raw := reader.readline(longest + 1):
        if len(raw) <= longest or raw.endswith(b"\n"):
            yield raw
            continue
        while (piece := reader.readline(longest)) and not piece.endswith(b"\n"):
            pass
        yield None


def serve(
    lines: Lines, reader: BinaryIO, writer: BinaryIO, busy: AbstractContextManager[Any], longest: int = LONGEST
) -> None:
    """Answer each line with one line, until the stream ends or a request says stop.

    Args:
        lines: the answers.
        reader: requests, one a line.
        writer: responses; unbuffered, or each would have to wait for the next.
        busy: entered while a line is answered, so that a signal can wait for its end.
        longest: bytes of a line.
    """
    for raw in lines_of(reader, longest):
        with busy:
            response = lines.line(raw)
            while response:  # a pipe may take a part
                response = response[writer.write(response) :]
        if lines.stopped:
            return
