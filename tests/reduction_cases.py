"""Gradients, a learner that writes down what it was sent, and domains; for the tests of learners made of learners."""

import json
import math

import numpy as np
import pytest
from table import Halved

from wane import domains
from wane.learners import Learner

DIMS = (1, 2, 3, 4)


def full_state(learner):
    return json.dumps(learner.state_dict())


def stream(seed, rounds, dim=None):
    """Gradients with a drift, of changing size, and discounts below, at and above 1."""
    rng = np.random.default_rng([seed, dim or 0])
    shape = rounds if dim is None else (rounds, dim)
    g = rng.normal(size=shape) - 0.5 * rng.normal(size=() if dim is None else dim)
    g *= 10.0 ** rng.uniform(-1, 1, size=rounds if dim is None else (rounds, 1))
    return g, rng.choice([0.5, 0.9, 0.99, 1.0, 1.1], p=[0.05, 0.2, 0.3, 0.3, 0.15], size=rounds)


class Spy(Learner):
    """Discounted gradient descent in plain Python, which writes down what it was sent."""

    parameters = ("rate", "discount", "dim")
    memory = ("x",)

    def __init__(self, rate=0.7, discount=1.0, dim=None):
        super().__init__(discount, dim)
        self.rate = rate
        self.x = 0.0 if dim is None else np.zeros(dim)
        self.seen = []

    def _predict(self):
        return self.x

    def _update(self, gradient, discount):
        self.seen.append((np.copy(gradient), discount))
        self.x = discount * self.x - self.rate * gradient


DOMAINS = {
    "ball": lambda d: domains.Ball(1.5),
    "ball off 0": lambda d: domains.Ball(1.0, np.linspace(1.0, 2.0, d)),
    "box": lambda d: domains.Box(np.linspace(-1.0, -0.2, d), np.linspace(0.5, 1.0, d)),
    "open box": lambda d: domains.Box([-1.0] * d, [math.inf] * d),
    "simplex": lambda d: domains.Simplex(2.0),
    "half space": lambda d: domains.HalfSpace(np.linspace(1.0, -0.5, d), 0.3),
    "half space off 0": lambda d: domains.HalfSpace(np.linspace(-1.0, 2.0, d), -0.5),
    "nonnegative": lambda d: domains.Nonnegative(),
    "a user's": lambda d: Halved(),
}
in_every_domain = pytest.mark.parametrize("name", DOMAINS)
