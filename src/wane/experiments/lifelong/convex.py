"""Streams of one example a round, whose best model moves: at once, or a little in each round.

Classes: a softmax regression, and what moves is which label means which class. Numbers: a linear regression with half
the squared error, and what moves are the signs of the inputs, or a rotation of them. The examples are real, in random
order, again and again; the shift is ours.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from wane.experiments.lifelong.data import table

SHIFTS = ("abrupt", "gradual")
RIDGE = 1e-3  # of the models in hindsight: without it, classes that can be separated have none
WORST = 10.0  # a round's loss counts at most so many times the loss of the model that knows nothing


@dataclasses.dataclass(frozen=True, eq=False)
class Rounds:
    """A stream: inputs (T, d) with a 1 at the end, targets, the number of classes, and where each phase begins."""

    x: np.ndarray
    y: np.ndarray
    classes: int
    begins: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights."""
        return self.x.shape[1], max(self.classes, 1)

    @property
    def ignorance(self) -> float:
        """The mean loss of the weights 0."""
        return math.log(self.classes) if self.classes else 0.5 * float(np.mean(self.y**2))

    def loss(self, t: int, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss of weights in a round, and its gradient."""
        x = self.x[t]
        out = x @ w
        if self.classes:
            label = self.y[t]
            out -= out.max()
            error = np.exp(out)
            total = error.sum()
            loss = math.log(total) - float(out[label])
            error /= total
            error[label] -= 1.0
        else:
            error = out - self.y[t]
            loss = 0.5 * float(error[0] * error[0])
        return loss, np.outer(x, error)

    def phases(self) -> list[slice]:
        """The rounds of each phase."""
        ends = (*self.begins[1:], len(self.y))
        return [slice(a, b) for a, b in zip(self.begins, ends, strict=True)]

    def hindsight(self) -> float:
        """The mean loss of the best model of each phase, which is chosen when the phase is over."""
        total = sum(best(self.x[phase], self.y[phase], self.classes) for phase in self.phases())
        return total / len(self.y)


def best(x: np.ndarray, y: np.ndarray, classes: int) -> float:
    """The sum of the losses of the best weights, a little ridge included in their choice but not in the sum."""
    n, d = x.shape
    if not classes:
        w = np.linalg.solve(x.T @ x + RIDGE * n * np.eye(d), x.T @ y)
        return 0.5 * float(np.sum((x @ w - y) ** 2))
    hot = np.eye(classes)[y]

    def mean(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(d, classes)
        out = x @ w
        loss = -float(np.sum(hot * log_softmax(out, axis=1))) / n + 0.5 * RIDGE * float(flat @ flat)
        return loss, (x.T @ (softmax(out, axis=1) - hot) / n + RIDGE * w).ravel()

    w = minimize(mean, np.zeros(d * classes), jac=True, method="L-BFGS-B").x.reshape(d, classes)
    return -float(np.sum(hot * log_softmax(x @ w, axis=1)))


def make(name: str, shift: str, seed: int, rounds: int, phases: int) -> Rounds:
    """A stream of a table; the same for the same arguments."""
    found = table(name)
    n = len(found.y)
    orders = np.random.default_rng([seed, 0])
    order = np.concatenate([orders.permutation(n) for _ in range(-(-rounds // n))])[:rounds]
    begins = tuple(round(i * rounds / phases) for i in range(phases))
    phase = np.searchsorted(begins, np.arange(rounds), side="right") - 1
    inside = np.arange(rounds) * phases / rounds - phase  # from 0 to 1 within a phase
    rng = np.random.default_rng([seed, 1])
    x, y = found.x[order], found.y[order]
    if found.classes:
        y = relabelled(y, found.classes, phase, inside if shift == "gradual" else 0.0 * inside, rng)
    elif shift == "gradual":
        x = turned(x, phase + inside, rng)
    else:
        x = x * rng.choice([-1.0, 1.0], size=(phases, x.shape[1]))[phase]
    return Rounds(np.column_stack([x, np.ones(rounds)]), y, found.classes, begins)


def relabelled(y: np.ndarray, classes: int, phase: np.ndarray, share: np.ndarray, rng: Any) -> np.ndarray:
    """Labels under the permutation of their phase; a share of them, at random, under that of the next."""
    permutations = np.array([rng.permutation(classes) for _ in range(int(phase.max()) + 2)])
    return permutations[phase + (rng.random(len(y)) < share), y]


def turned(x: np.ndarray, angle: np.ndarray, rng: Any) -> np.ndarray:
    """Inputs in a frame that turns by a right angle in a phase, in planes drawn at random."""
    d = x.shape[1]
    frame = np.linalg.qr(rng.normal(size=(d, d)))[0]
    z = x @ frame
    half = d // 2
    a, b = z[:, :half].copy(), z[:, half : 2 * half].copy()
    c, s = np.cos(0.5 * np.pi * angle)[:, None], np.sin(0.5 * np.pi * angle)[:, None]
    z[:, :half], z[:, half : 2 * half] = c * a - s * b, s * a + c * b
    return z @ frame.T
