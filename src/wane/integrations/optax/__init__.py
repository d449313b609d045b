"""Optimisers for JAX, as optax transformations: Algorithm 3 on the parameters, and a scale for any optimiser.

``adaptive`` plays Algorithm 3 (``wane.learners.AdaptiveLearner``): it needs no learning rate, and starts at, and falls
back to, the initial parameters. ``tuned`` wraps an optimiser: that one walks, and a sum of learners on [0, inf), one a
discount, says how far along its path from the reference the parameters are.

Both keep a NamedTuple of arrays, ask no value of the device when compiled, and so work under ``jit``, ``vmap`` and
``scan``; their updates take the parameters to where the algorithm plays, so they come last in an ``optax.chain``.
"""

from __future__ import annotations

from wane.errors import MissingExtraError, installing

try:
    import jax
    import optax
except ImportError as error:
    problem = f"wane.integrations.optax needs jax and optax ({error})"
    raise MissingExtraError(problem, cure=installing("optax")) from error

from wane.integrations.optax.algorithm_3 import AdaptiveState, adaptive
from wane.integrations.optax.special import dawson, erfi
from wane.integrations.optax.tuned import TunedState, tuned

__all__ = ["AdaptiveState", "TunedState", "adaptive", "dawson", "erfi", "tuned"]

del jax, optax
