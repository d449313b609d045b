"""A world that moves: targets with jumps and slow drift, and the best fixed point in hindsight.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Section 2,
"Discounting as forgetting": environments in which no single comparator is good for ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wane.checks import MOST_KEPT
from wane.errors import InputError
from wane.theory.arguments import FloatArray, as_array, as_discounts, as_number, as_rounds, as_seed
from wane.theory.losses import Absolute
from wane.theory.regret import weights


class DriftingTarget:
    """Absolute losses around a target that jumps and drifts, an environment for `play`.

    Rounds come in segments of `segment`. The target starts each segment with a Gaussian jump of standard deviation
    `jump` (the first one from the origin) and then moves by `drift` a round in a direction drawn once per segment.

    Args:
        rounds: T.
        dim: None for numbers, d for vectors of shape (d,).
        segment: rounds between jumps.
        jump: standard deviation of a jump, in each coordinate.
        drift: distance moved per round within a segment.
        seed: of the jumps and directions.

    Attributes: `rounds`, `targets` of shape (T,) or (T, d).

    >>> world = DriftingTarget(rounds=300, segment=100, seed=0)
    >>> world.targets.shape, int((abs(np.diff(world.targets)) > 0.011).sum())
    ((300,), 2)
    >>> world(0, x=0.0).value(world.targets[0])
    0.0

    Reference: Section 2, "Discounting as forgetting".
    """

    def __init__(
        self,
        rounds: int,
        dim: int | None = None,
        segment: int = 100,
        jump: float = 1.0,
        drift: float = 0.01,
        seed: int | None = None,
    ) -> None:
        """Draw the whole path of the target."""
        self.rounds = as_rounds("rounds", rounds, MOST_KEPT)
        d = 1 if dim is None else as_rounds("dim", dim, MOST_KEPT // self.rounds)
        every = as_rounds("segment", segment)
        size, speed = as_number("jump", jump), as_number("drift", drift)
        rng = np.random.default_rng(as_seed(seed))
        parts = -(-self.rounds // every)
        jumps = rng.normal(scale=size, size=(parts, d))
        directions = rng.normal(size=(parts, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        steps = speed * np.repeat(directions, every, axis=0)
        steps[::every] = jumps
        path = steps[: self.rounds].cumsum(axis=0)
        self.targets: FloatArray = path[:, 0] if dim is None else path

    def __call__(self, t: int, x: Any = None) -> Absolute:
        """Return the loss of round t, whatever the prediction."""
        return Absolute(self.targets[t])


def best_fixed(targets: ArrayLike, discounts: ArrayLike) -> float:
    """Best fixed comparator in hindsight for absolute losses on the line: the weighted median.

    The smallest u that minimises sum_t w_t |u - targets[t]|, with w = weights(discounts).

    Args:
        targets: shape (T,), T >= 1.
        discounts: one number, or one per round; finite and >= 0.

    Returns:
        u, one of the targets.

    >>> best_fixed([0.0, 10.0, 1.0], discounts=1.0), best_fixed([0.0, 0.0, 0.0, 7.0], discounts=0.4)
    (1.0, 7.0)

    Reference: the comparator u of Eq. (1).
    """
    a = as_array("targets", targets, (1,))
    if not len(a):
        raise InputError("is empty; wanted at least one round", about="targets")
    w = weights(as_discounts(discounts, len(a)))
    with np.errstate(over="ignore"):
        total = w.sum()
    if not np.isfinite(total):
        problem = "the weights overflow: discounts above 1 add up to too much"
        raise InputError(problem, argument="discounts", cure="take a shorter game")
    order = np.argsort(a, kind="stable")
    return float(a[order][np.searchsorted(w[order].cumsum(), total / 2.0)])
