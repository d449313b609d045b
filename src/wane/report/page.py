"""The page: one HTML file with its data, its script and its style inside."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np

from wane.charts import SCRIPTS, STYLES, asset, licence
from wane.checks import described, whole
from wane.errors import InputError, InputTypeError
from wane.report import categories, confusion, histogram, multiples, numbers, parts, sentences, terms, verdicts
from wane.report.chance import surprise
from wane.report.labels import LabelTrack
from wane.report.numbers import AnyTrack, Numbers
from wane.report.payload import charted, charts
from wane.report.track import Track
from wane.state.files import replace_file
from wane.version import __version__

MOST_ROUNDS = 400_000  # whose charts are in the page, some 20 bytes each and level; of a longer series, the last ones
MOST_SERIES = 1_000  # with charts: nobody looks at more of them
MOST_LINES = 5_000  # of the table of streams
OWN_SCRIPTS, OWN_STYLES = ("data.js", "page.js"), ("page.css",)


def write(
    path: str | os.PathLike[str],
    tracks: Sequence[AnyTrack],
    settings: Mapping[str, Any] | None = None,
    title: str | None = None,
    window: int | None = None,
    advice: Mapping[str, Any] | None = None,
) -> None:
    """Write a report, as a whole or not at all: one HTML file that asks nothing of any host.

    Args:
        path: the file; an older one is replaced.
        tracks: one for each stream and method, with the same levels: all ``Track``, or all ``LabelTrack``. The first
            method is what the verdict is about.
        settings: shown at the end. Two of them are used: ``coverage_bound``, the largest sum of miss - alpha that is
            possible, and ``discount``, that of this sum. Each is a number (a bound: for the first level), a number for
            each level, or a mapping from methods to such.
        title: of the page; the name of the stream if there is one.
        window: rounds that are judged together; 100, or fewer where streams are short.
        advice: of a comparison: ``method``, which is recommended, ``recommendation``, a sentence that says why,
            ``command``, to run it, and the figures behind it: ``lines``, mappings by method, ``columns``, from heads to
            keys and formats, and ``caption``, what they mean.

    >>> import os, tempfile
    >>> track = Track("demo", "auto", None, [1.0, 5.0], None, [0.1], [0.0, 0.0], [3.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(os.path.join(folder, "report.html"), [track])
    ...     os.path.getsize(os.path.join(folder, "report.html")) < 150_000
    True
    """
    replace_file(path, page(tracks, settings, title, window, advice).encode(), sync=False)


def page(
    tracks: Sequence[AnyTrack],
    settings: Mapping[str, Any] | None = None,
    title: str | None = None,
    window: int | None = None,
    advice: Mapping[str, Any] | None = None,
) -> str:
    """The text of the file."""
    given = dict(settings or {})
    _agree(tracks)
    words = sentences.SETS if isinstance(tracks[0], LabelTrack) else sentences.INTERVALS
    alphas: tuple[float, ...] = tracks[0].levels
    alpha = alphas[0]
    k = numbers.window(tracks) if window is None else whole("window", window, 1)
    # Judge every track at every level; the verdict is about the first or recommended method at the first level.
    found = [[numbers.judged(track, i, k) for i in range(len(alphas))] for track in tracks]
    methods = list(dict.fromkeys(track.method for track in tracks))
    if advice is not None and advice["method"] in methods:
        methods.sort(key=lambda m: m != advice["method"])
    names = list(dict.fromkeys(track.name for track in tracks))
    by_method = {m: [_overall(found, i, m) for i in range(len(alphas))] for m in methods}
    own = [track for track in tracks if track.method == methods[0]]
    mine = [line[0] for line in found if line[0].method == methods[0]]
    main, firsts = by_method[methods[0]][0], {m: n[0] for m, n in by_method.items()}
    # The least likely series come first: in the choice, among the charts and side by side.
    strange = surprise(alpha, [n.labels for n in mine], [n.misses for n in mine])
    ranked = [own[i] for i in np.argsort(-strange, kind="stable")]
    kept = charted(tracks, [track.name for track in ranked], MOST_ROUNDS, MOST_SERIES)
    shown = {tracks[i].name for i in kept}
    title = title or (names[0] if len(names) == 1 else f"{len(names):,} series")
    order = [track.name for track in ranked if track.name in shown]
    others = shown.difference(order)  # series of other methods only: they come last
    order += [name for name in names if name in others]
    # The charts are drawn in the browser from these data; the words and tables are made here.
    data = {
        "title": title,
        "window": k,
        "levels": alphas,
        "usual": [numbers.usual(a, k) for a in alphas],
        "names": order,
        "methods": methods,
        "sets": not words.intervals,
        "tracks": [charts(tracks[i], found[i], k, given, MOST_ROUNDS) for i in kept],
    }
    file = given.get("file") or given.get("results")
    headline = sentences.headline(main, alpha, k, len(names), words)
    judged, one_by_one = numbers.judging(own, 0), sentences.strange_ones(mine, alpha)
    on_methods = "" if advice else sentences.on_methods(firsts, alpha)
    return Template(asset("page.html", "wane.report")).substitute(
        title=escape(title),
        kicker=words.kicker,
        styles="\n".join([*map(asset, STYLES), *(asset(name, "wane.report") for name in OWN_STYLES)]),
        licence=licence(),
        version=escape(__version__),
        advice=parts.advised(advice) if advice else "",
        verdict=verdicts.block(judged, one_by_one, headline, str(file) if file else None, words),
        more=escape(" ".join(filter(None, [on_methods, sentences.on_streams(one_by_one)]))),
        cards=parts.cards(main, alpha, k, words),
        note=parts.note(len(shown), len(names), max(len(tracks[i]) for i in kept), MOST_ROUNDS),
        spread=histogram.section(mine, alpha) if len(names) > 1 else "",
        multiples=multiples.section([t for t in ranked if t.name in shown and t.known.any()], 0, k),
        categories=categories.section(categories.by_factor(own, 0), alpha, words),
        confusion=confusion.section([t for t in own if isinstance(t, LabelTrack)], 0),
        calibration=parts.calibration(by_method, alphas, words),
        comparison=parts.leaderboard(advice) if advice else parts.comparison(firsts, alpha, k, words),
        streams=parts.streams(found, alpha, k, len(methods), MOST_LINES, words) if len(names) > 1 else "",
        glossary=terms.glossary(words.intervals),
        settings=parts.settings(given, tracks, alphas, k),
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        scripts="\n".join([*map(asset, SCRIPTS), *(asset(name, "wane.report") for name in OWN_SCRIPTS)]),
    )


def _agree(tracks: Sequence[AnyTrack]) -> None:
    """Tracks that one report can be about, or an error."""
    if not isinstance(tracks, Sequence):
        raise InputTypeError(f"must be a list of wane.report.Track, got {described(tracks)}", about="tracks")
    if not tracks:
        cure = "is the file of results empty?"
        raise InputError("a report needs one track or more, got none", argument="tracks", cure=cure)
    seen = set()
    for track in tracks:
        if not isinstance(track, (Track, LabelTrack)):
            raise InputTypeError(f"must be wane.report.Track, got {described(track)}", about="tracks")
        if type(track) is not type(tracks[0]):
            raise InputTypeError("must be all Track or all LabelTrack, got both", about="tracks")
        if track.levels != tracks[0].levels:
            raise InputError(f"must have the same levels, got {tracks[0].levels} and {track.levels}", about="tracks")
        if (track.name, track.method) in seen:
            problem = f"there are two tracks of {track.name!r} by {track.method!r}"
            raise InputError(problem, argument="tracks", cure="name them apart")
        seen.add((track.name, track.method))


def _overall(found: list[list[Numbers]], level: int, method: str) -> Numbers:
    return numbers.pooled([line[level] for line in found if line[level].method == method])
