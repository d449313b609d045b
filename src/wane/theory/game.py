"""The discounted game: a learner, an environment and an expert who picks the discounts.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Section 2,
"Setting".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from wane.errors import InputError, WaneError
from wane.state.data import name_round
from wane.theory.arguments import FloatArray, as_array, as_discounts, as_number, as_point, as_rounds
from wane.theory.game_record import Record
from wane.theory.losses import Linear, Loss


class Player(Protocol):
    """What a game asks of a learner."""

    def predict(self) -> Any:
        """Return x_t, a float or an array of shape (d,)."""

    def update(self, gradient: Any, discount: float | None = None) -> Any:
        """Take g_t and the discount that ages everything before it."""


def play(
    learner: Player,
    environment: Callable[[int, Any], Any],
    discounts: ArrayLike | Callable[[int], float] | None = None,
    rounds: int | None = None,
) -> Record:
    """Play a game and record it.

    In round t = 0, 1, ...: the learner predicts x_t; the environment answers with a loss l_t, which reveals a
    subgradient g_t at x_t; the discount of round t arrives; the learner updates.

    Args:
        learner: has `predict()` and `update(gradient, discount)`.
        environment: called as `environment(t, x)`; returns a gradient (of a linear loss), or a loss: `value(x)` and
            `gradient(x)`.
        discounts: a number, one per round, or a callable t -> discount; None for the learner's own `learner.discount`.
        rounds: T; None for `environment.rounds`, or else the length of `discounts`.

    Returns:
        A `Record`; its arrays have shape (T,) for a learner of numbers and (T, d) for one of vectors.

    >>> class Constant:
    ...     def predict(self): return 2.0
    ...     def update(self, gradient, discount=None): pass
    >>> play(Constant(), lambda t, x: 1.0, discounts=0.5, rounds=3).regret(0.0)
    3.5

    Reference: the protocol of Section 2.
    """
    T = _rounds(rounds, environment, discounts)
    expert = _expert(discounts, learner, T)
    xs: list[float | FloatArray] = []
    gs: list[float | FloatArray] = []
    ls: list[float] = []
    ds: list[float] = []
    functions: list[Loss] = []
    for t in range(T):
        try:
            x = as_point("prediction", learner.predict())
            if t and np.shape(x) != np.shape(xs[0]):
                raise InputError(f"has shape {np.shape(x)}, that of round 0 {np.shape(xs[0])}", about="prediction")
            answer = environment(t, _copied(x))
            loss: Loss = answer if isinstance(answer, Loss) else Linear(as_point("gradient", answer))
            g = as_point("gradient", loss.gradient(x))
            if np.shape(g) != np.shape(x):
                raise InputError(
                    f"has shape {np.shape(g)}, the prediction {np.shape(x)}; wanted the same",
                    about="gradient",
                    cure="give a learner of numbers a number, a learner of vectors (also of length 1) a vector",
                )
            xs.append(x)
            gs.append(g)
            ls.append(loss.value(x))
            functions.append(loss)
            ds.append(expert(t))
            learner.update(_copied(g), ds[-1])
        except WaneError as error:
            name_round(error, t)
            raise
    return Record(np.array(xs), np.array(gs), as_array("losses", ls, (1,)), np.array(ds), tuple(functions))


def _copied(x: float | FloatArray) -> float | FloatArray:
    """The point as handed out: whatever is done to it does not reach the record."""
    return x if isinstance(x, float) else x.copy()


def _rounds(rounds: int | None, environment: Any, discounts: Any) -> int:
    """T, from the first of: the argument, the environment, the length of the discounts."""
    if rounds is None:
        rounds = getattr(environment, "rounds", None)
    if rounds is None and not callable(discounts) and np.ndim(discounts) == 1:
        rounds = len(discounts)
    if rounds is None:
        raise InputError(
            "the length of the game is unknown",
            argument="rounds",
            cure="pass rounds, one discount per round, or an environment with `rounds`",
        )
    return as_rounds("rounds", rounds)


def _expert(discounts: Any, learner: Any, rounds: int) -> Callable[[int], float]:
    """The discount of each round, whatever form it was given in."""
    if discounts is None:
        if not hasattr(learner, "discount"):
            problem = f"{type(learner).__name__} has no `discount` of its own"
            raise InputError(problem, argument="discounts", cure="pass discounts (1.0 forgets nothing)")
        return lambda t: as_number("learner.discount", learner.discount)
    if callable(discounts):
        return lambda t: as_number("discounts", discounts(t))
    fixed = as_discounts(discounts, rounds).tolist()
    return lambda t: float(fixed[t])
