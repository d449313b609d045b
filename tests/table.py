"""One row for every learner: what the contract tests make and play. A learner without a row fails them.

Trackers need no row: they are found by name. Only a setting without a default needs a value here.
"""

import inspect

import numpy as np

from wane import domains, learners
from wane.trackers.registry import METHODS

VALUES = {"max_score": 5.0}  # of the settings of trackers that have no default
NEEDS = {
    name: {
        k: VALUES[k] for k, p in inspect.signature(factory).parameters.items() if p.default is p.empty and k != "alpha"
    }
    for name, factory in METHODS.items()
}


class Halved:
    """A domain of a user's: x <= 1/2 in every coordinate."""

    def project(self, x):
        return np.minimum(x, 0.5)

    def __repr__(self):
        return "Halved()"


def linear(s, v, h):
    return 0.5 * s


def both(make):
    """On the line and in the plane."""
    return [lambda: make(None), lambda: make(2)]


ROWS = {
    "AdaGrad": [
        *both(lambda d: learners.AdaGrad(1.5, 0.9, dim=d)),
        lambda: learners.AdaGrad(None, 0.9, dim=3, domain=domains.Ball(2.0), start=[0.5, 0.0, 0.0]),
        lambda: learners.AdaGrad(1.0, domain=Halved()),
    ],
    "AdaptiveLearner": [
        lambda: learners.AdaptiveLearner(1, 2.0, 0.9),
        lambda: learners.AdaptiveLearner(3, 0.5, 0.99, center=[1.0, 0.0, 2.0]),
        lambda: learners.AdaptiveLearner(2, domain=domains.Simplex()),
        lambda: learners.AdaptiveLearner(2, discount=0.9, domain=domains.Box([-1.0, -np.inf], 1.0)),
        lambda: learners.AdaptiveLearner(2, domain=Halved()),
    ],
    "Centered": [
        lambda: learners.Centered(learners.LinearFTRL(0.1, 0.9), 3.0),
        lambda: learners.Centered(learners.AdaptiveLearner(2), [1.0, 2.0]),
        lambda: learners.Centered(learners.FTRL(linear, 0.9), -1.0),
    ],
    "CoinBetting": both(lambda d: learners.CoinBetting(1.0, 1e7, 0.99, dim=d)),
    "Constrained": [
        lambda: learners.Constrained(learners.OddMagnitudeLearner(1.0, 0.9), domains.Nonnegative()),
        lambda: learners.Constrained(learners.LinearFTRL(0.1, 0.9, dim=2), domains.HalfSpace([1.0, 2.0], 1.0)),
        lambda: learners.Constrained(learners.LinearFTRL(0.1, 0.9, dim=2), Halved()),
    ],
    "DiscountHedge": [
        *both(lambda d: learners.DiscountHedge(d, 2.0, (0.5, 0.9, 0.99, 1.0))),
        lambda: learners.DiscountHedge(center=0.3, domain=domains.Nonnegative()),
        lambda: learners.DiscountHedge(2, discounts=(0.9, 1.0), domain=Halved()),
    ],
    "ExponentialPotential": both(lambda d: learners.ExponentialPotential(1.0, 10.0, 0.9, dim=d)),
    "FTRL": both(lambda d: learners.FTRL(linear, 0.9, dim=d)),
    "GradientDescent": [
        *both(lambda d: learners.GradientDescent(0.1, dim=d)),
        lambda: learners.GradientDescent(None, 0.9, domain=domains.Ball(1.0), lipschitz=2.0),
        lambda: learners.GradientDescent(dim=2, schedule="horizon", diameter=3.0, start=[1.0, 1.0]),
    ],
    "LinearFTRL": both(lambda d: learners.LinearFTRL(0.5, 0.9, dim=d)),
    "MagnitudeLearner": [
        lambda: learners.MagnitudeLearner(),
        lambda: learners.MagnitudeLearner(epsilon=2.0, discount=0.9),
    ],
    "MultiscaleLearner": [
        *both(lambda d: learners.MultiscaleLearner(d, 2.0)),
        lambda: learners.MultiscaleLearner(discounts=(0.9, 0.99, 1.0), domain=domains.Nonnegative()),
        lambda: learners.MultiscaleLearner(2, 0.5, (0.5, 1.0), [1.0, 0.0], domains.Ball(2.0)),
        lambda: learners.MultiscaleLearner(2, domain=Halved()),
    ],
    "OddMagnitudeLearner": [lambda: learners.OddMagnitudeLearner(0.5, 0.99)],
    "RegularizedGradientDescent": [
        *both(lambda d: learners.RegularizedGradientDescent(0.1, discount=0.9, dim=d)),
        lambda: learners.RegularizedGradientDescent(0.1, 0.5),
    ],
    "Rescaled": [
        lambda: learners.Rescaled(learners.MagnitudeLearner(), 0.9),
        lambda: learners.Rescaled(learners.AdaGrad(1.0, dim=2), 0.9),
    ],
    "SimplifiedMagnitudeLearner": [lambda: learners.SimplifiedMagnitudeLearner(1.0, 0.99, 2.0)],
    "StronglyAdaptive": [
        *both(lambda d: learners.StronglyAdaptive(learners.AdaGrad(dim=d, domain=domains.Ball(2.0)), 1e7)),
        lambda: learners.StronglyAdaptive(
            learners.Constrained(learners.OddMagnitudeLearner(1.0, 0.99), domains.Ball(1.0)), 1e7, 2.0, levels=4
        ),
    ],
    "TracLearner": [lambda: learners.TracLearner(1.0, 0.99), lambda: learners.TracLearner()],
}

MAKERS = [make for makers in ROWS.values() for make in makers]
IDS = [f"{name}{i}" for name, makers in ROWS.items() for i in range(len(makers))]


def shaped(learner, numbers):
    """A flat list of numbers as gradients of the right shape; what is left over is dropped."""
    if learner.dim is None:
        return np.array(numbers, dtype=float)
    rounds = len(numbers) // learner.dim
    return np.array(numbers[: rounds * learner.dim], dtype=float).reshape(rounds, learner.dim)


def objects(learner):
    """What load must be given again, because plain data cannot hold it."""
    if isinstance(getattr(learner, "domain", None), domains.Custom):
        return {"domain": learner.domain.object}
    return {"prediction": linear} if "FTRL(prediction" in repr(learner) else {}
