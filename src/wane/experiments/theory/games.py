"""What the games of this package share: chases of targets, noise, slopes, and tables in long format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wane import theory


def chase(learner: Any, targets: np.ndarray, discounts: Any = None) -> theory.Record:
    """A game of absolute losses abs(x - target); ``discounts`` are the learner's own by default.

    >>> from wane.learners import GradientDescent
    >>> chase(GradientDescent(0.5), np.array([1.0, 1.0, 1.0])).predictions
    array([0. , 0.5, 1. ])
    """
    values = targets.tolist()
    if learner.dim is None:
        return theory.play(learner, lambda t, x: theory.Absolute(values[t]), discounts, rounds=len(values))
    return theory.play(learner, lambda t, x: theory.Absolute([values[t]]), discounts, rounds=len(values))


def signs(rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Gradients without any information: 1 or -1 by the toss of a coin."""
    return rng.choice([-1.0, 1.0], size=rounds)


def listen(learner: Any, gradients: np.ndarray) -> np.ndarray:
    """Let a learner play linear losses on the line; returns its predictions, shape (T,), also of a learner with dim 1.

    >>> from wane.learners import AdaGrad
    >>> listen(AdaGrad(1.0, dim=1), np.array([-2.0, -2.0]))
    array([0., 1.])
    """
    shaped = gradients if learner.dim is None else gradients[:, None]
    return np.asarray(learner.run(shaped)).reshape(-1)


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """The exponent p of the power law y = c x^p that fits best, in logarithms.

    >>> round(slope([1.0, 10.0, 100.0], [5.0, 0.5, 0.05]), 9)
    -1.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def columns(names: str, rows: Iterable[tuple[Any, ...]]) -> dict[str, np.ndarray]:
    """Rows as named columns.

    >>> columns("name value", [("a", 1.0), ("b", 2.0)])["value"]
    array([1., 2.])
    """
    listed = list(rows)
    return {name: np.array([row[k] for row in listed]) for k, name in enumerate(names.split())}


def where(table: Mapping[str, np.ndarray], **values: Any) -> dict[str, np.ndarray]:
    """The rows in which the columns have these values.

    >>> where(columns("name value", [("a", 1.0), ("b", 2.0)]), name="b")["value"]
    array([2.])
    """
    keep = np.all([table[name] == value for name, value in values.items()], axis=0)
    return {name: column[keep] for name, column in table.items()}
