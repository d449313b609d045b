"""Batches of scores, without the GIL when compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython

from wane.checks import EXTREME, discount_factors, real_array
from wane.errors import InputError
from wane.state import data as plain_data
from wane.trackers.base import Tracker

COMPILED = not __file__.endswith(".py")
NAN = float("nan")


def run(tracker: Tracker, scores: Any, discounts: Any) -> np.ndarray:
    """The radius before each score; an error names its round and leaves the tracker as it was."""
    scores = checked(tracker, scores)
    rounds = len(scores)
    if callable(discounts):
        discounts = [discounts(tracker.rounds + t) for t in range(rounds)]
    discounts = np.full(rounds, np.nan) if discounts is None else discount_factors(discounts, rounds)
    radii = np.empty(rounds)
    # A past that grows is not copied for nothing: compiled, an atomic tracker fails only where it warns, in _ready, and
    # those that do are flat. Uncompiled, Ctrl-C may come between any two lines.
    safe = COMPILED and tracker.atomic and not tracker.flat()
    before = None if safe else plain_data.snapshot(tracker)
    played = np.zeros(1)
    try:
        play(tracker, scores.data, discounts.data, radii.data, played.data)
    except BaseException as error:
        if before is not None:
            plain_data.give_up(tracker, before, error, int(played[0]))
        raise
    return radii


def checked(tracker: Tracker, scores: Any) -> np.ndarray:
    """Scores as an array, or an error that names the first bad one; NaN stays where it may be skipped."""
    if isinstance(scores, (list, tuple)) or getattr(getattr(scores, "dtype", None), "kind", "") == "O":
        scores = [np.nan if s is None else s for s in scores]
    array = real_array("scores", scores)
    if array.size == 0:
        array = array.reshape(0)
    if array.ndim != 1:
        raise InputError(f"must have shape (rounds,), got {array.shape}", about="scores")
    missing = np.isnan(array)
    bad = (np.abs(array) > EXTREME) | (missing if tracker.on_missing == "error" else False)
    if not tracker.signed:
        bad |= array < 0.0
    if bad.any():
        t = int(np.argmax(bad))
        what = f"at most {EXTREME:g}" + ("" if tracker.signed else " and >= 0 (signed scores need domain='real')")
        cure = "correct it, or leave the round out" + ("; on_missing='skip' does" if missing[t] else "")
        raise InputError(f"must be {what}, got {array[t]}; nothing was learned", about="scores", row=t, cure=cure)
    return array


def play(tracker, scores, discounts, radii, played):
    """All rounds; a NaN score is a round without news."""
    with cython.nogil:
        for t in range(scores.shape[0]):
            played[0] = t
            radius = tracker._predict()
            radii[t] = radius
            if scores[t] == scores[t]:
                tracker._ingest(scores[t], radius, discounts[t])


def play_told(tracker, scores, given):
    """Learn all scores, each after hearing what was known of its round (``wane.trackers.context``)."""
    with cython.nogil:
        for t in range(scores.shape[0]):
            tracker._foresee(given, t)
            radius = tracker._predict()
            tracker._ingest(scores[t], radius, NAN)
