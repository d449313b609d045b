"""The page: one HTML file with its data, its script and its style inside."""

from __future__ import annotations

import json
import math
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from wane.checks import described, number, whole
from wane.errors import InputError, InputTypeError
from wane.metrics.verdict import Verdict
from wane.report import numbers, sentences, tables
from wane.report.calibration import drawing
from wane.report.numbers import Numbers
from wane.report.packing import packed
from wane.report.track import Track
from wane.state.files import replace_file
from wane.version import __version__

MOST_ROUNDS = 400_000  # whose charts are in the page, some 20 bytes each and level; of a longer series, the last ones
MOST_LINES = 5_000  # of the table of streams
SINGLE = 2.0**-24  # how far off single precision may be, as a share
BLUR = 1e-4  # of a typical width: how far off the ends of intervals may be in the page
SCRIPTS = ("uPlot.iife.min.js", "data.js", "draw.js", "charts.js", "page.js")
STYLES = ("uPlot.min.css", "page.css")


def write(
    path: str | os.PathLike[str],
    tracks: Sequence[Track],
    settings: Mapping[str, Any] | None = None,
    title: str | None = None,
    window: int | None = None,
) -> None:
    """Write a report, as a whole or not at all: one HTML file that asks nothing of any host.

    Args:
        path: the file; an older one is replaced.
        tracks: one for each stream and method, with the same levels; the first method is what the headline is about.
        settings: shown at the end. Two of them are used: ``coverage_bound``, the largest sum of miss - alpha that is
            possible, and ``discount``, that of this sum. Each is a number (a bound: for the first level), a number for
            each level, or a mapping from methods to such.
        title: of the page; the name of the stream if there is one.
        window: rounds that are judged together; 100, or fewer where streams are short.

    >>> import os, tempfile
    >>> track = Track("demo", "auto", None, [1.0, 5.0], None, [0.1], [0.0, 0.0], [3.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(os.path.join(folder, "report.html"), [track])
    ...     os.path.getsize(os.path.join(folder, "report.html")) < 150_000
    True
    """
    replace_file(path, page(tracks, settings, title, window).encode(), sync=False)


def page(
    tracks: Sequence[Track],
    settings: Mapping[str, Any] | None = None,
    title: str | None = None,
    window: int | None = None,
) -> str:
    """The text of the file."""
    given = dict(settings or {})
    _agree(tracks)
    alphas: tuple[float, ...] = tracks[0].levels
    k = numbers.window(tracks) if window is None else whole("window", window, 1)
    # Judge every track at every level; the headline is about the first method at the first level.
    found = [[numbers.judged(track, i, k) for i in range(len(alphas))] for track in tracks]
    methods = list(dict.fromkeys(track.method for track in tracks))
    names = list(dict.fromkeys(track.name for track in tracks))
    by_method = {m: [_overall(found, i, m) for i in range(len(alphas))] for m in methods}
    mine = [line[0] for line in found if line[0].method == methods[0]]
    main, alpha = by_method[methods[0]][0], alphas[0]
    kept = _charted(tracks, mine, alpha)
    title = title or (names[0] if len(names) == 1 else f"{len(names):,} series")
    firsts = {m: n[0] for m, n in by_method.items()}
    # The charts are drawn in the browser from these data; the words and tables are made here.
    data = {
        "title": title,
        "window": k,
        "levels": alphas,
        "usual": [numbers.usual(a, k) for a in alphas],
        "tracks": [_charts(tracks[i], found[i], k, given) for i in kept],
    }
    return Template(_asset("page.html")).substitute(
        title=escape(title),
        styles="\n".join(map(_asset, STYLES)),
        licence=_asset("uPlot.LICENSE"),
        version=escape(__version__),
        verdict=_verdict(numbers.verdict([track for track in tracks if track.method == methods[0]], 0), given),
        headline=escape(sentences.headline(main, alpha, k, len(names))),
        more=escape(" ".join(filter(None, [sentences.on_methods(firsts, alpha), sentences.on_streams(mine, alpha)]))),
        cards=_cards(main, alpha, k),
        note=_note(len({tracks[i].name for i in kept}), len(names), max(len(tracks[i]) for i in kept)),
        calibration=_calibration(by_method, alphas),
        comparison=_comparison(firsts, alpha, k) if len(methods) > 1 else "",
        streams=_streams(found, alpha, k, len(methods)) if len(names) > 1 else "",
        settings=_settings(given, tracks, alphas, k),
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        scripts="\n".join(map(_asset, SCRIPTS)),
    )


def _asset(name: str) -> str:
    return (resources.files("wane.report") / "assets" / name).read_text(encoding="utf-8").rstrip()


def _agree(tracks: Sequence[Track]) -> None:
    """Tracks that one report can be about, or an error."""
    if not isinstance(tracks, Sequence):
        raise InputTypeError(f"must be a list of wane.report.Track, got {described(tracks)}", about="tracks")
    if not tracks:
        cure = "is the file of results empty?"
        raise InputError("a report needs one track or more, got none", argument="tracks", cure=cure)
    seen = set()
    for track in tracks:
        if not isinstance(track, Track):
            raise InputTypeError(f"must be wane.report.Track, got {described(track)}", about="tracks")
        if track.levels != tracks[0].levels:
            raise InputError(f"must have the same levels, got {tracks[0].levels} and {track.levels}", about="tracks")
        if (track.name, track.method) in seen:
            problem = f"there are two tracks of {track.name!r} by {track.method!r}"
            raise InputError(problem, argument="tracks", cure="name them apart")
        seen.add((track.name, track.method))


def _overall(found: list[list[Numbers]], level: int, method: str) -> Numbers:
    return numbers.pooled([line[level] for line in found if line[level].method == method])


def _charted(tracks: Sequence[Track], mine: list[Numbers], alpha: float) -> list[int]:
    """The tracks with charts: all if there is room, else those of the streams that are farthest from the target."""
    if sum(map(len, tracks)) <= MOST_ROUNDS:
        return list(range(len(tracks)))
    off = {n.name: abs(n.coverage - (1.0 - alpha)) if n.labels else 0.0 for n in mine}
    sizes: dict[str, int] = {}
    for track in tracks:
        sizes[track.name] = sizes.get(track.name, 0) + len(track)
    room = MOST_ROUNDS
    kept: set[str] = set()
    for name in sorted(sizes, key=lambda name: -off.get(name, 0.0)):
        if sizes[name] <= room or not kept:
            kept.add(name)
            room -= sizes[name]
    return [i for i, track in enumerate(tracks) if track.name in kept]


def _charts(track: Track, found: list[Numbers], k: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers behind the charts of a track."""
    # Of a very long track the last rounds are drawn; columns are packed as small as their charts allow.
    start = max(0, len(track) - MOST_ROUNDS)
    shown = slice(start, None)
    made: dict[str, Any] = {"name": track.name, "method": track.method, "rounds": len(track) - start, "levels": []}
    fine = _fine(track)
    made["y"] = packed(track.y[shown], fine)
    if track.time is not None:
        made["dates"] = track.time.dtype.kind == "M"
        time = track.time[shown]
        made["time"] = packed(time.astype(np.int64) / 1e3 if made["dates"] else time, exact=True)
    if track.y_hat is not None:
        made["y_hat"] = packed(track.y_hat[shown], fine)
    # What the run itself knows of the theory goes before what the settings say.
    bounds, discounts = (
        _of_method(settings, name, track.method, len(found)) for name in ("coverage_bound", "discount")
    )
    if track.bounds is not None:
        bounds = [None if b is None or not math.isfinite(b) else b for b in track.bounds]
        discounts = [track.discount] * len(found)
    for i, n in enumerate(found):
        given = discounts[i]
        discount = 1.0 if given is None else given
        worst_at = n.worst_at if n.worst_at and n.worst_at[0] >= start else None
        curves = numbers.curves(track, i, k, discount)
        ends = {"lower": track.lower[:, i], "upper": track.upper[:, i]}
        made["levels"].append(
            {name: packed(column[shown], fine) for name, column in ends.items()}
            | {name: packed(column[shown]) for name, column in {"hit": track.covered[:, i], **curves}.items()}
            | {
                "worst": n.worst if n.worst_at else None,
                "worst_at": [at - start for at in worst_at] if worst_at else None,
                "bound": bounds[i],
                "discount": discount,
                "gradients": None if track.gradients is None else track.gradients[i],
            }
        )
    return made


def _fine(track: Track) -> bool:
    """Whether single precision would blur the intervals: they are narrow beside the range of the series."""
    with np.errstate(over="ignore", invalid="ignore"):
        middles, widths = (track.lower + track.upper) / 2.0, track.upper - track.lower
    known = np.isfinite(middles) & (widths > 0.0)
    if not known.any():
        return False
    middles = middles[known]
    return float(np.abs(middles - np.median(middles)).max() * SINGLE) > BLUR * float(np.median(widths[known]))


def _of_method(settings: Mapping[str, Any], name: str, method: str, levels: int) -> list[float | None]:
    """A setting at each level; None where it is not there, or infinite."""
    value = settings.get(name)
    if isinstance(value, Mapping):
        value = value.get(method)
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) != levels:
            problem = f"must be a number, or one for each of the {levels} levels, got {described(value)}"
            raise InputError(problem, about=name)
        each = list(value)
    else:
        each = [value] + [None] * (levels - 1) if name == "coverage_bound" else [value] * levels
    return [None if v is None or v == math.inf else number(name, v) for v in each]


def _verdict(found: Verdict | None, given: Mapping[str, Any]) -> str:
    """What a reader must know first, if the coverage is bad; the next command needs the name of a file."""
    if found is None:
        return ""
    file = given.get("file") or given.get("results")
    said = found.said(shlex.join(["wane", "compare", str(file)]) if file else None)
    return f'<p class="headline" id="verdict" role="alert">{escape(said)}</p>'


def _cards(main: Numbers, alpha: float, k: int) -> str:
    cards = [
        ("Inside", sentences.percent(main.coverage), sentences.on_target(main, alpha)),
        (f"Worst {k} in a row", sentences.percent(main.worst), "the lowest local coverage"),
        ("Mean width", sentences.amount(main.width), _infinite(main)),
        ("Outcomes", f"{main.labels:,}", f"{main.rounds - main.labels:,} missing"),
    ]
    return "".join(
        f'<div class="card"><dt>{escape(a)}</dt><dd>{escape(b)}<small>{escape(c)}</small></dd></div>'
        for a, b, c in cards
    )


def _infinite(main: Numbers) -> str:
    if not main.infinite:
        return f"interval score {sentences.amount(main.winkler)}"
    return f"and {main.rounds - main.finite:,} infinite"


def _note(shown: int, streams: int, longest: int) -> str:
    said = []
    if shown < streams:
        said.append(f"Charts are of the {shown:,} series of {streams:,} whose coverage is farthest from the target.")
    if longest > MOST_ROUNDS:
        said.append(f"Charts show the last {MOST_ROUNDS:,} rounds of {longest:,}.")
    return f'<p class="note">{" ".join(said)} The tables count all.</p>' if said else ""


def _calibration(by_method: Mapping[str, list[Numbers]], alphas: tuple[float, ...]) -> str:
    lines = [
        [tables.text(m or sentences.NONE), tables.aim(a), tables.share(n.coverage), tables.real(n.width)]
        for m, line in by_method.items()
        for a, n in zip(alphas, line, strict=True)
    ]
    heads = ["Method", "Target", "Inside", "Mean width"]
    art = drawing({m: [n.coverage for n in line] for m, line in by_method.items()}, alphas)
    return art + tables.table("calibration", "Calibration by level", heads, lines)


def _comparison(firsts: Mapping[str, Numbers], alpha: float, k: int) -> str:
    lines = [tables.judged_line(n, tables.text(m), alpha) for m, n in firsts.items()]
    made = tables.table("methods", "Methods", tables.heads("Method", k), lines)
    same = len({(n.rounds, n.labels) for n in firsts.values()}) == 1
    said = f"{'The same' if same else 'Its own'} rounds for each method; all series together."
    return _section("methods", "Methods compared", said, made)


def _streams(found: list[list[Numbers]], alpha: float, k: int, methods: int) -> str:
    ranked = sorted((line[0] for line in found), key=lambda n: -abs(n.coverage - (1 - alpha)) if n.labels else 1.0)
    shown = ranked if len(ranked) > MOST_LINES else [line[0] for line in found]
    lines = []
    for n in shown[:MOST_LINES]:
        name, *rest = tables.judged_line(n, tables.text(n.name), alpha)
        lines.append([name, *([tables.text(n.method)] if methods > 1 else []), *rest])
    first, *others = tables.heads("Series", k)
    heads = [first, *(["Method"] if methods > 1 else []), *others]
    said = "A head sorts; a row shows its charts (with the keyboard: arrows and Enter)."
    if len(ranked) > MOST_LINES:
        said += f" The {MOST_LINES:,} of {len(ranked):,} that are farthest from the target."
    return _section("streams", "Series by series", said, tables.table("streams", "Series by series", heads, lines))


def _section(name: str, head: str, said: str, body: str) -> str:
    return (
        f'<section aria-labelledby="{name}-head"><header><h2 id="{name}-head">{head}</h2>'
        f'<button type="button" class="csv" data-table="{name}" aria-label="Download the table: {head}">CSV</button>'
        "</header>"
        f"<p>{said}</p>{body}</section>"
    )


def _settings(given: Mapping[str, Any], tracks: Sequence[Track], alphas: tuple[float, ...], k: int) -> str:
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
