"""Streams that reward and betray, also in R^d, and the odd learner literally; for learners that choose the discount."""

import math

import numpy as np
import pytest
from scipy.special import erfi

GRID = (0.9, 0.99, 0.999, 1.0)


def reward_and_betray(rounds):
    """Blocks of ten with one sign, over and over; then blocks in which the sign turns as soon as it is believed."""
    t = np.arange(rounds)
    return np.where(t < rounds // 2, np.where(t // 10 % 2, 1.0, -1.0), np.where(t // 3 % 2, 1.0, -1.0))


def constant(rounds):
    return np.full(rounds, -1.0)


def slow_drift(rounds):
    return -np.cos(np.arange(rounds) * (2.5 * np.pi / rounds))


def bursts(rounds):
    rng = np.random.default_rng(1)
    return np.where(np.arange(rounds) % 60 < 5, -1.0, 0.02) * rng.uniform(0.5, 1.0, size=rounds)


STREAMS = [reward_and_betray, constant, slow_drift, bursts]
on_streams = pytest.mark.parametrize("stream", STREAMS, ids=lambda s: s.__name__)


def turned(g, dim):
    """The same stream in R^d, along an axis that turns slowly."""
    if dim is None:
        return g
    angle = np.arange(len(g)) / 500.0
    return g[:, None] * np.stack([np.cos(angle), np.sin(angle), *[0.0 * angle] * (dim - 2)], axis=1)


class Odd:
    """The odd learner, literally."""

    def __init__(self, eps, lam):
        self.eps, self.lam, self.v, self.s, self.h = eps, lam, 0.0, 0.0, 0.0

    def predict(self):
        s, h = abs(self.s), self.h
        if h == 0.0:
            return 0.0
        e = self.v + 2.0 * h * s + 16.0 * h * h
        z = s / (2.0 * math.sqrt(e))
        x = self.eps * (math.sqrt(math.pi) / 2.0 * erfi(z) - h / math.sqrt(e) * math.exp(z * z))
        return math.copysign(max(0.0, x), self.s)

    def update(self, g):
        clipped = min(max(g, -self.lam * self.h), self.lam * self.h)
        self.v = self.lam**2 * self.v + clipped**2
        self.s = self.lam * self.s - clipped
        self.h = max(self.lam * self.h, abs(g))
