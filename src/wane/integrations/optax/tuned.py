"""A scale for any optimiser, learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from wane.checks import discount_factors, one_of
from wane.errors import InputError
from wane.integrations.arrays import TINY, Magnitude, Rise, Trac, at_least_one
from wane.integrations.optax import rounds, trees

DISCOUNTS = (0.9, 0.99, 0.999, 0.9999, 1.0)
EPSILONS = {"magnitude": 10.0, "trac": TINY}  # the default of each rule
HORIZONS = {"magnitude": 300.0, "trac": math.inf}


class TunedState(NamedTuple):
    """The memory of ``tuned``: the reference, the path delta, the learners, where the scale begins, the base's memory.

    The last field is the number of rounds skipped.
    """

    reference: Any
    delta: Any
    learners: Magnitude | Trac
    rise: Rise
    base: Any
    skipped: Any

    @property
    def scale(self) -> Any:
        """The scale S: the parameters are at reference + S * delta. One a group if there are groups."""
        return self.rise.factor * total(self.learners)

    @property
    def path(self) -> Any:
        """What is scaled: delta."""
        return self.delta


def total(learners: Magnitude | Trac) -> Any:
    """The sum of what learners play."""
    return jnp.sum(jnp.maximum(learners.x, 0.0), axis=-1)


def tuned(
    base: Any,
    discounts: Sequence[float] = DISCOUNTS,
    epsilon: Any = None,
    *,
    rule: str = "magnitude",
    discount: Any = 1.0,
    reference: Any = None,
    scope: Any = "global",
    nonfinite: str = "skip",
    horizon: float | None = None,
) -> optax.GradientTransformationExtraArgs:
    """An optimiser with its scale learned: the parameters are at reference + S * delta.

    delta is the sum of the base's steps, and S the sum of what learners on [0, inf) play, one a discount, each of which
    sees the derivative of the loss in S, the inner product of delta and the gradient. S = 1 is the base itself. The
    published code divides by S to find delta, and stays for ever where S has become 0; here delta is kept. It keeps
    two copies of the parameters, the reference and delta, beside what the base keeps.

    Args:
        base: an optax transformation with its learning rate. It sees the gradients, the parameters and the extra
            arguments of ``update``.
        discounts: one learner each.
        epsilon: a guess of S; None takes 10 for the rule "magnitude", shared by the learners in equal parts, and 1e-8
            for "trac", the published number, for each.
        rule: "magnitude" is Algorithm 1 (``wane.learners.MagnitudeLearner``), "trac" the published
            ``wane.learners.TracLearner``.
        discount: multiplies all discounts; ``update(..., discount=...)`` replaces it for a round.
        reference: as for ``adaptive``. Where it differs from the parameters given to ``init``, the first round goes
            there.
        scope: as for ``adaptive``: one S for all parameters, or one for each array or label. The base sees all of
            them together.
        nonfinite: as for ``adaptive``. A round that is skipped leaves the base as it was. Steps of the base are not
            checked.
        horizon: when S has fallen to 0, the guess for its next rise is at most three times its mean over about this
            many rounds: so an epsilon that is far too large is mended. ``math.inf`` keeps epsilon as it is. None
            takes 300 for the rule "magnitude" and infinity for "trac".

    >>> import jax.numpy as jnp
    >>> optimiser = tuned(optax.adam(1e-3))     # alone it would need a thousand rounds
    >>> params = jnp.zeros(2)
    >>> state, update = optimiser.init(params), jax.jit(optimiser.update)
    >>> for _ in range(200):
    ...     updates, state = update(2.0 * (params - 1.0), state, params)
    ...     params = optax.apply_updates(params, updates)
    >>> params.round(2).tolist(), state.scale.round(1).item() > 10.0
    ([1.0, 1.0], True)

    Reference: Muppidi, Zhang, Yang, *Fast TRAC: A Parameter-Free Optimizer for Lifelong Reinforcement Learning*
    (2024, arXiv 2405.16642).
    """
    one_of("rule", rule, tuple(EPSILONS))
    given = tuple(discounts)
    grid = discount_factors(given, len(given)).tolist()
    if not grid:
        cure = "give (1.0,) to forget nothing"
        raise InputError("must hold at least one number, got none", about="discounts", cure=cure)
    own, fill = rounds.checked_discount(discount), rounds.fill_of(nonfinite)
    epsilon = rounds.checked_epsilon(EPSILONS[rule] if epsilon is None else epsilon)
    lasting = at_least_one("horizon", HORIZONS[rule] if horizon is None else horizon)
    base = optax.with_extra_args_support(base)

    def init(params: Any) -> TunedState:
        start, inner = trees.reference_of(reference, params), trees.floats(params, params)
        _, zero = trees.groups(scope, inner)
        zeros, arrays = jnp.zeros((*zero.shape, len(grid)), zero.dtype), rounds.arrays_of(zero.dtype)
        learners = arrays.trac(zeros) if rule == "trac" else arrays.magnitude(zeros)
        learners, rise = trees.own((learners, arrays.rise(zero)))
        return TunedState(start, trees.zeros(inner), learners, rise, base.init(inner), jnp.int32(0))

    def update(updates: Any, state: TunedState, params: Any = None, *, discount: Any = None, **extra: Any) -> Any:
        inner, g = trees.learned("tuned", params, updates, state.delta)
        index, zero = trees.groups(scope, inner)
        factor, arrays = rounds.rate(own if discount is None else discount, zero), rounds.arrays_of(zero.dtype)
        rate = factor[..., None] * jnp.asarray(grid, zero.dtype)
        h, guess = trees.dot(index, zero, state.delta, g)[..., None], rounds.guess(epsilon, zero)[..., None]
        if isinstance(state.learners, Trac):
            learners: Any = arrays.trac_step(state.learners, guess, h, rate)
        else:
            learners = arrays.magnitude_step(state.learners, guess / len(grid), h, jnp.abs(h), rate)
        rise = arrays.rise_step(state.rise, total(learners) / guess[..., 0], lasting, factor)

        def learn() -> TunedState:
            steps, memory = base.update(g, state.base, inner, **extra)
            delta = jax.tree.map(lambda d, u: d + u.astype(d.dtype), state.delta, steps)
            return state._replace(delta=delta, learners=learners, rise=rise, base=memory)

        return rounds.settled(params, inner, index, rounds.good(learners, rate, h), state, learn, fill)

    return optax.GradientTransformationExtraArgs(init, update)
