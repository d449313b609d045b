"""Tables of the page, as HTML that can be read without a script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from wane.report.numbers import Numbers
from wane.report.sentences import NONE, amount, percent, target

Cell = tuple[str, Any]  # what is shown, and what it is sorted and downloaded by


def text(value: Any) -> Cell:
    """A cell of text."""
    return str(value), str(value)


def share(x: float) -> Cell:
    """A cell with a share."""
    return percent(x), x


def aim(alpha: float) -> Cell:
    """A cell with a target."""
    return target(alpha), 1.0 - alpha


def real(x: float) -> Cell:
    """A cell with a number."""
    return amount(x), x


def count(n: int) -> Cell:
    """A cell with a whole number."""
    return f"{n:,}", n


def table(name: str, caption: str, heads: Sequence[str], lines: Iterable[Sequence[Cell]], sort: bool = True) -> str:
    """A table; a head sorts it, and each cell carries its exact value."""
    lines = list(lines)
    cells = "".join(_head(head, cell, sort) for head, cell in zip(heads, lines[0], strict=True))
    body = "".join(f'<tr data-row="{escape(str(line[0][1]))}">{"".join(map(_cell, line))}</tr>\n' for line in lines)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table id="{name}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{cells}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
    )


def _head(head: str, cell: Cell, sort: bool) -> str:
    """The head of a column, to the side of its cells."""
    if not sort:
        return f'<th scope="col"{_kind(cell)}>{escape(head)}</th>'
    return f'<th scope="col"{_kind(cell)} aria-sort="none"><button type="button">{escape(head)}</button></th>'


def _kind(cell: Cell) -> str:
    return "" if isinstance(cell[1], str) else ' class="n"'


def _cell(cell: Cell) -> str:
    shown, value = cell
    same = isinstance(value, str) and shown == value
    exact = "" if same else f' data-v="{"" if isinstance(value, float) and math.isnan(value) else escape(repr(value))}"'
    return f"<td{_kind(cell)}{exact}>{escape(shown)}</td>"


def heads(first: str, k: int) -> list[str]:
    """Of the tables of streams and of methods."""
    return [
        first,
        "Outcomes",
        "Inside",
        "From target",
        f"Worst {k}",
        "Mean width",
        "Infinite",
        "Winkler",
        "Misses in a row",
    ]


def judged_line(n: Numbers, first: Cell, alpha: float) -> list[Cell]:
    """The cells of one stream or one method."""
    off = n.coverage - (1.0 - alpha)
    return [
        first,
        count(n.labels),
        share(n.coverage),
        (NONE if math.isnan(off) else f"{100 * off:+.1f}", off),
        share(n.worst),
        real(n.width),
        (percent(n.infinite, 2), n.infinite),
        real(n.winkler),
        count(n.longest),
    ]


def flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Names and values; a mapping in a mapping has a dot in its names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
