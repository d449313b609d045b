"""Tables of the page, as HTML that can be read without a script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from wane.report.numbers import Numbers
from wane.report.sentences import NONE, Words, amount, percent, target

Cell = tuple[Any, ...]  # what is shown, what it is sorted and downloaded by, and further attributes of the cell
TERMS = {  # the term of the glossary that a head is explained by
    "Inside": "inside",
    "In the set": "inside",
    "From target": "target",
    "Mean width": "width",
    "Mean size": "size",
    "Winkler": "winkler",
    "Pinball": "pinball",
    "Misses in a row": "row",
    "Chance allows": "chance",
    "Infinite": "infinite",
}


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


def drawn(at: float, low: float, high: float) -> Cell:
    """A cell in which the browser draws a share between what chance allows."""
    return "", at, f' class="band" data-low="{low!r}" data-high="{high!r}"'


def shaded(n: int, part: float) -> Cell:
    """A cell with a count, the darker the larger it is."""
    return (f"{n:,}" if n else "", n, f' class="n heat" style="--part: {part:.3f}"')


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


def section(name: str, head: str, said: str, body: str, more: str = "") -> str:
    """A part of the page with a table, its head, some words in HTML, and the button for its file."""
    label = f"Download the table: {escape(head)}"
    return (
        f'<section aria-labelledby="{name}-head"{more}><header><h2 id="{name}-head">{escape(head)}</h2>'
        f'<button type="button" class="csv" data-table="{name}" aria-label="{label}">CSV</button>'
        "</header>"
        f"<p>{said}</p>{body}</section>"
    )


def _head(head: str, cell: Cell, sort: bool) -> str:
    """The head of a column, to the side of its cells."""
    if not head or not sort:
        return f'<th scope="col"{_kind(cell)}>{escape(head)}</th>'
    term = TERMS.get(head) or ("worst" if head.startswith("Worst") else None)
    tip = f' data-term="{term}" aria-describedby="term-{term}"' if term else ""
    return f'<th scope="col"{_kind(cell)} aria-sort="none"><button type="button"{tip}>{escape(head)}</button></th>'


def _kind(cell: Cell) -> str:
    return "" if isinstance(cell[1], str) or (len(cell) > 2 and "band" in cell[2]) else ' class="n"'


def _cell(cell: Cell) -> str:
    shown, value = cell[:2]
    if isinstance(value, float) and math.isnan(value):
        exact = ' data-v=""'
    elif isinstance(value, str):
        exact = "" if shown == value else f' data-v="{escape(value)}"'
    else:
        exact = f' data-v="{escape(repr(value))}"'
    return f"<td{cell[2] if len(cell) > 2 else _kind(cell)}{exact}>{escape(shown)}</td>"


def judged(n: Numbers, alpha: float, k: int, words: Words) -> dict[str, Cell]:
    """The cells of one stream or one method, by the heads of their columns."""
    off = n.coverage - (1.0 - alpha)
    made: dict[str, Cell] = {
        words.outcomes.capitalize(): count(n.labels),
        words.inside: share(n.coverage),
        "From target": (NONE if math.isnan(off) else f"{100 * off:+.1f}", off),
        f"Worst {k}": share(n.worst),
        words.mean_width: real(n.width),
    }
    if words.intervals:
        made |= {
            "Infinite": (percent(n.infinite, 2), n.infinite),
            "Winkler": real(n.winkler),
            "Pinball": real(0.5 * alpha * n.winkler),
        }
    return {**made, "Misses in a row": count(n.longest)}


def flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Names and values; a mapping in a mapping has a dot in its names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
