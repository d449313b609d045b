"""Where results are printed: a terminal as wide as it is, anything else wide enough for a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WIDE = 120
STYLES = ("", "bold", "underline")


def console() -> Any:
    """Rich's, which honours NO_COLOR."""
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal else Console(width=WIDE, highlight=False)


def table(title: str, heads: Sequence[str], lines: Sequence[Sequence[Any]], caption: str | None = None) -> Any:
    """A table; a cell is text, or text with its place: 1 is bold, 2 underlined."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
    for i, head in enumerate(heads):
        found.add_column(head, justify="right" if i else "left", overflow="fold")
    for line in lines:
        cells = [cell if isinstance(cell, tuple) else (cell, 0) for cell in line]
        found.add_row(*(Text(text, style=STYLES[place]) for text, place in cells))
    return found
