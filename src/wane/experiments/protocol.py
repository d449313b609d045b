"""The paper's experiment: ten methods play radii for the RAPS scores of a stream of labels (Section 4, Appendix D).

The first rounds of a stream warm every method up and are not judged. By default everything is as the paper defines it;
``published=True`` is what its published code does:

1. MagL-D, MagL and MagDis play a radius that is one round old (``wane.trackers.Lagged``).
2. At a tie the pinball gradient is 0, and a tie counts as covered. (The paper: alpha - 1, and a miss.)
3. FACI's step is sqrt(3) times larger than its authors'; FACI-S ignores the scale it is given and takes 1.
4. ``lce_100`` is to be read beside ``lce_100_smoothed``, which is what the published column holds.

In both, SplitConformal and NExConformal are without finite-sample correction, and the penalty of RAPS grows with the
root of the rank: so the published table was made, and the paper says nothing else.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from typing import Any

import numpy as np

from wane import metrics, trackers
from wane.errors import InputError
from wane.experiments.results import flat
from wane.scores import RAPS
from wane.streams import LabelStream

ALPHA = 0.1
WINDOW = 100
PENALTY = 0.01
MAGNITUDE = ("magl-d", "magl", "magdis")  # the paper's own
SCALED = ("sf-ogd", "saocp", "faci-s")  # they are told the largest score
TITLES = {
    "simple-ogd": "Simple OGD",
    "sf-ogd": "SF-OGD",
    "saocp": "SAOCP",
    "split": "SplitConformal",
    "nex": "NExConformal",
    "faci": "FACI",
    "faci-s": "FACI-S",
    "magl-d": "MagL-D (Alg. 1)",
    "magl": "MagL (Alg. 2)",
    "magdis": "MagDis (Alg. 5)",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Play:
    """What a method did in the rounds that are judged."""

    radii: np.ndarray
    covered: np.ndarray
    sizes: np.ndarray

    def judged(self) -> dict[str, float]:
        """Coverage, width and local coverage error, as the paper defines them and smoothed as published."""
        return {
            "coverage": metrics.coverage(self.covered),
            "width": metrics.width(self.sizes),
            "lce_100": metrics.lce(self.covered, ALPHA, WINDOW),
            "lce_100_smoothed": metrics.lce_smoothed(self.covered, ALPHA, WINDOW),
        }


class Experiment:
    """A stream of labels as scores, and the ten methods on it.

    Args:
        stream: probabilities and labels.
        seed: of the uniforms of the randomised score, one a round from the first round on: ``RandomState(seed)``.
        published: as the published code does it; see above.
    """

    def __init__(self, stream: LabelStream, seed: int = 0, published: bool = False) -> None:
        """Compute the scores."""
        self.stream, self.seed, self.published = stream, seed, published
        if len(stream) - stream.warm_up < WINDOW:
            rounds = f"{len(stream)} rounds, {stream.warm_up} of them warm-up"
            problem = f"{stream.name}: {rounds}, are fewer than one window of {WINDOW}"
            raise InputError(problem, argument="stream", cure="give a longer stream")
        self.score = RAPS(PENALTY, seed=seed, published=True)
        self.uniforms = np.random.RandomState(seed).rand(len(stream))
        self.scores = self.score.score(stream.probabilities, stream.labels, self.uniforms)
        self.largest = self.score.largest(stream.probabilities.shape[1])
        self.judged = slice(stream.warm_up, None)

    @functools.cached_property
    def every(self) -> np.ndarray:
        """The scores of all labels in the rounds that are judged."""
        return self.score.every(self.stream.probabilities[self.judged], self.uniforms[self.judged])

    @functools.cached_property
    def optimal_sizes(self) -> np.ndarray:
        """The size of the smallest set of each judged round that holds the label."""
        return self._sizes(self.scores[self.judged])

    def settings(self, name: str, largest: float | None = None) -> dict[str, Any]:
        """What the tracker is made with; ``largest`` stands in for the largest score, if that is a guess."""
        found: dict[str, Any] = {}
        if name in SCALED:
            found["max_score"] = self.largest if largest is None else largest
        if name in MAGNITUDE:
            found["loss"] = trackers.Pinball(ALPHA, "neither" if self.published else "miss")
        elif name in ("split", "nex"):
            found["finite_sample"] = False
        if self.published and name not in MAGNITUDE:
            found["published"] = True
        if name == "saocp":
            found["lifetime"] = 32
        return found

    def tracker(self, name: str, largest: float | None = None) -> trackers.Tracker:
        """A method of the table, new."""
        made = trackers.make(name, ALPHA, **self.settings(name, largest))
        return trackers.Lagged(made) if self.published and name in MAGNITUDE else made

    def play(self, name: str, largest: float | None = None) -> Play:
        """Run a method over the whole stream and keep the rounds that are judged."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", trackers.CoverageWarning)
            radii = self.tracker(name, largest).run(self.scores)[self.judged]
        covered = metrics.covered(radii, self.scores[self.judged], tie="covered" if self.published else "miss")
        return Play(radii, covered, self._sizes(radii))

    def described(self, name: str) -> dict[str, Any]:
        """Everything that a method was made with, as plain data, and the score."""
        raps = {"penalty": PENALTY, "k_reg": max(1, self.stream.probabilities.shape[1] // 10), "published": True}
        tracker: Any = self.tracker(name)
        stale = isinstance(tracker, trackers.Lagged)
        made = (tracker.tracker if stale else tracker).state_dict()
        return {
            "alpha": ALPHA, "class": made["class"], "parameters": flat(made["parameters"]), "stale": stale,
            "raps": raps, "warm_up": self.stream.warm_up,
        }  # fmt: skip

    def _sizes(self, radii: np.ndarray) -> np.ndarray:
        return np.count_nonzero(self.every <= radii[:, None], axis=1)
