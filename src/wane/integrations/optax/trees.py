"""Trees of parameters: which leaves are learned, their groups, and sums over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from wane.checks import described
from wane.errors import InputError, InputTypeError


def own(tree: Any) -> Any:
    """A buffer for each leaf, as donated arguments must have."""
    return jax.tree.map(lambda x: jnp.array(x, copy=True), tree)


def masked(x: Any) -> bool:
    """Whether a leaf is hidden by optax."""
    return isinstance(x, optax.MaskedNode)


def visible(p: Any) -> bool:
    """Whether a leaf of the parameters is learned; whole numbers are not, nor is what a mask hides."""
    if not masked(p) and jnp.issubdtype(jnp.result_type(p), jnp.complexfloating):
        cure = "give real and imaginary parts as two arrays"
        raise InputTypeError("must be real, got complex ones", about="parameters", cure=cure)
    return not masked(p) and jnp.issubdtype(jnp.result_type(p), jnp.floating)


def floats(params: Any, tree: Any, take: Callable[[Any, Any], Any] = lambda p, x: jnp.asarray(x)) -> Any:
    """The tree where the parameters are learned, and masks elsewhere."""
    return jax.tree.map(lambda p, x: take(p, x) if visible(p) else optax.MaskedNode(), params, tree, is_leaf=masked)


def learned(name: str, params: Any, updates: Any, path: Any) -> tuple[Any, Any]:
    """The parameters and the gradients, without what is not learned."""
    if params is None:
        cure = "call update(gradients, state, params)"
        raise InputError(f"{name} needs the parameters", argument="params", cure=cure)
    inner, g = floats(params, params), floats(params, updates)
    for what, tree in (("gradients", g), ("a state from init", path)):
        (keys, wanted), (others, got) = shapes(inner), shapes(tree)
        if keys != others or wanted != got:
            problem = f"{name} needs {what} of parameters of shapes {described(wanted)}, got {described(got)}"
            raise InputError(problem, argument="updates" if tree is g else "state")
    return inner, g


def shapes(tree: Any) -> tuple[Any, list[Any]]:
    """Of a tree and of its leaves."""
    return jax.tree.structure(tree), [jnp.shape(x) for x in jax.tree.leaves(tree)]


def wide_type(p: Any) -> Any:
    """Single precision for 16-bit numbers, otherwise that of the parameters."""
    return jnp.promote_types(jnp.result_type(p), jnp.float32)


def zeros(params: Any) -> Any:
    """A path that has not begun."""
    return jax.tree.map(zero_like, params)


def zero_like(p: Any) -> Any:
    """Zeros that are sharded as a parameter is; compiled, a constant would lie whole on one device."""
    return jnp.where(jnp.isnan(p), 0.0, 0.0).astype(wide_type(p))


def reference_of(reference: Any, params: Any) -> Any:
    """A copy: of the parameters as they are, or of what was given, with the precision of delta and their sharding."""
    if reference is None or not jax.tree.leaves(params):
        return floats(params, params, lambda p, x: jnp.array(x, copy=True))

    def copied(p: Any, x: Any) -> Any:
        if jnp.shape(p) != jnp.shape(x):
            problem = f"must have the shapes of the parameters: {jnp.shape(p)}, got {jnp.shape(x)}"
            raise InputError(problem, about="reference")
        return zero_like(p) + jnp.asarray(x, wide_type(p))

    return floats(params, reference, copied)


def groups(scope: Any, params: Any) -> tuple[list[Any], Any]:
    """The group of each leaf, as an index of arrays with one entry a group, and zeros of that shape."""
    count, kind = len(jax.tree.leaves(params)), jnp.result_type(float)
    if isinstance(scope, str):
        if scope not in ("global", "leaf"):
            raise InputError(f"must be 'global', 'leaf' or a tree of labels, got {scope!r}", about="scope")
        one = scope == "global"
        return [...] * count if one else list(range(count)), jnp.zeros(() if one else count, kind)
    labels = scope(params) if callable(scope) else scope
    names = {label: i for i, label in enumerate(dict.fromkeys(jax.tree.leaves(labels)))}
    spread = jax.tree.map(lambda x, part: [names[x]] * len(jax.tree.leaves(part)), labels, params) if count else []
    return jax.tree.leaves(spread), jnp.zeros(len(names), kind)


def combined(combine: Callable[[Any], Any], index: list[Any], zero: Any, parts: list[Any]) -> Any:
    """The parts of each group, and 0, combined at once: XLA would repeat a chain of pairs in the work on every leaf."""
    rows: list[list[Any]] = [[jnp.zeros((), zero.dtype)] for _ in range(zero.size)]
    for i, part in zip(index, parts, strict=True):
        rows[0 if i is ... else i].append(part.astype(zero.dtype))
    return jnp.stack([combine(jnp.stack(row)) for row in rows]).reshape(zero.shape) if rows else zero


def dot(index: list[Any], zero: Any, a: Any, b: Any) -> Any:
    """The inner product of two trees, in each group."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return combined(jnp.sum, index, zero, [jnp.sum(x.astype(zero.dtype) * y.astype(zero.dtype)) for x, y in pairs])


def largest(index: list[Any], zero: Any, tree: Any) -> Any:
    """The largest absolute value in each group; 0 for one that floats hardly hold, infinity for one with no inverse."""
    found = combined(jnp.max, index, zero, [jnp.max(jnp.abs(x), initial=0.0) for x in jax.tree.leaves(tree)])
    tiny = jnp.finfo(zero.dtype).tiny
    return jnp.where(found >= tiny, jnp.where(found <= 1.0 / tiny, found, jnp.inf), 0.0)


def mapped(index: list[Any], function: Callable[..., Any], tree: Any, numbers: Any, *rest: Any) -> Any:
    """The function of every leaf, of the number of its group and of the leaves of the rest."""
    leaves, shape = jax.tree.flatten(tree)
    others = [shape.flatten_up_to(r) for r in rest]
    rows = zip(index, leaves, *others, strict=True)
    return shape.unflatten([function(x, numbers[i].astype(x.dtype), *more) for i, x, *more in rows])
