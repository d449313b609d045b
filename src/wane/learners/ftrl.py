"""Discounted FTRL with a prediction function of the user's: Eq. (ftrl_generic) on the rescaled losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wane.checks import described, number, vector
from wane.errors import InputTypeError
from wane.learners.base import Learner, overflow_error


class FTRL(Learner):
    r"""Play ``prediction(s, v, h)``, a function of the discounted sum, variance and Lipschitz constant.

    .. math::
        s = -\sum_i \Bigl(\prod_j \lambda_j\Bigr) g_i,\qquad
        v = \sum_i \Bigl(\prod_j \lambda_j^2\Bigr) |g_i|^2,\qquad
        h = \max_i \Bigl(\prod_j \lambda_j\Bigr) |g_i|.

    A prediction function is the gradient of a potential; choosing it is choosing the regulariser. This class is for
    trying one out: it runs at the speed of Python and keeps s, v, h as plain floats.

    Args:
        prediction: called with s (a float, or an array of shape (dim,)) and the floats v and h; returns the point to
            play.
        discount: the default discount.
        dim: the dimension; None plays floats on the line.

    >>> FTRL(lambda s, v, h: s / (1.0 + v) ** 0.5).run([-1.0, -1.0, 1.0]).round(3)
    array([0.   , 0.707, 1.155])
    """

    parameters = ("prediction", "discount", "dim")
    memory = ("s", "v", "h")

    def __init__(self, prediction: Callable[..., Any], discount: float = 1.0, *, dim: int | None = None) -> None:
        """Nothing seen."""
        super().__init__(discount, dim)
        if not callable(prediction):
            raise InputTypeError(f"must be a function of (s, v, h), got {described(prediction)}", about="prediction")
        self.prediction = prediction
        self.s: Any = 0.0 if dim is None else np.zeros(self.n)
        self.v = 0.0
        self.h = 0.0

    def _predict(self) -> Any:
        if self.dim is None:
            return number("the prediction", self.prediction(self.s, self.v, self.h))
        return vector("the prediction", self.prediction(np.array(self.s), self.v, self.h), self.n)

    def _update(self, gradient: Any, discount: float) -> None:
        size = abs(gradient) if self.dim is None else math.hypot(*gradient)
        with np.errstate(over="ignore"):  # what overflows is refused below
            s = discount * self.s - gradient
        v = discount * self.v * discount + size * size
        if not (math.isfinite(v) and (math.isfinite(s) if self.dim is None else np.isfinite(s).all())):
            raise overflow_error(self)
        self.s = s
        self.v = v
        self.h = max(discount * self.h, size)
