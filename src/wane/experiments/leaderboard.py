"""Every method on every stream, with nothing tuned: how far off, how wide, how fast.

The rules, the same for all:

1. A method plays all scores of a stream, in units of the median of the first 200 scores; the first 300
   rounds (a third of a short stream) are not judged.
2. Every hyperparameter is the default of ``wane.trackers.make``. A method that must be told the largest score is told
   that of the rounds that are not judged.
3. An infinite radius counts as a radius as large as the largest score so far, and its share is shown.
4. "Best" is the best of the methods on that stream in hindsight; ``trivial`` does not count as one.
"""

from __future__ import annotations

import dataclasses
import inspect
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wane import metrics, trackers
from wane.errors import InputError
from wane.experiments.protocol import Experiment
from wane.experiments.results import flat
from wane.streams import LabelStream, Stream
from wane.trackers.registry import METHODS

UNIT = 200
UNSCORED = 300
WINDOW = 100
TRIALS = 3  # of the time, of which the best counts
LOST = 100.0  # times the best, where the best loses nothing and this one does
LEAST = 2 * WINDOW  # rounds of a stream that can be judged at all
COMMON = ("alpha", "domain", "on_missing")
TOLD = "the largest score of the rounds that are not judged"
NO_RIVAL = ("trivial",)  # nobody is compared with these
AVERAGED = (
    "miss_of_target",
    "lce_100",
    "mean_lce_100",
    "pinball_ratio",
    "winkler_ratio",
    "width_ratio",
    "infinite",
    "rank_pinball",
    "rank_lce_100",
)


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A line of the leaderboard: one stream, or several that count as one, such as the series of a panel.

    With ``early``, scores of the rounds that are not judged, every series is played as it is and a method is told the
    largest of these, as one that runs on all of them is; without, by the first two rules.
    """

    name: str
    scores: tuple[np.ndarray, ...]
    early: np.ndarray | None = None


def entry(name: str, streams: Iterable[Stream]) -> Entry:
    """The streams as scores; those that are too short to be judged are left out, and there may be none left."""
    long = (s for s in streams if len(s) >= LEAST and len(s) - s.warm_up >= WINDOW)
    found = tuple(Experiment(s).scores if isinstance(s, LabelStream) else s.scores for s in long)
    for scores in found:
        if scores.min() < 0.0:
            problem = f"{name}: scores must be >= 0, got {scores.min()}"
            raise InputError(problem, argument="scores", cure="take absolute errors")
    return Entry(name, found)


def judge(method: str, scores: np.ndarray, alpha: float, early: np.ndarray | None = None) -> dict[str, float]:
    """A method on one stream: the measures, by the rules above; ``early`` as for ``Entry``."""
    unscored = min(UNSCORED, len(scores) // 3)
    unit = 1.0 if early is not None else float(np.median(scores[:UNIT])) or float(scores[:unscored].mean()) or 1.0
    scaled = scores / unit
    told = settings(method, scaled[:unscored] if early is None else early)
    tracker = trackers.make(method, alpha, **told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trackers.CoverageWarning)
        played = tracker.run(scaled)
        seconds = min(timed(method, alpha, scaled, told) for _ in range(TRIALS))
    so_far = np.maximum.accumulate(np.concatenate([[0.0], scaled[:-1]]))
    infinite = ~np.isfinite(played)
    radii = np.maximum(np.where(infinite, np.where(played > 0.0, so_far, 0.0), played), 0.0)[unscored:]
    covered, truth = metrics.covered(played[unscored:], scaled[unscored:]), scaled[unscored:]
    return {
        "rounds": len(truth),
        "coverage": metrics.coverage(covered),
        "lce_100": metrics.lce(covered, alpha, WINDOW),
        "mean_lce_100": metrics.mean_lce(covered, alpha, WINDOW),
        "pinball": metrics.pinball(radii, truth, alpha) * unit,
        "winkler": metrics.winkler(-radii, radii, truth, alpha) * unit,
        "width": metrics.width(2.0 * radii) * unit,
        "infinite": float(infinite[unscored:].mean()),
        "nanoseconds": 1e9 * seconds / len(scores),
    }


def timed(method: str, alpha: float, scaled: np.ndarray, told: dict[str, float]) -> float:
    """Seconds that the whole stream takes."""
    tracker = trackers.make(method, alpha, **told)
    start = time.perf_counter()
    tracker.run(scaled)
    return time.perf_counter() - start


def settings(method: str, early: np.ndarray) -> dict[str, float]:
    """What must be given to a method: the largest score, where that has no default."""
    needed = inspect.signature(METHODS[method]).parameters.get("max_score")
    if needed is None or needed.default is not inspect.Parameter.empty:
        return {}
    return {"max_score": float(early.max()) or 1.0}


def defaults(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The hyperparameters of each method as they were, for the record."""
    found = {}
    for name in methods:
        one, two = (made_with(name, np.full(1, top)) for top in (1.0, 2.0))
        told = dict.fromkeys(settings(name, np.ones(1)), TOLD)
        found[name] = told | {key: value for key, value in one.items() if value == two[key]}  # not what depends on it
    return found


def made_with(name: str, early: np.ndarray) -> dict[str, Any]:
    """The parameters of a tracker and of its parts."""
    state = trackers.make(name, 0.1, **settings(name, early)).state_dict()
    return {key: value for key, value in flat(state["parameters"]).items() if key.split(".")[-1] not in COMMON}


def mean(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    """One line of several streams: means, and of the distance to the target the mean distance."""
    return {key: float(np.mean([part[key] for part in parts])) for key in parts[0]}


def play(method: str, scores: Sequence[np.ndarray], alpha: float, early: np.ndarray | None = None) -> dict[str, float]:
    """A method on an entry."""
    parts = [judge(method, one, alpha, early) for one in scores]
    found = mean(parts)
    found["lce_100_worst"] = max(part["lce_100"] for part in parts)
    found["miss_of_target"] = float(np.mean([abs(part["coverage"] - (1.0 - alpha)) for part in parts]))
    return found


def ranked(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with ratios to the best of their stream, and places by pinball loss and by LCE."""
    found = []
    for row in rows:
        rivals = [r for r in rows if r["stream"] == row["stream"] and r["method"] not in NO_RIVAL] or [row]
        new = dict(row)
        for key in ("pinball", "winkler", "width"):
            best = min(rival[key] for rival in rivals)
            new[f"{key}_ratio"] = row[key] / best if best > 0.0 else 1.0 if row[key] == best else LOST
        for key in ("pinball", "lce_100"):
            new[f"rank_{key}"] = 1 + sum(rival[key] < row[key] for rival in rivals)
        found.append(new)
    return found


def board(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a method: means over the streams; sorted by the mean pinball ratio."""
    names = list(dict.fromkeys(row["method"] for row in rows))
    lines = []
    for name in names:
        mine = [row for row in rows if row["method"] == name]
        line: dict[str, Any] = {"method": name, "streams": len(mine)}
        for key in AVERAGED:
            line[key] = float(np.mean([row[key] for row in mine]))
        line["pinball_worst"] = max(row["pinball_ratio"] for row in mine)
        line["lce_100_worst"] = max(row["lce_100_worst"] for row in mine)
        line["nanoseconds"] = float(np.median([row["nanoseconds"] for row in mine]))
        lines.append(line)
    return sorted(lines, key=lambda line: (line["method"] in NO_RIVAL, line["pinball_ratio"]))
