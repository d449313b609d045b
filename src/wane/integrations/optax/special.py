"""Dawson's function and the integral of exp(u^2), of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from wane.integrations.arrays import Arrays
from wane.integrations.optax.rounds import arrays_of


def dawson(x: Any) -> Any:
    """Dawson's function of every entry (``wane.special.dawson``), to 1e-12 in double and 1e-6 in single precision.

    >>> round(float(dawson(1.0)), 5)
    0.53808
    """
    return in_precision(Arrays.dawson, x)


def erfi(x: Any) -> Any:
    """The integral of exp(u^2) from 0 to every entry (``wane.special.erfi``), as exact as ``dawson``.

    >>> erfi([0.0, 1.0]).round(4).tolist()
    [0.0, 1.462...]
    """
    return in_precision(Arrays.erfi, x)


def in_precision(function: Callable[[Arrays, Any], Any], x: Any) -> Any:
    """The function at the precision of x, and of 16-bit numbers in single precision."""
    x = jnp.asarray(x)
    kind = x.dtype if jnp.issubdtype(x.dtype, jnp.floating) else jnp.result_type(float)
    wide = jnp.promote_types(kind, jnp.float32)
    return function(arrays_of(wide), x.astype(wide)).astype(kind)
