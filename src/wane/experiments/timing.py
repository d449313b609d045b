"""How long the methods take, alone: nothing but ``run``, or ``predict`` and ``update``."""

from __future__ import annotations

import contextlib
import gc
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wane.trackers import CoverageWarning, Tracker

LEAST = 5000  # rounds in a trial: a shorter stream is played several times


def measured(
    makers: dict[str, Callable[[], Tracker]], scores: np.ndarray, trials: int, tick: Callable[[], Any] = lambda: None
) -> dict[str, dict[str, np.ndarray]]:
    """Seconds a round, batch and step, in each trial; in a trial each method plays once, so all share a bad moment."""
    listed = scores.tolist()
    repeats = -(-LEAST // max(len(scores), 1))
    seconds: dict[str, dict[str, list[float]]] = {name: {"batch": [], "step": []} for name in makers}
    with undisturbed():
        for trial in range(-1, trials):  # the first warms caches up and does not count
            for name, make in makers.items():
                batch = sum(timed(make().run, scores) for _ in range(repeats))
                step = sum(timed(steps, make(), listed) for _ in range(repeats))
                if trial >= 0:
                    seconds[name]["batch"].append(batch / (repeats * len(scores)))
                    seconds[name]["step"].append(step / (repeats * len(scores)))
                    tick()
    return {name: {kind: np.array(values) for kind, values in found.items()} for name, found in seconds.items()}


def timed(function: Callable[..., Any], *arguments: Any) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def steps(tracker: Tracker, scores: list[float]) -> None:
    """A round at a time."""
    predict, update = tracker.predict, tracker.update
    for score in scores:
        predict()
        update(score)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """No garbage collection, and no warnings about coverage."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoverageWarning)
            yield
    finally:
        if enabled:
            gc.enable()
