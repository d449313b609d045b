"""Outputs and labels for every score, rounds one by one, and a tracker that plays a script."""

import json
import math

import numpy as np

from wane.scores import APS, RAPS, OneSided, UserScore
from wane.trackers import Tracker

INFINITY = math.inf
SMALL = {"max_pending": 9, "history": 5, "window": 4}
SCORES = {
    "aps": lambda: APS(seed=5),
    "raps": lambda: RAPS(0.1, k_reg=1, seed=6, allow_empty=False),
    "one-sided": lambda: OneSided("lower"),
    "user": lambda: UserScore(lambda m, y: abs(y - m), lambda m, r: (m - r, m + r)),
}


def plain(thing):
    return json.dumps(thing.state_dict())


def score_of(name):
    return SCORES.get(name, lambda: name)()


def data(name, rounds, seed=0, missing=0.2):
    """Outputs and labels for a score, some labels missing."""
    rng = np.random.default_rng(seed)
    gone = rng.random(rounds) < missing
    if name in ("aps", "lac", "raps"):
        p = rng.dirichlet(np.ones(3), rounds)
        return p, [None if g else int(rng.choice(3, p=q)) for g, q in zip(gone, p, strict=True)]
    if name == "ball":
        y = rng.normal(size=(rounds, 2))
        y[gone, 0] = math.nan
        return rng.normal(size=(rounds, 2)), y
    y = rng.normal(size=rounds)
    y[gone] = math.nan
    if name == "cqr":
        return rng.normal(size=(rounds, 2)) + np.array([-1.0, 1.0]), y
    if name == "normalised":
        return np.stack([rng.normal(size=rounds), rng.uniform(0.5, 2.0, rounds)], axis=1), y
    return rng.normal(size=rounds), y


def absent(y):
    return y is None or bool(np.isnan(y).any())


def steps(oc, outputs, y, delay=0):
    """Predict, then reveal the label of ``delay`` rounds before."""
    made = []
    for t, output in enumerate(outputs):
        made.append(oc.predict(output))
        if t >= delay and not absent(y[t - delay]):
            oc.update(made[t - delay].id, y[t - delay])
    return made


def check_table(table, made):
    """Every column against the predictions, one by one."""
    assert list(table.id) == [p.id for p in made]
    np.testing.assert_array_equal(table.radius, [p.radius for p in made])
    np.testing.assert_array_equal(table.width, [p.width for p in made])
    if table.lower is not None:
        np.testing.assert_array_equal(table.lower, [p.lower for p in made])
        np.testing.assert_array_equal(table.upper, [p.upper for p in made])


class Scripted(Tracker):
    """A tracker that plays what it was told to, and writes down what it hears."""

    parameters = ("alpha", "script", "domain")

    def __init__(self, alpha, script, domain="nonnegative"):
        super().__init__(alpha, domain)
        self.script = list(script)
        self.heard = []

    def _predict(self):
        return self.script[self.rounds % len(self.script)]

    def _update(self, score, radius, discount):
        self.heard.append((score, radius))
        if score == 13.0:
            raise ValueError("thirteen")
