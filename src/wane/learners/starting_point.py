"""Where a learner starts: a point of its domain."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import number, real_array, vector
from wane.domains import Domain
from wane.errors import InputError
from wane.learners.base import Learner


def given_point(name: str, point: Any, learner: Learner) -> np.ndarray:
    """A point of the learner's space as a vector: from a number on the line, from an array in R^d."""
    return np.array(vector(name, [number(name, point)] if learner.dim is None else point, learner.n))


def starting_point(name: str, point: Any, learner: Learner, domain: Domain | None) -> np.ndarray:
    """The point given, which must lie in the domain; by default the member nearest to 0."""
    if domain is not None:
        domain.check((learner.n,))
    if point is None:
        zero = np.zeros(learner.n)
        return zero if domain is None else domain.project(zero)
    x = given_point(name, point, learner)
    if domain is not None and x not in domain:
        raise InputError(
            f"must lie in the domain {domain!r}, got {point!r}",
            about=name,
            cure=f"the nearest point of it is {domain.project(x)}",
        )
    return x


def frozen(name: str, value: Any) -> Any:
    """What was given, as a copy that cannot be written to: the learner's argument stays what it was."""
    array = None if value is None else np.array(real_array(name, value))
    if array is None or array.ndim == 0:
        return value
    array.flags.writeable = False
    return array


def known_diameter(diameter: Any, domain: Domain | None, learner: Learner) -> Any:
    """The diameter given, or else that of a bounded domain."""
    if diameter is None and domain is not None and np.isfinite(domain.diameter_in(learner.n)):
        return domain.diameter_in(learner.n)
    if diameter is None:
        raise InputError(
            f"{type(learner).__name__} needs diameter=..., the size of the region to play in, or a bounded domain",
            argument="diameter",
        )
    return diameter
