"""Parts of the page as HTML: cards, tables of methods and series, settings."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from wane.report import sentences, tables
from wane.report.calibration import drawing
from wane.report.chance import surprise
from wane.report.numbers import AnyTrack, Numbers
from wane.report.sentences import Words
from wane.version import __version__


def advised(advice: Mapping[str, Any]) -> str:
    """What a comparison recommends, why, and the command that does it."""
    reason = advice["recommendation"].removeprefix("Take ").removeprefix(f"{advice['method']}: ")
    reason = reason[:1].upper() + reason[1:]
    command = f"<p><code>{escape(advice['command'])}</code></p>" if advice.get("command") else ""
    return (
        f'<div class="verdict advice" id="advice"><p class="status">Recommended method</p>'
        f'<p class="headline">{escape(advice["method"])}</p>'
        f'<p class="why"><strong>Why:</strong> {escape(reason)}</p>{command}</div>'
    )


def cards(main: Numbers, alpha: float, k: int, words: Words) -> str:
    """The four numbers."""
    made = [
        (words.inside, "inside", sentences.percent(main.coverage), sentences.on_target(main, alpha)),
        (f"Worst {k} in a row", "worst", sentences.percent(main.worst), "the lowest local coverage"),
        (words.mean_width, words.mean_width[5:], sentences.amount(main.width), _infinite(main, words)),
        (words.outcomes.capitalize(), "", f"{main.labels:,}", f"{main.rounds - main.labels:,} missing"),
    ]
    return "".join(
        f'<div class="card"><dt>{_term(escape(a), term)}</dt><dd>{escape(b)}<small>{c}</small></dd></div>'
        for a, term, b, c in made
    )


def _term(text: str, term: str) -> str:
    """A word that is explained beside the pointer or the focus."""
    return (
        f'<span class="term" tabindex="0" data-term="{term}" aria-describedby="term-{term}">{text}</span>'
        if term
        else text
    )


def _infinite(main: Numbers, words: Words) -> str:
    if not words.intervals:
        return "labels in a set"
    if not main.infinite:
        return f"{_term('Winkler score', 'winkler')} {sentences.amount(main.winkler)}"
    return f"and {main.rounds - main.finite:,} infinite"


def note(shown: int, streams: int, longest: int, most: int) -> str:
    """What the charts leave out."""
    said = []
    if shown < streams:
        said.append(
            f"The charts show {shown:,} of {streams:,} series: those whose coverage is the least likely by chance."
        )
    if longest > most:
        said.append(f"The charts show the last {most:,} of {longest:,} rounds.")
    return f'<p class="note">{" ".join(said)} The tables count everything.</p>' if said else ""


def calibration(by_method: Mapping[str, list[Numbers]], alphas: tuple[float, ...], words: Words) -> str:
    """The drawing of levels, and its table."""
    lines = [
        [tables.text(m or sentences.NONE), tables.aim(a), tables.share(n.coverage), tables.real(n.width)]
        for m, line in by_method.items()
        for a, n in zip(alphas, line, strict=True)
    ]
    heads = ["Method", "Target", words.inside, words.mean_width]
    art = drawing({m: [n.coverage for n in line] for m, line in by_method.items()}, alphas)
    return art + tables.table("calibration", "Calibration by level", heads, lines)


def leaderboard(advice: Mapping[str, Any]) -> str:
    """The figures behind the advice; the recommended method is marked and comes first."""
    columns = {head: pair for head, pair in advice["columns"].items() if head != "ns"}
    ranked = sorted(advice["lines"], key=lambda line: line["method"] != advice["method"])
    lines = []
    for line in ranked:
        mine = line["method"] == advice["method"]
        first = (f"{line['method']} (recommended)" if mine else line["method"], line["method"])
        figures = [(float(line[key]), form) for key, form in list(columns.values())[1:]]
        lines.append([first, *((sentences.NONE if x != x else format(x, form), x) for x, form in figures)])
    said = advice["caption"].partition("; ns is ")[0]
    said = f"{said[:1].upper()}{said[1:]}. The recommended method is the first; the advice rests on these figures."
    heads = [head[:1].upper() + head[1:] for head in columns]
    return tables.section("methods", "Methods compared", escape(said), tables.table("methods", "Methods", heads, lines))


def comparison(firsts: Mapping[str, Numbers], alpha: float, k: int, words: Words) -> str:
    """The table of methods; nothing for a single one."""
    if len(firsts) < 2:
        return ""
    cells = {m: tables.judged(n, alpha, k, words) for m, n in firsts.items()}
    heads = ["Method", *next(iter(cells.values()))]
    made = tables.table("methods", "Methods", heads, [[tables.text(m), *line.values()] for m, line in cells.items()])
    same = len({(n.rounds, n.labels) for n in firsts.values()}) == 1
    said = f"Each method is judged on {'the same' if same else 'its own'} rounds, and all series count together."
    return tables.section("methods", "Methods compared", said, made)


def streams(found: list[list[Numbers]], alpha: float, k: int, methods: int, most: int, words: Words) -> str:
    """The table of series."""
    firsts = [line[0] for line in found]
    strange = surprise(alpha, [n.labels for n in firsts], [n.misses for n in firsts])
    ranked = [firsts[i] for i in np.argsort(-strange, kind="stable")]
    lines, heads = [], ["Series"]
    for n in (ranked if len(ranked) > most else firsts)[:most]:
        cells = tables.judged(n, alpha, k, words)
        by = {"Method": tables.text(n.method)} if methods > 1 else {}
        lines.append([tables.text(n.name), *by.values(), *cells.values()])
        heads = ["Series", *by, *cells]
    said = "Choose a heading to sort, and a row to see its charts. On the keyboard, use the arrows and Enter."
    if len(ranked) > most:
        said += (
            f" The table shows {most:,} of {len(ranked):,} series: those whose coverage is the least likely by chance."
        )
    return tables.section(
        "streams", "Series by series", said, tables.table("streams", "Series by series", heads, lines)
    )


def settings(given: Mapping[str, Any], tracks: Sequence[AnyTrack], alphas: tuple[float, ...], k: int) -> str:
    """What was given, and what made the page."""
    known = {
        **dict(tables.flattened(given)),
        "methods": ", ".join(dict.fromkeys(t.method for t in tracks if t.method)) or sentences.NONE,
        "levels (alpha)": ", ".join(f"{a:g}" for a in alphas),
        "window": str(k),
        "wane": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    lines = [[tables.text(name), tables.text(value)] for name, value in known.items()]
    return tables.table("settings", "Settings and versions", ["Name", "Value"], lines, sort=False)
