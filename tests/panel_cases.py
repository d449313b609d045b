"""Streams for a panel, one stream row by row in plain words, and comparisons bit for bit."""

import inspect
import json
import math

import numpy as np
import pytest
from table import NEEDS

from wane import OnlineConformal
from wane.trackers.registry import METHODS

SCORES = ("absolute", "signed", "normalised", "cqr", "one-sided")
SOME = ("magl", "magl-d", "magdis", "kt", "aci", "split")  # states in rows of floats, objects, infinite radii

some = pytest.mark.parametrize("name", SOME)


def takes(name, score):
    """Whether a method can serve a score: signed ones need scores on the whole line."""
    return score in ("absolute", "normalised") or "domain" in inspect.signature(METHODS[name]).parameters


def settings_of(name, score="absolute", alpha=0.1, **more):
    return {"alpha": alpha, "score": score, "on_unbounded": "allow", **NEEDS.get(name, {}), **more}


def data(score, rows, seed=0, missing=0.2):
    """Model outputs as the score takes them, and labels of which some are missing."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows).round(1)
    y[rng.random(rows) < missing] = math.nan
    x = rng.normal(size=rows).round(1)
    if score == "normalised":
        return np.column_stack([x, rng.uniform(0.5, 2.0, rows)]), y
    if score == "cqr":
        return np.column_stack([x - rng.normal(size=rows), x + 1.0]), y
    return x, y


def interleaved(lengths, seed=0):
    """The stream of each row, the rows of the streams mixed."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(lengths)), lengths))


def same(a, b):
    """Equal bit for bit, where NaN is NaN."""
    return np.shape(a) == np.shape(b) and np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


def agree(made, wanted):
    """Equal bit for bit, but for rows before the first label: a panel shows no interval there, an object a cold one."""
    hidden = np.isnan(made.lower)
    ends = ((np.where(hidden, np.nan, getattr(one, k)) for one in (made, wanted)) for k in ("lower", "upper"))
    return same(made.radius, wanted.radius) and all(same(*pair) for pair in ends)


class Joined:
    """The answers of several calls, one after the other."""

    def __init__(self, parts):
        self.lower, self.upper, self.radius = (
            np.concatenate([getattr(p, k) for p in parts]) for k in ("lower", "upper", "radius")
        )


class Picked:
    """Some rows of an answer."""

    def __init__(self, made, rows):
        self.lower, self.upper, self.radius = made.lower[rows], made.upper[rows], made.radius[rows]


def full_state(panel):
    return json.dumps(panel.state_dict(), default=str)


class Literal:
    """One stream, row by row, in plain words: the labels known by now are learned, then the row is predicted."""

    def __init__(self, name, warm_up=0, **settings):
        self.oc = OnlineConformal(name, **settings)
        self.warm_up = warm_up
        self.rows = {}  # by moment, until it is learned: output, label, whether there was a prediction
        self.first = []  # labels of the warm-up
        self.warm = not warm_up

    def learn(self, t):
        output, y, predicted = self.rows.pop(t)
        if math.isnan(y):
            return
        if predicted:
            self.oc.update(t, y)
        elif self.warm:
            self.oc.warm_start([output], [y])
        else:
            self.first.append((output, y))
            if len(self.first) == self.warm_up:
                self.oc.warm_start([o for o, _ in self.first], [y for _, y in self.first])
                self.warm = True

    def catch_up(self, now, delay):
        """The label of moment t is known to the predictions after moment t + delay."""
        for t in [t for t in self.rows if t + delay < now]:
            self.learn(t)

    def step(self, now, output, y, delay):
        self.catch_up(now, delay)
        made = self.oc.predict(output, id=now) if self.warm else None
        self.rows[now] = (output, y, made is not None)
        return made

    def play(self, outputs, y, delay=0):
        steps = enumerate(zip(outputs.tolist(), y.tolist(), strict=True))
        return Answers([self.step(t, output, label, delay) for t, (output, label) in steps], self.oc)


class Answers:
    """Predictions as arrays; NaN where there is none."""

    def __init__(self, predictions, oc):
        several = (len(oc.alphas),) if isinstance(oc.alpha, tuple) else ()
        shapes = {"lower": several, "upper": several, "radius": several + (2,) * (oc.score.sides == 2)}
        for k, shape in shapes.items():
            rows = [np.full(shape, math.nan) if p is None else getattr(p, k) for p in predictions]
            setattr(self, k, np.array(rows, dtype=float).reshape(len(rows), *shape))


def refuses(thing, call, kind, match):
    before = full_state(thing)
    with pytest.raises(kind, match=match):
        call()
    assert full_state(thing) == before
    assert full_state(type(thing).from_state_dict(thing.state_dict())) == before
