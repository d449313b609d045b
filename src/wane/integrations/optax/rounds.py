"""What the rounds of both optimisers have in common: settings, numbers that are not finite, and the updates."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from wane.checks import discount_factor, one_of, positive
from wane.integrations.arrays import Arrays
from wane.integrations.optax.trees import mapped, masked


def arrays_of(kind: Any) -> Arrays:
    """The learners on JAX's arrays of a type."""
    return Arrays(jnp, lambda values: jnp.asarray(values, kind), single=kind == jnp.float32)


def checked_epsilon(value: Any) -> Any:
    """A number that is checked now, or an array, which may be unknown until the program runs."""
    return value if isinstance(value, jax.Array) else positive("epsilon", value)


def checked_discount(value: Any) -> Any:
    """The same of a discount."""
    return value if isinstance(value, jax.Array) else discount_factor(value)


def fill_of(nonfinite: str) -> float:
    """The updates of a round that is not learned."""
    fills = {"skip": 0.0, "propagate": jnp.nan}
    return fills[one_of("nonfinite", nonfinite, tuple(fills))]


def like(value: Any, zero: Any) -> Any:
    """A number for each group."""
    return jnp.broadcast_to(jnp.asarray(value, zero.dtype), zero.shape)


def guess(epsilon: Any, zero: Any) -> Any:
    """Epsilon; one that is not positive, which only an array can be here, becomes NaN and spoils the round."""
    value = like(epsilon, zero)
    return jnp.where(value > 0.0, value, jnp.nan)


def rate(discount: Any, zero: Any) -> Any:
    """The discount of a round; a negative one, which only an array can be here, becomes NaN and spoils the round."""
    value = like(checked_discount(discount), zero)
    return jnp.where(value >= 0.0, value, jnp.nan)


def good(*watched: Any) -> Any:
    """Whether all is finite. It is known before anything of the parameters' size is made: no pass over them waits."""
    return jnp.all(jnp.isfinite(jnp.concatenate([x.ravel() for x in jax.tree.leaves(watched)])))


def as_wide(x: Any, wanted: Any) -> Any:
    """A number of the memory in the type that the base gives it, which may be wider than that of its beginning."""
    return x if getattr(x, "dtype", wanted.dtype) == wanted.dtype else x.astype(wanted.dtype)


def settled(params: Any, inner: Any, index: list[Any], good: Any, old: Any, learn: Any, fill: float) -> tuple[Any, Any]:
    """The updates to reference + scale * path and what is learned; the old state, if the round is not good."""
    kept = old._replace(reference=None, skipped=old.skipped + 1)
    if isinstance(good, jax.core.Tracer):  # with a choice of each number XLA would make steps twice and copy memory
        kept = jax.tree.map(as_wide, kept, jax.eval_shape(learn)._replace(reference=None))
        new = jax.lax.cond(good, lambda: learn()._replace(reference=None), lambda: kept)
    else:  # cond would compile its branches in each round
        new = learn() if good else kept
    new = new._replace(reference=old.reference)
    theta = mapped(index, lambda d, s, x, p: (x + s * d).astype(p.dtype), new.path, new.scale, new.reference, inner)
    updates = jax.tree.map(lambda t, p: jnp.where(good, t - p, fill).astype(p.dtype), theta, inner)
    return jax.tree.map(lambda p, u: jnp.zeros_like(p) if masked(u) else u, params, updates), new
