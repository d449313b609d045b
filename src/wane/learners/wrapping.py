"""A learner around a center and inside a domain, by the two wrappers that do it for any learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import discount_factor, listed
from wane.domains import Domain
from wane.errors import InputError
from wane.learners.adaptive import AdaptiveLearner
from wane.learners.base import Learner
from wane.learners.centered import Centered
from wane.learners.constrained import Constrained
from wane.learners.odd import OddMagnitudeLearner
from wane.learners.starting_point import starting_point


def around_and_inside(learner: Learner, center: Any, domain: Domain | None) -> Learner:
    """The learner itself, or wrapped: shifted to the center (by default the member nearest to 0), then projected."""
    middle = starting_point("center", center, learner, domain)
    if np.any(middle != 0.0):
        learner = Centered(learner, float(middle[0]) if learner.dim is None else middle)
    return learner if domain is None else Constrained(learner, domain)


def one_discount(dim: int | None, epsilon: float, discount: float) -> Learner:
    """The paper's learner with one discount: the odd form of Algorithm 1 on the line, Algorithm 3 in R^d."""
    return OddMagnitudeLearner(epsilon, discount) if dim is None else AdaptiveLearner(dim, epsilon, discount)


def checked_discounts(discounts: Any) -> tuple[float, ...]:
    """Discounts in [0, 1], at least one.

    >>> checked_discounts([0.5, 1])
    (0.5, 1.0)
    """
    given = listed("discounts", discounts)
    grid = tuple(discount_factor(d, f"discounts[{k}]") for k, d in enumerate(given))
    if not grid:
        raise InputError("is empty", about="discounts", cure="give at least one, such as (0.9, 0.99, 0.999, 1.0)")
    if max(grid) > 1.0:
        raise InputError(f"must lie in [0, 1], got {max(grid)!r}", about="discounts", cure="1 forgets nothing")
    return grid
