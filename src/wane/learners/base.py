"""What every learner shares: checks at the boundary, batches, state.

An algorithm on the line defines ``parameters``, ``memory``, ``__init__``, ``_predict`` and ``_update``. With a ``.pxd``
beside its file it compiles; without one it is ordinary Python that works in every loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import dimension, discount_factor, number, vector
from wane.errors import InputError, TooLargeError
from wane.state import data as plain_data
from wane.state.stateful import Stateful


class Learner(Stateful):
    """An online learner: ``predict()`` plays a point, ``update(gradient)`` answers.

    A subclass with ``dim=None`` plays floats on the line; with a dimension it plays arrays of shape (dim,).

    A learner belongs to one thread at a time.

    >>> from wane.learners import LinearFTRL
    >>> learner = LinearFTRL(rate=0.5)
    >>> learner.update(-1.0)
    >>> learner.predict()
    0.5
    >>> learner.run([-1.0, 1.0])
    array([0.5, 1. ])
    """

    extents = ("dim",)  # type: tuple[str, ...]

    def __init__(self, discount: float = 1.0, dim: int | None = None) -> None:
        """Every learner has a discount of its own, and a dimension (None: the line)."""
        self.discount = discount_factor(discount)
        self.dim = None if dim is None else dimension(dim)
        self.n = 1 if self.dim is None else self.dim

    def predict(self) -> Any:
        """The point to play in the next round: a float, or an array of shape (dim,). Calling it changes nothing."""
        if self.dim is None:
            return number("the prediction", self._predict())
        out = np.empty(self.n)
        self._point(out.data)
        return out

    def update(self, gradient: Any, discount: float | None = None) -> None:
        """Ingest the gradient of this round.

        ``discount`` is the paper's lambda_{t-1}: it ages everything before this gradient. None means the learner's own.
        """
        d = self.discount if discount is None else discount_factor(discount)
        if self.dim is None:
            self._update(number("gradient", gradient), d)
        else:
            self._learn(vector("gradient", gradient, self.n).data, d)

    def run(self, gradients: Any, discounts: Any = None) -> np.ndarray:
        """Play a whole sequence; returns the prediction made before each gradient, (T,) or (T, dim).

        ``discounts`` is None (the learner's own), one number, or one number a round. The result and the state are
        bit for bit those of ``predict`` and ``update`` in turn; after an error the state is as before the call.
        """
        from wane.learners import batch

        return batch.run(self, gradients, discounts)

    def misfit(self) -> str | None:
        """A memory that the rounds have left plays finite numbers."""
        try:
            return None if np.isfinite(self.predict()).all() else ", ".join(self.memory)
        except (ArithmeticError, InputError):
            return ", ".join(self.memory)

    # The hooks: on the line _predict and _update; in R^d _point and _learn, which fill and read vectors.
    # Compiled, these are what C finds for a subclass written in Python, and they ask the functions below.

    def _predict(self) -> float:
        return predict_in_python(self)

    def _update(self, gradient: float, discount: float) -> None:
        update_in_python(self, gradient, discount)

    def _point(self, out: Any) -> None:
        if self.dim is None:
            out[0] = self._predict()
        else:
            point_in_python(self, out)

    def _learn(self, gradient: Any, discount: float) -> None:
        if self.dim is None:
            self._update(gradient[0], discount)
        else:
            learn_in_python(self, gradient, discount)

    def _overflow(self) -> None:
        raise overflow_error(self)


class VectorLearner(Learner):
    """A learner that is written for R^d, with the hooks ``_point`` and ``_learn``; on the line d is 1."""

    def __init__(self, discount: float = 1.0, dim: int | None = None) -> None:
        """A cell carries the number of the line to and from the vector hooks."""
        super().__init__(discount, dim)
        self.cell: Any = np.zeros(1).data

    def _predict(self) -> float:
        self._point(self.cell)
        return self.cell[0]

    def _update(self, gradient: float, discount: float) -> None:
        self.cell[0] = gradient
        self._learn(self.cell, discount)


def predict_in_python(learner):
    """The ``_predict`` of a subclass written in Python, on the line."""
    return hook(learner, "_predict")(learner)


def update_in_python(learner, gradient, discount):
    """The ``_update`` of a subclass written in Python, on the line."""
    hook(learner, "_update")(learner, gradient, discount)


def point_in_python(learner, out):
    """The ``_predict`` of a subclass written in Python, in R^d: it returns an array."""
    np.asarray(out)[:] = vector("the prediction", hook(learner, "_predict")(learner), learner.n)


def learn_in_python(learner, gradient, discount):
    """The ``_update`` of a subclass written in Python, in R^d: it takes an array."""
    hook(learner, "_update")(learner, np.array(gradient), discount)


def hook(learner, name):
    """The method that a subclass defines, or an error that names it."""
    method = getattr(type(learner), name, None)
    if method is None or method is vars(Learner).get(name):
        raise NotImplementedError(f"{type(learner).__name__} must define {name}")
    return method


def overflow_error(learner: Learner) -> TooLargeError:
    """What is raised instead of an infinite prediction."""
    return TooLargeError(
        f"the state of {learner!r} would leave the range of floating point, so this gradient was not learned",
        argument="gradient",
        cure="use discounts of at most 1, smaller gradients, or a scale-free learner such as AdaptiveLearner",
    )


def load(state: dict[str, Any], **objects: Any) -> Any:
    """The learner whose ``state_dict`` this is.

    A learner of your own is found once the module that defines it is imported. ``objects`` are arguments that plain
    data cannot hold, such as a function or a domain of your own, by name.

    >>> from wane.learners import MagnitudeLearner
    >>> learner = MagnitudeLearner(epsilon=2.0)
    >>> learner.update(-1.0)
    >>> load(learner.state_dict())
    MagnitudeLearner(epsilon=2.0, discount=1.0)
    """
    return plain_data.load(Learner, state, objects)
