"""Algorithm 3 on the parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from wane.integrations.arrays import Magnitude, Norm
from wane.integrations.optax import rounds, trees

EPSILON = 10.0
DISCOUNT = 0.9999


class AdaptiveState(NamedTuple):
    """The memory of ``adaptive``: the reference x*, the direction w, both learners, the number of rounds skipped."""

    reference: Any
    direction: Any
    magnitude: Magnitude
    norm: Norm
    skipped: Any

    @property
    def scale(self) -> Any:
        """The magnitude y: how far the parameters may be from the reference. One a group if there are groups."""
        return jnp.maximum(self.magnitude.x, 0.0)

    @property
    def path(self) -> Any:
        """What is scaled: w."""
        return self.direction


def adaptive(
    epsilon: Any = EPSILON,
    discount: Any = DISCOUNT,
    *,
    reference: Any = None,
    scope: Any = "global",
    nonfinite: str = "skip",
) -> optax.GradientTransformationExtraArgs:
    """Algorithm 3 on the parameters: no learning rate, any scale of the gradients, the start as inductive bias.

    It plays x* + y w, a magnitude y from Algorithm 1 times a direction w in the unit ball, as
    ``wane.learners.AdaptiveLearner`` does. It keeps two copies of the parameters, x* and w (of 16-bit parameters, w in
    single precision).

    Args:
        epsilon: a guess of the distance from the reference to the answer. Too small costs a logarithm, too large costs
            in proportion.
        discount: what the past is multiplied by each round; ``update(..., discount=...)`` replaces it for a round.
        reference: the inductive bias x*, shaped like the parameters; None takes those given to ``init``.
        scope: "global" plays one algorithm on all parameters together, "leaf" one on each array; labels, as for
            ``optax.multi_transform`` (a tree of them that may be a prefix, or a function that makes it), one on each
            set of arrays with the same label.
        nonfinite: a round whose gradients or discount are not finite teaches nothing and is counted in
            ``state.skipped``. With "skip" its updates are 0; with "propagate" they are NaN, for ``jax_debug_nans`` or
            ``checkify`` to find.

    >>> import jax.numpy as jnp
    >>> optimiser = adaptive(discount=0.99)
    >>> params = {"w": jnp.ones(2)}
    >>> state, update = optimiser.init(params), jax.jit(optimiser.update)
    >>> for _ in range(100):
    ...     updates, state = update({"w": 2.0 * (params["w"] - 3.0)}, state, params)
    ...     params = optax.apply_updates(params, updates)
    >>> params["w"].round(2).tolist()
    [3.0, 3.0]

    Reference: Algorithm 3 of Zhang, Bombara, Yang (2024).
    """
    own, fill = rounds.checked_discount(discount), rounds.fill_of(nonfinite)
    epsilon = rounds.checked_epsilon(epsilon)

    def init(params: Any) -> AdaptiveState:
        start, inner = trees.reference_of(reference, params), trees.floats(params, params)
        _, zero = trees.groups(scope, inner)
        arrays = rounds.arrays_of(zero.dtype)
        magnitude, norm = trees.own((arrays.magnitude(zero), arrays.norm(zero)))
        return AdaptiveState(start, trees.zeros(inner), magnitude, norm, jnp.int32(0))

    def update(updates: Any, state: AdaptiveState, params: Any = None, *, discount: Any = None, **extra: Any) -> Any:
        inner, g = trees.learned("adaptive", params, updates, state.direction)
        index, zero = trees.groups(scope, inner)
        arrays, g = rounds.arrays_of(zero.dtype), jax.tree.map(lambda p, x: x.astype(trees.wide_type(p)), inner, g)
        rate = rounds.rate(own if discount is None else discount, zero)
        largest = trees.largest(index, zero, g)
        unit = jnp.where(largest > 0.0, largest, 1.0)  # in which no square under- or overflows
        g = trees.mapped(index, lambda x, c: x / c, g, unit)
        norm = jnp.sqrt(trees.dot(index, zero, g, g))
        dot, square = (trees.dot(index, zero, x, state.direction) for x in (g, state.direction))
        size = largest * norm
        magnitude = arrays.magnitude_step(state.magnitude, rounds.guess(epsilon, zero), largest * dot, size, rate)
        r = arrays.grow(state.magnitude.mantissa, state.magnitude.exponent, rate, size)[2]  # line 8
        memory, q = arrays.norm_step(state.norm, r * size, rate)
        step = 2.0 * q / jnp.where(norm > 0.0, norm, 1.0)  # AdaGrad of diameter 2

        def learn() -> AdaptiveState:
            w = trees.mapped(index, lambda old, c, x: old - c * x, state.direction, step, g)
            length = square + step * (step * norm * norm - 2.0 * dot)  # |w|^2, without a pass over what is not made yet
            w = trees.mapped(index, lambda x, c: x / c, w, jnp.sqrt(jnp.maximum(length, 1.0)))
            return state._replace(direction=w, magnitude=magnitude, norm=memory)

        return rounds.settled(params, inner, index, rounds.good(magnitude, memory, rate, size), state, learn, fill)

    return optax.GradientTransformationExtraArgs(init, update)
