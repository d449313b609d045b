"""The erfi potential and its derivative, the prediction rule.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Algorithms 1, 2.

The paper's erfi is the integral of exp(u^2) from 0 to z, without the usual 2/sqrt(pi); with Dawson's function D it is
exp(z^2) D(z). Integration by parts gives 2 int_0^z erfi(u) du = 2 z erfi(z) - exp(z^2) + 1, hence the forms below,
whose only overflow is that of exp(z^2) itself. Both functions are homogeneous (a factor c on s and h, c^2 on v), so
they are evaluated in units of max(h, sqrt(v)): gradients of size 1e-200 or 1e200 are as good as any.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import dawsn

from wane.errors import InputError
from wane.theory.arguments import FloatArray, as_array, as_number

_ANY_SHAPE = tuple(range(33))
_BEYOND = 1e3  # exp(z^2) overflows from z = 26.65 on: a larger z changes nothing and would only make inf * 0


def potential(v: ArrayLike, s: ArrayLike, h: ArrayLike, epsilon: float = 1.0) -> FloatArray:
    """Potential of the magnitude learner.

    With E = v + 2 h s + 16 h^2 and z = s / (2 sqrt(E)):
    Phi = epsilon sqrt(E) (2 int_0^z erfi(u) du - 1) = epsilon sqrt(E) exp(z^2) (2 z D(z) - 1).

    Args:
        v: discounted variance, >= 0.
        s: discounted negative sum of gradients, any number with E > 0 (always so for s >= -8 h).
        h: discounted Lipschitz constant, >= 0.
        epsilon: the learner's hyperparameter, > 0.

    Returns:
        Array of the broadcast shape; +inf where the value overflows; 0, the limit, at v = s = h = 0.

    >>> float(potential(v=0.0, s=0.0, h=1.0))
    -4.0

    Reference: Algorithm 2, line 1.
    """
    eps = as_number("epsilon", epsilon, strict=True)
    v, s, h = _checked(v, s, h)
    origin = (v == 0) & (s == 0) & (h == 0)
    unit, _, root, z = _reduced(v, s, h, skip=origin)
    with np.errstate(over="ignore"):
        value = eps * np.exp(z * z) * (2.0 * z * dawsn(z) - 1.0) * root * unit
    return np.asarray(np.where(origin, 0.0, value))


def prediction_rule(v: ArrayLike, s: ArrayLike, h: ArrayLike, epsilon: float = 1.0) -> FloatArray:
    """Unprojected prediction of the magnitude learner: the derivative of the potential in s.

    With E = v + 2 h s + 16 h^2 and z = s / (2 sqrt(E)):
    dPhi/ds = epsilon (erfi(z) - h exp(z^2) / sqrt(E)) = epsilon exp(z^2) (D(z) - h / sqrt(E)), and 0 where h = 0.

    Args:
        v: discounted variance, >= 0.
        s: discounted negative sum of gradients, any number with E > 0 (always so for s >= -8 h).
        h: discounted Lipschitz constant, >= 0.
        epsilon: the learner's hyperparameter, > 0.

    Returns:
        Array of the broadcast shape; infinite where the value overflows (z beyond about 26.6).

    >>> float(prediction_rule(v=0.0, s=0.0, h=1.0))
    -0.25
    >>> prediction_rule(v=100.0, s=[0.0, 20.0, 40.0], h=[0.0, 1.0, 1.0]).round(3).tolist()
    [0.0, 0.858, 2.902]

    Reference: Algorithm 1, line 3 (which sets the prediction to 0 where h = 0; the derivative there is not 0).
    """
    eps = as_number("epsilon", epsilon, strict=True)
    v, s, h = _checked(v, s, h)
    _, k, root, z = _reduced(v, s, h, skip=h == 0)
    with np.errstate(over="ignore"):
        value = eps * np.exp(z * z) * (dawsn(z) - k / root)
    return np.asarray(np.where(h == 0, 0.0, value))


def _checked(v: ArrayLike, s: ArrayLike, h: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three arguments as arrays of one shape, v and h nonnegative."""
    arrays = [as_array(name, x, _ANY_SHAPE) for name, x in (("v", v), ("s", s), ("h", h))]
    try:
        v, s, h = np.broadcast_arrays(*arrays)
    except ValueError:
        problem = f"v, s and h have the shapes {[a.shape for a in arrays]}; wanted shapes that fit each other"
        raise InputError(problem, argument="v") from None
    if (v < 0).any() or (h < 0).any():
        raise InputError(
            f"smallest v is {v.min()}, smallest h is {h.min()}; wanted both >= 0: v sums squares, h is a size",
            argument="v" if (v < 0).any() else "h",
        )
    return v, s, h


def _reduced(v: FloatArray, s: FloatArray, h: FloatArray, skip: NDArray[np.bool_]) -> tuple[FloatArray, ...]:
    """The unit max(h, sqrt(v)), and in that unit h, sqrt(E) and z; harmless numbers where `skip`."""
    unit = np.maximum(h, np.sqrt(v))
    unit = np.where(unit > 0, unit, 1.0)
    with np.errstate(over="ignore"):
        k, a, b = h / unit, np.clip(s / unit, -1e300, 1e300), v / unit / unit
    e = np.where(skip, 1.0, b + 2.0 * k * a + 16.0 * k * k)
    if (e <= 0).any():
        raise InputError(
            f"v + 2 h s + 16 h^2 is {e.min():g} in units of max(h^2, v); wanted > 0: s lies too far below zero for its "
            "v and h, as when a learner leaves out the projection test (Algorithm 1, line 7)",
            argument="s",
        )
    root = np.sqrt(e)
    return unit, k, root, np.clip(a / (2.0 * root), -_BEYOND, _BEYOND)
