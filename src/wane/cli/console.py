"""Where results are printed: a terminal as wide as it is, anything else wide enough for a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

WIDE = 160
STYLES = ("", "bold", "underline")


def plain() -> bool:
    """Whether NO_COLOR asks for text alone: no colours, and nothing bold, dim or moving either."""
    return bool(os.environ.get("NO_COLOR"))


def console(stderr: bool = False) -> Any:
    """Rich's; under NO_COLOR no escape sequence is written."""
    from rich.console import Console

    def made(width: int | None) -> Console:
        return Console(stderr=stderr, width=width, highlight=False, color_system=None if plain() else "auto")

    found = made(None)
    return found if found.is_terminal else made(WIDE)


def table(
    title: str,
    heads: Sequence[str],
    lines: Sequence[Sequence[Any]],
    caption: str | None = None,
    least: Sequence[str] = (),
    width: int = WIDE,
) -> Any:
    """A table; a cell is text, or text with its place: 1 is bold, 2 underlined.

    Columns in ``least`` are left out, in that order, until the table is narrow enough.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    placed = [[cell if isinstance(cell, tuple) else (cell, 0) for cell in line] for line in lines]
    columns = list(zip(*placed, strict=True))
    kept = dict(zip(heads, columns, strict=True))
    dropped = [head for head in least if head in kept]
    while dropped and sum(3 + max(len(head), *(len(t) for t, _ in column)) for head, column in kept.items()) > width:
        kept.pop(dropped.pop(0))
    if len(kept) < len(heads):
        caption = f"{caption or ''} (wider: {', '.join(head for head in heads if head not in kept)})"
    found = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
    for i, head in enumerate(kept):
        found.add_column(head, justify="right" if i else "left", no_wrap=True)
    for line in zip(*kept.values(), strict=True):
        found.add_row(*(Text(text, style=STYLES[place]) for text, place in line))
    return found
