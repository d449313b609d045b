"""Which labels were in the set instead of the true one, of the rounds whose set misses it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from wane.report import tables
from wane.report.labels import LabelTrack

MOST = 12  # rows and columns of the table: the classes that are missed the most, and those taken instead the most
EMPTY = "empty set"


def instead(tracks: Sequence[LabelTrack], level: int) -> tuple[list[str], list[str], np.ndarray]:
    """Missed classes, what was in their sets, and how often: rows are the missed, with the empty set as last column.

    >>> track = LabelTrack("demo", "auto", None, ["a", "a", "b"], [0.1], [[0, 1], [0, 0], [0, 1]], classes=["a", "b"])
    >>> missed, there, counts = instead([track], 0)
    >>> missed, there, counts.tolist()
    (['a'], ['b', 'empty set'], [[1, 1]])
    """
    counts: dict[str, dict[str, int]] = {}
    for track in tracks:
        if track.sets is None:
            continue
        rows = np.flatnonzero(track.covered[:, level] == 0.0)
        names = np.array([str(x) for x in track.label[rows]], dtype=object)
        sets = track.sets[rows, level]
        for name in np.unique(names).tolist():
            own = sets[names == name]
            line = counts.setdefault(name, {})
            for at in np.flatnonzero(own.any(axis=0)):
                other = str(track.classes[at])
                line[other] = line.get(other, 0) + int(own[:, at].sum())
            line[EMPTY] = line.get(EMPTY, 0) + int((~own.any(axis=1)).sum())
    missed = sorted(counts, key=lambda name: -sum(counts[name].values()))[:MOST]
    totals: dict[str, int] = {}
    for name in missed:
        for other, n in counts[name].items():
            totals[other] = totals.get(other, 0) + n
    empty = totals.pop(EMPTY, 0)
    there = sorted(totals, key=lambda name: -totals[name])[:MOST] + ([EMPTY] if empty else [])
    return missed, there, np.array([[counts[name].get(other, 0) for other in there] for name in missed], dtype=int)


def section(tracks: Sequence[LabelTrack], level: int) -> str:
    """The table, darker where a pair is more frequent; nothing if no label was missed or no sets are there."""
    missed, there, counts = instead(tracks, level)
    if not missed or not there:
        return ""
    at = np.unravel_index(int(np.argmax(counts)), counts.shape)
    pair = f"In {counts[at]:,} of the missed rounds of {missed[at[0]]}, the set held {there[at[1]]} instead."
    if there[at[1]] == EMPTY:
        pair = f"In {counts[at]:,} of the missed rounds of {missed[at[0]]}, the set was empty."
    most = int(counts.max())
    lines = [
        [tables.text(name), *(tables.shaded(int(n), int(n) / most) for n in row)]
        for name, row in zip(missed, counts, strict=True)
    ]
    head = "What was taken instead"
    made = tables.table("confusion", head, ["Missed label", *there], lines)
    said = (
        "For the rounds whose set misses the true label, the table counts how often each other label was in the set. "
    )
    return tables.section("confusion", head, escape(said + pair), made)
